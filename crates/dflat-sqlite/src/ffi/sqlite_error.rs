//! The error that SQLite reports when a call fails.
#![allow(
    unsafe_code,
    reason = "SQLite's C API; one of the modules that call it"
)]

use std::ffi::{CStr, c_int};
use std::fmt;
use std::io;
use std::ptr::NonNull;

use dflat_engine::{Error, ErrorKind};
use libsqlite3_sys as sqlite;

use super::file_handle::last_system_error;

/// A failed call of SQLite. Its size is one word, because each call of each write may return it.
#[derive(Clone, Debug)]
pub(crate) struct SqliteError(Box<SqliteErrorDetails>);

/// The details of a failure, as SQLite reports them.
#[derive(Clone, Debug)]
struct SqliteErrorDetails {
    /// The extended result code.
    code: c_int,
    /// The operating system's error number, or 0.
    system: c_int,
    text: String,
}

impl SqliteError {
    fn new(code: c_int, system: c_int, text: String) -> Self {
        Self(Box::new(SqliteErrorDetails { code, system, text }))
    }

    /// The error of the call that just returned `code`.
    pub(super) fn capture(db: NonNull<sqlite::sqlite3>, code: c_int) -> Self {
        // SAFETY: `db` is an open connection, which only the caller uses. The message is a C string
        // that lives until the next call on the connection; it is copied here.
        let (text, system) = unsafe {
            let text = CStr::from_ptr(sqlite::sqlite3_errmsg(db.as_ptr()));
            let system = sqlite::sqlite3_system_errno(db.as_ptr());
            (text.to_string_lossy().into_owned(), system)
        };
        // SQLite does not note the number of each failed write, for instance not of one that ends a
        // commit.
        let system = match (code, system) {
            (sqlite::SQLITE_IOERR_WRITE, 0) => last_system_error(db),
            _ => system,
        };
        Self::new(code, system, text)
    }

    /// The error of a call that reported only that it failed.
    pub(super) fn capture_last(db: NonNull<sqlite::sqlite3>) -> Self {
        // SAFETY: `db` is an open connection, which only the caller uses.
        let code = unsafe { sqlite::sqlite3_extended_errcode(db.as_ptr()) };
        Self::capture(db, code)
    }

    /// An error for which there is no connection to query.
    pub(super) fn from_code(code: c_int) -> Self {
        // SAFETY: The function takes any number, and returns a C string that is never freed.
        let text = unsafe { CStr::from_ptr(sqlite::sqlite3_errstr(code)) };
        Self::new(code, 0, text.to_string_lossy().into_owned())
    }

    /// An error of a copy into a connection's file, which no connection has noted yet.
    pub(super) fn of_copy(target: NonNull<sqlite::sqlite3>, code: c_int) -> Self {
        let mut error = Self::from_code(code);
        if error.primary() == sqlite::SQLITE_IOERR {
            error.0.system = last_system_error(target);
        }
        error
    }

    /// An error that this library reports itself, with SQLite's code for misuse.
    pub(crate) fn misuse(text: &str) -> Self {
        Self::new(sqlite::SQLITE_MISUSE, 0, text.to_owned())
    }

    /// An error that reports the writes of another process, with SQLite's code for a locked file.
    pub(crate) fn busy(text: &str) -> Self {
        Self::new(sqlite::SQLITE_BUSY, 0, text.to_owned())
    }

    /// An error that reports content in the file that this library can't have written.
    pub(crate) fn damage(text: &str) -> Self {
        Self::new(sqlite::SQLITE_CORRUPT, 0, text.to_owned())
    }

    fn primary(&self) -> c_int {
        self.0.code & 0xff
    }

    /// Whether the call violated a primary key or a unique index.
    pub(crate) fn is_duplicate(&self) -> bool {
        matches!(
            self.0.code,
            sqlite::SQLITE_CONSTRAINT_UNIQUE
                | sqlite::SQLITE_CONSTRAINT_PRIMARYKEY
                | sqlite::SQLITE_CONSTRAINT_ROWID
        )
    }

    /// Whether the SQL may name something that does not exist. If tables are created meanwhile,
    /// SQLite reports only that the schema has changed, however often it tries again.
    pub(crate) fn may_be_missing_name(&self) -> bool {
        matches!(self.primary(), sqlite::SQLITE_ERROR | sqlite::SQLITE_SCHEMA)
    }

    /// Whether SQLite read successfully but refused the call, with a reason only in its message.
    pub(super) fn is_refusal(&self) -> bool {
        self.0.code == sqlite::SQLITE_ERROR
    }

    /// Whether a connection with write access might succeed where one with read access failed: it
    /// can create the file of shared memory, and can roll back changes that a crash left.
    pub(crate) fn asks_for_write_access(&self) -> bool {
        matches!(
            self.primary(),
            sqlite::SQLITE_CANTOPEN | sqlite::SQLITE_READONLY
        )
    }

    /// Whether this connection, or the whole process, may not write where SQLite has to.
    pub(crate) fn is_read_only(&self) -> bool {
        self.primary() == sqlite::SQLITE_READONLY
    }

