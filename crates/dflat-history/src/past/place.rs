//! Moments, and the places of commits among the steps.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dflat_engine::storage::StepId;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;

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
/// A commit of another file has no such place until the tables are set to its objects. Its place is
/// that of the nearest commit before it that has one, and the changes of the received commits lead
/// from there to the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The last step that the commit closes, or the last one before the tables were set to its
    /// objects.
    pub step: Option<StepId>,
    /// The commit; none if all commits up to the first were received.
    pub commit: Option<CommitId>,
    /// The commits of other files that lead from this commit to the state, the last one first.
    /// Without a step and a commit, they begin with no objects.
    pub received: Vec<CommitId>,
    /// The tables that the commit names. The commit has no objects of other tables: their types
    /// were not versioned when it was made. `None` if the steps lead to the objects of all tables.
    pub named: Option<BTreeSet<String>>,
}

impl Place {
    /// The place of the present state.
    pub const PRESENT: Self = Self {
        step: Some(StepId(i64::MAX)),
        commit: None,
        received: Vec::new(),
        named: None,
    };

    /// The place of no objects.
    pub const EMPTY: Self = Self {
        step: None,
        commit: None,
        received: Vec::new(),
        named: None,
    };

    /// Whether a step and those before it led to the commit.
    #[must_use]
    pub fn is_at(&self, step: &StoredStep) -> bool {
        let is_named = self.commit.is_some() && step.note.commit() == self.commit;
        is_named || self.step.is_some_and(|last| step.id <= last)
    }
}

impl Moment {
    /// Whether the state has no objects but those of received commits, so that no step leads to it.
    pub(crate) const fn is_without_steps(&self) -> bool {
        match self {
            Self::Commit(place) => place.step.is_none() && place.commit.is_none(),
            Self::Step(_) | Self::Time(_) => false,
        }
    }

    /// Whether the state has no objects of a table but those of received commits.
    pub(crate) fn lacks(&self, table: &Table) -> bool {
        let named = match self {
            Self::Commit(place) => place.named.as_ref(),
            Self::Step(_) | Self::Time(_) => None,
        };
        self.is_without_steps() || named.is_some_and(|named| !named.contains(&*table.name))
    }

    /// The received commits that lead from the place of the moment to the state, the last one
    /// first.
    pub(crate) fn received(&self) -> &[CommitId] {
        match self {
            Self::Commit(place) => &place.received,
            Self::Step(_) | Self::Time(_) => &[],
        }
    }
}

/// Whether a step belongs to the state at the place of a moment. No later step does.
///
/// # Errors
/// [`ErrorKind::NotFound`] if there is no such step; [`ErrorKind::Corrupt`] if the step cannot be
/// read.
pub(crate) fn is_reached(step: &StoredStep, moment: &Moment) -> Result<bool> {
    Ok(match moment {
        Moment::Step(id) if step.id < *id => return Err(missing(*id)),
        Moment::Step(id) => step.id == *id,
        Moment::Time(time) => {
            let of_step = Duration::from_millis(step.time()?);
            UNIX_EPOCH + of_step <= *time
        }
        Moment::Commit(place) => place.is_at(step),
    })
}

/// Checks that the state before the first step is that at the place of a moment.
///
/// # Errors
/// [`ErrorKind::NotFound`] if it is not.
pub(crate) fn check_before_all(moment: &Moment) -> Result<()> {
    match moment {
        Moment::Step(id) => Err(missing(*id)),
        Moment::Commit(place) if place.step.is_none() => {
            let message =
                "cannot go back to a commit: the tables of this file never had its objects";
            Err(Error::new(ErrorKind::NotFound, message))
        }
        Moment::Commit(_) | Moment::Time(_) => Ok(()),
    }
}

pub(crate) fn missing(id: StepId) -> Error {
    let message = format!("there is no step {} in the history", id.0);
    Error::new(ErrorKind::NotFound, message)
}
