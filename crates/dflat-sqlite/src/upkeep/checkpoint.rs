//! Takes the write-ahead log into the file.

use std::sync::MutexGuard;
use std::time::Duration;

use dflat_engine::Result;
use dflat_engine::telemetry::TARGET;

use crate::connection::configure::integer;
use crate::connection::connections::Connections;
use crate::connection::file_connection::FileConnection;
use crate::ffi::{LogExtent, SqliteError};
use crate::upkeep::kept_reads::KEPT_MAX;

/// How long a checkpoint with write access waits for readers of a log that exceeds its limit; twice
/// as long if the log is twice as long as its limit, and so on.
const PATIENCE: Duration = Duration::from_millis(100);

/// The most times that long.
const TIMES_MAX: u64 = 20;

/// The outcome of a checkpoint.
pub(crate) struct CheckpointOutcome {
    /// Whether all of the log is in the file.
    pub(crate) is_all: bool,
    /// Whether the log exceeds its limit, and a reader kept it from starting again.
    pub(crate) is_pinned: bool,
    /// Whether the log exceeded its limit, and starts again with the next commit.
    pub(crate) is_restarted: bool,
    pub(crate) pages: u32,
    pub(crate) bytes: u64,
}

/// Takes the log into the file as far as readers allow it; if it is longer than `bytes_max`, makes
/// it start again. `_alone` shows that no other thread makes a checkpoint.
///
/// No idle connection keeps a read transaction while this waits for the device.
pub(crate) fn checkpoint(
    connections: &Connections,
    _alone: &MutexGuard<'_, ()>,
    bytes_max: u64,
) -> Result<CheckpointOutcome> {
    connections.pool().begin_upkeep()?;
    let outcome = checkpoint_alone(connections, bytes_max);
    connections.pool().end_upkeep();
    outcome
}

fn checkpoint_alone(connections: &Connections, bytes_max: u64) -> Result<CheckpointOutcome> {
    let what = || {
        format!(
            "cannot make a checkpoint of {}",
            connections.path().display()
        )
    };
    // With a connection of its own, so that no transaction waits for the device.
    let readers = connections.pool().readers();
    let forbidden = readers.forbid_kept_reads();
    let mut connection = connections.open_writer()?;
    let passive =
        run_checkpoint(&mut connection, "passive").map_err(|error| error.into_error(what()))?;
    let log = connection.log_extent();
    if passive.bytes <= bytes_max {
        return Ok(passive);
    }
    drop(forbidden);
    // A writer may take long.
    let writer = connections.pool().take_writer_first(KEPT_MAX, || {
        readers.end_kept();
    })?;
    let forbidden = readers.forbid_kept_reads();
    let times = (passive.bytes / bytes_max).clamp(1, TIMES_MAX);
    let patience = PATIENCE * u32::try_from(times).unwrap_or(1);
    connection.raw.set_busy_timeout(patience);
    let restarted = run_checkpoint(&mut connection, "restart");
    drop(forbidden);
    connections.pool().return_writer(writer);
    let restarted = restarted.map_err(|error| error.into_error(what()))?;
    Ok(CheckpointOutcome {
        bytes: log.map_or(0, LogExtent::bytes),
        is_pinned: !restarted.is_all,
        is_restarted: restarted.is_all,
        ..restarted
    })
}

fn run_checkpoint(
    connection: &mut FileConnection,
    mode: &str,
) -> Result<CheckpointOutcome, SqliteError> {
    let span = tracing::debug_span!(target: TARGET, "checkpoint", mode);
    let _in = span.enter();
    // Whether there is a log is known only after a read.
    connection.look_for_log()?;
    let busy = integer(
        &mut connection.raw,
        &format!("PRAGMA wal_checkpoint({mode})"),
    )?;
    let Some(log) = connection.log_extent() else {
        return Ok(CheckpointOutcome {
            is_all: true,
            is_pinned: false,
            is_restarted: false,
            pages: 0,
            bytes: 0,
        });
    };
    tracing::debug!(target: TARGET, pages = log.copied, of = log.pages, "checkpoint made");
    Ok(CheckpointOutcome {
        is_all: busy == 0 && log.copied >= log.pages,
        is_pinned: false,
        is_restarted: false,
        pages: log.pages,
        bytes: log.bytes(),
    })
}

#[cfg(test)]
mod tests;
