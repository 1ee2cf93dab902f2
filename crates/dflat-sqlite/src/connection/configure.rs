//! Opening a connection and its settings.

pub(crate) mod emptying;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use dflat_engine::{Error, ErrorKind, Result};

use crate::ffi::{
    Access, Connection, FileProtection, SqliteError, Switch, create_private, may_write,
};
use crate::io::names::{beside, io_error};
use crate::io::{VfsKind, name};
use crate::options::SqliteOptions;

/// Held while a file is created and while a connection opens one: closing the handle of the
/// creation would drop the locks of a connection that opened the new file in between.
static CREATION: Mutex<()> = Mutex::new(());

/// The least memory for pages, in KiB: that of some pages.
const CACHE_KIBIBYTES_MIN: u64 = 64;

/// The most memory for pages, in KiB, because SQLite takes a number of 32 bits.
const CACHE_KIBIBYTES_MAX: u64 = 1 << 30;

pub(crate) fn open(
    path: &Path,
    access: Access,
    options: &SqliteOptions,
) -> Result<Connection, SqliteError> {
    let vfs = match access {
        Access::OwnLogIndex => Some(VfsKind::OwnLogIndex),
        Access::SharedReadOnly | Access::Immutable => Some(VfsKind::ReadOnly),
        Access::ReadOnly | Access::ReadWrite if options.io_stats => Some(VfsKind::Shared),
        // The buffer for the log saves a writer much time.
        Access::ReadWrite => Some(VfsKind::Uncounted),
        Access::ReadOnly => None,
    };
    let missing = || SqliteError::misuse("SQLite has no VFS to hand calls on to");
    let vfs = vfs.map(|kind| name(kind).ok_or_else(missing));
    let vfs = vfs.transpose()?;
    let _guard = CREATION.lock().unwrap_or_else(PoisonError::into_inner);
    Connection::open(path, access, options.file_protection, vfs)
}

/// Creates an empty file, private to its owner, if there is none.
pub(crate) fn create(path: &Path, protection: Option<FileProtection>) -> io::Result<()> {
    let _guard = CREATION.lock().unwrap_or_else(PoisonError::into_inner);
    if path.try_exists()? {
        return Ok(());
    }
    match create_private(path, protection) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created.map(drop),
    }
}

/// The settings of every connection. With these settings, a hostile file can't make the connection
/// run code, and SQL with an unknown name is an error.
pub(crate) fn configure(
    connection: &mut Connection,
    options: &SqliteOptions,
) -> Result<(), SqliteError> {
    connection.set_busy_timeout(options.busy_timeout);
    // SQLite opens a file that lacks pages only if SQL may write the schema. No SQL does so: the
    // connections of such a file only query.
    connection.set(Switch::Defensive, !options.may_lack_pages);
    connection.set(Switch::WritableSchema, options.may_lack_pages);
    connection.set(Switch::TrustedSchema, false);
    connection.set(Switch::Triggers, false);
    connection.set(Switch::Views, false);
    connection.set(Switch::ForeignKeys, false);
    connection.set(Switch::QuotedTexts, false);
    connection.set(Switch::StablePlans, true);
    let kibibytes =
        (options.page_cache_bytes / 1024).clamp(CACHE_KIBIBYTES_MIN, CACHE_KIBIBYTES_MAX);
    // SQLite takes a negative number as KiB, and a positive one as pages.
    connection.execute(&format!("PRAGMA cache_size = -{kibibytes}"))?;
    connection.execute("PRAGMA temp_store = MEMORY")
}

/// Writes the whole file anew, by way of a temporary file: it may not fit into memory.
pub(crate) fn vacuum(connection: &mut Connection) -> Result<(), SqliteError> {
    connection.execute("PRAGMA temp_store = FILE")?;
    let vacuumed = connection.execute("VACUUM");
    let restored = connection.execute("PRAGMA temp_store = MEMORY");
    vacuumed.and(restored)
}

/// The first number that a statement gives; 0 if it gives none.
pub(crate) fn integer(connection: &mut Connection, sql: &str) -> Result<i64, SqliteError> {
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

/// Whether there is a file that is not empty.
pub(crate) fn has_bytes(path: &Path) -> Result<bool> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(!metadata.is_file() || metadata.len() > 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(io_error(error, format!("cannot open {}", path.display()))),
    }
}

/// The bytes of the write-ahead log.
pub(crate) fn log_bytes(path: &Path) -> u64 {
    fs::metadata(beside(path, "-wal")).map_or(0, |metadata| metadata.len())
}

/// The error of a file that can't be created.
pub(crate) fn create_error(error: io::Error, message: String) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::ReadOnly,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            ErrorKind::StorageFull
        }
        _ => ErrorKind::Io,
    };
    Error::with_source(kind, message, error)
}

/// The error of a file that SQLite has opened for reading, because it could not open the file for
/// writing. SQLite does so for every cause, such as too many open files, and does not tell the
/// cause.
pub(crate) fn opened_for_reading(path: &Path, what: &str) -> Error {
    let (kind, why) = match may_write(path) {
        true => (
            ErrorKind::Io,
            "the system did not open the file for writing",
        ),
        false => (ErrorKind::ReadOnly, "the file can't be written"),
    };
    Error::new(kind, format!("{what}: {why}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]
mod tests {
    use super::*;

    #[test]
    fn file_that_can_be_written_is_not_reported_as_read_only() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = opened_for_reading(file.path(), "cannot write");
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        file.close().unwrap();
    }

    #[test]
    fn connection_keeps_as_many_pages_as_the_option_says() {
        for (page_cache_bytes, kibibytes) in [
            (SqliteOptions::default().page_cache_bytes, 16 << 10),
            (1 << 20, 1 << 10),
            (0, 64),
            (u64::MAX, 1 << 30),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let options = SqliteOptions {
                page_cache_bytes,
                ..SqliteOptions::default()
            };
            let path = directory.path().join("a.db");
            create(&path, None).unwrap();
            let mut connection = open(&path, Access::ReadWrite, &options).unwrap();
            configure(&mut connection, &options).unwrap();
            let size = integer(&mut connection, "PRAGMA cache_size").unwrap();
            assert_eq!(size, -kibibytes, "of {page_cache_bytes} bytes");
        }
    }
}
