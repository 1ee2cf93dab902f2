//! Cuts the log's file in short steps, after the log of a large transaction has started again.
//!
//! SQLite cuts the file in the first commit to the log that starts again. A device takes 0.3 to
//! 0.6 ms for each MiB, so after a transaction of 100,000 rows, that commit took 5 to 8 ms longer
//! than others. Therefore the checkpoint that makes the log start again lifts the limit of the
//! writer's connection, and the steps here cut the file instead.

use dflat_engine::Result;

use crate::connection::connections::Connections;
use crate::connection::file_connection::FileConnection;
use crate::connection::open::limit_log_file;
use crate::ffi::SqliteError;
use crate::upkeep::kept_reads::KEPT_MAX;

/// The most bytes that a step cuts, with write access: the device takes about as long as for a
/// sync.
pub(crate) const CUT_BYTES_MAX: u64 = 1 << 20;

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CutOutcome {
    /// The file is longer than its limit.
    More,
    /// The file is within its limit, or longer only by the pages of the log.
    Done,
}

/// Cuts at most [`CUT_BYTES_MAX`] bytes. The step gets write access before all transactions that
/// wait for it. No idle connection keeps a read transaction while the step waits for another
/// process or for the device. `return_writer` takes the writer's connection, if it can be used
/// again.
pub(crate) fn cut_step(
    connections: &Connections,
    return_writer: impl FnOnce(Option<FileConnection>),
) -> Result<CutOutcome> {
    let pool = connections.pool();
    let writer = pool.take_writer_first(KEPT_MAX, || {
        pool.readers().end_kept();
    })?;
    let Some(mut connection) = writer else {
        // The next writer opens a connection that has the limit.
        return_writer(None);
        return Ok(CutOutcome::Done);
    };
    if let Err(error) = connections.check_writer(&mut connection) {
        drop(connection);
        return_writer(None);
        return Err(error);
    }
    // Another process may have write access, and wait until no read transaction is open.
    let forbidden = pool.readers().forbid_kept_reads();
    let cut = cut(&mut connection, connections.options().log_bytes_max);
    drop(forbidden);
    // After an error the next writer opens another connection, which has the limit.
    return_writer(cut.is_ok().then_some(connection));
    cut.map_err(|error| {
        error.into_error(format!(
            "cannot cut the log of {}",
            connections.path().display()
        ))
    })
}

fn cut(connection: &mut FileConnection, bytes_max: u64) -> Result<CutOutcome, SqliteError> {
    // Other processes must not write to the log meanwhile.
    connection.begin_write()?;
    let cut = cut_inside(connection, bytes_max);
    connection.end_write()?;
    let outcome = cut?;
    if outcome == CutOutcome::Done {
        limit_log_file(&mut connection.raw, Some(bytes_max))?;
    }
    Ok(outcome)
}

fn cut_inside(connection: &mut FileConnection, bytes_max: u64) -> Result<CutOutcome, SqliteError> {
    /// The size of the log's header.
    const HEADER_BYTES: u64 = 32;
    let log = connection.log_extent();
    // Invariant: only pages of an earlier log are cut. The header of the present log is on the
    // device, because SQLite syncs it before the first page; so after a loss of power, no page of
    // an earlier log counts. A log without pages may not have written its header.
    let Some(log) = log.filter(|log| log.pages > 0) else {
        return Ok(CutOutcome::Done);
    };
    let bytes_min = bytes_max.max(log.bytes() + HEADER_BYTES);
    let bytes = connection.raw.log_file_bytes()?;
    if bytes <= bytes_min {
        return Ok(CutOutcome::Done);
    }
    let bytes_left = bytes_min.max(bytes.saturating_sub(CUT_BYTES_MAX));
    connection.raw.cut_log_file(bytes_left)?;
    Ok(match bytes_left > bytes_min {
        true => CutOutcome::More,
        false => CutOutcome::Done,
    })
}
