//! The sizes of the process and its file.

use std::fmt;
use std::fs;
use std::path::Path;

use crate::Result;

/// Sizes in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// The resident memory; 0 where it is not known.
    pub memory: u64,
    /// The file.
    pub file: u64,
    /// The write-ahead log beside the file.
    ///
    /// The size of the log is reported, but not limited: readers that overlap without a gap keep
    /// SQLite from restarting the log, so that it grows for as long as they overlap.
    pub log: u64,
}

/// The growth that is not counted as a leak: unused pages, and memory that the allocator keeps.
const SLACK: u64 = 8 << 20;

impl Size {
    /// The sizes now.
    pub(super) fn of(path: &Path) -> Result<Self> {
        let length = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
        let log = path.with_extension("db-wal");
        Ok(Self {
            memory: resident()?,
            file: length(path),
            log: length(&log),
        })
    }

    /// The larger of both, for each size.
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            memory: self.memory.max(other.memory),
            file: self.file.max(other.file),
            log: self.log.max(other.log),
        }
    }

    /// Returns an error if memory or file have grown by more than a quarter plus [`SLACK`].
    pub(super) fn check_no_larger(self, early: Self) -> Result<()> {
        let grown = |late: u64, early: u64| late > early + early / 4 + SLACK;
        if grown(self.memory, early.memory) || grown(self.file, early.file) {
            return Err(format!("grown from {early} to {self}").into());
        }
        Ok(())
    }
}

/// The resident memory of this process, on systems with `/proc`.
fn resident() -> Result<u64> {
    let Ok(status) = fs::read_to_string("/proc/self/status") else {
        return Ok(0);
    };
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    Ok(kib.map_or(Ok(0), str::parse::<u64>)? << 10)
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kib = |bytes: u64| bytes >> 10;
        let (memory, file, log) = (kib(self.memory), kib(self.file), kib(self.log));
        write!(f, "memory {memory} KiB, file {file} KiB, log {log} KiB")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_beyond_the_slack_is_an_error() {
        let early = Size {
            memory: 100 << 20,
            file: 10 << 20,
            log: 0,
        };
        let with = |memory: u64, file: u64| Size {
            memory: memory << 20,
            file: file << 20,
            log: 0,
        };
        assert!(with(132, 20).check_no_larger(early).is_ok());
        assert!(with(134, 10).check_no_larger(early).is_err());
        assert!(with(100, 21).check_no_larger(early).is_err());
    }
}
