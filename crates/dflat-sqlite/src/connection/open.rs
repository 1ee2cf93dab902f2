//! Opening, creating, configuring and tidying up the file.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use dflat_engine::storage::CloseOptions;
use dflat_engine::telemetry::TARGET;
use dflat_engine::{Error, ErrorKind, Result};

use crate::connection::commits::{Commits, FileHeader, OpeningCounts};
use crate::connection::configure::{
    configure, create, create_error, emptying, exists, has_bytes, integer, open,
    opened_for_reading, vacuum,
};
use crate::connection::encoding;
use crate::connection::file_connection::FileConnection;
use crate::connection::polled_file::FileStamps;
use crate::connection::read_only;
use crate::ffi::{Access, Connection, SqliteError, is_pipe};
use crate::io::Monitor;
use crate::io::names::beside;
use crate::options::SqliteOptions;

/// How long to wait before an attempt is repeated that failed because of another process: about as
/// long as that process takes to open or close the file.
const RETRY_AFTER: Duration = Duration::from_millis(2);

/// The milliseconds to wait before each attempt to take in a log that is left: another process that
/// closes the file at the same moment is done with that soon.
pub(super) const TAKE_IN_WAITS_MS: [u64; 4] = [0, 1, 5, 20];

/// The same for a shutdown, after which the process may end: the next process takes the log in.
pub(super) const CLOSE_WAITS_MS: [u64; 3] = [0, 1, 5];

/// How long such an attempt may wait for a lock.
const TAKE_IN_TIMEOUT: Duration = Duration::from_millis(100);

/// How long the first attempts to switch the file to a log may take. An attempt keeps readers from
/// beginning.
const SWITCH_ATTEMPT: Duration = Duration::from_millis(20);

/// How long the last attempts may take. Longer attempts also succeed if some of several readers
/// always read.
const SWITCH_ATTEMPT_MAX: Duration = Duration::from_secs(1);

/// The longest pause between two attempts. SQLite asks at least every 100 ms for a lock that it
/// waits for, so each reader that waits begins within this pause.
const SWITCH_PAUSE_MAX: Duration = Duration::from_millis(128);

/// Checks that the file, if there is one, is a database. Leaves no trace.
pub(crate) fn check(path: &Path, options: &SqliteOptions) -> Result<()> {
    const MAGIC: [u8; 16] = *b"SQLite format 3\0";
    if !exists(path)? {
        return Ok(());
    }
    let what = || format!("cannot open {}", path.display());
    // To open a named pipe would wait for another process that writes to it.
    if is_pipe(path) {
        let message = format!("{}: it is a named pipe", what());
        return Err(Error::new(ErrorKind::NotADatabase, message));
    }
    // Reading by SQL would leave a log and its index beside the file.
    let connection =
        open(path, Access::ReadOnly, options).map_err(|error| error.into_read_error(what()))?;
    let read_head = || connection.read_head();
    let is_empty = || fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0);
    let is_database = read_head().and_then(|head| match head {
        Some(head) => Ok(head == MAGIC),
        None if is_empty() => Ok(true),
        // Another process may have created the database in between.
        None => Ok(read_head()? == Some(MAGIC)),
    });
    let is_database = is_database.map_err(|error| error.into_read_error(what()))?;
    // A journal holds what the first page was before a crash.
    if exists(&beside(path, "-journal"))? {
        return Ok(());
    }
    if is_database {
        return encoding::check_header(&connection, what);
    }
    let message = format!("{}: the file is not a database", what());
    Err(Error::new(ErrorKind::NotADatabase, message))
}

