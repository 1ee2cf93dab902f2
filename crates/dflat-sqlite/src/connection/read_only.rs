//! Reads a file without writing anything: if the medium can't be written, or if the caller asks for
//! that.
//!
//! There are three ways, depending on the files beside it:
//!
//! 1. A log with its index, of programs that use the file or of one that crashed: SQLite shares
//!    both, and only reads them.
//! 2. A log without an index: no program uses it. SQLite gets an index in memory. The same is done
//!    for a log without a valid frame: its index is empty, and SQLite, which may not write the
//!    index, would retry for ten seconds.
//! 3. No log, or an empty one: the file is read as one that does not change.
//!
//! In the latter two cases SQLite does not notice when another process begins to write. So the
//! sizes and times of the files are compared before and after each read. If they differ, the file
//! is opened again, and the rows that were read meanwhile are discarded. A file that was changed a
//! moment ago is opened a moment later, because a further change might leave its times as they are.
//! A file with a rollback journal is shared by its locks, so that one read of it shows one state.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::connection::commits::FileHeader;
use crate::connection::configure;
use crate::connection::file_connection::FileConnection;
use crate::connection::polled_file::{FileStamps, PolledFile, Sharing};
use crate::ffi::{Access, SqliteError, Switch, may_write};
use crate::io::Monitor;
use crate::io::names::beside;
use crate::options::SqliteOptions;

/// Whether SQLite would notice late that the file can't be written: its log has an index and no
/// frame, and the index can't be written.
pub(crate) fn is_wanted(path: &Path) -> bool {
    FileStamps::of(path).is_log_dead(path) && !can_write(path)
}

/// Whether this process may write to the file, to those beside it, and to their directory.
pub(crate) fn can_write(path: &Path) -> bool {
    // Order: a file beside the database may be deleted before its permission is looked up.
    let is_denied = |path: &Path| !may_write(path) && path.exists();
    let files = ["", "-wal", "-shm"].map(|suffix| beside(path, suffix));
    let directory = path.parent().unwrap_or(path);
    !files.iter().any(|file| is_denied(file)) && !is_denied(directory)
}

/// A connection that reads, and writes nothing.
pub(crate) fn reader(
    path: &Arc<Path>,
    options: &SqliteOptions,
    monitor: Option<&Arc<Monitor>>,
) -> Result<FileConnection, SqliteError> {
    let (look, has_log, access) = settled_look(path, options)?;
    let mut connection = configure::open(path, access, options)?;
    configure::configure(&mut connection, options)?;
    connection.set(Switch::CheckpointAtClose, false);
    connection.execute("PRAGMA query_only = ON")?;
    let mut connection = FileConnection::new(connection, Arc::clone(path), monitor.cloned());
    let sharing = match access {
        Access::Immutable => Some(Sharing::Immutable),
        Access::SharedReadOnly if look.has_index => None,
        Access::SharedReadOnly if !has_log => Some(Sharing::Locked),
        _ => Some(Sharing::Unguarded),
    };
    connection.polled = sharing.map(|sharing| PolledFile { look, sharing });
    connection.touch()?;
    Ok(connection)
}

/// The stamps of the file, whether it has a log by its header, and how to open it. If SQLite will
/// not notice foreign writes, the stamps are settled.
fn settled_look(
    path: &Path,
    options: &SqliteOptions,
) -> Result<(FileStamps, bool, Access), SqliteError> {
    const PAUSE: Duration = Duration::from_millis(2);
    /// Stamps without further changes settle within this time.
    const SETTLING_MAX: Duration = Duration::from_secs(3);
    let start = Instant::now();
    loop {
        // Order: what changes while the file is opened shows the next time.
        let look = FileStamps::of(path);
        let has_log = {
            let connection = configure::open(path, Access::SharedReadOnly, options)?;
            FileHeader::read(&connection).is_some_and(|header| header.has_log)
        };
        let access = look.access(path, has_log);
        if access == Access::SharedReadOnly || look.are_settled() {
            return Ok((look, has_log, access));
        }
        if start.elapsed() >= SETTLING_MAX.saturating_add(options.busy_timeout) {
            return Err(SqliteError::busy(
                "the file changed again and again while the library waited to open it read-only",
            ));
        }
        thread::sleep(PAUSE);
    }
}
