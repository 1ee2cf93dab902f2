//! Gives unused pages of the file back to the file system.

use dflat_engine::Result;
use dflat_model::record::empty_record;

use crate::connection::configure::integer;
use crate::connection::connections::Connections;
use crate::connection::file_connection::FileConnection;
use crate::ffi::SqliteError;
use crate::io::Space;

/// How many pages are given back at most, and whether the commit leaves a change record.
#[derive(Clone, Copy)]
pub(crate) struct PagesToReclaim {
    pub(crate) pages: u32,
    pub(crate) is_followed: bool,
}

/// Whether the file can give back its unused pages in steps.
pub(crate) fn is_incremental(connection: &mut FileConnection) -> Result<bool, SqliteError> {
    /// The value of `PRAGMA auto_vacuum` of such a file.
    const INCREMENTAL: i64 = 2;
    Ok(integer(&mut connection.raw, "PRAGMA auto_vacuum")? == INCREMENTAL)
}

/// Gives up to `pages` unused pages back, unless a transaction writes. No idle connection keeps a
/// read transaction while this waits for the device. `return_writer` takes the writer's
/// connection, if it can be used again.
pub(crate) fn reclaim_step(
    connections: &Connections,
    pages: PagesToReclaim,
    return_writer: impl FnOnce(Option<FileConnection>),
) -> Result<Reclaimed> {
    let _forbidden = connections.pool().readers().forbid_kept_reads();
    let Some(mut connection) = connections.try_take_writer()? else {
        return Ok(Reclaimed::Nothing);
    };
    if let Err(error) = connections.check_writer(&mut connection) {
        return_writer(None);
        return Err(error);
    }
    let step = step(&mut connection, pages);
    // After an error the next writer opens another connection.
    return_writer(step.is_ok().then_some(connection));
    step.map_err(|error| {
        error.into_error(format!(
            "cannot reclaim in {}",
            connections.path().display()
        ))
    })
}

/// The outcome of a step of giving pages back.
pub(crate) enum Reclaimed {
    /// Pages were given back; so many are left.
    Space(Space),
    /// The file can't give back pages.
    Unable,
    /// A transaction writes: there was no step.
    Nothing,
}

fn step(connection: &mut FileConnection, pages: PagesToReclaim) -> Result<Reclaimed, SqliteError> {
    if !is_incremental(connection)? {
        return Ok(Reclaimed::Unable);
    }
    give_back(connection, pages)?;
    connection.look_at_space().map(Reclaimed::Space)
}

/// Gives pages back in a write transaction of the backend, so that its commit does not count as
/// foreign. If the file is followed, the commit has a change record without changes.
pub(crate) fn give_back(
    connection: &mut FileConnection,
    PagesToReclaim { pages, is_followed }: PagesToReclaim,
) -> Result<(), SqliteError> {
    connection.begin_write()?;
    if is_followed {
        connection.append_record(&empty_record())?;
    }
    let sql = format!("PRAGMA incremental_vacuum({pages})");
    connection.raw.execute(&sql)?;
    connection.end_write()
}

/// How many pages of the file are unused.
pub(crate) fn free_pages(connection: &mut FileConnection) -> Result<u64, SqliteError> {
    Ok(connection.look_at_space()?.free_pages)
}
