//! The calls that fail, and how they fail.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use libsqlite3_sys as sqlite;

use super::recording::Event;
use crate::io::call::{FileKind, Operation};
use crate::io::request::Call;

/// A fault: the calls that it applies to, and its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of file; `None` for any.
    pub kind: Option<FileKind>,
    /// The operation.
    pub operation: Operation,
    /// The number of the call that meets the fault, from 1, counted from when the fault is added.
    pub at: u64,
    /// Whether all later calls meet the fault too.
    pub lasting: bool,
    /// The effect of the fault.
    pub action: Action,
}

/// The effect of a fault on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The call does nothing and fails.
    Fail(Failure),
    /// The call processes half of its bytes and fails.
    Shorten(Failure),
    /// The call processes some sectors and reports success, wrongly.
    Tear,
    /// The call does nothing and reports success, wrongly. A read gives zeros.
    Pretend,
    /// The call takes this much longer, or until the faults are removed.
    Delay(Duration),
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The device fails: EIO.
    Io,
    /// No space is left: ENOSPC.
    NoSpace,
    /// The file can't be opened.
    CannotOpen,
    /// Another connection has the lock.
    Busy,
}

impl Failure {
    /// The result code that SQLite's own VFS would return, and the system's error number.
    fn codes(self, operation: Operation, kind: FileKind) -> (c_int, c_int) {
        const EIO: c_int = 5;
        const ENOSPC: c_int = 28;
        const EMFILE: c_int = 24;
        match (self, operation) {
            (Self::Busy, _) => (sqlite::SQLITE_BUSY, 0),
            (Self::CannotOpen, _) => (sqlite::SQLITE_CANTOPEN, EMFILE),
            (Self::NoSpace, Operation::Write) => (sqlite::SQLITE_FULL, ENOSPC),
            (Self::NoSpace, _) => (io_code(operation, kind), ENOSPC),
            (Self::Io, _) => (io_code(operation, kind), EIO),
        }
    }
}

fn io_code(operation: Operation, kind: FileKind) -> c_int {
    match operation {
        Operation::Open => sqlite::SQLITE_CANTOPEN,
        Operation::Read => sqlite::SQLITE_IOERR_READ,
        Operation::Write => sqlite::SQLITE_IOERR_WRITE,
        Operation::Truncate => sqlite::SQLITE_IOERR_TRUNCATE,
        Operation::Flush => sqlite::SQLITE_IOERR_FSYNC,
        Operation::FlushDirectory => sqlite::SQLITE_IOERR_DIR_FSYNC,
        Operation::Delete => sqlite::SQLITE_IOERR_DELETE,
        Operation::Lock if kind == FileKind::LogIndex => sqlite::SQLITE_IOERR_SHMLOCK,
        Operation::Lock => sqlite::SQLITE_IOERR_LOCK,
        Operation::Map => sqlite::SQLITE_IOERR_SHMMAP,
        Operation::Size => sqlite::SQLITE_IOERR_FSTAT,
        Operation::Access => sqlite::SQLITE_IOERR_ACCESS,
    }
}

/// A fault, and the number of calls that it has seen.
pub(in crate::io) struct Armed {
    fault: Fault,
    seen: u64,
    fired: u64,
}

impl Armed {
    pub(in crate::io) const fn new(fault: Fault) -> Self {
        Self {
            fault,
            seen: 0,
            fired: 0,
        }
    }

    /// The effect on this call; `None` if the call does not meet the fault.
    fn due(&mut self, call: &Call<'_>) -> Option<Action> {
        let concerned = call.operation == self.fault.operation
            && self.fault.kind.is_none_or(|kind| kind == call.kind);
        if !concerned {
            return None;
        }
        self.seen += 1;
        let due = self.seen == self.fault.at || (self.fault.lasting && self.seen > self.fault.at);
        self.fired += u64::from(due);
        due.then_some(self.fault.action)
    }
}

