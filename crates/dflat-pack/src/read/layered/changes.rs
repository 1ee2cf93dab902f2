//! The changes of all layers over the objects of a type, in one table.
//!
//! A look-up asks this table and then the file, however many layers there are. The positions of the
//! file are mapped to those of the layered pack and back by counting the changes before them.

use std::ops::Range;
use std::sync::Arc;

use super::super::sought::Sought;
use super::key_table::KeyTable;
use crate::layer::Layer;
use crate::layout::key_hash;

/// The place of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    /// At a position of the file.
    Stored(u64),
    /// In the change with this number.
    Changed(usize),
}

/// An object in a layer.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) layer: Arc<Layer>,
    pub(super) place: Range<usize>,
}

impl Piece {
    pub(super) fn bytes(&self) -> &[u8] {
        self.layer.bytes(self.place.clone())
    }
}

/// One changed key.
#[derive(Clone, Debug)]
pub(super) struct ChangedKey {
    /// The encoded key.
    pub(super) key: Arc<[u8]>,
    /// The object; `None` if it was removed.
    pub(super) object: Option<Piece>,
    /// The number of objects of the file whose keys are below this one.
    pub(super) at: u64,
    /// Whether the file has an object with this key.
    pub(super) is_stored: bool,
}

/// The changed keys of a type, in their order. A change has a number, from 0 on.
#[derive(Debug)]
pub(crate) struct Changes {
    pub(super) keys: Vec<ChangedKey>,
    /// The position in the file of each change.
    at: Vec<u64>,
    /// By how much the objects of the file behind each number of changes are moved.
    moved: Vec<i64>,
    /// The number of changes before each stretch of the file of 2^`stretch` objects.
    stretches: Vec<usize>,
    stretch: u32,
    table: KeyTable,
    /// The entries of each index, in their order: the encoded values, and the position of the
    /// object with its highest byte first.
    pub(super) indexes: Vec<Vec<Box<[u8]>>>,
    /// The number of objects.
    len: u64,
}

impl Changes {
    /// The changes of these keys, without index entries, over so many objects of a file.
    pub(super) fn new(keys: Vec<ChangedKey>, stored: u64) -> Self {
        let mut moved = Vec::with_capacity(keys.len() + 1);
        let mut by = 0;
        for change in &keys {
            moved.push(by);
            by += i64::from(change.object.is_some()) - i64::from(change.is_stored);
        }
        moved.push(by);
        let at: Vec<u64> = keys.iter().map(|change| change.at).collect();
        // There are about as many stretches as changes.
        let objects = (stored + 1) / (keys.len() as u64 + 1);
        let stretch = u64::BITS - objects.leading_zeros();
        let starts = (0..=stored >> stretch).map(|number| number << stretch);
        let mut stretches = Vec::with_capacity((stored >> stretch) as usize + 1);
        let mut before = 0;
        for start in starts {
            let rest = at.get(before..).unwrap_or_default();
            before += rest.iter().take_while(|at| **at < start).count();
            stretches.push(before);
        }
        let hashes = keys.iter().map(|change| key_hash(&change.key));
        Self {
            table: KeyTable::new(hashes),
            at,
            moved,
            stretches,
            stretch,
            indexes: Vec::new(),
            len: stored.saturating_add_signed(by),
            keys,
        }
    }

    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    /// The change of a key.
    #[inline(never)]
    pub(super) fn find(&self, key: &Sought<'_>) -> Option<usize> {
        let is_key = |number: usize| {
            self.keys
                .get(number)
                .is_some_and(|change| *change.key == *key.encoded())
        };
        match self.table.find(key.hash, is_key) {
            Ok(found) => found,
            // The table was not built: too many keys have like hashes.
            Err(_) => {
                let found = self
                    .keys
                    .binary_search_by(|change| (*change.key).cmp(key.encoded()));
                found.ok()
            }
        }
    }

    /// Whether a key with this hash may be changed.
    #[inline]
    pub(super) fn may_have(&self, hash: u64) -> bool {
        !matches!(self.table.find(hash, |_| true), Ok(None))
    }

    /// The object of a change; `None` if it was removed.
    pub(super) fn object(&self, number: usize) -> Option<&[u8]> {
        let object = self.keys.get(number)?.object.as_ref();
        object.map(Piece::bytes)
    }

    /// The number of changed keys below an encoded key.
    pub(super) fn below(&self, key: &[u8]) -> usize {
        self.keys.partition_point(|change| *change.key < *key)
    }

    /// A position of the file, moved by a number of changes before it.
    pub(super) fn moved(&self, stored: u64, changes: usize) -> u64 {
        let by = self.moved.get(changes).copied().unwrap_or(0);
        stored.saturating_add_signed(by)
    }

    /// The position of the object of a change.
    pub(super) fn position(&self, number: usize) -> u64 {
        self.moved(self.at.get(number).copied().unwrap_or(0), number)
    }

    /// The position of an object of the file; `None` if its key is changed.
    pub(super) fn position_of(&self, stored: u64) -> Option<u64> {
        let start = (stored >> self.stretch) as usize;
        let first = self.stretches.get(start).copied().unwrap_or(0);
        let end = self.stretches.get(start + 1).copied();
        let end = end.unwrap_or(self.at.len());
        let rest = self.at.get(first..end).unwrap_or_default();
        let changes = first + rest.partition_point(|at| *at <= stored);
        let last = changes.checked_sub(1);
        let is_last = |number: &usize| self.at.get(*number) == Some(&stored);
        let last = last.filter(is_last).and_then(|last| self.keys.get(last));
        match last {
            Some(change) if change.is_stored => None,
            _ => Some(self.moved(stored, changes)),
        }
    }

    /// The object at a position.
    pub(super) fn spot(&self, position: u64) -> Spot {
        let changes = self.count(|number| self.position(number) <= position);
        let last = changes.checked_sub(1);
        let is_at =
            |number: &usize| self.position(*number) == position && self.object(*number).is_some();
        match last.filter(is_at) {
            Some(number) => Spot::Changed(number),
            None => Spot::Stored(self.stored(position, changes)),
        }
    }

    /// The number of objects of the file before a position, with those that were removed.
    pub(super) fn stored_before(&self, position: u64) -> u64 {
        let changes = self.count(|number| self.position(number) < position);
        self.stored(position, changes)
    }

    /// The position of the file behind so many changes.
    fn stored(&self, position: u64, changes: usize) -> u64 {
        let by = self.moved.get(changes).copied().unwrap_or(0);
        position.saturating_add_signed(-by)
    }

    /// The number of the first changes that meet a condition.
    fn count(&self, is_before: impl Fn(usize) -> bool) -> usize {
        let (mut low, mut high) = (0, self.keys.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match is_before(middle) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }
}
