//! Copies the write-ahead log into the file.

use std::sync::MutexGuard;
use std::thread;
use std::time::Duration;

use dflat_engine::Result;
use dflat_engine::telemetry::TARGET;

use crate::connection::connections::Connections;
use crate::connection::file_connection::FileConnection;
use crate::connection::open::limit_log_file;
use crate::ffi::{LogExtent, SqliteError};
use crate::upkeep::kept_reads::KEPT_MAX;

/// How long a checkpoint with write access waits for readers of a log that exceeds its limit; twice
/// as long if the log is twice as long as its limit, and so on.
const PATIENCE: Duration = Duration::from_millis(100);

/// The largest factor by which the wait is prolonged: transactions wait at most 2 s for readers.
const TIMES_MAX: u64 = 20;

/// The most pages that a checkpoint copies with write access, unless a reader kept it from copying
/// them before. A commit of so many pages takes about as long.
const HELD_PAGES_MAX: u32 = 256;

/// How often a checkpoint copies without write access before it leaves the rest to the next one.
/// Each time copies what writers have added during the time before, which is less, unless
/// transactions write faster than the device;
/// [`LogLimit`](crate::upkeep::log_limit::LogLimit) prevents that.
const PASSES_MAX: u32 = 8;

/// How often a checkpoint looks for a moment at which all of the log is in the file, before it is
/// deferred.
const TRIES_MAX: u32 = 3;

/// How long a checkpoint waits between two times for the end of a read.
const READ_WAIT: Duration = Duration::from_millis(5);

/// When a checkpoint makes the log start again.
#[derive(Clone, Copy)]
pub(crate) struct CheckpointLimits {
    /// The length of a log that need not start again, in bytes.
    pub(crate) bytes_max: u64,
    /// Whether pages are copied with write access if transactions write meanwhile. Otherwise the
    /// log starts again only if all of it is in the file, so that transactions wait for no sync.
    pub(crate) is_overdue: bool,
}

impl CheckpointLimits {
    /// The log only is copied.
    pub(crate) const COPY_ONLY: Self = Self {
        bytes_max: u64::MAX,
        is_overdue: false,
    };
}

/// The outcome of a checkpoint.
#[derive(Default)]
pub(crate) struct CheckpointOutcome {
    /// Whether all of the log is in the file.
    pub(crate) is_all: bool,
    /// Whether a reader or another checkpoint kept this one from copying all that there was when it
    /// began.
    pub(crate) is_blocked: bool,
    /// Whether the log exceeds its limit, and a reader kept it from starting again.
    pub(crate) is_pinned: bool,
    /// Whether the log exceeded its limit, and starts again with the next commit.
    pub(crate) is_restarted: bool,
    /// Whether the log exceeds its limit, and transactions kept it from starting again.
    pub(crate) is_deferred: bool,
    pub(crate) pages: u32,
    /// The pages of the log that were not in the file when the checkpoint began.
    pub(crate) pages_before: u32,
    pub(crate) bytes: u64,
    /// The most pages that can have been copied with write access.
    #[cfg(test)]
    pub(crate) held_pages: u32,
    /// Whether each pass met a read, such as that of a transaction under way, so that the
    /// checkpoint waited with write access.
    #[cfg(test)]
    pub(crate) met_reads: bool,
}

/// Copies the log into the file as far as readers allow it; if the log is longer than `bytes_max`,
/// makes it start again. `_alone` shows that no other thread makes a checkpoint.
///
/// No idle connection keeps a read transaction while this waits for the device.
pub(crate) fn checkpoint(
    connections: &Connections,
    _alone: &MutexGuard<'_, ()>,
    limits: CheckpointLimits,
) -> Result<CheckpointOutcome> {
    // One that meets a suspension is tried again after a later commit.
    connections.pool().begin_upkeep(Duration::ZERO)?;
    let outcome = checkpoint_alone(connections, limits);
    connections.pool().end_upkeep();
    // Notes the length of the file, with which later calls compare it.
    connections.check_in_place()?;
    outcome
}

fn checkpoint_alone(
    connections: &Connections,
    CheckpointLimits {
        bytes_max,
        is_overdue,
    }: CheckpointLimits,
) -> Result<CheckpointOutcome> {
    let what = || {
        format!(
            "cannot make a checkpoint of {}",
            connections.path().display()
        )
    };
    // The checkpoint has a connection of its own, so that no transaction waits for the device.
    let mut connection = connections.open_writer()?;
    let (mut tries, mut is_read) = (0, false);
    for pass in 1..=PASSES_MAX {
        check_synced(connections, &mut connection, what)?;
        let passive = copy_beside(connections, &mut connection, bytes_max);
        let passive = passive.map_err(|error| error.into_error(what()))?;
        if passive.bytes <= bytes_max {
            return Ok(passive);
        }
        let is_blocked = passive.is_blocked || is_read;
        // During a long pass and its sync, transactions have written.
        let pages_left = passive.pages_before.max(connection.uncopied_pages());
        let is_early = pages_left > HELD_PAGES_MAX || (is_blocked && !is_overdue);
        if is_early && pass < PASSES_MAX {
            if is_blocked {
                thread::sleep(READ_WAIT);
            }
            continue;
        }
        let hold = Hold::new(is_blocked, is_overdue, passive.bytes / bytes_max);
        let restarted = restart(connections, &mut connection, hold)?;
        let restarted = restarted.map_err(|error| error.into_error(what()))?;
        if let Some(outcome) = restarted {
            if outcome.is_restarted || !hold.patience.is_zero() {
                return Ok(CheckpointOutcome {
                    bytes: passive.bytes,
                    ..outcome
                });
            }
            is_read = true;
        }
        tries += u32::from(!is_overdue && !is_read);
        if tries == TRIES_MAX {
            break;
        }
    }
    let log = connection.log_extent();
    Ok(CheckpointOutcome {
        is_deferred: !is_overdue,
        pages: log.map_or(0, |log| log.pages),
        bytes: log.map_or(0, LogExtent::bytes),
        ..CheckpointOutcome::default()
    })
}

