//! Building indexes, and waiting until they are built.

use std::sync::{Mutex, PoisonError};

use dflat_model::Table;

use super::{Engine, IndexProgress, Ready};
use crate::error::Result;
use crate::storage::{IndexState, Snapshot};

/// The tables that were read, and whose indexes are complete or were requested to be built. A table
/// is looked at once, so that later reads cost a comparison of names.
#[derive(Default)]
pub(super) struct ReadTables(Mutex<Vec<Table>>);

impl ReadTables {
    /// Notes a table; whether it was not noted before.
    fn note(&self, table: &Table) -> bool {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !tables.iter().any(|other| other.is_same(table));
        if is_new {
            tables.push(table.clone());
        }
        is_new
    }
}

impl Engine {
    /// Starts to build the indexes of these tables that are not ready, as the next write of the
    /// type would do. Returns at once.
    ///
    /// # Errors
    /// [`ErrorKind::ShutDown`](crate::ErrorKind::ShutDown) after shutdown.
    pub fn build_indexes(&self, tables: &[Table]) -> Result<()> {
        self.while_open(format_args!("build indexes"), || {
            for table in tables.iter().filter(|table| !table.indexes.is_empty()) {
                self.inner.groups.indexer().want(table, true);
            }
            Ok(())
        })
    }

    /// Starts to build the indexes of a table that is read, if the option
    /// [`index_on_read`](super::EngineOptions::index_on_read) is set and one is not complete.
    pub(super) fn note_read(&self, table: &Table, snapshot: &mut dyn Snapshot) -> Result<()> {
        let Some(read_tables) = &self.inner.read_tables else {
            return Ok(());
        };
        if table.indexes.is_empty() || !read_tables.note(table) {
            return Ok(());
        }
        let is_ready = |state: &IndexState| matches!(state, IndexState::Ready);
        if !snapshot.indexes(table)?.states.iter().all(is_ready) {
            self.inner.groups.indexer().want(table, false);
        }
        Ok(())
    }

    /// The progress of each index that is being built, or was built since this engine was created.
    #[must_use]
    pub fn index_progress(&self) -> Vec<IndexProgress> {
        self.inner.groups.indexer().progress()
    }

    /// Calls `ready` once no index is being built: on the thread that builds indexes, or at once on
    /// this thread. `ready` gets the error of an index that could not be built, and
    /// [`ErrorKind::ShutDown`](crate::ErrorKind::ShutDown) after shutdown.
    pub fn when_indexes_are_ready(&self, ready: Ready) {
        if let Err(error) = self.refuse_work(format_args!("wait for indexes")) {
            ready(Err(error));
            return;
        }
        self.inner.groups.indexer().when_ready(ready);
    }
}
