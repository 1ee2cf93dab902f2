//! The history of an engine.

use std::ops::ControlFlow;

use dflat_model::Table;

use super::Engine;
use crate::change_set::record_engine;
use crate::error::Result;
use crate::history::KeepHistory;
use crate::storage::{Snapshot, StepId, StepRow, View};
use crate::sync::Arc;

impl Engine {
    /// The history, if the engine was made with one.
    #[must_use]
    pub fn history(&self) -> Option<&Arc<dyn KeepHistory>> {
        self.inner.history.as_ref()
    }

    /// The names of the engine in change records: the id of the workspace, if the program named it,
    /// and the random number of the engine.
    #[must_use]
    pub fn record_names(&self) -> (Option<u128>, u64) {
        (
            self.inner.workspace_id,
            record_engine(self.inner.reader.engine),
        )
    }

    /// Has the next transaction ask the history again which types are to be versioned.
    pub fn ask_for_versioned(&self) {
        self.inner.groups.ask_for_versioned();
    }

    /// Whether another program has changed rows of a versioned table that no step has yet, or may
    /// have done so because it has prevented the notes of them.
    ///
    /// # Errors
    /// As [`steps`](Self::steps).
    pub fn has_foreign_changes(&self, table: &Table) -> Result<bool> {
        self.read_history(|snapshot| {
            let mut has_changes = !snapshot.has_all_notes(table)?;
            snapshot.noted(table, &mut |_| {
                has_changes = true;
                ControlFlow::Break(())
            })?;
            Ok(has_changes)
        })
    }

    /// Visits the committed steps of the history as
    /// [`Snapshot::steps`] does, on a handler's thread too.
    ///
    /// # Errors
    /// [`ErrorKind::ShutDown`](crate::ErrorKind::ShutDown) after shutdown; otherwise the errors of
    /// reading.
    pub fn steps(
        &self,
        below: Option<StepId>,
        visit: &mut dyn FnMut(StepRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.read_history(|snapshot| snapshot.steps(below, visit))
    }

    /// Reads the committed state of the history, on a handler's thread too. All scans of `read` see
    /// one state. `read` must not call user code, and must not wait, because the state is kept
    /// until it returns.
    ///
    /// # Errors
    /// [`ErrorKind::ShutDown`](crate::ErrorKind::ShutDown) after shutdown; otherwise as `read`.
    pub fn read_history<R>(&self, read: impl FnOnce(&mut dyn Snapshot) -> Result<R>) -> Result<R> {
        self.admit_read(format_args!("read the history"))?;
        // Rows and steps of different states do not fit each other.
        let mut snapshot = self.inner.reader.snapshot(View::Pinned)?;
        read(snapshot.as_mut())
    }

    /// The author that the program has named for its transactions.
    #[must_use]
    pub fn author(&self) -> Option<&str> {
        self.inner.author.as_deref()
    }
}
