//! What subscribers are told.

use super::live_result::ResultUpdate;
use super::mailbox::Absorb;
use crate::error::Result;
use crate::object::Object;

/// What happened to an observed object.
#[derive(Clone, Debug)]
pub enum ObjectEvent {
    /// It has new values.
    Updated(Object),
    /// It was deleted; nothing follows.
    Deleted,
}

/// What a subscriber is told.
#[derive(Clone, Debug)]
pub enum Event {
    /// Of an object.
    Object(ObjectEvent),
    /// Of a query's result; apart, so that what waits to be told is small.
    Result(Result<Box<ResultUpdate>>),
    /// Of the number of a query's objects, and how many commits have changed it since the last.
    Count(Result<usize>, u64),
}

impl Absorb for Event {
    fn absorb(&mut self, later: Self) -> Option<Self> {
        match (&mut *self, later) {
            // A result that was told must not be lost to an error that follows it: what comes
            // after the error is told as different from it.
            (Self::Result(Ok(_)), later @ Self::Result(Err(_))) => return Some(later),
            (Self::Result(Ok(earlier)), Self::Result(Ok(later))) => {
                earlier.difference = earlier.difference.compose(&later.difference);
                earlier.fetched = later.fetched;
                earlier.commits += later.commits;
            }
            (Self::Count(count, commits), Self::Count(later, more)) => {
                (*count, *commits) = (later, *commits + more);
            }
            (_, later) => *self = later,
        }
        None
    }
}
