//! Counts, faults and recording of one database.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use libsqlite3_sys as sqlite;

use super::call::{FileKind, Operation};
use super::inject::{Action, Armed};
use super::recording::Event;
use super::report::{CallReport, FileReport, IoReport};

/// Watches the files of one database, for as long as a backend or a test holds it.
pub(crate) struct Monitor {
    start: Instant,
    commits: AtomicU64,
    changes: AtomicU64,
    logical_bytes: AtomicU64,
    counters: [[Counter; Operation::ALL.len()]; FileKind::ALL.len()],
    /// Whether there is anything in `script`.
    armed: AtomicBool,
    script: Mutex<Script>,
}

/// What a test asked for.
#[derive(Default)]
pub(super) struct Script {
    pub(super) faults: Vec<Armed>,
    pub(super) events: Option<Vec<Event>>,
    /// Whether syncs are counted and recorded, and not done.
    pub(super) skips_syncs: bool,
}

/// The calls of one operation on one kind of file. All numbers are independent: none orders others.
struct Counter {
    count: AtomicU64,
    failed: AtomicU64,
    bytes: AtomicU64,
    /// The calls that were timed.
    timed: AtomicU64,
    total_ns: AtomicU64,
    min_ns: AtomicU64,
    max_ns: AtomicU64,
}

/// A call about to be made.
pub(super) struct Call<'e> {
    pub(super) kind: FileKind,
    pub(super) operation: Operation,
    /// The bytes asked for; 1 where there are none.
    pub(super) length: usize,
    /// What it leaves in a recording, given the bytes that were done.
    pub(super) event: Option<&'e dyn Fn(usize) -> Event>,
}

thread_local! {
    /// The system error number of the fault that this thread met last, until it is asked for.
    static SYSTEM_ERROR: Cell<Option<c_int>> = const { Cell::new(None) };
}

/// Takes the system error number of this thread's last injected fault.
pub(super) fn take_system_error() -> Option<c_int> {
    SYSTEM_ERROR.take()
}

impl Monitor {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            commits: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            logical_bytes: AtomicU64::new(0),
            counters: Default::default(),
            armed: AtomicBool::new(false),
            script: Mutex::default(),
        }
    }

    /// Notes a transaction that was committed.
    pub(crate) fn note_commit(&self, changes: u64, bytes: u64) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.changes.fetch_add(changes, Ordering::Relaxed);
        self.logical_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Changes what a test asked for.
    pub(super) fn script<R>(&self, change: impl FnOnce(&mut Script) -> R) -> R {
        let mut script = self.lock();
        let result = change(&mut script);
        let armed = !script.faults.is_empty() || script.events.is_some() || script.skips_syncs;
        self.armed.store(armed, Ordering::Release);
        result
    }

    fn lock(&self) -> MutexGuard<'_, Script> {
        // A panic of a test's own code leaves the script as it was.
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a call: `perform` does as many bytes as it is given, and nothing if it is given 0.
    pub(super) fn run(&self, call: &Call<'_>, mut perform: impl FnMut(usize) -> c_int) -> c_int {
        if self.armed.load(Ordering::Acquire) {
            return self.run_armed(call, &mut perform);
        }
        self.run_counted(call, || perform(call.length))
    }

    fn run_counted(&self, call: &Call<'_>, perform: impl FnOnce() -> c_int) -> c_int {
        let counter = &self.counters[call.kind as usize][call.operation as usize];
        let before = counter.count.fetch_add(1, Ordering::Relaxed);
        if matches!(call.operation, Operation::Read | Operation::Write) {
            counter
                .bytes
                .fetch_add(call.length as u64, Ordering::Relaxed);
        }
        let start =
            (is_slow(call.operation) || before.is_multiple_of(TIMED_EVERY)).then(Instant::now);
        let code = perform();
        if let Some(start) = start {
            counter.note_time(start);
        }
        // What lies past the end of a file reads as zeros: no failure.
        if code != sqlite::SQLITE_OK && code != sqlite::SQLITE_IOERR_SHORT_READ {
            counter.failed.fetch_add(1, Ordering::Relaxed);
        }
        code
    }

    fn run_armed(&self, call: &Call<'_>, perform: &mut dyn FnMut(usize) -> c_int) -> c_int {
        let mut script = self.lock();
        let due = script.faults.iter_mut().filter_map(|fault| fault.due(call));
        let action = due.fold(None, |first, action| first.or(Some(action)));
        if let Some(Action::Delay(delay)) = action {
            drop(script);
            std::thread::sleep(delay);
            script = self.lock();
        }
        let (length, failure) = match action {
            None | Some(Action::Delay(_)) => (call.length, None),
            Some(Action::Fail(failure)) => (0, Some(failure)),
            Some(Action::Shorten(failure)) => (call.length / 2, Some(failure)),
            Some(Action::Tear) => (torn(call.length), None),
            Some(Action::Pretend) => (0, None),
        };
        let skips = action.is_none() && call.operation == Operation::Flush && script.skips_syncs;
        // Others wait only while a call is made that is recorded: the order must be the true one.
        let recorded = call.event.filter(|_| script.events.is_some());
        let mut script = recorded.is_some().then_some(script);
        self.run_counted(call, || {
            let code = perform(if skips { 0 } else { length });
            if let (Some(event), Some(script), true) = (recorded, &mut script, length > 0)
                && code == sqlite::SQLITE_OK
                && let Some(events) = &mut script.events
            {
                events.push(event(length));
            }
            let Some(failure) = failure else { return code };
            let (code, system) = failure.codes(call.operation, call.kind);
            SYSTEM_ERROR.set(Some(system));
            code
        })
    }

    /// What was counted so far.
    pub(crate) fn report(&self) -> IoReport {
        let files = FileKind::ALL.map(|kind| {
            let calls = Operation::ALL.map(|operation| {
                self.counters[kind as usize][operation as usize].report(operation)
            });
            FileReport {
                kind,
                calls: calls.to_vec(),
            }
        });
        IoReport {
            elapsed: self.start.elapsed(),
            commits: self.commits.load(Ordering::Relaxed),
            changes: self.changes.load(Ordering::Relaxed),
            logical_bytes: self.logical_bytes.load(Ordering::Relaxed),
            files: files.to_vec(),
        }
    }
}

