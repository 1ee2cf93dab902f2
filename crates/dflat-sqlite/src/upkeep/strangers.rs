//! Reads change records, and decides whether commits without records can only be those of other
//! programs than this library.
//!
//! While this process holds the lock of the presence file, every other process of this library that
//! commits finds it, and writes records. So a commit without records is one of another program, or
//! was under way when this process took the lock. Only one commit can be under way at a time.

use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::storage::{Records, StateId};

use crate::change_log::Span;
use crate::connection::commits::CommitCount;
use crate::connection::file_connection::FileConnection;
use crate::ffi::SqliteError;
use crate::upkeep::marked::Marked;
use crate::upkeep::owner::Upkeep;

/// A state that a reader or a writer sees.
#[derive(Clone, Copy)]
pub(crate) struct SeenState {
    pub(crate) count: CommitCount,
    /// The standing of the presence before the state was read.
    pub(crate) standing: Option<u64>,
}

impl Upkeep {
    /// Notes a state that a connection sees, if it is the first one since this process took the
    /// lock of the presence file.
    ///
    /// # Errors
    /// Errors that have ended the transaction.
    pub(crate) fn note_standing(
        &self,
        connection: &mut FileConnection,
        seen: SeenState,
    ) -> Result<()> {
        let known = self.strangers().get().map(|marked| marked.standing);
        if seen.standing.is_some() && seen.standing != known {
            self.mark(connection, seen, false)?;
        }
        Ok(())
    }

    fn mark(
        &self,
        connection: &mut FileConnection,
        seen: SeenState,
        is_settled: bool,
    ) -> Result<()> {
        let mark = connection.log_mark();
        let mark = unless_ended(connection, mark)?;
        let state = self.connections().commits().state(Some(seen.count));
        let marked = seen.standing.zip(mark).map(|(standing, mark)| Marked {
            standing,
            state,
            mark,
            is_settled,
        });
        self.strangers().set(marked);
        Ok(())
    }

    /// As [`Snapshot::records`](dflat_engine::storage::Snapshot::records), for a connection that
    /// sees a state. A change log that can't be read accounts for nothing.
    ///
    /// # Errors
    /// Errors that have ended the transaction.
    pub(crate) fn records(
        &self,
        connection: &mut FileConnection,
        seen: SeenState,
        since: StateId,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Records> {
        let commits = self.connections().commits();
        let log = commits.log_state(seen.count, since);
        let (Some(log), Some(now)) = (log, seen.count.of_log()) else {
            return Ok(Records::Broken);
        };
        let own_runs = |count| commits.own_run(count);
        let span = Span { since: log, now };
        let accounted = connection.records(span, &own_runs, visit);
        let records = match unless_ended(connection, accounted)? {
            Some(records) => records,
            None if self.visit_beside_strangers(connection, seen, log.commits, visit)? => {
                Records::Noted
            }
            None => Records::Broken,
        };
        self.mark(connection, seen, true)?;
        Ok(records)
    }

    /// Visits the records since a state that is not later than the one with a number of commits, if
    /// no process of this library can have committed without records since. Returns whether all of
    /// them were visited.
    fn visit_beside_strangers(
        &self,
        connection: &mut FileConnection,
        seen: SeenState,
        since: u32,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<bool> {
        let Some(marked) = self.strangers().get() else {
            return Ok(false);
        };
        let commits = self.connections().commits();
        let Some(state) = commits.log_state(seen.count, marked.state) else {
            return Ok(false);
        };
        let later = since.wrapping_sub(state.commits);
        let is_settled = marked.is_settled || later > 0;
        let is_certain = seen.standing == Some(marked.standing)
            && is_settled
            && later < 1 << 31
            && self.presence().stands_since(marked.standing);
        if !is_certain {
            return Ok(false);
        }
        let now = connection.log_mark();
        let Some(now) = unless_ended(connection, now)? else {
            return Ok(false);
        };
        let visited = connection.records_between((marked.mark, now), visit);
        Ok(unless_ended(connection, visited.map(Some))? == Some(true))
    }
}

/// The outcome of a read of the change log, in which an error that has not ended the transaction
/// finds nothing.
///
/// An error of the device makes SQLite roll back. Later reads would then see other states, and each
/// later write would be committed at once.
fn unless_ended<T>(
    connection: &FileConnection,
    read: Result<Option<T>, SqliteError>,
) -> Result<Option<T>> {
    match read {
        Err(error) if connection.raw.is_autocommit() => {
            let path = connection.path.display();
            Err(error.into_error(format_args!("cannot read the change log of {path}")))
        }
        read => Ok(read.unwrap_or(None)),
    }
}
