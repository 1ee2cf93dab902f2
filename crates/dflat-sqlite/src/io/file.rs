//! An open file of this VFS, with the real file behind it in the same piece of memory.
#![allow(
    unsafe_code,
    reason = "SQLite calls these functions by pointers, and they call the real file's"
)]

mod shared_memory;

use std::ffi::{c_char, c_int, c_void};
use std::rc::Rc;
use std::{ptr, slice};

use libsqlite3_sys as sqlite;
use sqlite::{sqlite3_file, sqlite3_int64, sqlite3_io_methods};

use self::shared_memory::{shm_barrier, shm_lock, shm_map, shm_unmap};
use super::call::Operation;
use super::log_buffer::LogBuffer;
use super::open_file::OpenFile;
use super::request::Effect;

/// The file that SQLite sees. The real file follows it in memory.
#[repr(C)]
pub(super) struct ShimFile {
    base: sqlite3_file,
    // Invariant: the pointer is from `Box::into_raw` and is freed by `close`.
    state: *mut OpenFile,
}

/// The bytes that SQLite must reserve before those of the real file. SQLite aligns the whole for
/// any type, and this number is a multiple of the alignment of a pointer.
pub(super) const PREFIX: usize = size_of::<ShimFile>();

/// The methods of a file, one table for each set of methods that the real file may have. The index
/// is [`methods_index`].
static METHODS: [sqlite3_io_methods; 4] = [
    methods(1, false, false),
    methods(2, true, false),
    methods(3, true, true),
    // A real file of version 3 without shared memory.
    methods(3, false, true),
];

const fn methods(version: c_int, shared: bool, mapped: bool) -> sqlite3_io_methods {
    sqlite3_io_methods {
        iVersion: version,
        xClose: Some(close),
        xRead: Some(read),
        xWrite: Some(write),
        xTruncate: Some(truncate),
        xSync: Some(sync),
        xFileSize: Some(file_size),
        xLock: Some(lock),
        xUnlock: Some(unlock),
        xCheckReservedLock: Some(check_reserved_lock),
        xFileControl: Some(file_control),
        xSectorSize: Some(sector_size),
        xDeviceCharacteristics: Some(device_characteristics),
        xShmMap: if shared { Some(shm_map) } else { None },
        xShmLock: if shared { Some(shm_lock) } else { None },
        xShmBarrier: if shared { Some(shm_barrier) } else { None },
        xShmUnmap: if shared { Some(shm_unmap) } else { None },
        xFetch: if mapped { Some(fetch) } else { None },
        xUnfetch: if mapped { Some(unfetch) } else { None },
    }
}

const fn methods_index(real: &sqlite3_io_methods, has_log_index: bool) -> usize {
    match (real.iVersion, real.xShmMap.is_some() || has_log_index) {
        (..=1, true) if has_log_index => 1,
        (..=1, _) | (2, false) => 0,
        (2, true) => 1,
        (3.., true) => 2,
        (3.., false) => 3,
    }
}

/// The address of the real file.
///
/// # Safety
/// `file` points to [`PREFIX`] bytes, followed by those of the real file.
pub(super) unsafe fn real_of(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: The memory continues beyond the prefix, as the caller promises.
    unsafe { file.cast::<u8>().add(PREFIX).cast() }
}

/// Marks the file as not open, so that SQLite does not close it.
///
/// # Safety
/// As [`real_of`]; the file is not open.
pub(super) unsafe fn set_closed(file: *mut sqlite3_file) {
    // SAFETY: This code may write the memory, as the caller promises.
    unsafe { (*file).pMethods = ptr::null() };
}

/// Opens the file as one of this VFS, after its real file was opened.
///
/// # Safety
/// As [`real_of`]; the real file is open, and this one is not.
pub(super) unsafe fn set_open(file: *mut sqlite3_file, state: OpenFile) {
    // SAFETY: The real file is open, so that its methods are a table that outlives it. The prefix
    // is for this code to write, and nothing in it needs to be dropped.
    unsafe {
        let real = &*(*real_of(file)).pMethods;
        let has_log_index = state.log_index.is_some();
        ptr::write(
            file.cast::<ShimFile>(),
            ShimFile {
                base: sqlite3_file {
                    pMethods: &raw const METHODS[methods_index(real, has_log_index)],
                },
                state: Box::into_raw(Box::new(state)),
            },
        );
    }
}

