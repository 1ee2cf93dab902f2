//! Results that are larger than memory, a batch at a time.

use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;

use dflat_workspace::Rows;

use crate::{Object, Result};

/// The objects of a query, in order, fetched as they are asked for; made by
/// [`Fetch::iter`](super::Fetch::iter).
///
/// After an error there is nothing more.
pub struct FetchIter<'w, T> {
    rows: Rows<'w>,
    object: PhantomData<fn() -> T>,
}

impl<'w, T: Object> FetchIter<'w, T> {
    pub(super) fn new(rows: Rows<'w>) -> Self {
        let object = PhantomData;
        Self { rows, object }
    }
}

impl<T: Object> Iterator for FetchIter<'_, T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        let object = self.rows.next()?;
        Some(object.map(T::from_handle))
    }
}

impl<T: Object> FusedIterator for FetchIter<'_, T> {}

impl<T> fmt::Debug for FetchIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FetchIter({})", self.rows.rest())
    }
}
