//! The counts of one database.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::call::{FileKind, Operation};
use super::counter::{FileCounters, is_failure};
#[cfg(feature = "faults")]
use super::faults::script::Faults;
use super::report::{FileReport, IoReport, Space, WrittenRecords};
use super::request::Call;
use super::usage::TableUsage;
use dflat_model::TableDescriptor;

/// Counts the calls on the files of one database, for as long as a backend or a test holds this.
pub(crate) struct Monitor {
    start: Instant,
    /// How often the database was opened before.
    opens_before: u64,
    commits: AtomicU64,
    changes: AtomicU64,
    logical_bytes: AtomicU64,
    records: AtomicU64,
    record_bytes: AtomicU64,
    /// The end of the last write to the log.
    log_bytes: AtomicU64,
    /// The number of commits that were made while a reader kept the log from starting again. 0 when
    /// the log starts again.
    late_commits: AtomicU64,
    /// The farthest byte of the main file that was read or written.
    main_bytes: AtomicU64,
    files: Mutex<Files>,
    tables: Mutex<Tables>,
    #[cfg(feature = "faults")]
    faults: Faults,
}

/// The counts, by file.
struct Files {
    /// The calls by name and the calls on files that are closed; one entry for each kind.
    past: [FileCounters; FileKind::ALL.len()],
    open: Vec<Arc<FileCounters>>,
}

/// The uses of the tables' indexes, and the space in the file.
#[derive(Default)]
struct Tables {
    usage: Vec<Arc<TableUsage>>,
    space: Option<Space>,
}

impl Monitor {
    pub(super) fn new(opens_before: u64) -> Self {
        Self {
            start: Instant::now(),
            opens_before,
            commits: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            logical_bytes: AtomicU64::new(0),
            records: AtomicU64::new(0),
            record_bytes: AtomicU64::new(0),
            log_bytes: AtomicU64::new(0),
            late_commits: AtomicU64::new(0),
            main_bytes: AtomicU64::new(0),
            files: Mutex::new(Files {
                past: FileKind::ALL.map(FileCounters::new),
                open: Vec::new(),
            }),
            tables: Mutex::default(),
            #[cfg(feature = "faults")]
            faults: Faults::default(),
        }
    }

    /// Counts a transaction that was committed.
    pub(crate) fn note_commit(&self, changes: u64, bytes: u64, log_is_pinned: bool) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.changes.fetch_add(changes, Ordering::Relaxed);
        self.logical_bytes.fetch_add(bytes, Ordering::Relaxed);
        if log_is_pinned {
            self.late_commits.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts change records that were committed.
    pub(crate) fn note_records(&self, written: WrittenRecords) {
        self.records.fetch_add(written.count, Ordering::Relaxed);
        self.record_bytes
            .fetch_add(written.bytes, Ordering::Relaxed);
    }

    /// Stores how much of the file is in use.
    pub(crate) fn note_space(&self, space: Space) {
        lock(&self.tables).space = Some(space);
    }

    /// The counters for the uses of a table's indexes.
    pub(crate) fn usage_of(&self, table: &TableDescriptor) -> Arc<TableUsage> {
        let usage = &mut lock(&self.tables).usage;
        if let Some(found) = usage.iter().find(|usage| usage.fits(table)) {
            return Arc::clone(found);
        }
        let new = Arc::new(TableUsage::new(table));
        usage.push(Arc::clone(&new));
        new
    }

    /// Creates the counters for the calls on a file that was opened.
    pub(super) fn open_file(&self, kind: FileKind) -> Arc<FileCounters> {
        let counters = Arc::new(FileCounters::new(kind));
        lock(&self.files).open.push(Arc::clone(&counters));
        counters
    }

    /// Keeps the counts of a file that was closed.
    pub(super) fn close_file(&self, counters: &Arc<FileCounters>) {
        let mut files = lock(&self.files);
        files.past[counters.kind as usize].absorb(counters);
        files.open.retain(|open| !Arc::ptr_eq(open, counters));
    }

    /// Notes the bytes that a read or a write used.
    pub(super) fn note_extent(&self, kind: FileKind, operation: Operation, start: u64, end: u64) {
        match (kind, operation) {
            (FileKind::Log, Operation::Write) => {
                if start == 0 {
                    self.late_commits.store(0, Ordering::Relaxed);
                }
                self.log_bytes.store(end, Ordering::Relaxed);
            }
            // Compared first, because the number rarely has to be written.
            (FileKind::Main, _) if end > self.main_bytes.load(Ordering::Relaxed) => {
                self.main_bytes.fetch_max(end, Ordering::Relaxed);
            }
            _ => {}
        }
    }

    /// Makes a call. `perform` processes as many bytes as it is given, and does nothing if it is
    /// given 0.
    #[inline]
    pub(super) fn run(&self, call: &Call<'_>, mut perform: impl FnMut(usize) -> c_int) -> c_int {
        #[cfg(feature = "faults")]
        if self.faults.is_armed() {
            let mut count = |perform: &mut dyn FnMut() -> c_int| self.run_counted(call, perform);
            return self.faults.run(call, &mut perform, &mut count);
        }
        self.run_counted(call, || perform(call.length))
    }

    /// The faults that a test requested.
    #[cfg(feature = "faults")]
    pub(super) const fn faults(&self) -> &Faults {
        &self.faults
    }

    #[inline]
    fn run_counted(&self, call: &Call<'_>, perform: impl FnOnce() -> c_int) -> c_int {
        match call.counters {
            Some(counters) => counters.run(call.operation, call.length, perform),
            None => self.run_named(call, perform),
        }
    }

    /// Counts a call by name. Any thread may make one at any time, so the counters need a lock.
    fn run_named(&self, call: &Call<'_>, perform: impl FnOnce() -> c_int) -> c_int {
        let start = Instant::now();
        let code = perform();
        let files = lock(&self.files);
        let counter = files.past[call.kind as usize].of(call.operation);
        if counter.start(call.operation, call.length).is_some() {
            counter.note_time(start);
        }
        if is_failure(code) {
            counter.note_failure();
        }
        code
    }

    /// The counts so far.
    pub(crate) fn report(&self) -> IoReport {
        let sums = FileKind::ALL.map(FileCounters::new);
        let files = lock(&self.files);
        let open = files.open.iter().map(|counters| &**counters);
        for counters in files.past.iter().chain(open) {
            sums[counters.kind as usize].absorb(counters);
        }
        drop(files);
        let tables = lock(&self.tables);
        let files = sums.iter().map(|counters| FileReport {
            kind: counters.kind,
            calls: counters.report(),
        });
        let get = |number: &AtomicU64| number.load(Ordering::Relaxed);
        IoReport {
            elapsed: self.start.elapsed(),
            commits: get(&self.commits),
            changes: get(&self.changes),
            logical_bytes: get(&self.logical_bytes),
            records: get(&self.records),
            record_bytes: get(&self.record_bytes),
            files: files.collect(),
            indexes: tables
                .usage
                .iter()
                .flat_map(|usage| usage.report())
                .collect(),
            space: tables.space,
            main_bytes: get(&self.main_bytes),
            log_bytes: get(&self.log_bytes),
            late_commits: get(&self.late_commits),
            opens_before: self.opens_before,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
