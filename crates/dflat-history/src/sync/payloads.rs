//! Objects that were read or received a moment ago, by their hashes.

use std::collections::{HashMap, VecDeque};

use crate::chunk::Address;

/// The bytes of objects that are kept.
const BYTES_MAX: usize = 16 << 20;

/// The latest objects. The differences of later commits refer to them.
#[derive(Debug, Default)]
pub(super) struct LatestPayloads {
    payloads: HashMap<Address, Vec<u8>>,
    order: VecDeque<Address>,
    bytes: usize,
}

impl LatestPayloads {
    pub(super) fn get(&self, hash: &Address) -> Option<&[u8]> {
        self.payloads.get(hash).map(Vec::as_slice)
    }

    /// Keeps an object, and drops the oldest ones if they are too many.
    pub(super) fn put(&mut self, hash: Address, payload: &[u8]) {
        if payload.len() > BYTES_MAX || self.payloads.contains_key(&hash) {
            return;
        }
        self.bytes += payload.len();
        self.payloads.insert(hash, payload.to_vec());
        self.order.push_back(hash);
        while self.bytes > BYTES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            let dropped = self.payloads.remove(&oldest);
            self.bytes -= dropped.map_or(0, |payload| payload.len());
        }
    }
}