/// A connection that reads; `None` if there is no file, or an empty one.
///
/// While other processes open and close the file, its log and the log's index come and go. If the
/// file can't be opened for that reason, the library tries again, for up to the busy timeout.
pub(crate) fn open_reader(
    path: &Arc<Path>,
    options: &SqliteOptions,
    monitor: Option<&Arc<Monitor>>,
) -> Result<Option<FileConnection>> {
    /// The number of attempts that are made even if no file seems changed: a file may have changed
    /// twice.
    const ATTEMPTS_MIN: u32 = 3;
    let start = Instant::now();
    for attempt in 1.. {
        // A read of an empty file would keep the process that has just created it from switching it
        // to a log.
        if !has_bytes(path)? {
            return Ok(None);
        }
        let look = FileStamps::of(path);
        let error = match try_open_reader(path, options, monitor) {
            Ok(mut connection) => {
                let what = || format!("cannot read {}", path.display());
                encoding::check(&mut connection.raw, options, what)?;
                return Ok(Some(connection));
            }
            Err(error) => error,
        };
        let may_pass = error.asks_for_write_access() || error.is_unsettled();
        // The other process changes no file until it makes the index.
        let may_change =
            attempt < ATTEMPTS_MIN || error.waits_for_recovery() || look != FileStamps::of(path);
        if !may_pass || !may_change || start.elapsed() >= options.busy_timeout {
            return Err(error.into_read_error(format_args!("cannot read {}", path.display())));
        }
        thread::sleep(RETRY_AFTER);
    }
    Ok(None)
}

fn try_open_reader(
    path: &Arc<Path>,
    options: &SqliteOptions,
    monitor: Option<&Arc<Monitor>>,
) -> Result<FileConnection, SqliteError> {
    let read_only = || read_only::reader(path, options, monitor);
    if options.read_only || read_only::is_wanted(path) {
        return read_only();
    }
    match reader(path, options, monitor, Access::ReadOnly) {
        Err(error) if error.asks_for_write_access() => {}
        opened => return opened,
    }
    match reader(path, options, monitor, Access::ReadWrite) {
        // Invariant: a file that can be written is never read without its locks.
        Err(error)
            if error.is_read_only()
                || (error.asks_for_write_access() && !read_only::can_write(path)) =>
        {
            read_only()
        }
        opened => opened,
    }
}

fn reader(
    path: &Arc<Path>,
    options: &SqliteOptions,
    monitor: Option<&Arc<Monitor>>,
    access: Access,
) -> Result<FileConnection, SqliteError> {
    let mut connection = open(path, access, options)?;
    configure(&mut connection, options)?;
    connection.execute("PRAGMA query_only = ON")?;
    let mut connection = FileConnection::new(connection, Arc::clone(path), monitor.cloned());
    // The first read shows whether the access suffices.
    connection.touch()?;
    Ok(connection)
}

/// The connection that writes; the file is created if there is none.
pub(crate) fn open_writer(
    path: &Arc<Path>,
    options: &SqliteOptions,
    monitor: Option<&Arc<Monitor>>,
    commits: &Arc<Commits>,
) -> Result<FileConnection> {
    let what = || format!("cannot write {}", path.display());
    let created = create(path, options.file_protection);
    created.map_err(|error| create_error(error, what()))?;
    let mut connection =
        open(path, Access::ReadWrite, options).map_err(|error| error.into_error(what()))?;
    if connection.is_read_only() {
        return Err(opened_for_reading(path, &what()));
    }
    let header = |connection: &Connection| FileHeader::read(connection).unwrap_or_default();
    let before = header(&connection);
    configure_writer(&mut connection, options).map_err(|error| error.into_error(what()))?;
    encoding::check(&mut connection, options, what)?;
    commits.note_open(OpeningCounts::new(before.count, header(&connection).count));
    let mut connection = FileConnection::new(connection, Arc::clone(path), monitor.cloned());
    let durable = connection.set_durability(options.durability);
    durable.map_err(|error| error.into_error(what()))?;
    connection.track_commits(commits);
    Ok(connection)
}

/// Does the work that the options of closing request, with a connection of its own.
pub(crate) fn tidy(path: &Path, options: &SqliteOptions, close: CloseOptions) -> Result<()> {
    if !(close.truncate || close.vacuum) || !exists(path)? {
        return Ok(());
    }
    let what = || format!("cannot tidy up {}", path.display());
    let busy = tidy_file(path, options, close).map_err(|error| error.into_error(what()))?;
    if busy {
        let message = format!("{}: another connection uses the file", what());
        return Err(Error::new(ErrorKind::Busy, message));
    }
    Ok(())
}

