//! What was counted, as a plain value.

use std::fmt;
use std::time::Duration;

use super::call::{FileKind, Operation};
use super::suggestion::{Suggestion, suggest};

/// The I/O of a database since it was opened in this process, by file.
#[derive(Clone, Debug, PartialEq)]
pub struct IoReport {
    /// How long it was counted.
    pub elapsed: Duration,
    /// The transactions that were committed.
    pub commits: u64,
    /// The rows that these inserted, updated and deleted.
    pub changes: u64,
    /// The bytes of these rows, without keys and index entries: what was asked for, where the
    /// files' bytes are what that took.
    pub logical_bytes: u64,
    /// The files, one of each kind.
    pub files: Vec<FileReport>,
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
    /// The calls, failed ones included.
    pub count: u64,
    /// The calls that failed; a lock that is taken elsewhere is one.
    pub failed: u64,
    /// The bytes that were asked for.
    pub bytes: u64,
    /// The calls that were timed: all syncs and the like, some of the reads, writes and locks.
    pub timed: u64,
    /// The time of these together.
    pub total: Duration,
    /// The time of the fastest of these.
    pub min: Duration,
    /// The time of the slowest of these.
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

impl FileReport {
    /// The calls of an operation.
    #[must_use]
    pub fn calls(&self, operation: Operation) -> Option<&CallReport> {
        self.calls.iter().find(|calls| calls.operation == operation)
    }
}

impl IoReport {
    /// How often an operation was called, on files of a kind.
    #[must_use]
    pub fn count_of(&self, kind: FileKind, operation: Operation) -> u64 {
        let files = self.files.iter().filter(|file| file.kind == kind);
        files
            .filter_map(|file| file.calls(operation))
            .map(|calls| calls.count)
            .sum()
    }

    /// How often an operation was called, on all files.
    #[must_use]
    pub fn count(&self, operation: Operation) -> u64 {
        self.sum(operation, |calls| calls.count)
    }

    /// The bytes of an operation, on all files.
    #[must_use]
    pub fn bytes(&self, operation: Operation) -> u64 {
        self.sum(operation, |calls| calls.bytes)
    }

    /// How often the device was waited for: syncs of files and of directories.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.count(Operation::Flush) + self.count(Operation::FlushDirectory)
    }

    fn sum(&self, operation: Operation, part: impl Fn(&CallReport) -> u64) -> u64 {
        let calls = self.files.iter().filter_map(|file| file.calls(operation));
        calls.map(part).sum()
    }

    /// What happened after `earlier`, a report of the same database. The fastest and slowest times
    /// stay those of the whole.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut rest = self.clone();
        rest.elapsed = rest.elapsed.saturating_sub(earlier.elapsed);
        rest.commits -= earlier.commits.min(rest.commits);
        rest.changes -= earlier.changes.min(rest.changes);
        rest.logical_bytes -= earlier.logical_bytes.min(rest.logical_bytes);
        for (file, before) in rest.files.iter_mut().zip(&earlier.files) {
            for (calls, before) in file.calls.iter_mut().zip(&before.calls) {
                calls.count -= before.count.min(calls.count);
                calls.failed -= before.failed.min(calls.failed);
                calls.bytes -= before.bytes.min(calls.bytes);
                calls.timed -= before.timed.min(calls.timed);
                calls.total = calls.total.saturating_sub(before.total);
            }
        }
        rest
    }

    /// What the figures suggest, in words.
    #[must_use]
    pub fn suggestions(&self) -> Vec<Suggestion> {
        suggest(self)
    }
}

/// A table, one line for each file and operation that occurred.
impl fmt::Display for IoReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.elapsed.as_secs_f64();
        writeln!(
            f,
            "{} commits of {} changes, {} bytes, in {seconds:.3} s",
            self.commits, self.changes, self.logical_bytes
        )?;
        for file in &self.files {
            for calls in file.calls.iter().filter(|calls| calls.count > 0) {
                writeln!(
                    f,
                    "{:<8}{:<15}{:>8} calls {:>10} bytes  {:?} / {:?} / {:?}",
                    file.kind,
                    calls.operation,
                    calls.count,
                    calls.bytes,
                    calls.min,
                    calls.mean(),
                    calls.max,
                )?;
            }
        }
        Ok(())
    }
}
