//! Reading the entries of a node.

use std::ops::Range;

use super::layout::Layout;
use crate::chunk::Address;

/// The entries of a verified node, for reading in place.
///
/// No method panics or allocates. An entry that does not exist has an empty key, and the address
/// that is all zeros.
#[derive(Clone, Copy, Debug)]
pub struct NodeView<'a> {
    level: u8,
    len: usize,
    keys_len: usize,
    /// The length of each key; 0 if their lengths differ.
    key_len: usize,
    offsets: &'a [[u8; 2]],
    /// The keys, and all bytes behind them: at least 8 bytes follow each key of an entry.
    keys: &'a [u8],
    addresses: &'a [[u8; Address::BYTES]],
    count_ends: &'a [[u8; 8]],
}

/// One entry of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeEntry<'a> {
    /// In a leaf, the key of an object; in any other node, the last key below the child.
    pub key: &'a [u8],
    /// In a leaf, the hash of the object's payload; in any other node, the address of the child.
    pub address: Address,
    /// The number of objects below the entry: 1 in a leaf.
    pub count: u64,
}

const NO_ADDRESS: [u8; Address::BYTES] = [0; Address::BYTES];

impl<'a> NodeView<'a> {
    #[inline]
    pub(super) fn new(bytes: &'a [u8], layout: &Layout) -> Self {
        let part = |from: usize, size: usize| bytes.get(from..from + size).unwrap_or_default();
        let count_ends = match layout.level {
            0 => &[],
            _ => part(layout.count_ends, 8 * layout.len),
        };
        Self {
            level: layout.level,
            len: layout.len,
            keys_len: layout.keys_len,
            key_len: layout.key_len,
            offsets: part(layout.key_offsets, 2 * (layout.len + 1)).as_chunks().0,
            keys: bytes.get(layout.keys..).unwrap_or_default(),
            addresses: part(layout.addresses, Address::BYTES * layout.len)
                .as_chunks()
                .0,
            count_ends: count_ends.as_chunks().0,
        }
    }

    /// The level: 0 for a leaf.
    #[inline]
    #[must_use]
    pub const fn level(&self) -> u8 {
        self.level
    }

    /// The number of entries.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether the node has no entries.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of objects below the node.
    #[must_use]
    pub fn count(&self) -> u64 {
        match self.level {
            0 => self.len as u64,
            _ => self.count_before(self.len),
        }
    }

    /// The number of objects below the entries before this one.
    #[inline]
    #[must_use]
    pub fn count_before(&self, index: usize) -> u64 {
        match index.checked_sub(1) {
            None => 0,
            Some(_) if self.level == 0 => index.min(self.len) as u64,
            Some(last) => {
                let end = self.count_ends.get(last);
                end.map_or(0, |end| u64::from_le_bytes(*end))
            }
        }
    }

    /// The keys of some entries, one after the other, and the end of each in the keys of the node.
    #[inline]
    pub(super) fn keys_of(&self, entries: Range<usize>) -> Option<(&'a [u8], &'a [[u8; 2]])> {
        let ends = self.offsets.get(entries.start..=entries.end)?;
        let (start, end) = (ends.first()?, ends.last()?);
        let keys = usize::from(u16::from_le_bytes(*start))..usize::from(u16::from_le_bytes(*end));
        Some((self.keys.get(keys)?, ends))
    }

