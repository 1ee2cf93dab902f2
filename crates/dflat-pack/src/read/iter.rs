//! Objects in the order of their keys.

use std::iter::FusedIterator;
use std::ops::{Range, RangeBounds};

use dflat_engine::Result;
use dflat_engine::object::Object;
use dflat_model::ValueRef;

use super::objects::Objects;
use super::records::{Reach, RecordReader};

impl Objects {
    /// All objects in the order of their keys, from both ends.
    #[must_use]
    pub fn iter(&self) -> Iter {
        self.at(0..self.len())
    }

    /// The objects at these positions. Positions behind the last object are left out.
    #[must_use]
    pub fn slice(&self, positions: Range<u64>) -> Iter {
        let end = positions.end.min(self.len());
        self.at(positions.start.min(end)..end)
    }

    fn at(&self, positions: Range<u64>) -> Iter {
        Iter::new(self.clone(), positions)
    }

    /// The objects whose key lies in a range. A bound may have the first parts of a key only. Such
    /// a bound stands for all keys that begin with these parts.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    ///
    /// # Cost
    /// At most two reads before the first object.
    pub fn range<'k>(&self, keys: impl RangeBounds<&'k [ValueRef<'k>]>) -> Result<Iter> {
        let positions = self.positions(keys)?;
        Ok(self.at(positions))
    }

    /// All objects in the order of their keys, in `parts` iterators of about the same length, for
    /// as many threads.
    #[must_use]
    pub fn split(&self, parts: usize) -> Vec<Iter> {
        let parts = parts.max(1) as u64;
        // The product of two numbers of 64 bits fits.
        let start = |part: u64| {
            let start = u128::from(self.len()) * u128::from(part) / u128::from(parts);
            start as u64
        };
        (0..parts)
            .map(|part| self.at(start(part)..start(part + 1)))
            .collect()
    }
}

/// Objects in the order of their keys, read as the iterator is advanced, from both ends.
///
/// An object that cannot be read is an error, and the iterator goes on behind it.
#[derive(Debug)]
pub struct Iter {
    objects: Objects,
    positions: Range<u64>,
    front: RecordReader,
    back: RecordReader,
}

impl Iter {
    pub(super) fn new(objects: Objects, positions: Range<u64>) -> Self {
        let (front, back) = (objects.record_reader(), objects.record_reader());
        Self {
            objects,
            positions,
            front,
            back,
        }
    }

    /// The positions of the objects that are left.
    #[must_use]
    pub fn positions(&self) -> Range<u64> {
        self.positions.clone()
    }

    /// The next payload, lent until the next call, and its position. It is not verified.
    ///
    /// # Errors
    /// As [`Objects::get`].
    pub fn next_payload(&mut self) -> Result<Option<(u64, &[u8])>> {
        let Some(position) = self.positions.next() else {
            return Ok(None);
        };
        let ty = self.objects.stored();
        let payload = ty.record(&mut self.front, position, Reach::Ahead)?;
        Ok(Some((position, payload)))
    }

    pub(super) const fn objects(&self) -> &Objects {
        &self.objects
    }
}

impl Iterator for Iter {
    type Item = Result<Object>;

    fn next(&mut self) -> Option<Result<Object>> {
        let position = self.positions.next()?;
        let ty = self.objects.stored();
        let payload = ty.record(&mut self.front, position, Reach::Ahead);
        Some(payload.and_then(|payload| self.objects.object(position, payload)))
    }

    fn nth(&mut self, n: usize) -> Option<Result<Object>> {
        let start = self.positions.start.saturating_add(n as u64);
        self.positions.start = start.min(self.positions.end);
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.positions.size_hint()
    }
}

impl DoubleEndedIterator for Iter {
    fn next_back(&mut self) -> Option<Result<Object>> {
        let position = self.positions.next_back()?;
        let ty = self.objects.stored();
        let payload = ty.record(&mut self.back, position, Reach::Behind);
        Some(payload.and_then(|payload| self.objects.object(position, payload)))
    }
}

impl FusedIterator for Iter {}
