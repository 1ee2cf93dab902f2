//! What a subscriber to a result is told.

use std::ops::Deref;

use dflat_engine::observe::Difference;

use crate::{FetchedResult, Object};

/// A result as of a commit, the one told before, and what makes the one of the other.
///
/// `R` is a [`FetchedResult`], or, of a [`Projection`](crate::Projection), a shared slice of what
/// is read off each object. An update can be used as its result.
///
/// Objects that did not change are shared with the result before.
#[derive(Clone, Debug)]
pub struct Update<R> {
    pub(super) result: R,
    pub(super) previous: Option<R>,
    pub(super) difference: Difference,
    pub(super) commit: u64,
    pub(super) commits: u64,
}

impl<R> Update<R> {
    /// The result.
    #[must_use]
    pub const fn result(&self) -> &R {
        &self.result
    }

    /// The result, without the rest.
    #[must_use]
    pub fn into_result(self) -> R {
        self.result
    }

    /// The result that was told before, or that was subscribed to; `None` if this is the first.
    #[must_use]
    pub const fn previous(&self) -> Option<&R> {
        self.previous.as_ref()
    }

    /// The positions that make the result of the [previous](Self::previous) one; of an empty one,
    /// if this is the first.
    #[must_use]
    pub const fn difference(&self) -> &Difference {
        &self.difference
    }

    /// The number of the commit that the result is as of. Numbers ascend from 1 as long as the file
    /// is open in this process.
    #[must_use]
    pub const fn commit(&self) -> u64 {
        self.commit
    }

    /// How many commits have changed the result since the one before: more than one if they were
    /// made one because they had to wait. 0 if this is the first; if it had to wait, how many have
    /// changed it since the subscription took its place.
    #[must_use]
    pub const fn commits(&self) -> u64 {
        self.commits
    }
}

impl<T: Object> Update<FetchedResult<T>> {
    /// The objects that were not in the result before, in order.
    pub fn inserted(&self) -> impl Iterator<Item = &T> {
        let positions = self.difference.inserted().iter();
        positions.filter_map(|position| self.result.get(position))
    }

    /// The objects that are not in the result any more, in their order, as they were in it.
    pub fn deleted(&self) -> impl Iterator<Item = &T> {
        let positions = self.difference.deleted().iter();
        positions.filter_map(|position| self.previous.as_ref()?.get(position))
    }

    /// The objects that were in the result with other values, in order.
    pub fn updated(&self) -> impl Iterator<Item = &T> {
        let positions = self.difference.updated().iter();
        positions.filter_map(|position| self.result.get(position))
    }
}

impl<R> Deref for Update<R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.result
    }
}