/// Checks that the file is whole, just before pages are copied into it: a copy would make a file
/// that was cut as long as it was, without the pages that it lost.
///
/// SQLite syncs the log before it copies. That may take long, so the library syncs the log before
/// it checks.
fn check_synced(
    connections: &Connections,
    connection: &mut FileConnection,
    what: impl Fn() -> String,
) -> Result<()> {
    let synced = connection.look_for_log().and_then(|()| {
        let is_due = connection.log_extent().is_some() && connection.uncopied_pages() > 0;
        match is_due {
            true => connection.raw.sync_log(),
            false => Ok(()),
        }
    });
    // Order: before an error, which may come from a missing page.
    connections.check_writer(connection)?;
    synced.map_err(|error| error.into_error(what()))
}

/// Copies the log without write access. If the log is longer than `bytes_max`, and transactions
/// write meanwhile, syncs the pages that were copied.
fn copy_beside(
    connections: &Connections,
    connection: &mut FileConnection,
    bytes_max: u64,
) -> Result<CheckpointOutcome, SqliteError> {
    let forbidden = connections.pool().readers().forbid_kept_reads();
    let passive = run_checkpoint(connection, "passive");
    drop(forbidden);
    let passive = passive?;
    if passive.bytes > bytes_max && connection.uncopied_pages() > 0 {
        // SQLite syncs the file only when all of the log is in it. Without this sync, the
        // restart would sync the pages of all passes, with write access.
        connection.raw.sync_file()?;
    }
    Ok(passive)
}

/// The limits of the time for which a checkpoint holds write access.
#[derive(Clone, Copy)]
struct Hold {
    /// How long it waits for readers.
    patience: Duration,
    /// The most pages that it copies.
    pages_max: u32,
}

impl Hold {
    /// For a log that is some `times` as long as its limit.
    fn new(is_blocked: bool, is_overdue: bool, times: u64) -> Self {
        let times = u32::try_from(times.clamp(1, TIMES_MAX)).unwrap_or(1);
        let patience = PATIENCE * times;
        match (is_blocked, is_overdue) {
            // The log starts again only when no read uses it. Overlapping reads leave the log only
            // while no transaction writes.
            (true, _) => Self {
                patience,
                pages_max: u32::MAX,
            },
            (false, true) => Self {
                patience,
                pages_max: HELD_PAGES_MAX,
            },
            (false, false) => Self {
                patience: Duration::ZERO,
                pages_max: 0,
            },
        }
    }
}

/// Makes the log start again with the next commit. This needs write access, and waits for readers
/// up to the patience of `hold`. `None` if more of its pages are not in the file than it may copy,
/// because transactions went first.
fn restart(
    connections: &Connections,
    connection: &mut FileConnection,
    hold: Hold,
) -> Result<Result<Option<CheckpointOutcome>, SqliteError>> {
    let readers = connections.pool().readers();
    // The wait for a writer may be long.
    let mut writer = connections.pool().take_writer_first(KEPT_MAX, || {
        readers.end_kept();
    })?;
    let uncopied = connection.uncopied_pages();
    if uncopied > hold.pages_max {
        connections.pool().return_writer(writer);
        return Ok(Ok(None));
    }
    if let Err(error) = connections.check_writer(connection) {
        connections.pool().return_writer(writer);
        return Err(error);
    }
    let forbidden = readers.forbid_kept_reads();
    connection.raw.set_busy_timeout(hold.patience);
    let restarted = run_checkpoint(connection, "restart");
    drop(forbidden);
    if restarted.as_ref().is_ok_and(|outcome| outcome.is_all)
        && let Some(writer) = &mut writer
    {
        // The file is cut by later steps. After an error, the next commit cuts it.
        let _ = limit_log_file(&mut writer.raw, None);
    }
    connections.pool().return_writer(writer);
    Ok(restarted.map(|outcome| {
        Some(CheckpointOutcome {
            is_pinned: !outcome.is_all,
            is_restarted: outcome.is_all,
            #[cfg(test)]
            held_pages: uncopied,
            #[cfg(test)]
            met_reads: hold.pages_max == u32::MAX,
            ..outcome
        })
    }))
}

fn run_checkpoint(
    connection: &mut FileConnection,
    mode: &str,
) -> Result<CheckpointOutcome, SqliteError> {
    let span = tracing::debug_span!(target: TARGET, "checkpoint", mode);
    let _in = span.enter();
    // Whether there is a log is known only after a read.
    connection.look_for_log()?;
    let pages_before = connection.uncopied_pages();
    let (mut busy, mut pages, mut copied) = (0, 0, 0);
    let sql = format!("PRAGMA wal_checkpoint({mode})");
    connection.raw.execute_with(&sql, |columns| {
        (busy, pages, copied) = (columns.integer(0), columns.integer(1), columns.integer(2));
        Ok(())
    })?;
    let Some(log) = connection.log_extent() else {
        return Ok(CheckpointOutcome {
            is_all: true,
            ..CheckpointOutcome::default()
        });
    };
    tracing::debug!(target: TARGET, pages = log.copied, of = log.pages, "checkpoint made");
    Ok(CheckpointOutcome {
        is_all: busy == 0 && log.copied >= log.pages,
        is_blocked: busy != 0 || copied < pages,
        pages: log.pages,
        pages_before,
        bytes: log.bytes(),
        ..CheckpointOutcome::default()
    })
}

#[cfg(test)]
mod tests;
