//! The reads of a write transaction, which see its own writes.

use std::ops::ControlFlow;
use std::sync::Arc;

use dflat_engine::Result;
use dflat_engine::storage::{Indexes, Records, Row, ScanPlan, Snapshot, StateId};
use dflat_model::{Table, ValueRef};

use super::transaction::PostgresTransaction;
use crate::read::{Access, find_many, records, scan, states, whole};

impl Snapshot for PostgresTransaction {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let Some(stored) = self.find(plan.table)? else {
            return Ok(());
        };
        let stored = stored.clone();
        let scanned = scan(self.connection()?, Access::Open, &stored, plan, visit);
        self.settle()?;
        scanned.map_err(|failure| {
            self.is_lost |= failure.ends_transaction;
            failure.error
        })
    }

    fn find_many(
        &mut self,
        table: &Table,
        keys: &[&[ValueRef<'_>]],
        visit: &mut dyn FnMut(usize, Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let Some(stored) = self.find(table)? else {
            return Ok(());
        };
        let stored = stored.clone();
        let found = find_many(self.connection()?, (table, &stored), keys, visit);
        self.settle()?;
        found.map_err(|failure| {
            self.is_lost |= failure.ends_transaction;
            failure.error
        })
    }

    fn pin(&mut self) -> Result<StateId> {
        Ok(self.state.id())
    }

    fn is_overtaken(&self, since: StateId) -> bool {
        self.database.is_overtaken(&self.state, since)
    }

    fn records(
        &mut self,
        since: StateId,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Records> {
        let database = Arc::clone(&self.database);
        let state = self.state;
        if state.last_of(since).is_some_and(|since| since > state.last) {
            // Nobody commits while the transaction is open. So it has ended with its connection, or
            // this is another server.
            self.run("read change records", |connection| connection.batch(""))?;
            return Ok(Records::Broken);
        }
        let read = records(
            self.connection()?,
            (database.control(), database.doubt()),
            (since, &state),
            visit,
        );
        self.settle()?;
        read.inspect_err(|_| self.is_lost = true)
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        let Some(stored) = self.find(table)? else {
            return Ok(Indexes::ready(table));
        };
        let stored = stored.clone();
        let mut known = Arc::clone(&self.known);
        let found = states(self.connection()?, &mut known, table, &stored);
        self.settle()?;
        self.known = known;
        found.map(whole).inspect_err(|_| self.is_lost = true)
    }
}
