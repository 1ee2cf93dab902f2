//! Gives space back, and removes the traces of deleted objects.

use std::time::Duration;

use dflat_engine::telemetry::TARGET;
use dflat_engine::{Error, ErrorKind, Result};

use crate::connection::configure::emptying::{Turns, truncate_log};
use crate::connection::configure::{exists, vacuum};
use crate::connection::file_connection::FileConnection;
use crate::ffi::{PageCheck, SqliteError, refuse_damage};
use crate::layout::control::ControlStatement;
use crate::upkeep::free_pages::{PagesToReclaim, free_pages, give_back, is_incremental};
use crate::upkeep::owner::Upkeep;

impl Upkeep {
    /// Gives up to `pages` unused pages back to the file system, and returns how many are left.
    pub(crate) fn reclaim(&self, pages: u32) -> Result<u64> {
        let is_followed = self.is_followed();
        let verb = "reclaim space in";
        let reclaimed = self.maintain(verb, |connection| {
            if !is_incremental(connection)? {
                return Ok(Maintained::NeedsCompact);
            }
            if pages > 0 {
                give_back(connection, PagesToReclaim { pages, is_followed })?;
            }
            Ok(Maintained::Done(free_pages(connection)?))
        });
        reclaimed?.outcome(|| self.what(verb))
    }

    /// Removes the last traces of deleted objects.
    pub(crate) fn purge(&self) -> Result<()> {
        self.maintain_and_empty_log("purge", |connection| {
            if !is_incremental(connection)? {
                return Ok(Able::NeedsCompact);
            }
            refuse_damage(&mut connection.raw, PageCheck::Pages)?;
            forget_copies(connection)?;
            connection.commit_alone(vacuum)?;
            Ok(Able::Yes)
        })
    }

    /// Writes the whole file anew, so that it can be reclaimed and purged in steps.
    pub(crate) fn compact(&self) -> Result<()> {
        self.maintain_and_empty_log("compact", |connection| {
            // Rows on damaged pages would be left out, and no salvage could find them later.
            refuse_damage(&mut connection.raw, PageCheck::Pages)?;
            forget_copies(connection)?;
            connection.commit_alone(|connection| {
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            })?;
            connection.commit_alone(vacuum)?;
            Ok(Able::Yes)
        })?;
        self.set_able();
        Ok(())
    }

    fn what(&self, verb: &str) -> String {
        format!("cannot {verb} {}", self.connections().path().display())
    }

    /// Does work on the file with write access, and then empties the log. While it waits for
    /// readers, transactions write in turn with it.
    fn maintain_and_empty_log(
        &self,
        verb: &str,
        mut work: impl FnMut(&mut FileConnection) -> Result<Able, SqliteError>,
    ) -> Result<()> {
        let timeout = self.connections().options().busy_timeout;
        let mut turns = Turns::new(timeout);
        let (mut step, mut is_done) = (Maintained::Busy, false);
        while matches!(step, Maintained::Busy)
            && let Some(hold) = turns.next()
        {
            step = self.maintain(verb, |connection| {
                if !is_done && matches!(work(connection)?, Able::NeedsCompact) {
                    return Ok(Maintained::NeedsCompact);
                }
                is_done = true;
                let emptied = empty_log(connection, hold);
                connection.raw.set_busy_timeout(timeout);
                emptied
            })?;
        }
        step.outcome(|| self.what(verb)).map(drop)
    }

    /// Does work on the file with write access, if there is a file.
    fn maintain(
        &self,
        verb: &str,
        mut work: impl FnMut(&mut FileConnection) -> Result<Maintained, SqliteError>,
    ) -> Result<Maintained> {
        let connections = self.connections();
        // A file that was deleted since it was opened is an error.
        connections.check_in_place()?;
        if !exists(connections.path())? {
            return Ok(Maintained::Done(0));
        }
        let _alone = connections.lock_checkpoints();
        let mut connection = connections.take_writer()?;
        if let Err(error) = connections.check_writer(&mut connection) {
            drop(connection);
            self.return_writer(None);
            return Err(error);
        }
        // A kept read transaction would block the work.
        let _forbidden = connections.pool().readers().forbid_kept_reads();
        let mut outcome = work(&mut connection);
        if outcome.as_ref().is_err_and(SqliteError::is_read_only) {
            connection = connections.replace_writer(Some(connection))?;
            outcome = work(&mut connection);
        }
        match outcome {
            Ok(step) => {
                self.return_writer(Some(connection));
                Ok(step)
            }
            Err(error) => {
                // Returned without a connection: the next writer opens another.
                drop(connection);
                self.return_writer(None);
                Err(error.into_error(self.what(verb)))
            }
        }
    }
}

/// Whether the work could be done on the file.
enum Able {
    Yes,
    /// The file can't give back pages.
    NeedsCompact,
}

/// The outcome of work on the file.
enum Maintained {
    /// It is done; so many pages are unused.
    Done(u64),
    /// The log could not be emptied.
    Busy,
    /// The file can't give back pages.
    NeedsCompact,
}

impl Maintained {
    fn outcome(self, what: impl FnOnce() -> String) -> Result<u64> {
        match self {
            Self::Done(free) => Ok(free),
            Self::Busy => {
                let message = format!("{}: a reader still sees an older state", what());
                Err(Error::new(ErrorKind::Busy, message))
            }
            Self::NeedsCompact => {
                let message = format!(
                    "{}: the file was made without incremental vacuum; it needs compact()",
                    what()
                );
                Err(Error::new(ErrorKind::InvalidArgument, message))
            }
        }
    }
}

/// Deletes the samples of values that `ANALYZE` has taken, and the change log, which has the states
/// of changed and deleted objects. Other processes that follow this file read again.
fn forget_copies(connection: &mut FileConnection) -> Result<(), SqliteError> {
    connection.begin_write()?;
    for table in ["sqlite_stat3", "sqlite_stat4"] {
        if connection.exists(ControlStatement::FindTable, table)? {
            connection.raw.execute(&format!("DELETE FROM {table}"))?;
        }
    }
    connection.empty_change_log()?;
    connection.end_write()
}

/// Copies the log into the file and truncates the log to no bytes. Waits up to `hold` for other
/// writers and for readers.
fn empty_log(connection: &mut FileConnection, hold: Duration) -> Result<Maintained, SqliteError> {
    let span = tracing::debug_span!(target: TARGET, "checkpoint", mode = "truncate");
    let _in = span.enter();
    match truncate_log(&mut connection.raw, hold)? {
        true => Ok(Maintained::Done(free_pages(connection)?)),
        false => Ok(Maintained::Busy),
    }
}

#[cfg(test)]
mod tests;
