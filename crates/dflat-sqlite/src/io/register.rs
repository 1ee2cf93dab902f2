//! The VFS that forwards everything to SQLite's default one.
#![allow(
    unsafe_code,
    reason = "SQLite calls these functions by pointers, and they call the real VFS's"
)]

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use libsqlite3_sys as sqlite;
use sqlite::{sqlite3_file, sqlite3_int64, sqlite3_syscall_ptr, sqlite3_vfs};

use super::call::{FileKind, Operation};
#[cfg(feature = "faults")]
use super::faults::script::take_system_error;
use super::file;
use super::memory_index::MemoryIndex;
use super::monitor::Monitor;
use super::monitors::{self, monitor_of_file};
use super::open_file::{FileMonitor, OpenFile};
use super::request::{Call, Effect};

/// A symbol of a shared library, as SQLite declares it.
type Symbol = Option<unsafe extern "C" fn(*mut sqlite3_vfs, *mut c_void, *const c_char)>;

/// How the VFS opens the files of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VfsKind {
    /// As any other VFS does. No monitor counts the calls.
    Uncounted,
    /// As any other VFS does. If the database has a monitor, the monitor counts the calls.
    Shared,
    /// Logs are opened only for reading.
    ReadOnly,
    /// Logs are opened only for reading, and each connection has its log's index in its own memory.
    OwnLogIndex,
}

/// The data of a VFS of this library.
struct Registration {
    real: *mut sqlite3_vfs,
    kind: VfsKind,
}

/// The name under which the VFS is registered. It is registered once in a process, and never as the
/// default. `None` if SQLite has no VFS to forward to.
pub(crate) fn name(kind: VfsKind) -> Option<&'static CStr> {
    static NAMES: [OnceLock<Option<&'static CStr>>; 4] = [const { OnceLock::new() }; 4];
    *NAMES[kind as usize].get_or_init(|| register(kind))
}

fn register(kind: VfsKind) -> Option<&'static CStr> {
    static UNIQUE: u8 = 0;
    // Each copy of this crate in a process has its own VFSs.
    let name = format!("dflat-{:p}-{}", &raw const UNIQUE, kind as usize);
    let name = CString::new(name).ok()?;
    let name: &'static CStr = Box::leak(name.into_boxed_c_str());
    // SAFETY: The call initialises SQLite if need be. The VFS that it returns lives as long as it
    // stays registered, and a default VFS is never unregistered. The VFS is copied here.
    let (raw, real) = unsafe {
        let raw = sqlite::sqlite3_vfs_find(ptr::null());
        (raw, raw.as_ref().copied()?)
    };
    let prefix = c_int::try_from(file::PREFIX).ok()?;
    let shim = sqlite3_vfs {
        iVersion: real.iVersion.min(3),
        szOsFile: prefix.checked_add(real.szOsFile)?,
        mxPathname: real.mxPathname,
        pNext: ptr::null_mut(),
        zName: name.as_ptr(),
        pAppData: Box::into_raw(Box::new(Registration { real: raw, kind })).cast::<c_void>(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_pathname),
        xDlOpen: real.xDlOpen.and(Some(dl_open)),
        xDlError: real.xDlError.and(Some(dl_error)),
        xDlSym: real.xDlSym.and(Some(dl_sym)),
        xDlClose: real.xDlClose.and(Some(dl_close)),
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: Some(current_time),
        xGetLastError: Some(last_error),
        xCurrentTimeInt64: real.xCurrentTimeInt64.and(Some(current_time_int64)),
        xSetSystemCall: real.xSetSystemCall.and(Some(set_system_call)),
        xGetSystemCall: real.xGetSystemCall.and(Some(get_system_call)),
        xNextSystemCall: real.xNextSystemCall.and(Some(next_system_call)),
    };
    // SAFETY: The structure is leaked: it stays at one address as long as the process lives.
    let code = unsafe { sqlite::sqlite3_vfs_register(Box::leak(Box::new(shim)), 0) };
    (code == sqlite::SQLITE_OK).then_some(name)
}

/// The real VFS.
///
/// # Safety
/// `vfs` was made by [`register`].
unsafe fn real_of(vfs: *mut sqlite3_vfs) -> *mut sqlite3_vfs {
    // SAFETY: `register` stored the pointer there, and nothing was written since.
    unsafe { (*(*vfs).pAppData.cast::<Registration>()).real }
}

/// How the files of a VFS are used.
///
/// # Safety
/// As [`real_of`].
unsafe fn kind_of(vfs: *mut sqlite3_vfs) -> VfsKind {
    // SAFETY: As in `real_of`.
    unsafe { (*(*vfs).pAppData.cast::<Registration>()).kind }
}

