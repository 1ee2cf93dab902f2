//! Takes the write-ahead log into the file.

use std::sync::MutexGuard;
use std::time::Duration;

use dflat_engine::Result;
use dflat_engine::telemetry::TARGET;

use crate::connection::configure::integer;
use crate::connection::connections::Connections;
use crate::connection::session::Session;
use crate::ffi::{Fault, LogExtent};
use crate::upkeep::kept_reads::KEPT_MAX;

/// How long a writer waits at most for those who read from a log that is too long; twice as long if
/// that is twice as long as it may be, and so on.
const PATIENCE: Duration = Duration::from_millis(100);

/// The most times.
const TIMES_MAX: u64 = 20;

/// What a checkpoint has done.
pub(crate) struct CheckpointOutcome {
    /// Whether all of the log is in the file.
    pub(crate) is_all: bool,
    /// Whether the log is too long, and could not start again.
    pub(crate) is_pinned: bool,
    /// Whether the log was too long, and starts again.
    pub(crate) is_restarted: bool,
    pub(crate) pages: u32,
    pub(crate) bytes: u64,
}

/// Takes the log into the file as far as nobody is in the way; if it is longer than it may be,
/// lets it start again. `_alone` shows that nobody else makes a checkpoint.
///
/// No read transaction is kept by a connection at rest while the device is waited for.
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
    // With a connection of its own: it waits for the device, and nobody else is to wait.
    let readers = connections.pool().readers();
    let forbidden = readers.forbid_kept_reads();
    let mut session = connections.open_writer()?;
    let taken = take(&mut session, "passive").map_err(|fault| fault.error(what()))?;
    let log = session.log_extent();
    if taken.bytes <= bytes_max {
        return Ok(taken);
    }
    drop(forbidden);
    // A writer may take long.
    let connection = connections.pool().take_writer_first(KEPT_MAX, || {
        readers.end_kept();
    })?;
    let forbidden = readers.forbid_kept_reads();
    let times = (taken.bytes / bytes_max).clamp(1, TIMES_MAX);
    let patience = PATIENCE * u32::try_from(times).unwrap_or(1);
    session.connection.set_busy_timeout(patience);
    let restarted = take(&mut session, "restart");
    drop(forbidden);
    connections.pool().return_writer(connection);
    let restarted = restarted.map_err(|fault| fault.error(what()))?;
    Ok(CheckpointOutcome {
        bytes: log.map_or(0, LogExtent::bytes),
        is_pinned: !restarted.is_all,
        is_restarted: restarted.is_all,
        ..restarted
    })
}

fn take(session: &mut Session, mode: &str) -> Result<CheckpointOutcome, Fault> {
    let span = tracing::debug_span!(target: TARGET, "checkpoint", mode);
    let _in = span.enter();
    // Without a transaction that has looked, it is not known whether there is a log.
    session.look_for_log()?;
    let busy = integer(
        &mut session.connection,
        &format!("PRAGMA wal_checkpoint({mode})"),
    )?;
    let Some(log) = session.log_extent() else {
        return Ok(CheckpointOutcome {
            is_all: true,
            is_pinned: false,
            is_restarted: false,
            pages: 0,
            bytes: 0,
        });
    };
    tracing::debug!(target: TARGET, pages = log.taken, of = log.pages, "checkpoint made");
    Ok(CheckpointOutcome {
        is_all: busy == 0 && log.taken >= log.pages,
        is_pinned: false,
        is_restarted: false,
        pages: log.pages,
        bytes: log.bytes(),
    })
}

#[cfg(test)]
mod tests;