    /// Whether the log or its index changed too often while SQLite tried to open them.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.primary() == sqlite::SQLITE_PROTOCOL
    }

    /// Whether another process has the file open, and has not made the index of the log yet. A
    /// connection with read access cannot make it.
    pub(crate) fn waits_for_recovery(&self) -> bool {
        self.0.code == sqlite::SQLITE_READONLY_RECOVERY
    }

    /// Whether the data that was read is damaged.
    pub(crate) fn is_corrupt(&self) -> bool {
        matches!(
            self.primary(),
            sqlite::SQLITE_CORRUPT | sqlite::SQLITE_NOTADB
        )
    }

    /// Whether another connection or process has locked the file.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self.primary(), sqlite::SQLITE_BUSY | sqlite::SQLITE_LOCKED)
    }

    fn kind(&self) -> ErrorKind {
        // Each operating system has its own error numbers.
        let system = io::Error::from_raw_os_error(self.0.system).kind();
        let no_access = matches!(
            system,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
        );
        let no_space = matches!(
            system,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        );
        match self.primary() {
            sqlite::SQLITE_FULL => ErrorKind::StorageFull,
            // More space would not help: the value is larger than SQLite can store.
            sqlite::SQLITE_TOOBIG => ErrorKind::InvalidArgument,
            sqlite::SQLITE_BUSY | sqlite::SQLITE_LOCKED => ErrorKind::Busy,
            sqlite::SQLITE_NOTADB => ErrorKind::NotADatabase,
            sqlite::SQLITE_CORRUPT => ErrorKind::Corrupt,
            sqlite::SQLITE_READONLY | sqlite::SQLITE_PERM => ErrorKind::ReadOnly,
            sqlite::SQLITE_CANTOPEN if no_access => ErrorKind::ReadOnly,
            sqlite::SQLITE_CANTOPEN | sqlite::SQLITE_IOERR if no_space => ErrorKind::StorageFull,
            sqlite::SQLITE_CANTOPEN | sqlite::SQLITE_IOERR => ErrorKind::Io,
            _ => ErrorKind::Backend,
        }
    }

    /// The error of an operation that writes, such as `cannot insert into post`.
    pub(crate) fn into_error(self, operation: impl fmt::Display) -> Error {
        let kind = self.kind();
        self.error_of_kind(kind, operation)
    }

    /// The error of an operation that reads. It does not report [`ErrorKind::ReadOnly`], because
    /// the operation does not write; lacking permission is [`ErrorKind::Io`].
    pub(crate) fn into_read_error(self, operation: impl fmt::Display) -> Error {
        let kind = match self.kind() {
            ErrorKind::ReadOnly => ErrorKind::Io,
            kind => kind,
        };
        self.error_of_kind(kind, operation)
    }

    fn error_of_kind(self, kind: ErrorKind, operation: impl fmt::Display) -> Error {
        let why = match kind {
            _ if self.0.code == sqlite::SQLITE_READONLY_ROLLBACK => {
                ": a program ended while it committed, and a program with write access must open \
                 the file and undo that commit first"
            }
            ErrorKind::StorageFull => ": no space is left, or a size limit is reached",
            ErrorKind::InvalidArgument => ": a value is larger than SQLite can store",
            ErrorKind::Busy => ": the file is locked",
            ErrorKind::NotADatabase => ": the file is not a database",
            ErrorKind::Corrupt => ": the file is damaged",
            ErrorKind::ReadOnly => ": the file or its directory can't be written",
            _ => "",
        };
        Error::with_source(kind, format!("{operation}{why}"), self)
    }
}

impl fmt::Display for SqliteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SqliteErrorDetails { code, system, text } = self.0.as_ref();
        write!(f, "{text} (SQLite code {code})")?;
        if *system != 0 {
            write!(f, ": {}", io::Error::from_raw_os_error(*system))?;
        }
        Ok(())
    }
}

impl std::error::Error for SqliteError {}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::ffi::{Access, Connection};

    /// Tables may be created while a statement is prepared. SQLite tries twice and then reports
    /// that the schema has changed, not that the name is missing.
    #[test]
    fn schema_error_may_mean_a_missing_name() {
        assert!(SqliteError::from_code(sqlite::SQLITE_SCHEMA).may_be_missing_name());
        assert!(SqliteError::from_code(sqlite::SQLITE_ERROR).may_be_missing_name());
        assert!(!SqliteError::from_code(sqlite::SQLITE_CORRUPT).may_be_missing_name());
    }

    /// Space may be missing for a directory entry or for the log's index, as well as for bytes.
    #[cfg(unix)]
    #[test]
    fn missing_space_is_reported_as_storage_full() {
        const EIO: c_int = 5;
        const EACCES: c_int = 13;
        const EFBIG: c_int = 27;
        const ENOSPC: c_int = 28;
        for (code, system, kind) in [
            (sqlite::SQLITE_CANTOPEN, ENOSPC, ErrorKind::StorageFull),
            (sqlite::SQLITE_IOERR_SHMSIZE, ENOSPC, ErrorKind::StorageFull),
            (sqlite::SQLITE_IOERR_WRITE, EFBIG, ErrorKind::StorageFull),
            (sqlite::SQLITE_CANTOPEN, EACCES, ErrorKind::ReadOnly),
            (sqlite::SQLITE_CANTOPEN, EIO, ErrorKind::Io),
            (sqlite::SQLITE_IOERR_WRITE, 0, ErrorKind::Io),
        ] {
            let mut error = SqliteError::from_code(code);
            error.0.system = system;
            assert_eq!(
                error.into_error("cannot write").kind(),
                kind,
                "{code} {system}"
            );
        }
    }

    #[test]
    fn value_beyond_the_size_limit_is_an_invalid_argument() {
        let memory = Path::new(":memory:");
        let mut connection = Connection::open(memory, Access::ReadWrite, None, None).unwrap();
        let error = connection
            .execute("SELECT zeroblob(2147483647)")
            .unwrap_err();
        let error = error.into_error("cannot insert into post");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
}
