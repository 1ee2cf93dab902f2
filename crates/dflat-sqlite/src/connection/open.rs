//! Opening, creating, configuring and tidying up the file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use dflat_engine::storage::CloseOptions;
use dflat_engine::{Error, ErrorKind, Result};

use crate::connection::commits::{Commits, Header, Opening};
use crate::connection::read_only;
use crate::connection::session::Session;
use crate::ffi::{Access, Connection, Fault, FileProtection, Switch, create_private};
use crate::io::{Kind, Monitor, name};
use crate::options::SqliteOptions;

/// Held while a file is created and while a connection opens one: closing the handle of the
/// creation would drop the locks of a connection that opened the new file in between.
static CREATION: Mutex<()> = Mutex::new(());

/// The file's absolute path, whose directory must exist.
pub(crate) fn resolve(path: &Path) -> Result<PathBuf> {
    let fail = |error: io::Error| io_error(error, format!("cannot open {}", path.display()));
    let Some(name) = path.file_name() else {
        let message = format!("cannot open {}: it names no file", path.display());
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    };
    // Absolute, it can't be one of the names to which SQLite gives another meaning, and it stays
    // the same file when the process changes its directory.
    let absolute = std::path::absolute(path).map_err(fail)?;
    let directory = absolute.parent().unwrap_or_else(|| Path::new("/"));
    let directory = fs::canonicalize(directory).map_err(|error| {
        let what = format!(
            "cannot open {}: its directory can't be used",
            path.display()
        );
        io_error(error, what)
    })?;
    Ok(directory.join(name))
}

/// Checks that the file, if there is one, is a database, without a trace.
pub(crate) fn check(path: &Path, options: &SqliteOptions) -> Result<()> {
    const MAGIC: [u8; 16] = *b"SQLite format 3\0";
    if !exists(path)? {
        return Ok(());
    }
    let what = || format!("cannot open {}", path.display());
    // Reading by SQL would leave a log and its index beside the file.
    let connection =
        open(path, Access::ReadOnly, options).map_err(|fault| fault.read_error(what()))?;
    let head = connection
        .read_head()
        .map_err(|fault| fault.read_error(what()))?;
    let is_empty = || fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0);
    let is_database = match head {
        Some(head) => head == MAGIC,
        None => is_empty(),
    };
    // A journal holds what the first page was before a crash.
    if is_database || exists(&beside(path, "-journal"))? {
        return Ok(());
    }
    let message = format!("{}: the file is not a database", what());
    Err(Error::new(ErrorKind::NotADatabase, message))
}

/// A connection that reads; `None` if there is no file.
pub(crate) fn open_reader(
    path: &Arc<Path>,
    options: &SqliteOptions,
    monitor: Option<&Arc<Monitor>>,
) -> Result<Option<Session>> {
    if !exists(path)? {
        return Ok(None);
    }
    let open = |access| reader(path, options, monitor, access);
    let more =
        |opened: Result<Session, Fault>, other: &dyn Fn() -> Result<Session, Fault>| match opened {
            Err(fault) if fault.asks_for_write_access() => other(),
            opened => opened,
        };
    let read_only = || read_only::reader(path, options, monitor);
    let opened = if options.read_only || read_only::is_wanted(path) {
        read_only()
    } else {
        let opened = more(open(Access::ReadOnly), &|| open(Access::ReadWrite));
        more(opened, &read_only)
    };
    opened
        .map(Some)
        .map_err(|fault| fault.read_error(format_args!("cannot read {}", path.display())))
}

fn reader(
    path: &Arc<Path>,
    options: &SqliteOptions,
    monitor: Option<&Arc<Monitor>>,
    access: Access,
) -> Result<Session, Fault> {
    let mut connection = open(path, access, options)?;
    configure(&mut connection, options.busy_timeout)?;
    connection.execute("PRAGMA query_only = ON")?;
    let mut session = Session::new(connection, Arc::clone(path), monitor.cloned());
    // The first read shows whether the access suffices.
    session.touch()?;
    Ok(session)
}

