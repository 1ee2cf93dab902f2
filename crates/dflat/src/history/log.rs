//! The steps, one by one.

use std::fmt;

use dflat_history::steps::{Backwards, Step};

use crate::{Result, Workspace};

/// The steps to show.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    pub(super) table: Option<String>,
    pub(super) label: Option<String>,
}

impl Filter {
    fn takes(&self, step: &Step) -> bool {
        let mut tables = step.tables.iter();
        let changes = |name: &String| tables.any(|table| table.is_kept() && table.name == *name);
        self.table.as_ref().is_none_or(changes)
            && (self.label.is_none() || self.label == step.label)
    }
}

/// The steps of a history, from the latest one back to the first. After an error it ends.
///
/// # Errors
/// - [`Corrupt`](crate::ErrorKind::Corrupt) for a step that another program has damaged.
/// - [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown; otherwise the errors of reading.
#[must_use = "the steps are read as the iterator is used"]
pub struct Log {
    workspace: Workspace,
    filter: Filter,
    steps: Backwards,
    has_ended: bool,
}

impl Log {
    pub(super) fn new(workspace: &Workspace, filter: Filter) -> Self {
        Self {
            workspace: workspace.clone(),
            filter,
            steps: Backwards::below(None),
            has_ended: false,
        }
    }

    fn read(&mut self) -> Result<Option<Step>> {
        let mut source = self.workspace.engine();
        while let Some(stored) = self.steps.next(&mut source)? {
            let step = stored.step()?;
            if self.filter.takes(&step) {
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
            .field("filter", &self.filter)
            .finish_non_exhaustive()
    }
}