/// Tidies up the file. Returns whether another connection prevented that.
fn tidy_file(
    path: &Path,
    options: &SqliteOptions,
    close: CloseOptions,
) -> Result<bool, SqliteError> {
    let mut connection = open(path, Access::ReadWrite, options)?;
    configure(&mut connection, options)?;
    connection.execute("PRAGMA checkpoint_fullfsync = ON")?;
    if close.vacuum {
        const INCREMENTAL: i64 = 2;
        if integer(&mut connection, "PRAGMA auto_vacuum")? == INCREMENTAL {
            connection.execute("PRAGMA incremental_vacuum")?;
        } else {
            vacuum(&mut connection)?;
        }
    }
    // Without this the space given back is still in the file.
    let busy = !emptying::empty_log(&mut connection, options.busy_timeout)?;
    if close.truncate && !busy {
        connection.execute("PRAGMA journal_mode = DELETE")?;
    }
    Ok(busy)
}

/// Has SQLite copy a log that is left into the file and delete it, unless another process has the
/// file open. SQLite does so when the last connection is closed, but not if that connection could
/// only read, or if another process closed its last one at the same moment. Returns whether no log
/// is left.
pub(super) fn take_in_log(path: &Path, options: &SqliteOptions, waits_ms: &[u64]) -> bool {
    let log = beside(path, "-wal");
    if options.read_only {
        return !log.exists();
    }
    let options = SqliteOptions {
        busy_timeout: TAKE_IN_TIMEOUT,
        ..options.clone()
    };
    for &wait in waits_ms {
        if !log.exists() {
            return true;
        }
        thread::sleep(Duration::from_millis(wait));
        let closed = open(path, Access::ReadWrite, &options).and_then(|mut connection| {
            configure(&mut connection, &options)?;
            integer(&mut connection, "PRAGMA schema_version").map(drop)
        });
        if let Err(error) = closed {
            let path = path.display();
            tracing::warn!(target: TARGET, %path, %error, "a log is left beside the file");
            return false;
        }
    }
    !log.exists()
}

fn configure_writer(
    connection: &mut Connection,
    options: &SqliteOptions,
) -> Result<(), SqliteError> {
    configure(connection, options)?;
    // A checkpoint must not lose a commit with full durability, even if other commits have normal
    // durability.
    connection.execute("PRAGMA checkpoint_fullfsync = ON")?;
    // Order: before the switch to a log, which writes the first page; afterwards `auto_vacuum`
    // can't be chosen any more.
    if integer(connection, "PRAGMA page_count")? == 0 {
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")?;
    }
    set_write_ahead_log(connection, options.busy_timeout)?;
    connection.execute("PRAGMA secure_delete = FAST")?;
    // Upkeep makes the checkpoints.
    connection.execute("PRAGMA wal_autocheckpoint = 0")?;
    limit_log_file(connection, Some(options.log_bytes_max))
}

