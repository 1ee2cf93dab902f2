//! Reads with a connection of the pool.

use std::ops::ControlFlow;
use std::sync::Arc;

use dflat_engine::storage::{
    Indexes, KeyScan, NamedRow, NamedTable, NotedRow, Records, Row, ScanPlan, Snapshot, StateId,
    StepId, StepRow, View,
};
use dflat_engine::{Error, Result};
use dflat_model::{Table, ValueRef};

use crate::connection::commits::CommitCount;
use crate::connection::file_connection::FileConnection;
use crate::connection::readers::ShardId;
use crate::ffi::SqliteError;
use crate::history::steps_error;
use crate::upkeep::owner::Upkeep;
use crate::upkeep::strangers::SeenState;

/// The maximal number of attempts to pin a state that has an id. An attempt fails if another
/// connection commits during the microseconds that it takes. After the last one, the state is
/// pinned without an id.
const ATTEMPTS: usize = 100;

/// A snapshot: a registered reader, and its connection once the file exists.
pub(crate) struct SqliteSnapshot {
    upkeep: Arc<Upkeep>,
    place: ShardId,
    connection: Option<Box<FileConnection>>,
    state: ReadState,
    /// The number of commits that the pinned state has seen, if known.
    count: Option<CommitCount>,
    /// The standing of the presence before the state was pinned.
    standing: Option<u64>,
    /// Whether the connection met an error and must not be used again.
    faulty: bool,
    /// Whether another connection took the place of one that could not write where SQLite had to.
    is_reopened: bool,
    /// The error that ended the transaction of the pinned state.
    lost: Option<Error>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadState {
    /// Each scan sees the latest state.
    Latest,
    /// The first scan will fix the state.
    Unpinned,
    /// The state is fixed: the state of the open transaction, or the empty state if there was no
    /// file.
    Pinned,
}

impl SqliteSnapshot {
    /// Registers one more reader.
    pub(crate) fn new(upkeep: Arc<Upkeep>, view: View) -> Result<Self> {
        let (place, connection) = upkeep.connections().take_reader()?;
        Ok(Self {
            upkeep,
            place,
            connection,
            state: match view {
                View::Latest => ReadState::Latest,
                View::Pinned => ReadState::Unpinned,
            },
            count: None,
            standing: None,
            faulty: false,
            is_reopened: false,
            lost: None,
        })
    }

    /// The connection, at the state to read; `None` if there is no file.
    fn ready(&mut self) -> Result<Option<&mut FileConnection>> {
        if let Some(error) = &self.lost {
            return Err(error.clone());
        }
        match &self.connection {
            Some(connection) if self.state == ReadState::Pinned => connection.check_untorn()?,
            Some(connection) if connection.is_outdated() => self.connection = None,
            _ => {}
        }
        if self.connection.is_none() && self.state != ReadState::Pinned {
            self.connection = self.upkeep.connections().open_reader()?;
        }
        if self.state != ReadState::Pinned
            && let Some(connection) = &mut self.connection
        {
            let epoch = self.upkeep.connections().pool().readers().epoch();
            let stands = connection
                .move_to_latest(epoch)
                .and_then(|()| match self.state {
                    ReadState::Unpinned => connection.pin(),
                    _ => Ok(()),
                });
            if let Err(error) = stands {
                let path = Arc::clone(&connection.path);
                let has_ended = connection.end();
                if self.reopens(&error) {
                    return self.ready();
                }
                // The next scan tries again.
                self.faulty |= !has_ended;
                return Err(error.into_read_error(format_args!("cannot read {}", path.display())));
            }
        }
        if self.state == ReadState::Unpinned {
            self.check_whole()?;
            self.state = ReadState::Pinned;
        }
        Ok(self.connection.as_deref_mut())
    }

    /// Gives up the connection if another one may succeed, which opens the file with write access:
    /// to undo the unfinished transaction of a program that has crashed since this connection was
    /// opened. SQLite notices the journal of that transaction before it reads a row.
    fn reopens(&mut self, error: &SqliteError) -> bool {
        let reopens =
            !self.is_reopened && self.state != ReadState::Pinned && error.asks_for_write_access();
        if reopens {
            self.is_reopened = true;
            self.connection = None;
        }
        reopens
    }

    /// Fails if the file that was opened is gone or lacks pages.
    fn check_whole(&self) -> Result<()> {
        let connections = self.upkeep.connections();
        match &self.connection {
            Some(connection) => connections.check_read(connection),
            None => connections.check_in_place(),
        }
    }

    /// The pinned state, if it is known.
    fn seen(&self) -> Option<SeenState> {
        let standing = self.standing;
        self.count.map(|count| SeenState { count, standing })
    }

    /// Notes the pinned state if it is the first one since this process follows.
    fn note_standing(&mut self) -> Result<()> {
        let Some(seen) = self.seen().filter(|seen| seen.standing.is_some()) else {
            return Ok(());
        };
        let upkeep = Arc::clone(&self.upkeep);
        let noted = self.read(|connection| upkeep.note_standing(connection, seen));
        noted.map(drop)
    }

