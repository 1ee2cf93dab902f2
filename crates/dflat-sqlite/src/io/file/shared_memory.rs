//! The index of the log, which SQLite maps and locks through the main file.
#![allow(
    unsafe_code,
    reason = "SQLite calls these functions by pointers, and they call the real file's"
)]

use std::ffi::{c_int, c_void};
use std::ptr;

use libsqlite3_sys as sqlite;
use sqlite::sqlite3_file;

use super::{Parts, forward, parts};
use crate::io::call::Operation;

/// The lock that a connection has while it writes to the log.
/// Source: `WAL_WRITE_LOCK` in <https://www.sqlite.org/walformat.html>.
const WRITE_LOCK: c_int = 0;

pub(super) unsafe extern "C" fn shm_map(
    file: *mut sqlite3_file,
    region: c_int,
    size: c_int,
    extend: c_int,
    result: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite maps shared memory of a file that this VFS opened.
    let parts = unsafe { parts(file) };
    if let Some(index) = &parts.state.log_index {
        let found = index.region(region, size, extend != 0);
        // SAFETY: SQLite passes the place for the result.
        unsafe { *result = found };
        return sqlite::SQLITE_OK;
    }
    parts
        .state
        .run_on_log_index(Operation::Map, |done| match done {
            // A fault can't pretend that memory was mapped, so this call fails.
            0 => {
                // SAFETY: SQLite passes the place for the result.
                unsafe { *result = ptr::null_mut() };
                sqlite::SQLITE_IOERR_SHMMAP
            }
            _ => forward!(parts, xShmMap, region, size, extend, result),
        })
}

pub(super) unsafe extern "C" fn shm_lock(
    file: *mut sqlite3_file,
    offset: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: SQLite locks shared memory of a file that this VFS opened.
    let parts = unsafe { parts(file) };
    if parts.state.log_index.is_some() {
        // No other connection uses this index.
        return sqlite::SQLITE_OK;
    }
    if offset == WRITE_LOCK && flags & sqlite::SQLITE_SHM_EXCLUSIVE != 0 {
        // Order: before the release, after which another connection may write to the same place.
        if let Some(buffer) = &parts.state.log_buffer {
            buffer.note_lock(flags & sqlite::SQLITE_SHM_LOCK != 0);
        }
    }
    // Each read takes a lock and releases it. The release is not counted, and the counting is in a
    // function of its own, so that a read costs little.
    if flags & sqlite::SQLITE_SHM_LOCK == 0 {
        return forward!(parts, xShmLock, offset, count, flags);
    }
    shm_lock_counted(&parts, offset, count, flags)
}

#[inline(never)]
fn shm_lock_counted(parts: &Parts<'_>, offset: c_int, count: c_int, flags: c_int) -> c_int {
    if flags & sqlite::SQLITE_SHM_EXCLUSIVE != 0 {
        // Readers have no temporary files.
        parts.state.note_current();
    }
    parts
        .state
        .run_on_log_index(Operation::Lock, |done| match done {
            0 => sqlite::SQLITE_OK,
            _ => forward!(parts, xShmLock, offset, count, flags),
        })
}

pub(super) unsafe extern "C" fn shm_barrier(file: *mut sqlite3_file) {
    // SAFETY: SQLite uses shared memory of a file that this VFS opened.
    let parts = unsafe { parts(file) };
    if parts.state.log_index.is_some() {
        return;
    }
    if let Some(method) = parts.methods.xShmBarrier {
        // SAFETY: The real file is open.
        unsafe { method(parts.real) };
    }
}

pub(super) unsafe extern "C" fn shm_unmap(file: *mut sqlite3_file, delete: c_int) -> c_int {
    // SAFETY: SQLite unmaps shared memory of a file that this VFS opened.
    let parts = unsafe { parts(file) };
    if let Some(index) = &parts.state.log_index {
        index.clear();
        return sqlite::SQLITE_OK;
    }
    forward!(parts, xShmUnmap, delete)
}
