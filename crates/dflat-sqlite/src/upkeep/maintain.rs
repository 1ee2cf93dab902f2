//! Giving space back, and forgetting what was deleted.

use dflat_engine::telemetry::TARGET;
use dflat_engine::{Error, ErrorKind, Result};

use crate::backend::SqliteBackend;
use crate::connection::open::{self, integer};
use crate::connection::session::Session;
use crate::ffi::Fault;
use crate::io::Space;
use crate::layout::control::Control;

/// The value of `PRAGMA auto_vacuum` for a file that can give back its free pages.
const INCREMENTAL: i64 = 2;

impl SqliteBackend {
    /// Gives up to `pages` unused pages back to the file system; how many are left. Call it in a
    /// loop: other writers go on between the steps, and readers all the time.
    ///
    /// # Errors
    /// `InvalidArgument` if the file was made without incremental vacuum, as those of Dflat for
    /// Swift are: [`Self::compact`] changes that. Else as writing can fail.
    pub fn reclaim(&self, pages: u32) -> Result<u64> {
        self.maintain("reclaim space in", |session| {
            if integer(&mut session.connection, "PRAGMA auto_vacuum")? != INCREMENTAL {
                return Ok(Step::NeedsCompact);
            }
            if pages > 0 {
                give_back(session, pages)?;
            }
            Ok(Step::Done(free_pages(session)?))
        })
    }

    /// Removes the last traces of what was deleted: afterwards none of its bytes is in the file or
    /// beside it.
    ///
    /// # Cost
    /// The whole file is written anew. Giving back the unused pages would not do: SQLite leaves
    /// copies in the unused parts of used pages when it moves rows between them.
    ///
    /// # Errors
    /// - `Busy` if a reader still sees an older state, which the log must keep.
    /// - `InvalidArgument` if the file was made without incremental vacuum, as those of Dflat for
    ///   Swift are: [`Self::compact`] changes that, and purges.
    /// - Else as writing can fail.
    pub fn purge(&self) -> Result<()> {
        self.maintain("purge", |session| {
            if integer(&mut session.connection, "PRAGMA auto_vacuum")? != INCREMENTAL {
                return Ok(Step::NeedsCompact);
            }
            forget_samples(session)?;
            session.commit_alone(open::vacuum)?;
            empty_log(session)
        })
        .map(drop)
    }

    /// Writes the whole file anew, without unused space and without a trace of what was deleted;
    /// from then on it can be reclaimed and purged in steps.
    ///
    /// # Errors
    /// `Busy` if a reader still sees an older state; else as writing can fail.
    pub fn compact(&self) -> Result<()> {
        self.maintain("compact", |session| {
            forget_samples(session)?;
            session.commit_alone(|connection| {
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            })?;
            session.commit_alone(open::vacuum)?;
            empty_log(session)
        })?;
        self.reclaimer().set_able();
        Ok(())
    }

    /// Gives up to `pages` unused pages back, unless someone writes.
    pub(crate) fn reclaim_step(&self, pages: u32) -> Result<Rest> {
        let Some(mut session) = self.try_take_writer()? else {
            return Ok(Rest::Taken);
        };
        let step = step(&mut session, pages);
        // After a fault the next writer opens another connection.
        self.return_writer(step.is_ok().then_some(session));
        step.map_err(|fault| fault.error(format!("cannot reclaim in {}", self.path().display())))
    }

    /// Does work on the file, as the one who writes; none if there is no file.
    fn maintain(
        &self,
        verb: &str,
        work: impl FnOnce(&mut Session) -> Result<Step, Fault>,
    ) -> Result<u64> {
        let what = || format!("cannot {verb} {}", self.path().display());
        if !open::exists(self.path())? {
            return Ok(0);
        }
        let _alone = self.lock_checkpoints();
        let mut session = self.take_writer()?;
        // What readers at rest keep must not be in the way.
        let _forbidden = self.pool().readers().forbid_keeping();
        match work(&mut session) {
            Ok(step) => {
                self.return_writer(Some(session));
                step.outcome(what)
            }
            Err(fault) => {
                // Returned without a connection: the next writer opens another.
                drop(session);
                self.return_writer(None);
                Err(fault.error(what()))
            }
        }
    }
}

/// What a step of giving space back has left.
pub(crate) enum Rest {
    /// Of so many pages some are unused.
    Space(Space),
    /// The file can't give back pages.
    Unable,
    /// Someone writes: there was no step.
    Taken,
}

fn step(session: &mut Session, pages: u32) -> Result<Rest, Fault> {
    if integer(&mut session.connection, "PRAGMA auto_vacuum")? != INCREMENTAL {
        return Ok(Rest::Unable);
    }
    give_back(session, pages)?;
    session.look_at_space().map(Rest::Space)
}

/// Gives pages back: like any write of ours, so that it is not taken for one of somebody else.
fn give_back(session: &mut Session, pages: u32) -> Result<(), Fault> {
    session.begin_write()?;
    let sql = format!("PRAGMA incremental_vacuum({pages})");
    session.connection.execute(&sql)?;
    session.end_write()
}

/// How far work on the file came.
enum Step {
    /// To its end; so many pages are unused.
    Done(u64),
    /// The log could not be emptied.
    Busy,
    /// The file can't give back pages.
    NeedsCompact,
}

impl Step {
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

fn free_pages(session: &mut Session) -> Result<u64, Fault> {
    Ok(session.look_at_space()?.free_pages)
}

/// Deletes the samples of values that `ANALYZE` has taken.
fn forget_samples(session: &mut Session) -> Result<(), Fault> {
    session.begin_write()?;
    for table in ["sqlite_stat3", "sqlite_stat4"] {
        if session.exists(Control::FindTable, table)? {
            session
                .connection
                .execute(&format!("DELETE FROM {table}"))?;
        }
    }
    session.end_write()
}

/// Takes the log into the file and cuts it to nothing.
fn empty_log(session: &mut Session) -> Result<Step, Fault> {
    let span = tracing::debug_span!(target: TARGET, "checkpoint", mode = "truncate");
    let _in = span.enter();
    let busy = integer(&mut session.connection, "PRAGMA wal_checkpoint(TRUNCATE)")?;
    match busy {
        0 => Ok(Step::Done(free_pages(session)?)),
        _ => Ok(Step::Busy),
    }
}
