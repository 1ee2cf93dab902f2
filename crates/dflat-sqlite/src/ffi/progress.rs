//! Statements that can be ended while SQLite runs them.
#![allow(
    unsafe_code,
    reason = "SQLite's C API; one of the modules that call it"
)]

use std::ffi::{c_int, c_void};
use std::ops::ControlFlow;
use std::ptr::{self, NonNull};

use libsqlite3_sys as sqlite;

/// Asked while a statement runs; `Break` ends the statement with the error `SQLITE_INTERRUPT`.
pub(crate) type Proceed<'p> = dyn FnMut() -> ControlFlow<()> + 'p;

/// The number of instructions of SQLite's machine between two calls. A count takes two or more for
/// each row, so these are at most 64 rows.
const INSTRUCTIONS_BETWEEN: c_int = 128;

/// Calls `proceed` now and then while a connection runs statements, until the guard is dropped.
pub(super) struct ProgressGuard {
    db: NonNull<sqlite::sqlite3>,
}

impl ProgressGuard {
    /// # Safety
    /// Until the guard is dropped, the connection is open, only the caller uses it, and `proceed`
    /// stays where it is and is used by nothing else.
    pub(super) unsafe fn new(db: NonNull<sqlite::sqlite3>, proceed: &mut &mut Proceed<'_>) -> Self {
        let context = ptr::from_mut(proceed).cast::<c_void>();
        // SAFETY: The connection is open. The context is valid until the guard removes it.
        unsafe {
            sqlite::sqlite3_progress_handler(db.as_ptr(), INSTRUCTIONS_BETWEEN, Some(ask), context);
        }
        Self { db }
    }
}

impl Drop for ProgressGuard {
    fn drop(&mut self) {
        // SAFETY: The connection is open.
        unsafe {
            sqlite::sqlite3_progress_handler(self.db.as_ptr(), 0, None, ptr::null_mut());
        }
    }
}

/// Not zero if the statement is to end.
unsafe extern "C" fn ask(context: *mut c_void) -> c_int {
    // SAFETY: SQLite passes the context of `ProgressGuard::new`, which lives as long as the guard
    // and is used by nothing else. Its lifetime does not leave this function.
    let proceed = unsafe { &mut *context.cast::<&mut Proceed<'_>>() };
    c_int::from(proceed().is_break())
}
