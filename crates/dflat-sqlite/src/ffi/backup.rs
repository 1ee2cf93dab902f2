//! Copies a database from one connection to another.
#![allow(
    unsafe_code,
    reason = "SQLite's C API; one of the modules that call it"
)]

use std::ffi::c_int;
use std::ops::ControlFlow;
use std::ptr::NonNull;

use libsqlite3_sys as sqlite;

use super::connection::Connection;
use super::sqlite_error::SqliteError;

/// A copy in progress; dropping it ends it.
struct Copying(NonNull<sqlite::sqlite3_backup>);

impl Copying {
    /// Ends the copy. Returns the result code of the error that the copy met, or `SQLITE_OK`.
    fn finish(self) -> c_int {
        let raw = self.0;
        std::mem::forget(self);
        // SAFETY: The copy has not ended, and nothing can use it again.
        unsafe { sqlite::sqlite3_backup_finish(raw.as_ptr()) }
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        // SAFETY: As above.
        unsafe { sqlite::sqlite3_backup_finish(self.0.as_ptr()) };
    }
}

impl Connection {
    /// Takes the file's exclusive lock for as long as the connection is open, without reading the
    /// file. Returns false if another connection holds a lock. The connection must not be used for
    /// anything else.
    pub(crate) fn lock_file(&mut self) -> Result<bool, SqliteError> {
        let (file, methods) = self.file()?;
        let Some(lock) = methods.xLock else {
            return Err(SqliteError::misuse("the file can't be locked"));
        };
        for level in [sqlite::SQLITE_LOCK_SHARED, sqlite::SQLITE_LOCK_EXCLUSIVE] {
            // SAFETY: The file is open, and nothing else uses it. Its levels are taken in order,
            // and released when the file is closed.
            let code = unsafe { lock(file, level) };
            if code & 0xFF == sqlite::SQLITE_BUSY {
                return Ok(false);
            }
            if code != sqlite::SQLITE_OK {
                return Err(SqliteError::from_code(code));
            }
        }
        Ok(true)
    }

    /// Copies all pages into another database, `pages` at a time. `visit` receives the number of
    /// pages that are copied and the total number, and may end the copy. Returns whether the copy
    /// is complete.
    ///
    /// The copy is of one state if this connection has a transaction open.
    pub(crate) fn copy_into(
        &mut self,
        target: &mut Self,
        pages: c_int,
        mut visit: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<bool, SqliteError> {
        // SAFETY: Both connections are open, are not used by anything else until the copy has
        // ended, and are distinct: both are borrowed mutably. The names are C strings.
        let copying = unsafe {
            sqlite::sqlite3_backup_init(
                target.raw().as_ptr(),
                c"main".as_ptr(),
                self.raw().as_ptr(),
                c"main".as_ptr(),
            )
        };
        let Some(raw) = NonNull::new(copying) else {
            return Err(SqliteError::capture_last(target.raw()));
        };
        let copying = Copying(raw);
        loop {
            // SAFETY: The copy has not ended.
            let (code, total, left) = unsafe {
                (
                    sqlite::sqlite3_backup_step(raw.as_ptr(), pages),
                    sqlite::sqlite3_backup_pagecount(raw.as_ptr()),
                    sqlite::sqlite3_backup_remaining(raw.as_ptr()),
                )
            };
            if !matches!(code, sqlite::SQLITE_OK | sqlite::SQLITE_DONE) {
                // Order: before the copy ends, whose calls could succeed.
                let error = SqliteError::of_copy(target.raw(), code);
                drop(copying);
                return Err(error);
            }
            let (total, left) = (
                u64::from(total.unsigned_abs()),
                u64::from(left.unsigned_abs()),
            );
            let outcome = visit(total.saturating_sub(left), total);
            if code == sqlite::SQLITE_DONE {
                return match copying.finish() {
                    sqlite::SQLITE_OK => Ok(true),
                    code => Err(SqliteError::from_code(code)),
                };
            }
            if outcome.is_break() {
                return Ok(false);
            }
        }
    }
}