/// Of calls that mostly end in the system's memory one in so many is timed: to look at the clock
/// takes about as long as they do.
const TIMED_EVERY: u64 = 16;

/// Whether a call goes to the device, so that each is timed.
const fn is_slow(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Open
            | Operation::Truncate
            | Operation::Flush
            | Operation::FlushDirectory
            | Operation::Delete
            | Operation::Map
    )
}

/// The part of a write that is done when it is torn: whole sectors, not all of them.
fn torn(length: usize) -> usize {
    const SECTOR: usize = 512;
    (length / 2) / SECTOR * SECTOR
}

impl Default for Counter {
    fn default() -> Self {
        Self {
            count: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            timed: AtomicU64::new(0),
            total_ns: AtomicU64::new(0),
            min_ns: AtomicU64::new(u64::MAX),
            max_ns: AtomicU64::new(0),
        }
    }
}

impl Counter {
    fn note_time(&self, start: Instant) {
        let ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.timed.fetch_add(1, Ordering::Relaxed);
        self.total_ns.fetch_add(ns, Ordering::Relaxed);
        // Looked at first: it is hardly ever to be written.
        if ns < self.min_ns.load(Ordering::Relaxed) {
            self.min_ns.fetch_min(ns, Ordering::Relaxed);
        }
        if ns > self.max_ns.load(Ordering::Relaxed) {
            self.max_ns.fetch_max(ns, Ordering::Relaxed);
        }
    }

    fn report(&self, operation: Operation) -> CallReport {
        let min_ns = self.min_ns.load(Ordering::Relaxed);
        CallReport {
            operation,
            count: self.count.load(Ordering::Relaxed),
            timed: self.timed.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            total: Duration::from_nanos(self.total_ns.load(Ordering::Relaxed)),
            min: Duration::from_nanos(if min_ns == u64::MAX { 0 } else { min_ns }),
            max: Duration::from_nanos(self.max_ns.load(Ordering::Relaxed)),
        }
    }
}

/// The databases that are watched, by the path of their main file.
static WATCHED: Mutex<Option<HashMap<PathBuf, Weak<Monitor>>>> = Mutex::new(None);

/// The monitor of a database, new if it has none. `path` is absolute.
pub(crate) fn monitor_of(path: &Path) -> Arc<Monitor> {
    // SQLite resolves a link before it opens the file.
    let key = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    let watched = watched.get_or_insert_default();
    watched.retain(|_, monitor| monitor.strong_count() > 0);
    if let Some(monitor) = watched.get(&key).and_then(Weak::upgrade) {
        return monitor;
    }
    let monitor = Arc::new(Monitor::new());
    watched.insert(key, Arc::downgrade(&monitor));
    monitor
}

/// The monitor of the database to which a file belongs, and the file's kind.
pub(super) fn watched(file: &Path) -> Option<(Arc<Monitor>, FileKind)> {
    const SUFFIXES: [(&str, FileKind); 3] = [
        ("-wal", FileKind::Log),
        ("-shm", FileKind::LogIndex),
        ("-journal", FileKind::Journal),
    ];
    let guard = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    let watched = guard.as_ref()?;
    let find = |path: &Path| watched.get(path).and_then(Weak::upgrade);
    if let Some(monitor) = find(file) {
        return Some((monitor, FileKind::Main));
    }
    let name = file.to_str()?;
    SUFFIXES.into_iter().find_map(|(suffix, kind)| {
        let main = name.strip_suffix(suffix)?;
        Some((find(Path::new(main))?, kind))
    })
}
