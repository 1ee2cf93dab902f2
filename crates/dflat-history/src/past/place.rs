//! Moments, and the places of commits among the steps.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dflat_engine::storage::StepId;
use dflat_engine::{Error, ErrorKind, Result};

use crate::steps::{CommitId, StoredStep};

/// The time to go back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// After a step.
    Step(StepId),
    /// After the last step of this time or before.
    Time(SystemTime),
    /// Of a commit.
    Commit(Place),
}

/// The place of a commit among the steps: after the latest step that is not later than `step`, or
/// that has set the objects to those of the commit.
///
/// A commit of another file may have no such place. Then the place is that of the nearest commit
/// before it that has one, and the changes of the received commits lead from there to the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The last step that the commit closes, if it was made by this file.
    pub step: Option<StepId>,
    /// The commit; none if all commits up to the first were received.
    pub commit: Option<CommitId>,
    /// The commits of other files that lead from this commit to the state, the last one first.
    /// Without a step and a commit, they begin with no objects.
    pub received: Vec<CommitId>,
}

/// A state between the present and the first step, from which received commits lead to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reached {
    /// The number of received commits whose changes lead from there to the wanted state.
    pub(crate) received: usize,
    /// Whether these changes begin with no objects.
    pub(crate) is_empty: bool,
}

impl Reached {
    const fn before(received: usize) -> Self {
        Self {
            received,
            is_empty: false,
        }
    }
}

impl Place {
    /// The place of the present state.
    pub const PRESENT: Self = Self {
        step: Some(StepId(i64::MAX)),
        commit: None,
        received: Vec::new(),
    };

    /// The place of no objects.
    pub const EMPTY: Self = Self {
        step: None,
        commit: None,
        received: Vec::new(),
    };

    /// Whether a step and those before it led to the commit, or to a received one after it.
    #[must_use]
    pub fn is_at(&self, step: &StoredStep) -> bool {
        self.reached(step).is_some()
    }

    fn reached(&self, step: &StoredStep) -> Option<Reached> {
        if let Some(named) = step.note.commit() {
            // The objects were set to those of a received commit.
            if let Some(after) = self.received.iter().position(|id| *id == named) {
                return Some(Reached::before(after));
            }
            if self.commit == Some(named) {
                return Some(Reached::before(self.received.len()));
            }
        }
        if *self == Self::EMPTY {
            return Some(Reached {
                received: 0,
                is_empty: true,
            });
        }
        let is_closed = self.step.is_some_and(|last| step.id <= last);
        is_closed.then(|| Reached::before(self.received.len()))
    }
}

/// Whether a step belongs to the state at a moment, and how to get there from the state after it.
pub(crate) fn is_reached(step: &StoredStep, moment: &Moment) -> Result<Option<Reached>> {
    let is_here = match moment {
        Moment::Step(id) => step.id <= *id,
        Moment::Time(time) => {
            let of_step = Duration::from_millis(step.time()?);
            UNIX_EPOCH + of_step <= *time
        }
        Moment::Commit(place) => return Ok(place.reached(step)),
    };
    Ok(is_here.then(|| Reached::before(0)))
}

/// How to get to the state at a moment from the one before the first step.
///
/// # Errors
/// [`ErrorKind::NotFound`] if the moment is not there.
pub(crate) fn is_before_all(moment: &Moment) -> Result<Reached> {
    match moment {
        Moment::Step(id) => Err(missing(*id)),
        Moment::Time(_) => Ok(Reached::before(0)),
        Moment::Commit(place) => {
            let is_empty = place.step.is_none() && place.commit.is_none();
            if place.step.is_none() && !is_empty {
                let message =
                    "cannot go back to a commit: the objects of this file never were those of it";
                return Err(Error::new(ErrorKind::NotFound, message));
            }
            Ok(Reached {
                received: place.received.len(),
                is_empty,
            })
        }
    }
}

pub(crate) fn missing(id: StepId) -> Error {
    let message = format!("there is no step {} in the history", id.0);
    Error::new(ErrorKind::NotFound, message)
}
