//! SQLite's own handles of the main file and the log.
#![allow(
    unsafe_code,
    reason = "SQLite's C API; one of the modules that call it"
)]

use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};

use libsqlite3_sys as sqlite;

/// SQLite's own handle of a file, and the table of its methods.
pub(super) type FileHandle<'c> = (*mut sqlite::sqlite3_file, &'c sqlite::sqlite3_io_methods);

/// The number that the operating system gave for the latest call on the log, or on the file, that
/// failed; 0 if none failed. SQLite keeps a number for each open file.
pub(super) fn last_system_error(db: NonNull<sqlite::sqlite3>) -> c_int {
    let number = |control| {
        // SAFETY: The caller has an open connection, which no other thread uses meanwhile.
        let (file, methods) = unsafe { file_handle(db, control) }?;
        let control = methods.xFileControl?;
        let mut number: c_int = 0;
        let place = (&raw mut number).cast::<c_void>();
        // SAFETY: The file is open, and the operation writes a number.
        let code = unsafe { control(file, sqlite::SQLITE_FCNTL_LAST_ERRNO, place) };
        (code == sqlite::SQLITE_OK && number != 0).then_some(number)
    };
    number(sqlite::SQLITE_FCNTL_JOURNAL_POINTER)
        .or_else(|| number(sqlite::SQLITE_FCNTL_FILE_POINTER))
        .unwrap_or(0)
}

/// The handle that a file control returns, if the file is open.
///
/// # Safety
/// The connection is open, and stays open for `'c`.
pub(super) unsafe fn file_handle<'c>(
    db: NonNull<sqlite::sqlite3>,
    control: c_int,
) -> Option<FileHandle<'c>> {
    let mut file: *mut sqlite::sqlite3_file = ptr::null_mut();
    let place = (&raw mut file).cast::<c_void>();
    // SAFETY: The connection is open, the name is a C string, and the operation writes a pointer.
    let code =
        unsafe { sqlite::sqlite3_file_control(db.as_ptr(), c"main".as_ptr(), control, place) };
    if code != sqlite::SQLITE_OK {
        return None;
    }
    // SAFETY: The pointer is NULL or that of the connection's file or log, which is open as long as
    // the connection is; its methods are NULL or a table that is never freed.
    let methods = unsafe { file.as_ref().and_then(|file| file.pMethods.as_ref()) }?;
    Some((file, methods))
}
