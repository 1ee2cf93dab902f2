//! Writing nodes.

use std::ops::Range;
use std::sync::Arc;

use super::layout::{Layout, common_length};
use super::{Node, NodeView, UnhashedNode};
use crate::chunk::Address;

/// Writes nodes of one level, one after the other. Its memory is used again for each node.
#[derive(Debug)]
pub struct NodeWriter {
    level: u8,
    offsets: Vec<u8>,
    keys: Vec<u8>,
    addresses: Vec<u8>,
    count_ends: Vec<u8>,
    count: u64,
    message: Vec<u8>,
}

impl NodeWriter {
    /// A writer of nodes of this level.
    #[must_use]
    pub const fn new(level: u8) -> Self {
        Self {
            level,
            offsets: Vec::new(),
            keys: Vec::new(),
            addresses: Vec::new(),
            count_ends: Vec::new(),
            count: 0,
            message: Vec::new(),
        }
    }

    /// Whether the next node has no entry yet.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// Appends an entry to the next node.
    ///
    /// `count` is the number of objects below the entry, and is ignored in a leaf. The keys must
    /// ascend and be at most [`KEY_BYTES_MAX`](super::KEY_BYTES_MAX) long, those of one node at
    /// most 65,535 bytes together, and a node that is not a leaf must have an entry; of a node
    /// against this rule, [`Node::read`] refuses the bytes.
    #[inline]
    pub fn push(&mut self, key: &[u8], address: &Address, count: u64) {
        // Many keys are numbers. Bytes of a known length are copied without a call.
        match <&[u8; 8]>::try_from(key) {
            Ok(number) => self.keys.extend_from_slice(number),
            Err(_) => self.keys.extend_from_slice(key),
        }
        let end = self.keys.len() as u16;
        self.offsets.extend_from_slice(&end.to_le_bytes());
        self.addresses.extend_from_slice(address.as_bytes());
        if self.level > 0 {
            // The counts of a peer may have no sum. `Node::read` refuses a node with equal ones.
            self.count = self.count.saturating_add(count);
            self.count_ends.extend(self.count.to_le_bytes());
        }
    }

    /// Appends entries of a node of this level. Returns the bytes of their keys.
    pub(crate) fn push_all(&mut self, view: &NodeView<'_>, entries: Range<usize>) -> usize {
        let Some((keys, ends)) = view.keys_of(entries.clone()) else {
            return 0;
        };
        let ends = ends.iter().map(|end| u16::from_le_bytes(*end));
        let before = self.keys.len() as u16;
        let start = ends.clone().next().unwrap_or_default();
        let moved = |end: u16| end.wrapping_sub(start).wrapping_add(before);
        let offsets = ends.skip(1).flat_map(|end| moved(end).to_le_bytes());
        self.offsets.extend(offsets);
        self.keys.extend_from_slice(keys);
        self.addresses
            .extend_from_slice(view.addresses_of(entries.clone()));
        if self.level > 0 {
            let counts =
                entries.map(|index| view.count_before(index + 1) - view.count_before(index));
            for count in counts {
                self.count = self.count.saturating_add(count);
                self.count_ends.extend(self.count.to_le_bytes());
            }
        }
        keys.len()
    }

    /// Ends the node, and begins the next.
    #[must_use]
    pub fn finish(&mut self) -> Node {
        self.finish_unhashed().hash()
    }

    /// The same, without the hash of the node.
    pub(crate) fn finish_unhashed(&mut self) -> UnhashedNode {
        let len = self.addresses.len() / Address::BYTES;
        let layout = Layout::new(self.level, len, self.keys.len());
        let message = &mut self.message;
        message.clear();
        message.reserve(layout.total);
        message.extend(layout.header());
        let vectors: [&[&[u8]]; 4] = [
            &[&self.count_ends],
            &[&[0, 0], &self.offsets],
            &[&self.keys],
            &[&self.addresses],
        ];
        let skipped = usize::from(self.level == 0);
        for ((at, length), parts) in layout.lengths().zip(vectors.into_iter().skip(skipped)) {
            message.resize(at, 0);
            message.extend(length.to_le_bytes());
            parts
                .iter()
                .for_each(|part| message.extend_from_slice(part));
        }
        let bytes = Arc::from(&**message);
        let key_offsets = layout.key_offsets..layout.keys - 4;
        let offsets = message.get(key_offsets).unwrap_or_default();
        let offsets = offsets.as_chunks().0.get(..=len).unwrap_or_default();
        let key_len = common_length(offsets);
        self.clear();
        UnhashedNode {
            bytes,
            layout: Layout { key_len, ..layout },
        }
    }

    fn clear(&mut self) {
        self.offsets.clear();
        self.keys.clear();
        self.addresses.clear();
        self.count_ends.clear();
        self.count = 0;
    }
}
