//! The counts of commits in the header of a file.

use crate::ffi::Connection;

/// The header of a file, as far as it concerns commits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileHeader {
    /// The number of commits made without a log.
    pub(crate) count: u32,
    /// Whether the file has a log.
    pub(crate) has_log: bool,
}

impl FileHeader {
    /// Reads the header directly, without locks and without the log; an empty file has a header of
    /// zeros.
    pub(crate) fn read(connection: &Connection) -> Option<Self> {
        // The header has a read version and a write version. SQLite decides by the read version
        // whether there is a log.
        const READ_VERSION: usize = 19;
        const LOG_VERSION: u8 = 2;
        let head = connection.read_head::<28>().ok()?;
        Some(head.map_or_else(Self::default, |head| Self {
            count: head.last_chunk().copied().map_or(0, u32::from_be_bytes),
            has_log: head[READ_VERSION] == LOG_VERSION,
        }))
    }
}

/// The counts of the header before and after a connection was opened to write. Both counts denote
/// the same contents: opening creates the file and its log if there are none, which counts as
/// commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpeningCounts {
    before: u32,
    after: u32,
}

impl OpeningCounts {
    /// Makes the pair of the counts before and after. If creating the file and its log does not
    /// explain the difference, there were foreign commits, and the count before is dropped.
    pub(crate) fn new(before: u32, after: u32) -> Self {
        /// The number of commits that create a file and its log, and of those that create the log
        /// alone.
        const BEGUN: u32 = 2;
        const GIVEN: u32 = 1;
        let expected = if before == 0 {
            BEGUN
        } else {
            before.wrapping_add(GIVEN)
        };
        let is_explained = after == before || after == expected;
        Self {
            before: if is_explained { before } else { after },
            after,
        }
    }

    /// Whether nothing was committed between a count and the opening. A reader that could not open
    /// the log may have seen the count after the opening, too.
    pub(super) fn has(self, count: u32) -> bool {
        count.wrapping_sub(self.before) <= self.after.wrapping_sub(self.before)
    }
}