    /// Calls `read` if there is a file; `None` if there is none. The data that it reads is of one
    /// state, or the call fails.
    fn read<T>(
        &mut self,
        mut read: impl FnMut(&mut FileConnection) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(connection) = self.ready()? else {
            return Ok(None);
        };
        // A kept read transaction that has read goes on, for a short time, with the state that it
        // has seen.
        let is_first = !connection.has_read();
        let outcome = read(connection);
        // Order: checked before the result of the read, because an error may also come from mixed
        // states.
        let untorn = connection.check_untorn();
        if let Err(error) = &outcome {
            // After some errors SQLite ends the transaction, and later reads would see other
            // states.
            let has_ended = connection.raw.is_autocommit();
            let cause = error.cause_as::<SqliteError>();
            if cause.is_some_and(|cause| self.reopens(cause)) {
                return self.read(read);
            }
            if has_ended && self.state == ReadState::Pinned {
                self.lost = Some(error.clone());
            }
        }
        let in_place = match (self.state, &outcome) {
            // The error may come from a file that is gone, which its path tells at once.
            (ReadState::Latest, Err(_)) => {
                let in_place = self.upkeep.connections().check_in_place();
                in_place.and_then(|()| self.check_whole())
            }
            (ReadState::Latest, Ok(_)) if is_first => self.check_whole(),
            _ => Ok(()),
        };
        self.faulty |= outcome.is_err() || in_place.is_err();
        untorn.and(in_place).and(outcome).map(Some)
    }
}

impl Snapshot for SqliteSnapshot {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.read(|connection| connection.scan(plan, visit))
            .map(drop)
    }

    fn tally(
        &mut self,
        table: &Table,
        range: (&KeyScan<'_>, usize),
        proceed: &mut dyn FnMut() -> ControlFlow<()>,
        visit: &mut dyn FnMut(&[ValueRef<'_>], usize) -> ControlFlow<()>,
    ) -> Result<bool> {
        let counted = self.read(|connection| connection.tally(table, range, proceed, visit))?;
        Ok(counted.unwrap_or(true))
    }

    fn pin(&mut self) -> Result<StateId> {
        if self.state != ReadState::Unpinned {
            // The snapshot did not determine which state it reads.
            return Ok(self.upkeep.connections().commits().state(None));
        }
        // Order: before the state is pinned.
        self.standing = self.upkeep.presence().standing();
        for _ in 0..ATTEMPTS {
            // Order: the log's index must be open, and a connection opens it with its first read.
            let before = self
                .connection
                .as_ref()
                .and_then(|connection| connection.log_count());
            let Some(connection) = self.ready()? else {
                return Ok(StateId::default());
            };
            let after = connection.count();
            let is_of_log = matches!(after, Some(CommitCount::Log(_)));
            if before == after || !is_of_log {
                self.count = after;
                self.note_standing()?;
                return Ok(self.upkeep.connections().commits().state(after));
            }
            // Another connection has committed meanwhile, and it is not known whether this snapshot
            // sees that commit.
            self.faulty |= !connection.end();
            self.state = ReadState::Unpinned;
        }
        self.ready()?;
        Ok(self.upkeep.connections().commits().state(None))
    }

    fn is_overtaken(&self, since: StateId) -> bool {
        match self.count {
            Some(count) => self
                .upkeep
                .connections()
                .commits()
                .is_overtaken(count, since),
            // There was no file, and there still is none.
            None => self.connection.is_some() || since != StateId::default(),
        }
    }

    fn records(
        &mut self,
        since: StateId,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Records> {
        let Some(seen) = self.seen() else {
            return Ok(Records::Broken);
        };
        let upkeep = Arc::clone(&self.upkeep);
        let read = self.read(|connection| upkeep.records(connection, seen, since, visit))?;
        Ok(read.unwrap_or(Records::Broken))
    }

    fn steps(
        &mut self,
        below: Option<StepId>,
        visit: &mut dyn FnMut(StepRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let read = self.read(|connection| {
            let read = connection.steps(below, visit);
            read.map_err(|error| steps_error(connection, error))
        });
        read.map(drop)
    }

    fn noted(
        &mut self,
        table: &Table,
        visit: &mut dyn FnMut(NotedRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let read = self.read(|connection| {
            let read = connection.noted(table, visit);
            read.map_err(|error| steps_error(connection, error))
        });
        read.map(drop)
    }

    fn has_all_notes(&mut self, table: &Table) -> Result<bool> {
        self.read(|connection| {
            let read = connection.has_all_notes(table);
            read.map_err(|error| steps_error(connection, error))
        })
        .map(|has_all| has_all.unwrap_or(true))
    }

    fn named(
        &mut self,
        table: NamedTable,
        names: &[&[u8]],
        visit: &mut dyn FnMut(NamedRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let read = self.read(|connection| {
            let read = connection.named(table, names, visit);
            read.map_err(|error| steps_error(connection, error))
        });
        read.map(drop)
    }

    fn all_named(
        &mut self,
        table: NamedTable,
        below: Option<i64>,
        visit: &mut dyn FnMut(NamedRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let read = self.read(|connection| {
            let read = connection.all_named(table, below, visit);
            read.map_err(|error| steps_error(connection, error))
        });
        read.map(drop)
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        let found = self.read(|connection| connection.indexes(table))?;
        Ok(found.unwrap_or_else(|| Indexes::ready(table)))
    }
}

impl Drop for SqliteSnapshot {
    fn drop(&mut self) {
        let connection = self.connection.take().filter(|_| !self.faulty);
        self.upkeep.return_reader(self.place, connection);
        if self.state == ReadState::Pinned {
            self.upkeep.note_snapshot_end();
        }
    }
}
