//! Calls to the main file and the log beside those that SQLite makes.
//!
//! They use SQLite's own file handles, because closing another handle would drop the locks that
//! other connections of the process hold.
#![allow(
    unsafe_code,
    reason = "SQLite's C API; one of the modules that call it"
)]

use std::ffi::c_int;

use libsqlite3_sys as sqlite;

use super::connection::Connection;
use super::file_handle::{FileHandle, file_handle};
use super::sqlite_error::SqliteError;

impl Connection {
    /// SQLite's own handle of the file, and the table of its methods.
    pub(super) fn file(&self) -> Result<FileHandle<'_>, SqliteError> {
        self.handle(sqlite::SQLITE_FCNTL_FILE_POINTER)
    }

    /// SQLite's own handle of the log, and the table of its methods.
    fn log_file(&self) -> Result<FileHandle<'_>, SqliteError> {
        self.handle(sqlite::SQLITE_FCNTL_JOURNAL_POINTER)
    }

    /// The handle that a file control returns.
    fn handle(&self, control: c_int) -> Result<FileHandle<'_>, SqliteError> {
        // SAFETY: The connection is open as long as it is borrowed.
        unsafe { file_handle(self.raw, control) }
            .ok_or_else(|| SqliteError::misuse("the file has no handle"))
    }

    /// Waits until the device has all that any connection has written to the main file so far. It
    /// takes no lock, so other connections read and write meanwhile.
    pub(crate) fn sync_file(&mut self) -> Result<(), SqliteError> {
        sync(self.file()?)
    }

    /// Waits until the device has all that any connection has written to the log so far. The
    /// precondition is as for [`Self::log_file_bytes`].
    pub(crate) fn sync_log(&mut self) -> Result<(), SqliteError> {
        sync(self.log_file()?)
    }

    /// The size of the log's file in bytes. A log must exist, and this connection must have read
    /// it.
    pub(crate) fn log_file_bytes(&mut self) -> Result<u64, SqliteError> {
        let (file, methods) = self.log_file()?;
        let Some(size) = methods.xFileSize else {
            return Err(SqliteError::misuse("the log has no size"));
        };
        let mut bytes = 0;
        // SAFETY: The log is open, this connection is used by this thread only, and `bytes` is a
        // place for the result.
        check(unsafe { size(file, &raw mut bytes) })?;
        Ok(bytes.unsigned_abs())
    }

    /// Cuts the log's file to a size. The precondition is as for [`Self::log_file_bytes`]; besides,
    /// this connection has a write transaction, and all pages of the log are within the size.
    pub(crate) fn cut_log_file(&mut self, bytes: u64) -> Result<(), SqliteError> {
        let (file, methods) = self.log_file()?;
        let bytes = i64::try_from(bytes).map_err(|_| SqliteError::misuse("too many bytes"))?;
        let Some(cut) = methods.xTruncate else {
            return Err(SqliteError::misuse("the log can't be cut"));
        };
        // SAFETY: The log is open, and this connection is used by this thread only.
        check(unsafe { cut(file, bytes) })
    }
}

fn sync((file, methods): FileHandle<'_>) -> Result<(), SqliteError> {
    let Some(sync) = methods.xSync else {
        return Err(SqliteError::misuse("the file can't be synced"));
    };
    // SAFETY: The file is open, and its connection is used by this thread only.
    check(unsafe { sync(file, sqlite::SQLITE_SYNC_NORMAL) })
}

fn check(code: c_int) -> Result<(), SqliteError> {
    match code {
        sqlite::SQLITE_OK => Ok(()),
        code => Err(SqliteError::from_code(code)),
    }
}
