//! Binding values to statements and reading values from rows, without copying them.
#![allow(
    unsafe_code,
    reason = "SQLite's C API, called without a layer between: that is what the floor measures"
)]

use std::ffi::c_int;
use std::slice;

use libsqlite3_sys as sqlite;

/// Binds a text without copying it.
///
/// # Safety
/// The statement is live and reset; the text lives until it is bound anew or not stepped again.
#[inline]
pub(super) unsafe fn bind_text(statement: *mut sqlite::sqlite3_stmt, position: c_int, text: &str) {
    // SAFETY: As the caller promises; pointer and length are those of one `str`.
    unsafe {
        sqlite::sqlite3_bind_text64(
            statement,
            position,
            text.as_ptr().cast(),
            text.len() as u64,
            sqlite::SQLITE_STATIC(),
            sqlite::SQLITE_UTF8 as _,
        )
    };
}

/// Binds a blob without copying it.
///
/// # Safety
/// As [`bind_text`].
#[inline]
pub(super) unsafe fn bind_blob(
    statement: *mut sqlite::sqlite3_stmt,
    position: c_int,
    bytes: &[u8],
) {
    // SAFETY: As the caller promises; pointer and length are those of one slice.
    unsafe {
        sqlite::sqlite3_bind_blob64(
            statement,
            position,
            bytes.as_ptr().cast(),
            bytes.len() as u64,
            sqlite::SQLITE_STATIC(),
        )
    };
}

/// The blob of a column, in SQLite's memory.
///
/// # Safety
/// The statement is on a row, and is not stepped or reset while the bytes are in use.
#[inline]
pub(super) unsafe fn column_blob<'a>(
    statement: *mut sqlite::sqlite3_stmt,
    column: c_int,
) -> &'a [u8] {
    // SAFETY: As the caller promises. The length is queried after the address.
    unsafe {
        let data = sqlite::sqlite3_column_blob(statement, column).cast::<u8>();
        let length = sqlite::sqlite3_column_bytes(statement, column);
        if data.is_null() {
            return &[];
        }
        slice::from_raw_parts(data, usize::try_from(length).unwrap_or(0))
    }
}
