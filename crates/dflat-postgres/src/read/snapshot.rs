//! Snapshots: one transaction on a connection, or a connection for each scan.

use std::ops::ControlFlow;
use std::sync::Arc;

use dflat_engine::storage::{
    IndexStates, Indexes, Records, Row, ScanPlan, Snapshot, StateId, View,
};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{Table, ValueRef};

use super::scan::{Access, BEGIN_READ, scan};
use super::{find_many, records, states};
use crate::database::{Database, Known, read_created};
use crate::failure::{is_disconnected, shut_down};
use crate::layout::State;
use crate::server::Pooled;

/// A snapshot.
pub(crate) struct PostgresSnapshot {
    database: Arc<Database>,
    view: View,
    /// The generation of the server for which the indexes of a table were known.
    generation: Option<u16>,
    /// The transaction of a pinned snapshot.
    pinned: Option<Pinned>,
}

/// A transaction that sees one state.
struct Pinned {
    /// `None` if the library's own tables did not exist, so that there is nothing to read.
    connection: Option<Pooled>,
    state: State,
    /// The facts that were known when it began, and those that it found.
    known: Arc<Known>,
    /// The error that has ended the transaction.
    lost: Option<Error>,
}

impl Drop for PostgresSnapshot {
    fn drop(&mut self) {
        self.unpin();
        self.database.ended();
    }
}

impl PostgresSnapshot {
    /// A snapshot of a database.
    pub(crate) fn new(database: Arc<Database>, view: View) -> Result<Self> {
        database.begin_read()?;
        Ok(Self {
            database,
            view,
            generation: None,
            pinned: None,
        })
    }

    fn pinned(&mut self) -> Result<&mut Pinned> {
        if self.pinned.is_none() {
            self.pinned = Some(self.open()?);
        }
        // It was just set.
        self.pinned.as_mut().ok_or_else(shut_down)
    }

    /// Begins a transaction that reads. A connection that has ended meanwhile is replaced.
    fn open(&self) -> Result<Pinned> {
        let known = self.database.known();
        if !known.exists && !self.database.find_own_tables()? {
            return Ok(Pinned {
                connection: None,
                state: State::empty(known.generation),
                known,
                lost: None,
            });
        }
        loop {
            let mut connection = self.database.pool().take()?;
            let control = self.database.control();
            let open = connection.get()?;
            let generation = open.generation();
            match open.batch_and_query(BEGIN_READ, &control.state, &[]) {
                Ok(rows) => {
                    let state = match rows.first() {
                        Some(row) => self.database.read_state(row, 0, generation)?,
                        None => State::empty(generation),
                    };
                    return Ok(Pinned {
                        connection: Some(connection),
                        state,
                        // Another server may have taken the place of the one that was known.
                        known: self.database.known_of(state.generation),
                        lost: None,
                    });
                }
                Err(error) => {
                    let was_used = connection.discard();
                    if !(was_used && is_disconnected(&error)) {
                        return Err(self.database.failed("read", error));
                    }
                }
            }
        }
    }

    /// Reads in the transaction of a pinned snapshot, or in one of its own. If there is nothing to
    /// read, the result is `empty`.
    fn in_transaction<R>(
        &mut self,
        read: impl FnOnce(&Database, &mut Pooled, &mut Arc<Known>) -> Result<R>,
        empty: impl FnOnce() -> R,
    ) -> Result<R> {
        let database = Arc::clone(&self.database);
        let is_latest = self.view == View::Latest;
        let pinned = self.pinned()?;
        let done = match (&pinned.lost, &mut pinned.connection) {
            (Some(error), _) => Err(error.clone()),
            (None, None) => Ok(empty()),
            (None, Some(connection)) => read(&database, connection, &mut pinned.known),
        };
        match &done {
            Ok(_) => database.learn(&pinned.known),
            // The server refuses everything after an error.
            Err(error) => pinned.lost = Some(error.clone()),
        }
        if is_latest {
            self.unpin();
        }
        done
    }

    fn unpin(&mut self) {
        if let Some(mut connection) = self.pinned.take().and_then(|pinned| pinned.connection)
            && let Ok(open) = connection.get()
        {
            open.send("ROLLBACK");
        }
    }

