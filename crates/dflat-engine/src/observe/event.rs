//! The events that are delivered to subscribers.

use super::notification::Absorb;
use super::result::ResultUpdate;
use std::sync::Arc;

use crate::error::Result;
use crate::fetch::Group;
use crate::object::Object;

/// A change of an observed object.
#[derive(Clone, Debug)]
pub enum ObjectEvent {
    /// The object has new values.
    Updated(Object),
    /// The object was deleted. No event follows.
    Deleted,
}

/// An event that is delivered to a subscriber.
#[derive(Clone, Debug)]
pub enum Event {
    /// A change of an object.
    Object(ObjectEvent),
    /// A new result of a query. It is boxed, which keeps queued events small.
    Result(Result<Box<ResultUpdate>>),
    /// A new number of a query's objects, and the number of commits that changed it since the last
    /// event.
    Count(Result<usize>, u64),
    /// The new groups of a query's objects, and the number of commits that changed them since the
    /// last event.
    Groups(Result<Arc<[Group]>>, u64),
}

impl Absorb for Event {
    fn absorb(&mut self, later: Self) -> Option<Self> {
        match (&mut *self, later) {
            // An error must not replace the result before it: the difference of the next result is
            // relative to that one.
            (Self::Result(Ok(_)), later @ Self::Result(Err(_))) => return Some(later),
            (Self::Result(Ok(earlier)), Self::Result(Ok(later))) => {
                earlier.difference = earlier.difference.compose(&later.difference);
                earlier.fetched = later.fetched;
                earlier.commits += later.commits;
            }
            (Self::Count(count, commits), Self::Count(later, more)) => {
                (*count, *commits) = (later, *commits + more);
            }
            (Self::Groups(groups, commits), Self::Groups(later, more)) => {
                (*groups, *commits) = (later, *commits + more);
            }
            (_, later) => *self = later,
        }
        None
    }
}
