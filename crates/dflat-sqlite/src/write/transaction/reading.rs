//! Reads of a write transaction.

use std::ops::ControlFlow;
use std::sync::Arc;

use dflat_engine::Result;
use dflat_engine::storage::{
    Indexes, KeyScan, NamedRow, NamedTable, NotedRow, Records, Row, ScanPlan, Snapshot, StateId,
    StepId, StepRow,
};
use dflat_model::{Table, ValueRef};

use super::SqliteTransaction;
use crate::connection::commits::CommitBase;
use crate::connection::file_connection::FileConnection;
use crate::history::steps_error;
use crate::upkeep::strangers::SeenState;

impl Snapshot for SqliteTransaction {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.read(|connection| connection.scan(plan, visit))
    }

    fn tally(
        &mut self,
        table: &Table,
        range: (&KeyScan<'_>, usize),
        proceed: &mut dyn FnMut() -> ControlFlow<()>,
        visit: &mut dyn FnMut(&[ValueRef<'_>], usize) -> ControlFlow<()>,
    ) -> Result<bool> {
        self.read(|connection| connection.tally(table, range, proceed, visit))
    }

    fn is_overtaken(&self, since: StateId) -> bool {
        let commit_base = self
            .connection
            .as_ref()
            .and_then(FileConnection::commit_base);
        commit_base.is_some_and(|commit_base| commit_base.is_overtaken(since))
    }

    fn records(
        &mut self,
        since: StateId,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Records> {
        let base = self.connection()?.commit_base();
        let Some(now) = base.map(CommitBase::count) else {
            return Ok(Records::Broken);
        };
        let upkeep = Arc::clone(&self.upkeep);
        let seen = SeenState {
            count: now,
            standing: self.standing,
        };
        self.read(|connection| upkeep.records(connection, seen, since, visit))
    }

    fn steps(
        &mut self,
        below: Option<StepId>,
        visit: &mut dyn FnMut(StepRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.read(|connection| {
            let read = connection.steps(below, visit);
            read.map_err(|error| steps_error(connection, error))
        })
    }

    fn noted(
        &mut self,
        table: &Table,
        visit: &mut dyn FnMut(NotedRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.read(|connection| {
            let read = connection.noted(table, visit);
            read.map_err(|error| steps_error(connection, error))
        })
    }

    fn has_all_notes(&mut self, table: &Table) -> Result<bool> {
        self.read(|connection| {
            let read = connection.has_all_notes(table);
            read.map_err(|error| steps_error(connection, error))
        })
    }

    fn named(
        &mut self,
        table: NamedTable,
        names: &[&[u8]],
        visit: &mut dyn FnMut(NamedRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.read(|connection| {
            let read = connection.named(table, names, visit);
            read.map_err(|error| steps_error(connection, error))
        })
    }

    fn all_named(
        &mut self,
        table: NamedTable,
        below: Option<i64>,
        visit: &mut dyn FnMut(NamedRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.read(|connection| {
            let read = connection.all_named(table, below, visit);
            read.map_err(|error| steps_error(connection, error))
        })
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        self.read(|connection| connection.indexes(table))
    }
}