    /// Scans on a connection of its own, if the table is known there. Returns whether it is.
    fn scan_latest(
        &self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<bool> {
        loop {
            let mut connection = self.database.pool().take()?;
            let open = connection.get()?;
            let known = self.database.known_of(open.generation());
            if self
                .generation
                .is_some_and(|known| known != open.generation())
            {
                return Err(replaced());
            }
            let Some(stored) = known.tables.get(plan.table.name.as_ref()) else {
                return Ok(false);
            };
            let scanned = scan(open, Access::Closed, stored, plan, visit);
            let Err(failure) = scanned else {
                return Ok(true);
            };
            if failure.is_removed {
                self.database.forget();
            }
            let was_used = connection.discard_if(failure.may_retry);
            if !(was_used && failure.may_retry) {
                return Err(failure.error);
            }
        }
    }
}

/// The error of a read that has begun on another server, which need not have had the same indexes.
#[cold]
fn replaced() -> Error {
    let message = "cannot read: another server has taken the place of the first one";
    Error::new(ErrorKind::Io, message)
}

impl Snapshot for PostgresSnapshot {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        if self.view == View::Latest
            && self
                .database
                .known()
                .tables
                .contains_key(plan.table.name.as_ref())
            && self.scan_latest(plan, visit)?
        {
            return Ok(());
        }
        self.in_transaction(
            |database, connection, known| {
                let Some(stored) = database.find_table(connection.get()?, known, plan.table)?
                else {
                    return Ok(());
                };
                let scanned = scan(connection.get()?, Access::Open, &stored, plan, visit);
                scanned.map_err(|failure| {
                    if failure.is_removed {
                        database.forget();
                    }
                    failure.error
                })
            },
            || (),
        )
    }

    fn find_many(
        &mut self,
        table: &Table,
        keys: &[&[ValueRef<'_>]],
        visit: &mut dyn FnMut(usize, Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.in_transaction(
            |database, connection, known| {
                let connection = connection.get()?;
                let Some(stored) = database.find_table(connection, known, table)? else {
                    return Ok(());
                };
                let found = find_many(connection, (table, &stored), keys, visit);
                found.map_err(|failure| {
                    if failure.is_removed {
                        database.forget();
                    }
                    failure.error
                })
            },
            || (),
        )
    }

    fn pin(&mut self) -> Result<StateId> {
        Ok(self.pinned()?.state.id())
    }

    fn is_overtaken(&self, since: StateId) -> bool {
        let Some(pinned) = &self.pinned else {
            return true;
        };
        self.database.is_overtaken(&pinned.state, since)
    }

    fn records(
        &mut self,
        since: StateId,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Records> {
        let database = Arc::clone(&self.database);
        let pinned = self.pinned()?;
        match &mut pinned.connection {
            None => Ok(Records::Broken),
            Some(connection) => {
                let states = (since, &pinned.state);
                let known = (database.control(), database.doubt());
                records(connection.get()?, known, states, visit)
            }
        }
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        let known = self.database.known();
        if self.view == View::Latest
            && let Some(states) = known.ready_states(table)
        {
            self.generation = Some(known.generation);
            return Ok(whole(states));
        }
        self.in_transaction(
            |database, connection, known| {
                let connection = connection.get()?;
                if let Some(states) = known.ready_states(table) {
                    return Ok(whole(states));
                }
                let names = (database.schema(), database.control());
                let stored = read_created(connection, names, table)?;
                let Some(stored) = stored else {
                    return Ok(Indexes::ready(table));
                };
                let found = states(connection, known, table, &stored)?;
                let tables = &mut Arc::make_mut(known).tables;
                tables.insert(table.name.to_string(), Arc::new(stored));
                Ok(whole(found))
            },
            || Indexes::ready(table),
        )
    }
}

/// The indexes of a table without foreign rows: the server refuses the writes of other programs.
pub(crate) const fn whole(states: IndexStates) -> Indexes {
    Indexes {
        states,
        foreign: Vec::new(),
        is_noted: false,
    }
}
