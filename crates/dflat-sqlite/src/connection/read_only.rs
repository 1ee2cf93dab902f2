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

use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use crate::connection::commits::Header;
use crate::connection::log_header;
use crate::connection::open::{self, beside};
use crate::connection::reading::{Apart, Sharing};
use crate::connection::session::Session;
use crate::ffi::{Access, Fault, Switch};
use crate::io::Monitor;
use crate::options::SqliteOptions;

/// What a file and those beside it look like from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    main: Option<(u64, SystemTime)>,
    log: Option<(u64, SystemTime)>,
    has_journal: bool,
    has_index: bool,
}

impl Look {
    /// Of the file at `path`, which is not opened: to close it again would drop the locks of others
    /// in this process.
    pub(crate) fn of(path: &Path) -> Self {
        let look = |path: &Path| {
            let metadata = fs::metadata(path).ok()?;
            Some((metadata.len(), metadata.modified().ok()?))
        };
        Self {
            main: look(path),
            log: look(&beside(path, "-wal")),
            has_journal: look(&beside(path, "-journal")).is_some_and(|(len, _)| len > 0),
            has_index: beside(path, "-shm").exists(),
        }
    }

    fn log_bytes(&self) -> u64 {
        self.log.map_or(0, |(len, _)| len)
    }

    /// Whether the log of the file at `path` has an index and no frame.
    fn is_log_dead(&self, path: &Path) -> bool {
        self.has_index && self.log_bytes() > 0 && !log_header::is_begun(&beside(path, "-wal"))
    }

    /// Whether there is a rollback journal that is to be played back: one that is done with may
    /// stay, with zeros in the place of its header.
    fn has_hot_journal(&self, path: &Path) -> bool {
        self.has_journal && head(&beside(path, "-journal")).is_some_and(|[first]| first != 0)
    }

    /// How to open the file at `path`.
    fn access(&self, path: &Path, has_log: bool) -> Access {
        if self.log.is_some() && self.has_index && !self.is_log_dead(path) {
            Access::SharedReadOnly
        } else if self.log_bytes() > 0 {
            Access::OwnLogIndex
        } else if has_log && !self.has_hot_journal(path) {
            Access::Immutable
        } else {
            // Without a log it is shared by locks of the file alone.
            Access::SharedReadOnly
        }
    }
}

/// The first bytes of a file that has as many.
pub(crate) fn head<const N: usize>(path: &Path) -> Option<[u8; N]> {
    let mut head = [0; N];
    fs::File::open(path).ok()?.read_exact(&mut head).ok()?;
    Some(head)
}

/// Whether the file is to be read without writing even if it could be written: so it is for as long
/// as nobody has begun its log, because if the index can't be written, SQLite finds out late.
pub(crate) fn is_wanted(path: &Path) -> bool {
    Look::of(path).is_log_dead(path)
}

/// A connection that reads, and writes nothing.
pub(crate) fn reader(
    path: &Arc<Path>,
    options: &SqliteOptions,
    monitor: Option<&Arc<Monitor>>,
) -> Result<Session, Fault> {
    // Order: what changes while it is opened shows the next time.
    let look = Look::of(path);
    let has_log = {
        let connection = open::open(path, Access::SharedReadOnly, options)?;
        Header::read(&connection).is_some_and(|header| header.has_log)
    };
    let access = look.access(path, has_log);
    let mut connection = open::open(path, access, options)?;
    open::configure(&mut connection, options.busy_timeout)?;
    connection.set(Switch::CheckpointAtClose, false);
    connection.execute("PRAGMA query_only = ON")?;
    let mut session = Session::new(connection, Arc::clone(path), monitor.cloned());
    let sharing = match access {
        Access::Immutable => Some(Sharing::Immutable),
        Access::SharedReadOnly if look.has_index => None,
        Access::SharedReadOnly if !has_log => Some(Sharing::Locked),
        _ => Some(Sharing::Unguarded),
    };
    session.apart = sharing.map(|sharing| Apart { look, sharing });
    session.touch()?;
    Ok(session)
}