/// Calls a function of the real VFS, or returns `$otherwise` if the VFS has no such function.
macro_rules! forward {
    ($vfs:expr, $function:ident, ($($argument:expr),*), $otherwise:expr) => {{
        // SAFETY: SQLite calls the functions of a VFS with that VFS, which is one of this library;
        // the real one is never unregistered, and its functions do not change.
        let (real, function) = unsafe {
            let real = real_of($vfs);
            (real, (*real).$function)
        };
        match function {
            // SAFETY: The arguments are those that SQLite passed.
            Some(function) => unsafe { function(real $(, $argument)*) },
            None => $otherwise,
        }
    }};
}

/// Makes a call on a named file that a monitor, if there is one, counts and may make fail.
fn run(
    monitored: Option<&(Arc<Monitor>, FileKind)>,
    operation: Operation,
    effect: Effect<'_>,
    mut perform: impl FnMut() -> c_int,
) -> c_int {
    let Some((monitor, kind)) = monitored else {
        return perform();
    };
    let call = Call::new(None, *kind, operation, 1);
    monitor.run(&call.with(effect), |done| match done {
        0 => sqlite::SQLITE_OK,
        _ => perform(),
    })
}

/// # Safety
/// `name` is NULL or a C string that lives for the call.
unsafe fn path_of(name: *const c_char) -> Option<PathBuf> {
    if name.is_null() {
        return None;
    }
    // SAFETY: As the caller promises.
    let name = unsafe { CStr::from_ptr(name) };
    crate::ffi::path_of(name.to_bytes())
}

/// The monitor that counts the calls on a file by name.
///
/// # Safety
/// As [`kind_of`] and [`path_of`].
unsafe fn monitor_of_name(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
) -> Option<(Arc<Monitor>, FileKind)> {
    // SAFETY: As the caller promises.
    unsafe {
        match kind_of(vfs) {
            VfsKind::Uncounted => None,
            _ => path_of(name).as_deref().and_then(monitor_of_file),
        }
    }
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite calls this function with the VFS that has it, which `register` made.
    let vfs_kind = unsafe { kind_of(vfs) };
    let is_log_read_only = matches!(vfs_kind, VfsKind::ReadOnly | VfsKind::OwnLogIndex);
    let flags = if is_log_read_only && flags & sqlite::SQLITE_OPEN_WAL != 0 {
        let write = sqlite::SQLITE_OPEN_READWRITE | sqlite::SQLITE_OPEN_CREATE;
        flags & !write | sqlite::SQLITE_OPEN_READONLY
    } else {
        flags
    };
    // SAFETY: SQLite passes a name that is NULL or a C string, and as many bytes as `szOsFile`
    // says.
    let (path, real_file) = unsafe {
        file::set_closed(file);
        let real_file = file::real_of(file);
        // A real VFS need not set this field if it fails at once.
        (*real_file).pMethods = ptr::null();
        (path_of(name), real_file)
    };
    let monitored = match path.as_deref() {
        _ if vfs_kind == VfsKind::Uncounted => None,
        Some(path) => monitor_of_file(path),
        None => monitors::current(),
    };
    let perform = || {
        forward!(
            vfs,
            xOpen,
            (name, real_file, flags, out_flags),
            sqlite::SQLITE_CANTOPEN
        )
    };
    let mut code = run(monitored.as_ref(), Operation::Open, Effect::OPEN, perform);
    // SAFETY: The real VFS sets the methods of a file that has to be closed.
    let is_open = unsafe { !(*real_file).pMethods.is_null() };
    if code == sqlite::SQLITE_OK && !is_open {
        // A fault reported success without opening the file.
        code = sqlite::SQLITE_CANTOPEN;
    }
    if is_open {
        let journal = sqlite::SQLITE_OPEN_MAIN_JOURNAL | sqlite::SQLITE_OPEN_WAL;
        let created = flags & sqlite::SQLITE_OPEN_CREATE != 0 && flags & journal != 0;
        let (monitor, kind) = match monitored {
            Some((monitor, kind)) => (Some(FileMonitor::new(monitor, kind)), kind),
            None => (None, FileKind::Other),
        };
        let log_buffer = if flags & sqlite::SQLITE_OPEN_MAIN_DB != 0 {
            Some(Rc::default())
        } else if flags & sqlite::SQLITE_OPEN_WAL != 0 {
            // SAFETY: SQLite opens a log with the name that it has made for it.
            unsafe { file::log_buffer_of(name) }
        } else {
            None
        };
        let state = OpenFile {
            kind,
            is_log: flags & sqlite::SQLITE_OPEN_WAL != 0,
            monitor,
            // SQLite's VFS for Unix syncs the directory whether the file existed before or not.
            syncs_directory: Cell::new(cfg!(unix) && created),
            log_buffer,
            log_index: (vfs_kind == VfsKind::OwnLogIndex
                && flags & sqlite::SQLITE_OPEN_MAIN_DB != 0)
                .then(MemoryIndex::default),
        };
        // SAFETY: The real file is open, and this one is not.
        unsafe { file::set_open(file, state) };
    }
    code
}

