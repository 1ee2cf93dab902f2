//! The steps, one by one.

use std::fmt;

use dflat_history::steps::{Backwards, Scope, Step};

use super::strangers::notice_to_read;
use crate::{Result, Workspace};

/// The steps of a history, from the latest one back to the first. After an error it ends.
///
/// # Errors
/// - [`Corrupt`](crate::ErrorKind::Corrupt) for a step that another program has damaged.
/// - [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown; otherwise the errors of reading.
#[must_use = "the steps are read as the iterator is used"]
pub struct Log {
    workspace: Workspace,
    scope: Scope,
    steps: Backwards,
    has_begun: bool,
    has_ended: bool,
}

impl Log {
    pub(super) fn new(workspace: &Workspace, scope: Scope) -> Self {
        Self {
            workspace: workspace.clone(),
            scope,
            steps: Backwards::below(None),
            has_begun: false,
            has_ended: false,
        }
    }

    fn read(&mut self) -> Result<Option<Step>> {
        if !std::mem::replace(&mut self.has_begun, true) {
            notice_to_read(&self.workspace)?;
        }
        let mut source = self.workspace.engine();
        while let Some(stored) = self.steps.next(&mut source)? {
            let step = stored.step()?;
            if self.scope.takes(&step) {
                return Ok(Some(step));
            }
        }
        Ok(None)
    }
}

impl Iterator for Log {
    type Item = Result<Step>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let read = self.read();
        self.has_ended = !matches!(read, Ok(Some(_)));
        read.transpose()
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log")
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}
