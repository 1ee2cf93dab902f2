//! The deliveries of results.

use std::ops::Deref;

use dflat_engine::observe::Difference;

use crate::{FetchedResult, Object};

/// A result as of a commit, the result delivered before, and the difference between them.
///
/// `R` is a [`FetchedResult`], or, for a [`Projection`](crate::Projection), a shared slice of the
/// values of each object. An update dereferences to its result.
///
/// Objects that did not change are shared with the previous result.
///
/// # Examples
/// ```
/// # mod post {
/// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
/// # }
/// use dflat::{FetchedResult, Step, Update};
/// use post::Post;
///
/// /// Makes the changes of a delivery in a list on a screen.
/// fn show(update: &Update<FetchedResult<Post>>, rows: &mut Vec<String>) {
///     for step in update.difference().steps() {
///         match step {
///             Step::Remove(at) => drop(rows.remove(at)),
///             Step::Insert(at) => rows.insert(at, update[at].title().to_owned()),
///             Step::Update(at) => rows[at] = update[at].title().to_owned(),
///         }
///     }
/// }
/// ```
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

    /// The result, without the difference.
    #[must_use]
    pub fn into_result(self) -> R {
        self.result
    }

    /// The result that was delivered before, or that was subscribed to; `None` for the first
    /// delivery.
    #[must_use]
    pub const fn previous(&self) -> Option<&R> {
        self.previous.as_ref()
    }

    /// The moves and changes by position that lead from the [previous](Self::previous) result to
    /// this one; from an empty result, for the first delivery.
    #[must_use]
    pub const fn difference(&self) -> &Difference {
        &self.difference
    }

    /// The number of the commit whose state the result shows. Numbers ascend from 1 as long as the
    /// file is open in this process.
    #[must_use]
    pub const fn commit(&self) -> u64 {
        self.commit
    }

    /// How many commits have changed the result since the delivery before: more than one if
    /// deliveries were merged because they had to wait. 0 for the first delivery; if it had to
    /// wait, the commits that have changed the result since the subscription took its turn.
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

    /// The objects that are not in the result any more, in the order and with the values of the
    /// result before.
    pub fn deleted(&self) -> impl Iterator<Item = &T> {
        let positions = self.difference.deleted().iter();
        positions.filter_map(|position| self.previous.as_ref()?.get(position))
    }

    /// The objects that were in the result before with other values, in order.
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
