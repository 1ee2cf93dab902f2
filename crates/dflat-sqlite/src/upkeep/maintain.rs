//! Gives space back, and removes the traces of deleted objects.

use dflat_engine::telemetry::TARGET;
use dflat_engine::{Error, ErrorKind, Result};

use crate::connection::configure::{exists, integer, vacuum};
use crate::connection::file_connection::FileConnection;
use crate::ffi::{PageCheck, SqliteError, refuse_damage};
use crate::layout::control::ControlStatement;
use crate::upkeep::free_pages::{PagesToReclaim, free_pages, give_back, is_incremental};
use crate::upkeep::owner::Upkeep;

impl Upkeep {
    /// Gives up to `pages` unused pages back to the file system, and returns how many are left.
    pub(crate) fn reclaim(&self, pages: u32) -> Result<u64> {
        let is_followed = self.is_followed();
        self.maintain("reclaim space in", |connection| {
            if !is_incremental(connection)? {
                return Ok(Maintained::NeedsCompact);
            }
            if pages > 0 {
                give_back(connection, PagesToReclaim { pages, is_followed })?;
            }
            Ok(Maintained::Done(free_pages(connection)?))
        })
    }

    /// Removes the last traces of deleted objects.
    pub(crate) fn purge(&self) -> Result<()> {
        self.maintain("purge", |connection| {
            if !is_incremental(connection)? {
                return Ok(Maintained::NeedsCompact);
            }
            refuse_damage(&mut connection.raw, PageCheck::Pages)?;
            forget_copies(connection)?;
            connection.commit_alone(vacuum)?;
            empty_log(connection)
        })
        .map(drop)
    }

    /// Writes the whole file anew, so that it can be reclaimed and purged in steps.
    pub(crate) fn compact(&self) -> Result<()> {
        self.maintain("compact", |connection| {
            // Rows on damaged pages would be left out, and no salvage could find them later.
            refuse_damage(&mut connection.raw, PageCheck::Pages)?;
            forget_copies(connection)?;
            connection.commit_alone(|connection| {
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            })?;
            connection.commit_alone(vacuum)?;
            empty_log(connection)
        })?;
        self.set_able();
        Ok(())
    }

    /// Does work on the file with write access, if there is a file.
    fn maintain(
        &self,
        verb: &str,
        mut work: impl FnMut(&mut FileConnection) -> Result<Maintained, SqliteError>,
    ) -> Result<u64> {
        let connections = self.connections();
        let what = || format!("cannot {verb} {}", connections.path().display());
        // A file that was deleted since it was opened is an error.
        connections.check_in_place()?;
        if !exists(connections.path())? {
            return Ok(0);
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
                step.outcome(what)
            }
            Err(error) => {
                // Returned without a connection: the next writer opens another.
                drop(connection);
                self.return_writer(None);
                Err(error.into_error(what()))
            }
        }
    }
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

/// Copies the log into the file and truncates the log to no bytes.
fn empty_log(connection: &mut FileConnection) -> Result<Maintained, SqliteError> {
    let span = tracing::debug_span!(target: TARGET, "checkpoint", mode = "truncate");
    let _in = span.enter();
    let busy = integer(&mut connection.raw, "PRAGMA wal_checkpoint(TRUNCATE)")?;
    match busy {
        0 => Ok(Maintained::Done(free_pages(connection)?)),
        _ => Ok(Maintained::Busy),
    }
}
