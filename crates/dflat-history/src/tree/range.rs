//! The entries between two keys, from either end.

use std::ops::{Bound, RangeBounds};

use dflat_engine::Result;

use super::cursor::TreeCursor;
use super::entry::Entry;
use super::nodes::{Root, Trees};

/// The entries between two keys, in order: an iterator from both ends.
///
/// The iterator allocates the key of each entry; a [`TreeCursor`] lends the keys. The iterator ends
/// after an error.
#[derive(Debug)]
pub struct Range<'t> {
    front: TreeCursor<'t>,
    back: TreeCursor<'t>,
    /// The numbers of the entries that remain.
    remaining: std::ops::Range<u64>,
    is_front_placed: bool,
    is_back_placed: bool,
}

impl Trees {
    /// The entries whose keys are within these bounds: `..`, or a pair of [`Bound`]s.
    ///
    /// ```
    /// use std::ops::Bound;
    /// use std::sync::Arc;
    ///
    /// use dflat_history::chunk::{Address, MemoryStore};
    /// use dflat_history::tree::Trees;
    ///
    /// let trees = Trees::new(Arc::new(MemoryStore::new()));
    /// let root = trees.build(["a", "b", "c", "d"].map(|key| (key, Address::of(b""))))?;
    /// let from_b = (Bound::Included(&b"b"[..]), Bound::Unbounded);
    /// let last = trees.range(&root, from_b)?.next_back();
    /// assert_eq!(last.transpose()?.map(|entry| entry.key), Some(b"d"[..].into()));
    /// assert_eq!(trees.range(&root, from_b)?.len(), 3);
    /// # Ok::<(), dflat_engine::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn range(&self, root: &Root, bounds: impl RangeBounds<[u8]>) -> Result<Range<'_>> {
        let start = match bounds.start_bound() {
            Bound::Unbounded => 0,
            Bound::Included(key) => self.ordinal(root, key)?,
            Bound::Excluded(key) => self.ordinal_after(root, key)?,
        };
        let end = match bounds.end_bound() {
            Bound::Unbounded => self.len(root)?,
            Bound::Included(key) => self.ordinal_after(root, key)?,
            Bound::Excluded(key) => self.ordinal(root, key)?,
        };
        Ok(Range {
            front: self.cursor(root),
            back: self.cursor(root),
            remaining: start..end.max(start),
            is_front_placed: false,
            is_back_placed: false,
        })
    }

    /// The number of entries whose keys are not above this key.
    fn ordinal_after(&self, root: &Root, key: &[u8]) -> Result<u64> {
        let before = self.ordinal(root, key)?;
        Ok(before.saturating_add(self.get(root, key)?.is_some().into()))
    }
}

impl Range<'_> {
    /// The number of entries that remain.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.remaining.end - self.remaining.start
    }

    /// Whether no entry remains.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn take(&mut self, moved: Result<bool>, is_back: bool) -> Option<Result<Entry>> {
        let cursor = if is_back { &self.back } else { &self.front };
        let entry = cursor.entry().map(|entry| Entry {
            key: entry.key.into(),
            payload: entry.address,
        });
        match (moved, entry) {
            (Ok(true), Some(entry)) => Some(Ok(entry)),
            (Err(error), _) => {
                self.remaining.end = self.remaining.start;
                Some(Err(error))
            }
            // The counts of a tree that fails its check promise more entries than there are.
            _ => {
                self.remaining.end = self.remaining.start;
                None
            }
        }
    }
}

impl Iterator for Range<'_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        let ordinal = self.remaining.next()?;
        let moved = if self.is_front_placed {
            self.front.advance()
        } else {
            self.front.seek_ordinal(ordinal)
        };
        self.is_front_placed = true;
        self.take(moved, false)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // A collection reserves memory for the lower bound. The counts of a tree that fails its
        // check may promise more entries than any memory holds, so nothing is promised here.
        (0, self.remaining.size_hint().1)
    }
}

impl DoubleEndedIterator for Range<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let ordinal = self.remaining.next_back()?;
        let moved = if self.is_back_placed {
            self.back.retreat()
        } else {
            self.back.seek_ordinal(ordinal)
        };
        self.is_back_placed = true;
        self.take(moved, true)
    }
}