/// The connection that writes; the file is created if there is none.
pub(crate) fn open_writer(
    path: &Arc<Path>,
    options: &SqliteOptions,
    monitor: Option<&Arc<Monitor>>,
    commits: &Arc<Commits>,
) -> Result<Session> {
    let what = || format!("cannot write {}", path.display());
    let created = create(path, options.file_protection);
    created.map_err(|error| create_error(error, what()))?;
    let mut connection =
        open(path, Access::ReadWrite, options).map_err(|fault| fault.error(what()))?;
    if connection.is_read_only() {
        let message = format!("{}: the file can't be written", what());
        return Err(Error::new(ErrorKind::ReadOnly, message));
    }
    let header = |connection: &Connection| Header::read(connection).unwrap_or_default();
    let before = header(&connection);
    configure_writer(&mut connection, options).map_err(|fault| fault.error(what()))?;
    commits.note_open(Opening::new(before.count, header(&connection).count));
    let mut session = Session::new(connection, Arc::clone(path), monitor.cloned());
    let durable = session.set_durability(options.durability);
    durable.map_err(|fault| fault.error(what()))?;
    session.watch(commits);
    Ok(session)
}

/// Does what was asked for when the database is closed, with a connection of its own.
pub(crate) fn tidy(path: &Path, options: &SqliteOptions, close: CloseOptions) -> Result<()> {
    if !(close.truncate || close.vacuum) || !exists(path)? {
        return Ok(());
    }
    let what = || format!("cannot tidy up {}", path.display());
    let busy = tidy_file(path, options, close).map_err(|fault| fault.error(what()))?;
    if busy {
        let message = format!("{}: another connection uses the file", what());
        return Err(Error::new(ErrorKind::Busy, message));
    }
    Ok(())
}

/// Whether another connection was in the way.
fn tidy_file(path: &Path, options: &SqliteOptions, close: CloseOptions) -> Result<bool, Fault> {
    let mut connection = open(path, Access::ReadWrite, options)?;
    configure(&mut connection, options.busy_timeout)?;
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
    let busy = integer(&mut connection, "PRAGMA wal_checkpoint(TRUNCATE)")? != 0;
    if close.truncate && !busy {
        connection.execute("PRAGMA journal_mode = DELETE")?;
    }
    Ok(busy)
}

/// Writes the whole file anew, by way of a temporary file: it may not fit into memory.
pub(crate) fn vacuum(connection: &mut Connection) -> Result<(), Fault> {
    connection.execute("PRAGMA temp_store = FILE")?;
    let vacuumed = connection.execute("VACUUM");
    let restored = connection.execute("PRAGMA temp_store = MEMORY");
    vacuumed.and(restored)
}

pub(crate) fn open(
    path: &Path,
    access: Access,
    options: &SqliteOptions,
) -> Result<Connection, Fault> {
    let vfs = match access {
        Access::OwnLogIndex => Some(Kind::OwnLogIndex),
        Access::SharedReadOnly | Access::Immutable => Some(Kind::ReadOnly),
        Access::ReadOnly | Access::ReadWrite => options.io_stats.then_some(Kind::Shared),
    };
    let missing = || Fault::misuse("SQLite has no VFS to hand calls on to");
    let vfs = vfs.map(|kind| name(kind).ok_or_else(missing));
    let vfs = vfs.transpose()?;
    let _guard = CREATION.lock().unwrap_or_else(PoisonError::into_inner);
    Connection::open(path, access, options.file_protection, vfs)
}

/// Creates an empty file, private to its owner, if there is none.
fn create(path: &Path, protection: Option<FileProtection>) -> io::Result<()> {
    let _guard = CREATION.lock().unwrap_or_else(PoisonError::into_inner);
    if path.try_exists()? {
        return Ok(());
    }
    match create_private(path, protection) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created.map(drop),
    }
}

/// The settings of every connection. A file from elsewhere can't make it run code, and what it
/// names wrongly is an error.
pub(crate) fn configure(connection: &mut Connection, busy_timeout: Duration) -> Result<(), Fault> {
    connection.set_busy_timeout(busy_timeout);
    connection.set(Switch::Defensive, true);
    connection.set(Switch::TrustedSchema, false);
    connection.set(Switch::Triggers, false);
    connection.set(Switch::Views, false);
    connection.set(Switch::ForeignKeys, false);
    connection.set(Switch::QuotedTexts, false);
    connection.set(Switch::StablePlans, true);
    connection.execute("PRAGMA temp_store = MEMORY")
}

