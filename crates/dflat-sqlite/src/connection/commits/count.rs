//! Counts of commits, and their order.

use crate::ffi::LogCount;

/// How many commits a file has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitCount {
    /// By the file's header, if there is no log.
    File(u32),
    /// By the index of the log.
    Log(LogCount),
    /// By no number: a digest of the sizes and times of the files. The file is only read.
    Stamps(u64),
}

impl CommitCount {
    /// Whether this is the count after `earlier`, or a later one.
    pub(super) fn follows(self, earlier: Self) -> bool {
        self.is_of_log(earlier) && !is_after(earlier.number(), self.number())
    }

    /// Whether both were counted by the same log, or both without one.
    pub(super) fn is_of_log(self, other: Self) -> bool {
        /// How often a log may have begun anew between the two. Another log begins with a random
        /// number, which is as near as this in one of 32,768 cases.
        const RESETS_MAX: u32 = 1 << 16;
        match (self, other) {
            (Self::File(_), Self::File(_)) => true,
            (Self::Log(a), Self::Log(b)) => {
                let resets = a.salt.wrapping_sub(b.salt);
                let is_near = resets.min(resets.wrapping_neg()) < RESETS_MAX;
                is_near || a.salt == 0 || b.salt == 0
            }
            _ => false,
        }
    }

    /// The count of the log, if there is one.
    pub(crate) fn of_log(self) -> Option<LogCount> {
        match self {
            Self::File(_) | Self::Stamps(_) => None,
            Self::Log(log) => Some(log),
        }
    }

    pub(super) fn number(self) -> u32 {
        match self {
            Self::File(number) => number,
            Self::Log(log) => log.commits,
            Self::Stamps(_) => 0,
        }
    }

    /// The count after one more commit.
    pub(super) fn next(self) -> Self {
        match self {
            Self::File(number) => Self::File(number.wrapping_add(1)),
            Self::Log(log) => Self::Log(LogCount {
                commits: log.commits.wrapping_add(1),
                ..log
            }),
            Self::Stamps(_) => self,
        }
    }
}

/// Whether a count that may have wrapped is larger.
pub(super) fn is_after(count: u32, than: u32) -> bool {
    let difference = count.wrapping_sub(than);
    difference != 0 && difference < 1 << 31
}
