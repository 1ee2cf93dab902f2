//! The counts of I/O, as a plain value.

use std::fmt;
use std::time::Duration;

use super::call::{FileKind, Operation};

/// The I/O of a database since it was opened in this process, by file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct IoReport {
    /// The time during which I/O was counted.
    pub elapsed: Duration,
    /// The number of durable commits. Transactions of one commit group share one.
    pub commits: u64,
    /// The number of rows that these commits inserted, updated and deleted.
    pub changes: u64,
    /// The bytes of these rows, without keys and index entries. The callers requested to write
    /// these bytes; the counts of the files say how many bytes that took.
    pub logical_bytes: u64,
    /// The number of change records that commits of this process wrote.
    pub records: u64,
    /// The bytes of these records.
    pub record_bytes: u64,
    /// The files, one entry for each kind.
    pub files: Vec<FileReport>,
    /// The indexes of the tables that were used.
    pub indexes: Vec<IndexReport>,
    /// The pages of the main file, as last measured; `None` before the first commit.
    pub space: Option<Space>,
    /// The farthest byte of the main file that was read or written.
    pub main_bytes: u64,
    /// The length of the write-ahead log up to its last write.
    pub log_bytes: u64,
    /// The number of commits that were made while a reader kept the log, over its size limit, from
    /// starting again. 0 when the log starts again.
    pub(super) late_commits: u64,
    /// How many times the database had been opened in this process before.
    pub opens_before: u64,
}

/// Change records that were written: their number and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenRecords {
    /// The number of records.
    pub count: u64,
    /// The number of their bytes.
    pub bytes: u64,
}

/// How much of the main file is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// The number of pages.
    pub pages: u64,
    /// The number of pages that nothing uses. SQLite keeps them for later writes.
    pub free_pages: u64,
}

impl Space {
    /// The share of unused pages, in per cent.
    #[must_use]
    pub fn free_percent(&self) -> u64 {
        self.free_pages.saturating_mul(100) / self.pages.max(1)
    }
}

/// The uses of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexReport {
    /// The table.
    pub table: String,
    /// The indexed field.
    pub index: String,
    /// Whether its values are unique. Such an index also enforces that.
    pub unique: bool,
    /// The number of entries that were written or deleted.
    pub writes: u64,
    /// The number of scans that used the index.
    pub lookups: u64,
}

/// The average cost of a durable commit: the rows and bytes that callers asked to write, and the
/// calls and bytes of the files. Reads made in the same time are included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PerCommit {
    /// Rows inserted, updated and deleted.
    pub changes: f64,
    /// Bytes of these rows.
    pub logical_bytes: f64,
    /// Reads of all files.
    pub reads: f64,
    /// Writes to all files.
    pub writes: f64,
    /// Bytes written.
    pub written_bytes: f64,
    /// Syncs of files and directories.
    pub syncs: f64,
}

/// The I/O of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileReport {
    /// Its kind.
    pub kind: FileKind,
    /// The calls, one entry for each operation.
    pub calls: Vec<CallReport>,
}

/// The calls of one operation on one kind of file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallReport {
    /// The operation.
    pub operation: Operation,
    /// The number of calls, including failed ones.
    pub count: u64,
    /// The number of calls that failed. An attempt to take a lock that another connection holds
    /// counts as failed.
    pub failed: u64,
    /// The number of bytes requested.
    pub bytes: u64,
    /// The number of calls that were timed: all syncs and similar calls, and some of the reads,
    /// writes and locks.
    pub timed: u64,
    /// The total time of the timed calls.
    pub total: Duration,
    /// The sum of the squares of their times in nanoseconds.
    pub(super) squares: f64,
    /// The time of the fastest timed call.
    pub min: Duration,
    /// The time of the slowest timed call.
    pub max: Duration,
}

impl CallReport {
    /// The mean time of a call that was timed.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let nanos = self.total.as_nanos().checked_div(u128::from(self.timed));
        Duration::from_nanos(nanos.and_then(|n| u64::try_from(n).ok()).unwrap_or(0))
    }
}

impl CallReport {
    /// The standard deviation of the time of a call that was timed.
    #[must_use]
    pub fn deviation(&self) -> Duration {
        if self.timed == 0 {
            return Duration::ZERO;
        }
        let count = self.timed as f64;
        let mean = self.total.as_nanos() as f64 / count;
        // Rounding may make the difference negative.
        let variance = (self.squares / count - mean * mean).max(0.0);
        Duration::from_nanos(variance.sqrt() as u64)
    }
}