    /// The addresses of some entries, one after the other.
    #[inline]
    pub(super) fn addresses_of(&self, entries: Range<usize>) -> &'a [u8] {
        self.addresses
            .get(entries)
            .unwrap_or_default()
            .as_flattened()
    }

    /// The entry below which the object with this number is, counted from 0; [`len`](Self::len) if
    /// the node has fewer objects.
    #[inline]
    #[must_use]
    pub fn entry_of_ordinal(&self, ordinal: u64) -> usize {
        if self.level == 0 {
            return usize::try_from(ordinal).unwrap_or(self.len).min(self.len);
        }
        self.count_ends
            .partition_point(|end| u64::from_le_bytes(*end) <= ordinal)
    }

    /// The key of an entry.
    #[inline]
    #[must_use]
    pub fn key(&self, index: usize) -> &'a [u8] {
        let (start, end) = self.key_ends(index);
        self.keys.get(start..end).unwrap_or_default()
    }

    /// The address of an entry.
    #[inline]
    #[must_use]
    pub fn address(&self, index: usize) -> Address {
        Address::from_bytes(*self.addresses.get(index).unwrap_or(&NO_ADDRESS))
    }

    /// An entry, or `None` if the node has fewer.
    #[inline]
    #[must_use]
    pub fn entry(&self, index: usize) -> Option<NodeEntry<'a>> {
        (index < self.len).then(|| NodeEntry {
            key: self.key(index),
            address: self.address(index),
            count: self.count_before(index + 1) - self.count_before(index),
        })
    }

    /// All keys with their addresses, in order.
    #[inline]
    pub fn pairs(&self) -> impl Iterator<Item = (&'a [u8], Address)> {
        let (keys, mut start) = (self.keys, 0);
        let ends = self.offsets.get(1..).unwrap_or_default();
        ends.iter().zip(self.addresses).map(move |(end, address)| {
            let end = usize::from(u16::from_le_bytes(*end));
            let key = keys.get(start..end).unwrap_or_default();
            start = end;
            (key, Address::from_bytes(*address))
        })
    }

    /// The number of the entries whose keys are below this key.
    #[inline]
    #[must_use]
    pub fn lower_bound(&self, key: &[u8]) -> usize {
        self.lower_bound_from(0, key)
    }

    /// The same, if the keys of the entries before `from` are known to be below this key.
    #[inline]
    pub(crate) fn lower_bound_from(&self, from: usize, key: &[u8]) -> usize {
        if from >= self.len {
            return self.len;
        }
        let wanted = beginning(key, key.len());
        let first = self.partition(from..self.len, |index| self.beginning(index) < wanted);
        if first == self.len || self.beginning(first) != wanted {
            return first;
        }
        // The first bytes do not decide. Most often one key begins so.
        if self.key(first) >= key {
            return first;
        }
        let end = self.partition(first..self.len, |index| self.beginning(index) == wanted);
        self.partition(first..end, |index| self.key(index) < key)
    }

    /// The first of these entries for which `is_before` does not hold. It holds for no entry
    /// after that.
    #[inline]
    fn partition(&self, entries: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
        let (mut base, mut size) = (entries.start, entries.len());
        // The processor guesses the outcome of each step and reads the next key ahead. Steps
        // without a branch would wait for each key in turn, which takes longer in a cold node.
        while size > 0 {
            let half = size / 2;
            let middle = base + half;
            if is_before(middle) {
                base = middle + 1;
                size -= half + 1;
            } else {
                size = half;
            }
        }
        base
    }

    /// The address of the entry with this key.
    #[inline]
    #[must_use]
    pub fn find(&self, key: &[u8]) -> Option<Address> {
        let index = self.lower_bound(key);
        (index < self.len && self.key(index) == key).then(|| self.address(index))
    }

    /// The first bytes of the key of an entry.
    #[inline]
    fn beginning(&self, index: usize) -> u64 {
        let (start, end) = self.key_ends(index);
        let tail = self.keys.get(start..).unwrap_or_default();
        beginning(tail, end.saturating_sub(start))
    }

    #[inline]
    fn key_ends(&self, index: usize) -> (usize, usize) {
        if self.key_len > 0 && index < self.len {
            let start = self.key_len * index;
            return (start, start + self.key_len);
        }
        match self.offsets.get(index..index.saturating_add(2)) {
            Some([start, end]) => (
                usize::from(u16::from_le_bytes(*start)),
                usize::from(u16::from_le_bytes(*end)),
            ),
            _ => (0, 0),
        }
    }

    /// The offsets, if they are complete.
    pub(super) fn offsets(&self) -> Option<&'a [[u8; 2]]> {
        (self.offsets.len() == self.len + 1).then_some(self.offsets)
    }

    /// The bytes of keys between two offsets.
    pub(super) fn keys_between(&self, start: usize, end: usize) -> Option<&'a [u8]> {
        self.keys.get(..self.keys_len)?.get(start..end)
    }

    pub(super) fn count_ends(&self) -> impl Iterator<Item = u64> {
        self.count_ends.iter().map(|end| u64::from_le_bytes(*end))
    }
}

/// The first 8 bytes of a key of this length as a big-endian number, filled up with zeros. If two
/// of these numbers differ, their keys compare as they do.
#[inline]
pub(crate) fn beginning(tail: &[u8], len: usize) -> u64 {
    if let Some(bytes) = tail.first_chunk() {
        let number = u64::from_be_bytes(*bytes);
        return match len {
            0..8 => number & !(u64::MAX >> (8 * len)),
            _ => number,
        };
    }
    let mut bytes = [0; 8];
    for (place, byte) in bytes.iter_mut().zip(tail.iter().take(len)) {
        *place = *byte;
    }
    u64::from_be_bytes(bytes)
}
