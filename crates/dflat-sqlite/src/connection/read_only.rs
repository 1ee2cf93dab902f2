//! Reading a file without writing anything: on a medium that can't be written, or because that was
//! asked for.
//!
//! Three ways, by what is beside the file:
//!
//! 1. A log with its index, as programs that use the file have it, or one that ended in a crash:
//!    SQLite shares them, and only reads both.
//! 2. A log without an index: whoever wrote it is gone. An index is made in memory. So it is for a
//!    log that never got a frame, or is none: its index says nothing, and SQLite, which may not
//!    write it, would look at both for ten seconds.
//! 3. No log, or an empty one: the file is all there is, and is read as one that does not change.
//!
//! By the latter two nothing tells SQLite if somebody begins to write after all. So the sizes and
//! times of the files are compared before and after each read: what looks otherwise is opened
//! again, and what was read meanwhile is not believed. A file whose commits go through a rollback
//! journal is shared by its locks, so that one read of it shows one state.

use std::path::Path;
use std::sync::Arc;

use crate::connection::commits::FileHeader;
use crate::connection::configure;
use crate::connection::polled_file::{FileStamps, PolledFile, Sharing};
use crate::connection::session::Session;
use crate::ffi::{Access, Fault, Switch};
use crate::io::Monitor;
use crate::options::SqliteOptions;

/// Whether the file is to be read without writing even if it could be written: so it is for as long
/// as nobody has begun its log, because if the index can't be written, SQLite finds out late.
pub(crate) fn is_wanted(path: &Path) -> bool {
    FileStamps::of(path).is_log_dead(path)
}

/// A connection that reads, and writes nothing.
pub(crate) fn reader(
    path: &Arc<Path>,
    options: &SqliteOptions,
    monitor: Option<&Arc<Monitor>>,
) -> Result<Session, Fault> {
    // Order: what changes while it is opened shows the next time.
    let look = FileStamps::of(path);
    let has_log = {
        let connection = configure::open(path, Access::SharedReadOnly, options)?;
        FileHeader::read(&connection).is_some_and(|header| header.has_log)
    };
    let access = look.access(path, has_log);
    let mut connection = configure::open(path, access, options)?;
    configure::configure(&mut connection, options.busy_timeout)?;
    connection.set(Switch::CheckpointAtClose, false);
    connection.execute("PRAGMA query_only = ON")?;
    let mut session = Session::new(connection, Arc::clone(path), monitor.cloned());
    let sharing = match access {
        Access::Immutable => Some(Sharing::Immutable),
        Access::SharedReadOnly if look.has_index => None,
        Access::SharedReadOnly if !has_log => Some(Sharing::Locked),
        _ => Some(Sharing::Unguarded),
    };
    session.polled = sharing.map(|sharing| PolledFile { look, sharing });
    session.touch()?;
    Ok(session)
}