/// The parts of an open file.
struct Parts<'f> {
    state: &'f OpenFile,
    real: *mut sqlite3_file,
    methods: &'f sqlite3_io_methods,
}

/// # Safety
/// `file` was opened by [`set_open`], is open for `'f`, and is used by this thread alone.
unsafe fn parts<'f>(file: *mut sqlite3_file) -> Parts<'f> {
    // SAFETY: `set_open` wrote the prefix and the state; the real file is open as long as this one
    // is.
    unsafe {
        let real = real_of(file);
        Parts {
            state: &*(*file.cast::<ShimFile>()).state,
            real,
            methods: &*(*real).pMethods,
        }
    }
}

/// The buffer for the log of a name, which is that of its main file.
///
/// # Safety
/// `name` is the name with which SQLite opens the log of a file of this VFS.
pub(super) unsafe fn log_buffer_of(name: *const c_char) -> Option<Rc<LogBuffer>> {
    // SAFETY: As the caller promises. The main file is open as long as its log is.
    unsafe {
        let main = sqlite::sqlite3_database_file_object(name);
        parts(main).state.log_buffer.clone()
    }
}

/// Calls a method of the real file.
macro_rules! forward {
    ($parts:expr, $method:ident $(, $argument:expr)*) => {
        match $parts.methods.$method {
            // SAFETY: The real file is open, and the arguments are those that SQLite passed, or a
            // part of the bytes that it passed.
            Some(method) => unsafe { method($parts.real $(, $argument)*) },
            None => sqlite::SQLITE_IOERR,
        }
    };
}
use forward;

/// Writes the gathered frames of a log, and ends the calling function if that fails.
macro_rules! flush {
    ($parts:expr) => {
        match flush(&$parts) {
            sqlite::SQLITE_OK => {}
            code => return code,
        }
    };
}

/// Converts a length that SQLite passed as `int` back to `int`.
fn int(length: usize) -> c_int {
    c_int::try_from(length).unwrap_or(c_int::MAX)
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a file that this VFS opened, once.
    let parts = unsafe { parts(file) };
    let code = forward!(parts, xClose);
    // SAFETY: The state is from `Box::into_raw`; SQLite does not use the file again.
    unsafe {
        drop(Box::from_raw((*file.cast::<ShimFile>()).state));
        set_closed(file);
    }
    code
}

unsafe extern "C" fn read(
    file: *mut sqlite3_file,
    buffer: *mut c_void,
    amount: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite reads from a file that this VFS opened.
    let parts = unsafe { parts(file) };
    flush!(parts);
    let length = usize::try_from(amount).unwrap_or(0);
    parts.state.note_extent(Operation::Read, offset, length);
    parts
        .state
        .run(Operation::Read, length, Effect::NOTHING, |done| {
            let code = match done {
                0 => sqlite::SQLITE_OK,
                _ => forward!(parts, xRead, buffer, int(done), offset),
            };
            if done < length {
                // SAFETY: The buffer has `length` bytes.
                unsafe { ptr::write_bytes(buffer.cast::<u8>().add(done), 0, length - done) };
            }
            code
        })
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    buffer: *const c_void,
    amount: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite writes to a file that this VFS opened.
    let parts = unsafe { parts(file) };
    let length = usize::try_from(amount).unwrap_or(0);
    // SAFETY: The buffer has `length` bytes and lives for the time of this call.
    let content = unsafe { slice::from_raw_parts(buffer.cast::<u8>(), length) };
    parts.state.note_extent(Operation::Write, offset, length);
    match parts.state.buffer_of_log() {
        Some(buffer) => buffer.write(offset, content, |offset, content| {
            write_through(&parts, offset, content)
        }),
        None => write_through(&parts, offset, content),
    }
}

/// Writes bytes to the real file.
fn write_through(parts: &Parts<'_>, offset: i64, content: &[u8]) -> c_int {
    let (buffer, length) = (content.as_ptr().cast::<c_void>(), content.len());
    let effect = Effect::write(offset, content);
    parts
        .state
        .run(Operation::Write, length, effect, |done| match done {
            0 => sqlite::SQLITE_OK,
            _ => forward!(parts, xWrite, buffer, int(done), offset),
        })
}

