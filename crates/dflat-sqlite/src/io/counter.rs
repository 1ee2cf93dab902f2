//! Counters of calls, of their bytes and of their times.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use libsqlite3_sys as sqlite;

use super::call::{FileKind, Operation};
use super::report::CallReport;

/// Counters of the calls on one open file, or on all closed files of a kind.
pub(super) struct FileCounters {
    pub(super) kind: FileKind,
    calls: [Counter; Operation::ALL.len()],
}

/// Counters of the calls of one operation.
///
/// Invariant: one thread at a time writes: the thread that uses the file, or that holds the lock.
/// Any thread may read. So additions need not be atomic, which would cost more than everything else
/// here.
pub(super) struct Counter {
    count: AtomicU64,
    failed: AtomicU64,
    bytes: AtomicU64,
    /// The number of calls that were timed.
    timed: AtomicU64,
    total_ns: AtomicU64,
    /// The sum of the squares of these times, as the bits of a float.
    squares: AtomicU64,
    min_ns: AtomicU64,
    max_ns: AtomicU64,
}

impl FileCounters {
    pub(super) fn new(kind: FileKind) -> Self {
        Self {
            kind,
            calls: Default::default(),
        }
    }

    pub(super) fn of(&self, operation: Operation) -> &Counter {
        &self.calls[operation as usize]
    }

    /// Makes a call and counts it.
    pub(super) fn run(
        &self,
        operation: Operation,
        length: usize,
        perform: impl FnOnce() -> c_int,
    ) -> c_int {
        let counter = self.of(operation);
        let start = counter.start(operation, length);
        let code = perform();
        if let Some(start) = start {
            counter.note_time(start);
        }
        if is_failure(code) {
            counter.note_failure();
        }
        code
    }

    /// Adds the counts of `other`.
    pub(super) fn absorb(&self, other: &Self) {
        for (calls, others) in self.calls.iter().zip(&other.calls) {
            calls.absorb(others);
        }
    }

    pub(super) fn report(&self) -> Vec<CallReport> {
        let operations = Operation::ALL.into_iter();
        operations.map(|o| self.of(o).report(o)).collect()
    }
}

/// Whether a result code means failure. A short read does not: SQLite reads the bytes past the end
/// of a file as zeros.
pub(super) fn is_failure(code: c_int) -> bool {
    code != sqlite::SQLITE_OK && code != sqlite::SQLITE_IOERR_SHORT_READ
}

/// Of the calls that are mostly served from the system's memory, one in so many is timed, because
/// reading the clock takes about as long as such a call.
const TIMED_EVERY: u64 = 64;

/// Whether calls of an operation go to the device, so that each of them is timed.
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

impl Default for Counter {
    fn default() -> Self {
        Self {
            count: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            timed: AtomicU64::new(0),
            total_ns: AtomicU64::new(0),
            squares: AtomicU64::new(0),
            min_ns: AtomicU64::new(u64::MAX),
            max_ns: AtomicU64::new(0),
        }
    }
}

impl Counter {
    /// Counts a call that is about to be made. Returns the start time if the call is to be timed.
    pub(super) fn start(&self, operation: Operation, length: usize) -> Option<Instant> {
        let before = add(&self.count, 1);
        if matches!(operation, Operation::Read | Operation::Write) {
            add(&self.bytes, length as u64);
        }
        (before.is_multiple_of(TIMED_EVERY) || is_slow(operation)).then(Instant::now)
    }

    /// Notes how long a call took.
    #[cold]
    pub(super) fn note_time(&self, start: Instant) {
        let ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.note_times(1, ns, (ns as f64) * (ns as f64), ns, ns);
    }

    /// Notes that a call failed.
    #[cold]
    pub(super) fn note_failure(&self) {
        add(&self.failed, 1);
    }

    fn note_times(&self, timed: u64, total: u64, squares: f64, min: u64, max: u64) {
        add(&self.timed, timed);
        add(&self.total_ns, total);
        let sum = f64::from_bits(get(&self.squares)) + squares;
        self.squares.store(sum.to_bits(), Ordering::Relaxed);
        let (min, max) = (get(&self.min_ns).min(min), get(&self.max_ns).max(max));
        self.min_ns.store(min, Ordering::Relaxed);
        self.max_ns.store(max, Ordering::Relaxed);
    }

    fn absorb(&self, other: &Self) {
        add(&self.count, get(&other.count));
        add(&self.failed, get(&other.failed));
        add(&self.bytes, get(&other.bytes));
        self.note_times(
            get(&other.timed),
            get(&other.total_ns),
            f64::from_bits(get(&other.squares)),
            get(&other.min_ns),
            get(&other.max_ns),
        );
    }

    fn report(&self, operation: Operation) -> CallReport {
        let min_ns = get(&self.min_ns);
        CallReport {
            operation,
            count: get(&self.count),
            failed: get(&self.failed),
            bytes: get(&self.bytes),
            timed: get(&self.timed),
            total: Duration::from_nanos(get(&self.total_ns)),
            squares: f64::from_bits(get(&self.squares)),
            min: Duration::from_nanos(if min_ns == u64::MAX { 0 } else { min_ns }),
            max: Duration::from_nanos(get(&self.max_ns)),
        }
    }
}

fn get(number: &AtomicU64) -> u64 {
    number.load(Ordering::Relaxed)
}

/// Adds to a number, and returns the number before the addition.
fn add(number: &AtomicU64, more: u64) -> u64 {
    let before = get(number);
    number.store(before.wrapping_add(more), Ordering::Relaxed);
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_several_counters_are_summed() {
        let counters = [Counter::default(), Counter::default()];
        for ns in [2.0_f64, 4.0, 4.0, 4.0] {
            counters[0].note_times(1, ns as u64, ns * ns, ns as u64, ns as u64);
        }
        for ns in [5.0_f64, 5.0, 7.0, 9.0] {
            counters[1].note_times(1, ns as u64, ns * ns, ns as u64, ns as u64);
        }
        let sum = Counter::default();
        for counter in &counters {
            sum.absorb(counter);
        }
        sum.absorb(&Counter::default());
        let report = sum.report(Operation::Read);
        let [min, mean, deviation, max] =
            [report.min, report.mean(), report.deviation(), report.max].map(|t| t.as_nanos());
        assert_eq!((min, mean, deviation, max), (2, 5, 2, 9));
    }
}
