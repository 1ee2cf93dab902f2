//! Deletes old change records, some at a time.

use dflat_engine::Result;

use crate::connection::connections::Connections;
use crate::connection::file_connection::FileConnection;
use crate::ffi::SqliteError;

/// The outcome of a step.
pub(crate) enum Pruned {
    /// Records were deleted, and more are to be deleted.
    Some,
    /// A transaction writes: there was no step.
    Waits,
    /// Half of the limit is left.
    Done,
}

/// Deletes some of the oldest change records if there are more bytes than half of the limit, unless
/// a transaction writes. `return_writer` takes the writer's connection, if it can be used again.
pub(crate) fn prune_step(
    connections: &Connections,
    limit: u64,
    is_followed: bool,
    return_writer: impl FnOnce(Option<FileConnection>),
) -> Result<Pruned> {
    let Some(mut connection) = connections.try_take_writer()? else {
        return Ok(Pruned::Waits);
    };
    if let Err(error) = connections.check_writer(&mut connection) {
        return_writer(None);
        return Err(error);
    }
    let step = step(&mut connection, limit, is_followed);
    // After an error the next writer opens another connection.
    return_writer(step.is_ok().then_some(connection));
    step.map_err(|error| {
        let path = connections.path().display();
        error.into_error(format!("cannot prune the change log of {path}"))
    })
}

fn step(
    connection: &mut FileConnection,
    limit: u64,
    is_followed: bool,
) -> Result<Pruned, SqliteError> {
    if connection.change_log_bytes()? <= limit / 2 {
        return Ok(Pruned::Done);
    }
    Ok(match connection.prune_change_log(is_followed)? {
        true => Pruned::Some,
        false => Pruned::Done,
    })
}
