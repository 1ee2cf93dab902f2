//! The differences of two packs.

mod changed;
mod whole;

use std::fmt;
use std::iter::FusedIterator;

use dflat_engine::Result;
use dflat_engine::object::Object;
use dflat_model::Table;

use crate::read::Pack;
use changed::ChangedKeys;
use whole::AllKeys;

/// A difference of two packs. The row ids of the objects are those in their packs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackChange<T = Object> {
    /// Only the second pack has an object with its key.
    Inserted(T),
    /// Both packs have an object with this key, and the objects differ.
    Updated {
        /// The object of the first pack.
        before: T,
        /// The object of the second pack.
        after: T,
    },
    /// Only the first pack has an object with its key.
    Removed(T),
}

impl<T> PackChange<T> {
    /// The same difference with other objects.
    pub fn map<U>(self, mut map: impl FnMut(T) -> U) -> PackChange<U> {
        match self {
            Self::Inserted(object) => PackChange::Inserted(map(object)),
            Self::Updated { before, after } => PackChange::Updated {
                before: map(before),
                after: map(after),
            },
            Self::Removed(object) => PackChange::Removed(map(object)),
        }
    }

    /// The change from the object before to the object after; `None` if there is neither.
    fn of(before: Option<T>, after: Option<T>) -> Option<Self> {
        match (before, after) {
            (None, None) => None,
            (None, Some(after)) => Some(Self::Inserted(after)),
            (Some(before), None) => Some(Self::Removed(before)),
            (Some(before), Some(after)) => Some(Self::Updated { before, after }),
        }
    }
}

impl Pack {
    /// The changes of a type that lead from one pack to another, in the order of the keys. They are
    /// found as the iterator is advanced.
    ///
    /// Objects are compared by their bytes. A pack that was built without the type has no objects.
    ///
    /// # Examples
    /// ```
    /// use dflat_pack::{Pack, PackChange};
    /// use dflat_model::Table;
    ///
    /// /// The number of objects that are only in the second pack.
    /// fn inserted(a: &Pack, b: &Pack, table: &Table) -> dflat_engine::Result<usize> {
    ///     let mut count = 0;
    ///     for change in Pack::diff(a, b, table)? {
    ///         count += usize::from(matches!(change?, PackChange::Inserted(_)));
    ///     }
    ///     Ok(count)
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`objects`](Self::objects); [`NotFound`](dflat_engine::ErrorKind::NotFound) only if both
    /// packs were built without the type.
    ///
    /// # Cost
    /// If both packs have the same file below all layers, only the keys that layers change are
    /// looked up. Otherwise, all objects of both are read.
    pub fn diff(before: &Self, after: &Self, table: &Table) -> Result<PackDiff> {
        let in_before = before.stored(table)?.is_some();
        let in_after = after.stored(table)?.is_some();
        let objects = |pack: &Self, is_in: bool| is_in.then(|| pack.objects(table)).transpose();
        // A type that both lack is an error.
        let a = objects(before, in_before || !in_after)?;
        let b = objects(after, in_after)?;
        let walk = match (a, b) {
            (Some(a), Some(b)) if before.root() == after.root() => {
                Walk::Changed(Box::new(ChangedKeys::new(a, b)))
            }
            (a, b) => Walk::All(Box::new(AllKeys::new(a, b))),
        };
        Ok(PackDiff {
            walk,
            has_ended: false,
        })
    }
}

/// The differences of two packs, in the order of the keys.
///
/// After an error the iterator has ended.
pub struct PackDiff {
    walk: Walk,
    has_ended: bool,
}

enum Walk {
    Changed(Box<ChangedKeys>),
    All(Box<AllKeys>),
}

impl Iterator for PackDiff {
    type Item = Result<PackChange>;

    fn next(&mut self) -> Option<Result<PackChange>> {
        if self.has_ended {
            return None;
        }
        let next = match &mut self.walk {
            Walk::Changed(walk) => walk.next(),
            Walk::All(walk) => walk.next(),
        };
        let next = next.transpose();
        self.has_ended = !matches!(next, Some(Ok(_)));
        next
    }
}

impl FusedIterator for PackDiff {}

impl fmt::Debug for PackDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackDiff").finish_non_exhaustive()
    }
}
