//! Verified nodes in memory, so that they are neither read nor verified again.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::chunk::Address;
use crate::node::Node;

/// Nodes are spread over these parts, so that threads seldom wait for each other.
const PARTS: usize = 8;

/// The bytes of a node beside its message.
const NODE_BYTES: usize = 160;

/// A bounded number of nodes.
///
/// Each part has two generations. A node enters the young one, also when it is found in the old
/// one. When the young generation has half of the bytes, it becomes the old one, whose nodes are
/// dropped.
#[derive(Debug)]
pub(super) struct NodeCache {
    parts: [Mutex<Part>; PARTS],
    /// Half of the bytes of a part.
    generation_bytes: usize,
    /// A random number, so that a peer cannot choose nodes that lie in one place of the table.
    key: u64,
}

#[derive(Debug, Default)]
struct Part {
    young: Generation,
    old: Generation,
    young_bytes: usize,
}

type Generation = HashMap<Spread, Node, Identity>;

/// The first bits of an address, mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spread(u64);

impl std::hash::Hash for Spread {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u64(self.0);
    }
}

/// The hasher of numbers that are hashes already.
#[derive(Clone, Debug, Default)]
struct Identity(u64);

impl BuildHasher for Identity {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        Self(0)
    }
}

impl std::hash::Hasher for Identity {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl NodeCache {
    /// A cache of at most this many bytes. With 0, it keeps nothing.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            parts: Default::default(),
            generation_bytes: bytes_max / PARTS / 2,
            key: RandomState::new().hash_one(0) | 1,
        }
    }

    pub(super) fn get(&self, address: &Address) -> Option<Node> {
        let spread = self.spread(address);
        let mut part = self.part(spread);
        if let Some(node) = part.young.get(&spread) {
            return is_at(node, address).then(|| node.clone());
        }
        let node = part.old.remove(&spread)?;
        self.keep(&mut part, spread, node.clone());
        is_at(&node, address).then_some(node)
    }

    pub(super) fn put(&self, node: Node) {
        let spread = self.spread(&node.address());
        self.keep(&mut self.part(spread), spread, node);
    }

    fn keep(&self, part: &mut Part, spread: Spread, node: Node) {
        let bytes = NODE_BYTES + node.chunk().bytes().len();
        if part.young_bytes + bytes > self.generation_bytes {
            part.old = std::mem::take(&mut part.young);
            part.young_bytes = 0;
        }
        if bytes <= self.generation_bytes && part.young.insert(spread, node).is_none() {
            part.young_bytes += bytes;
        }
    }

    fn spread(&self, address: &Address) -> Spread {
        let product = u128::from(address.first_bits() ^ self.key) * u128::from(self.key);
        Spread(product as u64 ^ (product >> 64) as u64)
    }

    fn part(&self, spread: Spread) -> MutexGuard<'_, Part> {
        let part = &self.parts[(spread.0 >> 32) as usize % PARTS];
        part.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Another address may have the same first bits.
fn is_at(node: &Node, address: &Address) -> bool {
    node.address() == *address
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::NodeWriter;

    fn node(number: u64) -> Node {
        let mut writer = NodeWriter::new(0);
        writer.push(&number.to_be_bytes(), &Address::of(b""), 1);
        writer.finish()
    }

    #[test]
    fn a_cache_finds_recent_nodes_and_stays_within_its_bytes() {
        let one = NODE_BYTES + node(0).chunk().bytes().len();
        let cache = NodeCache::new(PARTS * 2 * 10 * one);
        let favourite = node(0).address();
        cache.put(node(0));
        for number in 1..1000 {
            cache.put(node(number));
            assert_eq!(cache.get(&node(number).address()), Some(node(number)));
            assert_eq!(cache.get(&favourite), Some(node(0)), "after {number}");
            let kept = cache.parts.iter().map(|part| {
                let part = part.lock().unwrap();
                part.young.len() + part.old.len()
            });
            assert!(kept.sum::<usize>() <= PARTS * 2 * 10);
        }
        assert_eq!(cache.get(&node(1).address()), None);
    }

    #[test]
    fn a_cache_of_no_bytes_keeps_nothing() {
        let cache = NodeCache::new(0);
        cache.put(node(0));
        assert_eq!(cache.get(&node(0).address()), None);
    }
}