unsafe extern "C" fn delete(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    sync_directory: c_int,
) -> c_int {
    // SAFETY: SQLite passes a C string and the VFS that has this function.
    let monitored = unsafe { monitor_of_name(vfs, name) };
    let directory = sync_directory != 0;
    let effect = Effect::delete(directory);
    let perform = || {
        forward!(
            vfs,
            xDelete,
            (name, sync_directory),
            sqlite::SQLITE_IOERR_DELETE
        )
    };
    let code = run(monitored.as_ref(), Operation::Delete, effect, perform);
    if directory && code == sqlite::SQLITE_OK {
        // The real VFS synced the directory inside its deletion: the directory sync is counted, but
        // no further call is made.
        run(
            monitored.as_ref(),
            Operation::FlushDirectory,
            Effect::NOTHING,
            || sqlite::SQLITE_OK,
        );
    }
    code
}

unsafe extern "C" fn access(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    result: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes a C string and a place for the result.
    let monitored = unsafe {
        *result = 0;
        monitor_of_name(vfs, name)
    };
    run(
        monitored.as_ref(),
        Operation::Access,
        Effect::NOTHING,
        || {
            forward!(
                vfs,
                xAccess,
                (name, flags, result),
                sqlite::SQLITE_IOERR_ACCESS
            )
        },
    )
}

unsafe extern "C" fn full_pathname(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    length: c_int,
    result: *mut c_char,
) -> c_int {
    forward!(
        vfs,
        xFullPathname,
        (name, length, result),
        sqlite::SQLITE_CANTOPEN
    )
}

unsafe extern "C" fn dl_open(vfs: *mut sqlite3_vfs, name: *const c_char) -> *mut c_void {
    forward!(vfs, xDlOpen, (name), ptr::null_mut())
}

unsafe extern "C" fn dl_error(vfs: *mut sqlite3_vfs, length: c_int, message: *mut c_char) {
    forward!(vfs, xDlError, (length, message), ());
}

unsafe extern "C" fn dl_sym(
    vfs: *mut sqlite3_vfs,
    library: *mut c_void,
    symbol: *const c_char,
) -> Symbol {
    forward!(vfs, xDlSym, (library, symbol), None)
}

unsafe extern "C" fn dl_close(vfs: *mut sqlite3_vfs, library: *mut c_void) {
    forward!(vfs, xDlClose, (library), ());
}

unsafe extern "C" fn randomness(
    vfs: *mut sqlite3_vfs,
    length: c_int,
    result: *mut c_char,
) -> c_int {
    forward!(vfs, xRandomness, (length, result), 0)
}

unsafe extern "C" fn sleep(vfs: *mut sqlite3_vfs, microseconds: c_int) -> c_int {
    forward!(vfs, xSleep, (microseconds), 0)
}

unsafe extern "C" fn current_time(vfs: *mut sqlite3_vfs, result: *mut f64) -> c_int {
    forward!(vfs, xCurrentTime, (result), sqlite::SQLITE_ERROR)
}

unsafe extern "C" fn last_error(
    vfs: *mut sqlite3_vfs,
    length: c_int,
    message: *mut c_char,
) -> c_int {
    #[cfg(feature = "faults")]
    if let Some(error) = take_system_error() {
        return error;
    }
    forward!(vfs, xGetLastError, (length, message), 0)
}

unsafe extern "C" fn current_time_int64(
    vfs: *mut sqlite3_vfs,
    result: *mut sqlite3_int64,
) -> c_int {
    forward!(vfs, xCurrentTimeInt64, (result), sqlite::SQLITE_ERROR)
}

unsafe extern "C" fn set_system_call(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    call: sqlite3_syscall_ptr,
) -> c_int {
    forward!(vfs, xSetSystemCall, (name, call), sqlite::SQLITE_NOTFOUND)
}

unsafe extern "C" fn get_system_call(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
) -> sqlite3_syscall_ptr {
    forward!(vfs, xGetSystemCall, (name), None)
}

unsafe extern "C" fn next_system_call(vfs: *mut sqlite3_vfs, name: *const c_char) -> *const c_char {
    forward!(vfs, xNextSystemCall, (name), ptr::null())
}