/// Writes the gathered frames, if this file is a log.
fn flush(parts: &Parts<'_>) -> c_int {
    match parts.state.buffer_of_log() {
        Some(buffer) => buffer.flush(|offset, content| write_through(parts, offset, content)),
        None => sqlite::SQLITE_OK,
    }
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    // SAFETY: SQLite truncates a file that this VFS opened.
    let parts = unsafe { parts(file) };
    flush!(parts);
    let effect = Effect::truncate(size);
    parts
        .state
        .run(Operation::Truncate, 1, effect, |done| match done {
            0 => sqlite::SQLITE_OK,
            _ => forward!(parts, xTruncate, size),
        })
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: SQLite syncs a file that this VFS opened.
    let parts = unsafe { parts(file) };
    flush!(parts);
    let directory = parts.state.syncs_directory.get();
    let effect = Effect::flush(directory);
    let code = parts
        .state
        .run(Operation::Flush, 1, effect, |done| match done {
            0 => sqlite::SQLITE_OK,
            _ => forward!(parts, xSync, flags),
        });
    if code != sqlite::SQLITE_OK
        && let Some(buffer) = parts.state.buffer_of_log()
    {
        buffer.take_back(|offset, content| write_through(&parts, offset, content));
    }
    if directory && code == sqlite::SQLITE_OK {
        // The real file synced the directory inside its own sync: the directory sync is counted,
        // but no further call is made.
        parts.state.syncs_directory.set(false);
        parts
            .state
            .run(Operation::FlushDirectory, 1, Effect::NOTHING, |_| {
                sqlite::SQLITE_OK
            });
    }
    code
}

unsafe extern "C" fn file_size(file: *mut sqlite3_file, size: *mut sqlite3_int64) -> c_int {
    // SAFETY: SQLite queries a file that this VFS opened.
    let parts = unsafe { parts(file) };
    flush!(parts);
    parts
        .state
        .run(Operation::Size, 1, Effect::NOTHING, |done| match done {
            0 => {
                // SAFETY: SQLite passes the place for the result.
                unsafe { *size = 0 };
                sqlite::SQLITE_OK
            }
            _ => forward!(parts, xFileSize, size),
        })
}

unsafe extern "C" fn lock(file: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite locks a file that this VFS opened.
    let parts = unsafe { parts(file) };
    parts.state.note_current();
    parts
        .state
        .run(Operation::Lock, 1, Effect::NOTHING, |done| match done {
            0 => sqlite::SQLITE_OK,
            _ => forward!(parts, xLock, level),
        })
}

unsafe extern "C" fn unlock(file: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite unlocks a file that this VFS opened.
    let parts = unsafe { parts(file) };
    forward!(parts, xUnlock, level)
}

unsafe extern "C" fn check_reserved_lock(file: *mut sqlite3_file, result: *mut c_int) -> c_int {
    // SAFETY: SQLite queries a file that this VFS opened.
    let parts = unsafe { parts(file) };
    forward!(parts, xCheckReservedLock, result)
}

unsafe extern "C" fn file_control(
    file: *mut sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: SQLite controls a file that this VFS opened.
    let parts = unsafe { parts(file) };
    forward!(parts, xFileControl, operation, argument)
}

unsafe extern "C" fn sector_size(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite queries a file that this VFS opened.
    let parts = unsafe { parts(file) };
    match parts.methods.xSectorSize {
        // SAFETY: The real file is open.
        Some(method) => unsafe { method(parts.real) },
        // SQLite's own default.
        None => 4096,
    }
}

unsafe extern "C" fn device_characteristics(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite queries a file that this VFS opened.
    let parts = unsafe { parts(file) };
    match parts.methods.xDeviceCharacteristics {
        // SAFETY: The real file is open.
        Some(method) => unsafe { method(parts.real) },
        None => 0,
    }
}

unsafe extern "C" fn fetch(
    file: *mut sqlite3_file,
    offset: sqlite3_int64,
    amount: c_int,
    result: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite maps a file that this VFS opened.
    let parts = unsafe { parts(file) };
    forward!(parts, xFetch, offset, amount, result)
}

unsafe extern "C" fn unfetch(
    file: *mut sqlite3_file,
    offset: sqlite3_int64,
    page: *mut c_void,
) -> c_int {
    // SAFETY: SQLite unmaps a file that this VFS opened.
    let parts = unsafe { parts(file) };
    forward!(parts, xUnfetch, offset, page)
}
