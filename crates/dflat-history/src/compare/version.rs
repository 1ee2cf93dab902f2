//! A state that a program names.

use dflat_engine::Result;
use dflat_engine::engine::Engine;
use dflat_engine::storage::StepId;

use crate::commits::{CommitId, place};
use crate::past::Moment;

/// A state of the versioned types: that after a step, or that of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Version {
    /// After a step.
    Step(StepId),
    /// Of a commit.
    Commit(CommitId),
}

impl From<StepId> for Version {
    fn from(step: StepId) -> Self {
        Self::Step(step)
    }
}

impl From<CommitId> for Version {
    fn from(commit: CommitId) -> Self {
        Self::Commit(commit)
    }
}

impl Version {
    /// The time to go back to.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](dflat_engine::ErrorKind::NotFound) if there is no such commit;
    /// otherwise the errors of reading.
    pub fn moment(self, engine: &Engine) -> Result<Moment> {
        Ok(match self {
            Self::Step(step) => Moment::Step(step),
            Self::Commit(id) => {
                Moment::Commit(engine.read_history(|snapshot| place(snapshot, id))?)
            }
        })
    }
}
