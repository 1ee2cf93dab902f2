//! Copying a database from one connection to another.
#![allow(
    unsafe_code,
    reason = "SQLite's C API; one of the modules that call it"
)]

use std::ffi::c_int;
use std::ops::ControlFlow;
use std::ptr::NonNull;

use libsqlite3_sys as sqlite;

use super::connection::Connection;
use super::fault::Fault;

/// A copy that goes on; ended when dropped.
struct Copying(NonNull<sqlite::sqlite3_backup>);

impl Copying {
    /// Ends it, with the error that it met, if there was one.
    fn finish(self) -> c_int {
        let raw = self.0;
        std::mem::forget(self);
        // SAFETY: The copy has not ended, and nobody can use it again.
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
    /// Takes the file's exclusive lock, for as long as the connection is open, without looking at
    /// what is in the file; false if another connection has a lock. Nothing else is to be done with
    /// the connection.
    pub(crate) fn lock_file(&mut self) -> Result<bool, Fault> {
        let (file, methods) = self.file()?;
        let Some(lock) = methods.xLock else {
            return Err(Fault::misuse("the file can't be locked"));
        };
        for level in [sqlite::SQLITE_LOCK_SHARED, sqlite::SQLITE_LOCK_EXCLUSIVE] {
            // SAFETY: The file is open, and used by nobody else. Its levels are taken in order, and
            // given back when it is closed.
            let code = unsafe { lock(file, level) };
            if code & 0xFF == sqlite::SQLITE_BUSY {
                return Ok(false);
            }
            if code != sqlite::SQLITE_OK {
                return Err(Fault::from_code(code));
            }
        }
        Ok(true)
    }

    /// Copies all pages into another database, so many at a time. `visit` is told how many are done
    /// and how many there are, and may end it; whether it came to its end.
    ///
    /// What is copied is one state if this connection has a transaction open.
    pub(crate) fn copy_into(
        &mut self,
        target: &mut Self,
        pages: c_int,
        mut visit: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<bool, Fault> {
        // SAFETY: Both connections are open, used by nobody else until the copy has ended, and two:
        // both are borrowed mutably. The names are C strings.
        let copying = unsafe {
            sqlite::sqlite3_backup_init(
                target.raw().as_ptr(),
                c"main".as_ptr(),
                self.raw().as_ptr(),
                c"main".as_ptr(),
            )
        };
        let Some(raw) = NonNull::new(copying) else {
            return Err(Fault::capture_last(target.raw()));
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
                drop(copying);
                return Err(Fault::from_code(code));
            }
            let (total, left) = (
                u64::from(total.unsigned_abs()),
                u64::from(left.unsigned_abs()),
            );
            let told = visit(total.saturating_sub(left), total);
            if code == sqlite::SQLITE_DONE {
                return match copying.finish() {
                    sqlite::SQLITE_OK => Ok(true),
                    code => Err(Fault::from_code(code)),
                };
            }
            if told.is_break() {
                return Ok(false);
            }
        }
    }
}
