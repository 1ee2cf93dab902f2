//! Reads that start to build indexes.

use std::ops::ControlFlow;

use dflat_model::{Table, ValueRef};

use super::Indexer;
use crate::error::Result;
use crate::storage::{IndexState, Indexes, KeyScan, Records, Row, ScanPlan, Snapshot, StateId};
use crate::sync::{Arc, Mutex, PoisonError};

/// The tables for which something was done already.
#[derive(Default)]
pub struct NotedTables(Vec<Table>);

impl NotedTables {
    /// Notes a table; whether it was not noted before.
    fn note(&mut self, table: &Table) -> bool {
        let is_new = !self.0.iter().any(|other| other.is_same(table));
        if is_new {
            self.0.push(table.clone());
        }
        is_new
    }
}

/// The tables that were read. The indexes of a table are looked at by its first read, of whichever
/// kind, so that later reads that use no index cost a comparison of names.
#[derive(Default)]
pub(super) struct ReadTables(Mutex<NotedTables>);

impl ReadTables {
    fn note(&self, table: &Table) -> bool {
        // No user code runs under the lock.
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tables.note(table)
    }
}

impl Indexer {
    /// Reads a table. If reads build indexes, starts to build the table's indexes if one of them
    /// lacks rows, and this is the first read of the table or the read asks for the states of the
    /// indexes.
    pub(crate) fn read<R>(
        self: &Arc<Self>,
        table: &Table,
        snapshot: &mut dyn Snapshot,
        read: impl FnOnce(&mut dyn Snapshot) -> Result<R>,
    ) -> Result<R> {
        self.read_and_index(table, snapshot, None, read)
    }

    /// As [`read`](Self::read), from a state that stays as it is: however complete the indexes
    /// become, this state lacks the same rows. Therefore its reads request each table once;
    /// `requested` has the tables that were requested.
    pub(crate) fn read_held<R>(
        self: &Arc<Self>,
        table: &Table,
        snapshot: &mut dyn Snapshot,
        requested: &mut NotedTables,
        read: impl FnOnce(&mut dyn Snapshot) -> Result<R>,
    ) -> Result<R> {
        self.read_and_index(table, snapshot, Some(requested), read)
    }

    fn read_and_index<R>(
        self: &Arc<Self>,
        table: &Table,
        snapshot: &mut dyn Snapshot,
        requested: Option<&mut NotedTables>,
        read: impl FnOnce(&mut dyn Snapshot) -> Result<R>,
    ) -> Result<R> {
        let read_tables = self.read_tables.as_ref();
        let Some(read_tables) = read_tables.filter(|_| !table.indexes.is_empty()) else {
            return read(snapshot);
        };
        let mut snapshot = IndexingSnapshot {
            snapshot,
            indexer: self,
            requested,
        };
        if read_tables.note(table) {
            snapshot.indexes(table)?;
        }
        read(&mut snapshot)
    }

    /// Requests that the table's indexes are built if a read has found that one of them lacks rows.
    /// Unlike a write, a read does not try again what has failed, because a file that cannot be
    /// written to may be read any number of times.
    fn note_read(
        self: &Arc<Self>,
        table: &Table,
        indexes: &Indexes,
        requested: Option<&mut NotedTables>,
    ) {
        let is_ready = |state: &IndexState| matches!(state, IndexState::Ready);
        let are_ready = indexes.states.iter().all(is_ready);
        if are_ready && indexes.foreign.is_empty() {
            return;
        }
        let state = self.lock();
        let is_left = are_ready && state.left_of(table) == indexes.foreign;
        if is_left || state.has_failed(table) {
            return;
        }
        drop(state);
        if requested.is_none_or(|requested| requested.note(table)) {
            self.want(table, false);
        }
    }
}

/// A snapshot that starts to build a table's indexes if a read asks for their states, and one of
/// them lacks rows: another program may have removed it, or some of its rows, at any time.
struct IndexingSnapshot<'s> {
    snapshot: &'s mut dyn Snapshot,
    indexer: &'s Arc<Indexer>,
    /// The tables that reads of a held state have requested; `None` for the latest state.
    requested: Option<&'s mut NotedTables>,
}

impl Snapshot for IndexingSnapshot<'_> {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.snapshot.scan(plan, visit)
    }

    fn find_many(
        &mut self,
        table: &Table,
        keys: &[&[ValueRef<'_>]],
        visit: &mut dyn FnMut(usize, Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.snapshot.find_many(table, keys, visit)
    }

    fn tally(
        &mut self,
        table: &Table,
        range: (&KeyScan<'_>, usize),
        proceed: &mut dyn FnMut() -> ControlFlow<()>,
        visit: &mut dyn FnMut(&[ValueRef<'_>], usize) -> ControlFlow<()>,
    ) -> Result<bool> {
        self.snapshot.tally(table, range, proceed, visit)
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
        let requested = self.requested.as_deref_mut();
        self.indexer.note_read(table, &indexes, requested);
        Ok(indexes)
    }
}