/// The faults and the recording that a test requested.
#[derive(Default)]
pub(in crate::io) struct Script {
    pub(in crate::io) faults: Vec<Armed>,
    pub(in crate::io) events: Option<Vec<Event>>,
    /// Whether syncs are counted and recorded, but not performed.
    pub(in crate::io) skips_syncs: bool,
    /// The number of times that all faults were removed.
    clears_count: u64,
}

impl Script {
    /// The number of calls that met a fault.
    pub(in crate::io) fn met_count(&self) -> u64 {
        self.faults.iter().map(|armed| armed.fired).sum()
    }
}

/// The faults and the recording of one database.
#[derive(Default)]
pub(in crate::io) struct Faults {
    /// Whether `script` contains a request.
    is_armed: AtomicBool,
    script: Mutex<Script>,
    cleared: Condvar,
}

thread_local! {
    /// The system error number of the fault that this thread met last, until it is taken.
    static SYSTEM_ERROR: Cell<Option<c_int>> = const { Cell::new(None) };
}

/// Takes the system error number of this thread's last injected fault.
pub(in crate::io) fn take_system_error() -> Option<c_int> {
    SYSTEM_ERROR.take()
}

impl Faults {
    /// Removes all faults and ends delays. Returns how many calls met a fault.
    pub(in crate::io) fn clear(&self) -> u64 {
        let met = self.change(|script| {
            let met = script.met_count();
            script.faults.clear();
            script.clears_count += 1;
            met
        });
        self.cleared.notify_all();
        met
    }

    /// Changes the script.
    pub(in crate::io) fn change<R>(&self, change: impl FnOnce(&mut Script) -> R) -> R {
        let mut script = self.lock();
        let result = change(&mut script);
        let armed = !script.faults.is_empty() || script.events.is_some() || script.skips_syncs;
        self.is_armed.store(armed, Ordering::Release);
        result
    }

    /// Whether a test requests faults, a recording or skipped syncs.
    pub(in crate::io) fn is_armed(&self) -> bool {
        self.is_armed.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, Script> {
        // If a test's own code panics, the script is still consistent.
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a call as the script says. `count` makes the call that it is given and counts it.
    pub(in crate::io) fn run(
        &self,
        call: &Call<'_>,
        perform: &mut dyn FnMut(usize) -> c_int,
        count: &mut dyn FnMut(&mut dyn FnMut() -> c_int) -> c_int,
    ) -> c_int {
        let mut script = self.lock();
        let due = script.faults.iter_mut().filter_map(|fault| fault.due(call));
        let action = due.fold(None, |first, action| first.or(Some(action)));
        if let Some(Action::Delay(delay)) = action {
            let clears_count = script.clears_count;
            let is_delayed = |script: &mut Script| script.clears_count == clears_count;
            let waited = self.cleared.wait_timeout_while(script, delay, is_delayed);
            (script, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        let (length, failure) = match action {
            None | Some(Action::Delay(_)) => (call.length, None),
            Some(Action::Fail(failure)) => (0, Some(failure)),
            Some(Action::Shorten(failure)) => (call.length / 2, Some(failure)),
            Some(Action::Tear) => (torn(call.length), None),
            Some(Action::Pretend) => (0, None),
        };
        let skips = action.is_none() && call.operation == Operation::Flush && script.skips_syncs;
        // The lock is held during the call only if the call is recorded, so that the recorded order
        // is the real order. During other calls, other threads do not wait.
        let is_recorded = script.events.is_some() && call.is_recorded();
        let mut script = is_recorded.then_some(script);
        count(&mut || {
            let code = perform(if skips { 0 } else { length });
            if let (Some(script), true) = (&mut script, length > 0)
                && code == sqlite::SQLITE_OK
                && let Some(events) = &mut script.events
            {
                events.extend(call.event(length));
            }
            let Some(failure) = failure else { return code };
            let (code, system) = failure.codes(call.operation, call.kind);
            SYSTEM_ERROR.set(Some(system));
            code
        })
    }
}

/// The length of the part of a write that is performed when the write is torn: whole sectors, but
/// not all of them.
fn torn(length: usize) -> usize {
    const SECTOR: usize = 512;
    (length / 2) / SECTOR * SECTOR
}
