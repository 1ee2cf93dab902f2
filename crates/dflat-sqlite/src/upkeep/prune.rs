//! Deletes old change records, some at a time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dflat_engine::Result;

use crate::change_log::{AgeLimit, ToPrune};
use crate::connection::connections::Connections;
use crate::connection::file_connection::FileConnection;
use crate::ffi::SqliteError;

/// The limits of the change log, and whether the file is followed.
#[derive(Clone, Copy)]
pub(crate) struct PruneLimits {
    pub(crate) bytes_max: u64,
    pub(crate) age_max: Option<Duration>,
    pub(crate) is_followed: bool,
}

/// The outcome of a step.
pub(crate) enum Pruned {
    /// Records were deleted, and more may be to be deleted.
    Some,
    /// A transaction writes: there was no step.
    Waits,
    /// Half of the bytes is left, and no record that is too old. The first record that is left may
    /// be too old after a time.
    Done { next: Option<Duration> },
}

/// Deletes some of the oldest change records if there are more bytes than half of the limit, or if
/// they are too old, unless a transaction writes. No idle connection keeps a read transaction while
/// the step waits for another process or for the device. `return_writer` takes the writer's
/// connection, if it can be used again.
pub(crate) fn prune_step(
    connections: &Connections,
    limits: PruneLimits,
    return_writer: impl FnOnce(Option<FileConnection>),
) -> Result<Pruned> {
    let Some(mut connection) = connections.try_take_writer()? else {
        return Ok(Pruned::Waits);
    };
    if let Err(error) = connections.check_writer(&mut connection) {
        return_writer(None);
        return Err(error);
    }
    // Another process may have write access, and wait until no read transaction is open.
    let forbidden = connections.pool().readers().forbid_kept_reads();
    let step = step(&mut connection, limits);
    drop(forbidden);
    // After an error the next writer opens another connection.
    return_writer(step.is_ok().then_some(connection));
    step.map_err(|error| {
        let path = connections.path().display();
        error.into_error(format!("cannot prune the change log of {path}"))
    })
}

fn step(connection: &mut FileConnection, limits: PruneLimits) -> Result<Pruned, SqliteError> {
    if connection.change_log_bytes()? > limits.bytes_max / 2
        && connection.prune_change_log(ToPrune::First, limits.is_followed)?
    {
        return Ok(Pruned::Some);
    }
    let Some(age_max) = limits.age_max else {
        return Ok(Pruned::Done { next: None });
    };
    let age_max = u64::try_from(age_max.as_millis()).unwrap_or(u64::MAX);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
    let limit = AgeLimit {
        before: now.saturating_sub(age_max),
        now,
    };
    let first = connection.first_records(limit)?;
    if first.old.is_some()
        && connection.prune_change_log(ToPrune::Old(limit), limits.is_followed)?
    {
        return Ok(Pruned::Some);
    }
    let next = first.next.map(|written| {
        // Later by a millisecond, because the record is too old after that time.
        let left = written.saturating_add(age_max).saturating_sub(now);
        Duration::from_millis(left.saturating_add(1))
    });
    Ok(Pruned::Done { next })
}
