//! Building indexes, and waiting until they are built.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use dflat_model::Table;

use super::{Engine, IndexProgress, Ready};
use crate::error::Result;
use crate::storage::{Indexes, Records, Row, ScanPlan, Snapshot, StateId};
use crate::transaction::Indexer;

/// The tables that were read. The indexes of a table are looked at by its first read, of whichever
/// kind, so that later reads that use no index cost a comparison of names.
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

    /// Reads a table. If the option [`index_on_read`](super::EngineOptions::index_on_read) is set,
    /// starts to build the table's indexes if one of them lacks rows, and this is the first read of
    /// the table or the read asks for the states of the indexes.
    pub(super) fn read_and_index<R>(
        &self,
        table: &Table,
        snapshot: &mut dyn Snapshot,
        read: impl FnOnce(&mut dyn Snapshot) -> Result<R>,
    ) -> Result<R> {
        let read_tables = self.inner.read_tables.as_ref();
        let Some(read_tables) = read_tables.filter(|_| !table.indexes.is_empty()) else {
            return read(snapshot);
        };
        let indexer = self.inner.groups.indexer();
        let mut snapshot = IndexingSnapshot { snapshot, indexer };
        if read_tables.note(table) {
            snapshot.indexes(table)?;
        }
        read(&mut snapshot)
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

/// A snapshot that starts to build a table's indexes if a read asks for their states, and one of
/// them lacks rows: another program may have removed it, or some of its rows, at any time.
struct IndexingSnapshot<'s> {
    snapshot: &'s mut dyn Snapshot,
    indexer: &'s Arc<Indexer>,
}

impl Snapshot for IndexingSnapshot<'_> {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.snapshot.scan(plan, visit)
    }

    fn pin(&mut self) -> Result<StateId> {
        self.snapshot.pin()
    }

    fn is_overtaken(&self, since: StateId) -> bool {
        self.snapshot.is_overtaken(since)
    }

    fn records(
        &mut self,
        since: StateId,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Records> {
        self.snapshot.records(since, visit)
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        let indexes = self.snapshot.indexes(table)?;
        self.indexer.note_read(table, &indexes);
        Ok(indexes)
    }
}
