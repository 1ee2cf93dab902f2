//! Objects in the order of their keys.

use std::iter::FusedIterator;
use std::ops::Range;

use dflat_engine::Result;
use dflat_engine::object::Object;

use super::objects::Objects;
use super::records::{Reach, RecordReader};

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