fn configure_writer(connection: &mut Connection, options: &SqliteOptions) -> Result<(), Fault> {
    configure(connection, options.busy_timeout)?;
    // A checkpoint must not lose what a transaction was told to be durable, whatever others are.
    connection.execute("PRAGMA checkpoint_fullfsync = ON")?;
    // Order: the log is what writes the first page, after which this can't be chosen any more.
    if integer(connection, "PRAGMA page_count")? == 0 {
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")?;
    }
    set_write_ahead_log(connection, options.busy_timeout)?;
    connection.execute("PRAGMA secure_delete = FAST")?;
    // Checkpoints are the checkpointer's.
    connection.execute("PRAGMA wal_autocheckpoint = 0")?;
    let limit = i64::try_from(options.log_bytes_max).unwrap_or(i64::MAX);
    connection.execute(&format!("PRAGMA journal_size_limit = {limit}"))
}

/// Turns the file to a write-ahead log, if it has none. Where the file system can't, SQLite leaves
/// it as it is.
fn set_write_ahead_log(connection: &mut Connection, timeout: Duration) -> Result<(), Fault> {
    let start = Instant::now();
    loop {
        // SQLite does not wait by itself in every case where the file is in use.
        match connection.execute("PRAGMA journal_mode = WAL") {
            Err(fault) if fault.is_busy() && start.elapsed() < timeout => {
                thread::sleep(Duration::from_millis(2));
            }
            outcome => return outcome,
        }
    }
}

/// The first number that a statement gives; 0 if it gives none.
pub(crate) fn integer(connection: &mut Connection, sql: &str) -> Result<i64, Fault> {
    let mut value = None;
    connection.execute_with(sql, |columns| {
        value.get_or_insert_with(|| columns.integer(0));
        Ok(())
    })?;
    Ok(value.unwrap_or(0))
}

pub(crate) fn exists(path: &Path) -> Result<bool> {
    path.try_exists()
        .map_err(|error| io_error(error, format!("cannot open {}", path.display())))
}

/// The bytes of the write-ahead log.
pub(crate) fn log_bytes(path: &Path) -> u64 {
    fs::metadata(beside(path, "-wal")).map_or(0, |metadata| metadata.len())
}

pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// The error of opening or reading.
pub(crate) fn io_error(error: io::Error, message: String) -> Error {
    Error::with_source(ErrorKind::Io, message, error)
}

/// The error of creating.
pub(crate) fn create_error(error: io::Error, message: String) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::ReadOnly,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::StorageFull,
        _ => ErrorKind::Io,
    };
    Error::with_source(kind, message, error)
}

#[cfg(test)]
mod tests {
    use dflat_engine::storage::Backend;

    use super::*;
    use crate::backend::SqliteBackend;
    use crate::options::Durability;

    // Promise: durability#D32, durability#D37
    /// Figure C1: by default, as the one who writes finds it.
    #[test]
    fn a_new_file_is_set_up_as_stated() {
        for (durability, synchronous) in [(Durability::Normal, 1), (Durability::Full, 2)] {
            let directory = tempfile::tempdir().unwrap();
            let options = SqliteOptions {
                durability,
                ..SqliteOptions::default()
            };
            let backend = SqliteBackend::open(directory.path().join("a.db"), options).unwrap();
            Arc::clone(&backend).begin().unwrap().commit().unwrap();
            let mut session = backend.take_writer().unwrap();
            let mut get = |name: &str| {
                let sql = format!("PRAGMA {name}");
                integer(&mut session.connection, &sql).unwrap()
            };
            assert_eq!(get("synchronous"), synchronous);
            assert_eq!(get("auto_vacuum"), 2, "incremental");
            assert_eq!(get("secure_delete"), 2, "fast");
            assert_eq!(get("journal_size_limit"), 16 << 20);
            assert_eq!(get("wal_autocheckpoint"), 0, "checkpoints are ours");
            assert_eq!(get("temp_store"), 2, "memory");
            assert_eq!([get("trusted_schema"), get("foreign_keys")], [0, 0]);
            let sql = "SELECT journal_mode = 'wal' FROM pragma_journal_mode";
            assert_eq!(integer(&mut session.connection, sql).unwrap(), 1);
            let full = i64::from(durability == Durability::Full);
            let mut get = |sql: &str| integer(&mut session.connection, sql).unwrap();
            assert_eq!(get("PRAGMA fullfsync"), full);
            assert_eq!(get("PRAGMA checkpoint_fullfsync"), 1);
            backend.return_writer(Some(session));
        }
    }
}
