//! Syncs of the main file beside those that SQLite makes.
#![allow(
    unsafe_code,
    reason = "SQLite's C API; one of the modules that call it"
)]

use libsqlite3_sys as sqlite;

use super::connection::Connection;
use super::sqlite_error::SqliteError;

impl Connection {
    /// Waits until the device has all that any connection has written to the main file so far. It
    /// takes no lock, so other connections read and write meanwhile.
    ///
    /// It uses SQLite's own file handle, for the reason that [`Self::read_head`] states.
    pub(crate) fn sync_file(&mut self) -> Result<(), SqliteError> {
        let (file, methods) = self.file()?;
        let Some(sync) = methods.xSync else {
            return Err(SqliteError::misuse("the file can't be synced"));
        };
        // SAFETY: The file is open, and this connection is used by this thread only.
        match unsafe { sync(file, sqlite::SQLITE_SYNC_NORMAL) } {
            sqlite::SQLITE_OK => Ok(()),
            code => Err(SqliteError::from_code(code)),
        }
    }
}