/// Sets the size to which the first commit of this connection to a log that starts again cuts the
/// log's file; `None` cuts nothing.
pub(crate) fn limit_log_file(
    connection: &mut Connection,
    bytes_max: Option<u64>,
) -> Result<(), SqliteError> {
    let limit = bytes_max.map_or(-1, |bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
    connection.execute(&format!("PRAGMA journal_size_limit = {limit}"))
}

/// Switches the file to a write-ahead log, if it has none. If the file system can't have a log,
/// SQLite leaves the file as it is.
///
/// SQLite waits until no read transaction is open, and lets none begin meanwhile. A thread that has
/// one open may have to begin another before it ends the first, so the library waits in attempts,
/// with pauses between them.
fn set_write_ahead_log(connection: &mut Connection, timeout: Duration) -> Result<(), SqliteError> {
    let start = Instant::now();
    let rest = || timeout.saturating_sub(start.elapsed());
    let (mut attempt, mut pause) = (SWITCH_ATTEMPT, RETRY_AFTER);
    let switched = loop {
        connection.set_busy_timeout(attempt.min(rest()));
        // SQLite itself does not wait in every case in which the file is in use.
        match connection.execute("PRAGMA journal_mode = WAL") {
            Err(error) if error.is_busy() && !rest().is_zero() => {
                thread::sleep(pause.min(rest()));
                if pause == SWITCH_PAUSE_MAX {
                    attempt = (attempt * 2).min(SWITCH_ATTEMPT_MAX);
                }
                pause = (pause * 2).min(SWITCH_PAUSE_MAX);
            }
            outcome => break outcome,
        }
    };
    connection.set_busy_timeout(timeout);
    switched
}

#[cfg(test)]
mod tests {
    use dflat_engine::storage::Backend;

    use super::*;
    use crate::backend::SqliteBackend;
    use crate::ffi::Switch;
    use crate::options::Durability;

    /// Issue 27. The log has its header and no frame at the moment when a program begins to write.
    #[test]
    fn file_that_can_be_written_is_read_by_its_locks() {
        let directory = tempfile::tempdir().unwrap();
        let path: Arc<Path> = directory.path().join("a.db").into();
        create(&path, None).unwrap();
        let options = SqliteOptions::default();
        let mut connection = open(&path, Access::ReadWrite, &options).unwrap();
        connection.set(Switch::CheckpointAtClose, false);
        connection.execute("PRAGMA journal_mode = WAL").unwrap();
        connection.execute("CREATE TABLE t (x)").unwrap();
        drop(connection);
        let log = fs::OpenOptions::new()
            .write(true)
            .open(beside(&path, "-wal"));
        log.unwrap().set_len(32).unwrap();
        fs::write(beside(&path, "-shm"), []).unwrap();
        assert!(FileStamps::of(&path).is_log_dead(&path));
        for read_only in [true, false] {
            let options = SqliteOptions {
                read_only,
                ..SqliteOptions::default()
            };
            let reader = open_reader(&path, &options, None).unwrap().unwrap();
            assert_eq!(reader.polled.is_some(), read_only);
        }
    }

    // Promise: durability#D32, durability#D37
    /// Figure C1: by default, as the one who writes finds it.
    #[test]
    fn new_file_has_the_documented_settings() {
        for (durability, synchronous) in [(Durability::Normal, 1), (Durability::Full, 2)] {
            let directory = tempfile::tempdir().unwrap();
            let options = SqliteOptions {
                durability,
                ..SqliteOptions::default()
            };
            let backend = SqliteBackend::open(directory.path().join("a.db"), options).unwrap();
            Arc::clone(&backend)
                .begin(backend.durability())
                .unwrap()
                .commit()
                .unwrap();
            let mut connection = backend.connections().take_writer().unwrap();
            let mut get = |name: &str| {
                let sql = format!("PRAGMA {name}");
                integer(&mut connection.raw, &sql).unwrap()
            };
            assert_eq!(get("synchronous"), synchronous);
            assert_eq!(get("auto_vacuum"), 2, "incremental");
            assert_eq!(get("secure_delete"), 2, "fast");
            assert_eq!(get("journal_size_limit"), 16 << 20);
            assert_eq!(get("wal_autocheckpoint"), 0, "checkpoints are ours");
            assert_eq!(get("temp_store"), 2, "memory");
            assert_eq!([get("trusted_schema"), get("foreign_keys")], [0, 0]);
            let sql = "SELECT journal_mode = 'wal' FROM pragma_journal_mode";
            assert_eq!(integer(&mut connection.raw, sql).unwrap(), 1);
            let full = i64::from(durability == Durability::Full);
            let mut get = |sql: &str| integer(&mut connection.raw, sql).unwrap();
            assert_eq!(get("PRAGMA fullfsync"), full);
            assert_eq!(get("PRAGMA checkpoint_fullfsync"), 1);
            backend.upkeep().return_writer(Some(connection));
        }
    }
}
