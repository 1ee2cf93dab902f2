//! The decision where a node ends.
//!
//! A node ends after an entry if the hash of the entry's key is below a bound that grows with the
//! bytes of the node so far. The bytes of a node then have about the distribution of Weibull with
//! shape 4: most nodes are near the target, and few are much smaller or larger. The numbers are
//! integers, so that every machine decides alike.
//!
//! An update of a payload changes no key, so it moves no boundary. An insertion or a deletion
//! seldom moves one; if it does, it moves those up to the next common one.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::chunk::Address;

/// The bytes of a leaf's entry beside its key: an address, and an offset.
const LEAF_ENTRY_BYTES: u64 = Address::BYTES as u64 + 2;

/// The same for the entries of other nodes: also a count.
const INNER_ENTRY_BYTES: u64 = LEAF_ENTRY_BYTES + 8;

/// The bytes of keys before which no node ends, at each level.
const BYTES_MIN: u64 = 512;

/// The bytes after which each node ends.
const LEAF_BYTES_MAX: u64 = 16 * 1024;
const INNER_BYTES_MAX: u64 = 2 * LEAF_BYTES_MAX;

/// The entries before which no node ends. Each level therefore has at most half as many nodes as
/// the level below, however long the keys are.
const ENTRIES_MIN: u32 = 2;

/// For a target of `2^t` bytes, the rate at which nodes end after `x` bytes is `4 x^3 / 2^(4 t)` a
/// byte. An entry of `s` bytes ends its node with `s` times this probability, which is compared
/// with a hash of 32 bits: `hash < s x^3 / 2^(4 t - 34)`. The target of leaves is 4 KiB, that of
/// other nodes is 8 KiB.
const LEAF_SHIFT: u32 = 4 * 12 - 34;
const INNER_SHIFT: u32 = 4 * 13 - 34;

/// The state of the node to which entries are being added.
#[derive(Debug)]
pub(super) struct Splitter {
    seed: u64,
    entry_bytes: u64,
    bytes_max: u64,
    shift: u32,
    bytes: u64,
    entries: u32,
}

impl Splitter {
    pub(super) fn new(level: u8) -> Self {
        let (entry_bytes, bytes_max, shift) = match level {
            0 => (LEAF_ENTRY_BYTES, LEAF_BYTES_MAX, LEAF_SHIFT),
            _ => (INNER_ENTRY_BYTES, INNER_BYTES_MAX, INNER_SHIFT),
        };
        Self {
            seed: u64::from(level),
            entry_bytes,
            bytes_max,
            shift,
            bytes: 0,
            entries: 0,
        }
    }

    /// Adds an entry, and says whether the node ends after it.
    #[inline]
    pub(super) fn ends_after(&mut self, key: &[u8]) -> bool {
        let entry = self.add(key);
        if self.bytes < BYTES_MIN || self.entries < ENTRIES_MIN {
            return false;
        }
        // An entry has at most 16,426 bytes here, and a node less than 82,000, even if a node of a
        // hostile peer, which lacks its ends, gets another entry. So the product is below 2^63.
        let bound = (entry * self.bytes * self.bytes * self.bytes) >> self.shift;
        let hash = xxh3_64_with_seed(key, self.seed) >> 32;
        let ends = hash < bound || self.bytes >= self.bytes_max;
        if ends {
            self.reset();
        }
        ends
    }

    /// Adds an entry after which the node is known not to end. Returns its bytes.
    #[inline]
    pub(super) fn add(&mut self, key: &[u8]) -> u64 {
        let entry = key.len() as u64 + self.entry_bytes;
        self.bytes += entry;
        self.entries += 1;
        entry
    }

    /// Adds entries after none of which the node ends.
    pub(super) fn add_all(&mut self, entries: usize, key_bytes: usize) {
        self.bytes += key_bytes as u64 + self.entry_bytes * entries as u64;
        self.entries += entries as u32;
    }

    /// Begins a new node.
    pub(super) fn reset(&mut self) {
        (self.bytes, self.entries) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(level: u8, key: impl Fn(u64) -> Vec<u8>, count: u64) -> Vec<u64> {
        let mut splitter = Splitter::new(level);
        let (mut sizes, mut size) = (Vec::new(), 0);
        for number in 0..count {
            let key = key(number);
            size += key.len() as u64 + splitter.entry_bytes;
            if splitter.ends_after(&key) {
                sizes.push(size);
                size = 0;
            }
        }
        sizes
    }

    #[test]
    fn nodes_are_near_the_target_and_within_the_limits() {
        for (level, target) in [(0, 4096), (1, 8192), (2, 8192)] {
            let sizes = sizes(level, |number| number.to_be_bytes().to_vec(), 500_000);
            let mean = sizes.iter().sum::<u64>() / sizes.len() as u64;
            assert!(
                (target * 85 / 100..target * 97 / 100).contains(&mean),
                "{level}: {mean}"
            );
            let largest = *sizes.iter().max().unwrap();
            assert!(
                largest < 3 * target && largest > target,
                "{level}: {largest}"
            );
            assert!(*sizes.iter().min().unwrap() >= BYTES_MIN, "{level}");
        }
    }

    #[test]
    fn nodes_of_the_longest_keys_have_two_or_more_entries_and_fit_a_chunk() {
        let longest = crate::node::KEY_BYTES_MAX as u64;
        for level in [0, 1] {
            let sizes = sizes(level, |_| vec![7; longest as usize], 1000);
            assert!(sizes.iter().all(|size| *size > 2 * longest));
            assert!(sizes.iter().all(|size| *size < 65_000), "{sizes:?}");
        }
    }
}