impl FileReport {
    /// The calls of an operation.
    #[must_use]
    pub fn calls(&self, operation: Operation) -> Option<&CallReport> {
        self.calls.iter().find(|calls| calls.operation == operation)
    }
}

impl IoReport {
    /// The number of calls of an operation on files of a kind.
    #[must_use]
    pub fn count_of(&self, kind: FileKind, operation: Operation) -> u64 {
        let files = self.files.iter().filter(|file| file.kind == kind);
        files
            .filter_map(|file| file.calls(operation))
            .map(|calls| calls.count)
            .sum()
    }

    /// The number of calls of an operation on all files.
    #[must_use]
    pub fn count(&self, operation: Operation) -> u64 {
        self.sum(operation, |calls| calls.count)
    }

    /// The bytes of an operation, on all files.
    #[must_use]
    pub fn bytes(&self, operation: Operation) -> u64 {
        self.sum(operation, |calls| calls.bytes)
    }

    /// The number of waits for the device: syncs of files and of directories.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.count(Operation::Flush) + self.count(Operation::FlushDirectory)
    }

    fn sum(&self, operation: Operation, part: impl Fn(&CallReport) -> u64) -> u64 {
        let calls = self.files.iter().filter_map(|file| file.calls(operation));
        calls.map(part).sum()
    }

    /// The average cost of a durable commit; zeros if there was no commit.
    #[must_use]
    pub fn per_commit(&self) -> PerCommit {
        let share = |number: u64| match self.commits {
            0 => 0.0,
            commits => number as f64 / commits as f64,
        };
        PerCommit {
            changes: share(self.changes),
            logical_bytes: share(self.logical_bytes),
            reads: share(self.count(Operation::Read)),
            writes: share(self.count(Operation::Write)),
            written_bytes: share(self.bytes(Operation::Write)),
            syncs: share(self.syncs()),
        }
    }

    /// The I/O after `earlier`, a report of the same database. The fastest and slowest times stay
    /// those of the whole time, and figures that describe a state, such as `space`, stay those of
    /// this report.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut rest = self.clone();
        rest.elapsed = rest.elapsed.saturating_sub(earlier.elapsed);
        rest.commits -= earlier.commits.min(rest.commits);
        rest.changes -= earlier.changes.min(rest.changes);
        rest.logical_bytes -= earlier.logical_bytes.min(rest.logical_bytes);
        rest.records -= earlier.records.min(rest.records);
        rest.record_bytes -= earlier.record_bytes.min(rest.record_bytes);
        for (file, before) in rest.files.iter_mut().zip(&earlier.files) {
            for (calls, before) in file.calls.iter_mut().zip(&before.calls) {
                calls.count -= before.count.min(calls.count);
                calls.failed -= before.failed.min(calls.failed);
                calls.bytes -= before.bytes.min(calls.bytes);
                calls.timed -= before.timed.min(calls.timed);
                calls.total = calls.total.saturating_sub(before.total);
                calls.squares -= before.squares;
            }
        }
        for (index, before) in rest.indexes.iter_mut().zip(&earlier.indexes) {
            index.writes -= before.writes.min(index.writes);
            index.lookups -= before.lookups.min(index.lookups);
        }
        rest
    }
}

/// A table with one line for each file and operation that occurred, with the minimum, mean and
/// maximum time of a call.
impl fmt::Display for IoReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.elapsed.as_secs_f64();
        writeln!(
            f,
            "{} commits of {} changes, {} bytes, in {seconds:.3} s",
            self.commits, self.changes, self.logical_bytes
        )?;
        if self.records > 0 {
            writeln!(
                f,
                "{} change records of {} bytes",
                self.records, self.record_bytes
            )?;
        }
        let PerCommit {
            writes,
            written_bytes,
            syncs,
            ..
        } = self.per_commit();
        writeln!(
            f,
            "each {writes:.1} writes of {written_bytes:.0} bytes, {syncs:.1} syncs"
        )?;
        for file in &self.files {
            for calls in file.calls.iter().filter(|calls| calls.count > 0) {
                writeln!(
                    f,
                    "{:<8}{:<15}{:>8} calls {:>10} bytes  {:?} / {:?} / {:?}, deviation {:?}",
                    file.kind,
                    calls.operation,
                    calls.count,
                    calls.bytes,
                    calls.min,
                    calls.mean(),
                    calls.max,
                    calls.deviation(),
                )?;
            }
        }
        Ok(())
    }
}
