//! Numbers in the index of a write-ahead log, which SQLite keeps in shared memory.
#![allow(
    unsafe_code,
    reason = "SQLite's C API; one of the modules that call it"
)]

use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

use libsqlite3_sys as sqlite;

use super::connection::Connection;

/// The length of a write-ahead log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogExtent {
    /// The pages in it.
    pub(crate) pages: u32,
    /// The number of these pages that a checkpoint has copied into the main file.
    pub(crate) copied: u32,
    /// The size of a page in bytes.
    pub(crate) page_bytes: u32,
}

impl LogExtent {
    /// The number of bytes that `pages` pages take in the log.
    pub(crate) fn bytes_of(self, pages: u32) -> u64 {
        const HEAD_BYTES: u32 = 24;
        u64::from(pages) * u64::from(self.page_bytes + HEAD_BYTES)
    }

    /// The size of the log in bytes.
    pub(crate) fn bytes(self) -> u64 {
        self.bytes_of(self.pages)
    }
}

/// Distinguishes a state of a log from all other states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogStamp([u32; 4]);

/// The number of commits that the index of a log has counted, and the identity of that log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogCount {
    pub(crate) commits: u32,
    /// Random when the log is begun, and one more each time it begins anew; 0 before it is begun.
    pub(crate) salt: u32,
    /// A digest of the log's contents up to the last commit. A checkpoint leaves it as it is, also
    /// when the log begins anew.
    pub(crate) digest: u32,
}

/// The state of a log and of the file, as of the last commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogState {
    pub(crate) commits: u32,
    /// The size of a page in bytes.
    pub(crate) page_bytes: u64,
    /// The pages in the log.
    pub(crate) pages: u32,
    /// The number of these pages that a checkpoint has copied into the main file.
    pub(crate) copied: u32,
    /// The pages of the database; 0 until there is a commit.
    pub(crate) database_pages: u32,
    /// The numbers by which the frames of this log differ from those of an earlier one, as bytes of
    /// the log.
    pub(crate) salts: [u32; 2],
}

impl Connection {
    /// The number of commits that the index of the write-ahead log has counted so far; the number
    /// wraps. `None` if the index can't be read. A log must exist, and this connection must have
    /// read it.
    pub(crate) fn log_count(&self) -> Option<LogCount> {
        const COUNT_OFFSET: usize = 8;
        /// The two words of the checksum of the last frame, which covers all frames before it.
        const CHECKSUM_OFFSETS: [usize; 2] = [24, 28];
        const SALT_OFFSET: usize = 32;
        let [high, low] = CHECKSUM_OFFSETS;
        let [commits, high, low, salt] = self.log_index([COUNT_OFFSET, high, low, SALT_OFFSET])?;
        Some(LogCount {
            commits,
            // The salt is copied from the log, where the first byte is the highest.
            salt: u32::from_be(salt),
            digest: high ^ low.rotate_left(16),
        })
    }

    /// The length of the log, and the number of its pages that are in the main file. `None` and the
    /// precondition are as for [`Self::log_count`].
    pub(crate) fn log_extent(&self) -> Option<LogExtent> {
        /// The word with the byte order of checksums and other flags, then the page size in two
        /// bytes.
        const PAGE_BYTES_OFFSET: usize = 12;
        const PAGES_OFFSET: usize = 16;
        let offsets = [PAGE_BYTES_OFFSET, PAGES_OFFSET, COPIED_OFFSET];
        let [word, pages, copied] = self.log_index(offsets)?;
        Some(LogExtent {
            pages,
            copied,
            page_bytes: page_bytes(word),
        })
    }

    /// The state of the log. `None` if the log's index can't be read, or is being written. The
    /// precondition is that of [`Self::log_count`].
    pub(crate) fn log_state(&self) -> Option<LogState> {
        /// The number of words of the header that are read: the commits, the size of a page, the
        /// pages of the log and of the database, the salts.
        const WORDS: usize = 6;
        /// The words, those of the second copy of the header, and the copied pages.
        const OFFSETS: [usize; 2 * WORDS + 1] =
            [8, 12, 16, 20, 32, 36, 56, 60, 64, 68, 80, 84, COPIED_OFFSET];
        let read = self.log_index(OFFSETS)?;
        let (header, rest) = read.split_first_chunk::<WORDS>()?;
        let (copy, copied) = rest.split_first_chunk::<WORDS>()?;
        if copy != header {
            return None;
        }
        let &[
            commits,
            word,
            pages,
            database_pages,
            first_salt,
            second_salt,
        ] = header;
        let copied = copied.first().copied()?;
        Some(LogState {
            commits,
            page_bytes: u64::from(page_bytes(word).max(512)),
            pages,
            copied,
            database_pages,
            salts: [first_salt, second_salt],
        })
    }

    /// The stamp of the log's current state, which differs between states. It costs the reading of
    /// a few numbers. `None` if the log's index can't be read. A log must exist, this connection
    /// must have read it, and it must not leave the log.
    pub(crate) fn log_stamp(&mut self) -> Option<LogStamp> {
        // The commits that were counted, the length of the log, and the header's checksum.
        const OFFSETS: [usize; 4] = [8, 16, 40, 44];
        let index = match self.log_index {
            Some(index) => index,
            // The address is kept, because mapping the index takes a lock that all connections of a
            // file share.
            // Invariant: the mapped index keeps its address until the connection closes its log,
            // which it does only when the connection is closed or is made to leave the log.
            None => *self.log_index.insert(self.map_log_index()?),
        };
        Some(LogStamp(OFFSETS.map(|offset| {
            // SAFETY: As the invariant says, and as in `number_at`.
            unsafe { number_at(index, offset) }
        })))
    }

    /// Numbers in the header of the log's index, at offsets that SQLite's description of the format
    /// gives.
    fn log_index<const N: usize>(&self, offsets: [usize; N]) -> Option<[u32; N]> {
        let index = self.map_log_index()?;
        // SAFETY: The index was just mapped, and the log is open.
        Some(offsets.map(|offset| unsafe { number_at(index, offset) }))
    }

    /// The first region of the log's index.
    fn map_log_index(&self) -> Option<NonNull<u32>> {
        let (file, methods) = self.file().ok()?;
        let map = methods.xShmMap.filter(|_| methods.iVersion >= 2)?;
        let mut region: *mut c_void = ptr::null_mut();
        // SAFETY: The file is open and the last argument is a place for the result. A region that
        // does not exist is not created.
        let code = unsafe { map(file, 0, LOG_INDEX_BYTES, 0, &raw mut region) };
        let is_mapped = matches!(code, sqlite::SQLITE_OK | sqlite::SQLITE_READONLY);
        NonNull::new(region.cast::<u32>()).filter(|_| is_mapped)
    }
}

/// The place of the number of pages that a checkpoint has copied.
const COPIED_OFFSET: usize = 96;

/// The size of a page in the upper half of a word.
fn page_bytes(word: u32) -> u32 {
    let [_, _, low, high] = word.to_ne_bytes();
    let size = u32::from(u16::from_ne_bytes([low, high]));
    // A size of 65,536 is written as 1.
    (size & 0xFE00) + ((size & 1) << 16)
}

/// The size of the first region of a log's index.
const LOG_INDEX_BYTES: c_int = 32 << 10;

/// Reads a number in the header of a log's index.
///
/// # Safety
/// `index` is mapped, and `offset` is that of one of its first numbers, a multiple of four.
unsafe fn number_at(index: NonNull<u32>, offset: usize) -> u32 {
    // SAFETY: The region has `LOG_INDEX_BYTES` bytes, begins at a page, and stays mapped as long as
    // the connection has its log open. Other threads and processes may write the number, as a
    // whole, while this code reads it, which an atomic permits.
    let number = unsafe { AtomicU32::from_ptr(index.as_ptr().byte_add(offset)) };
    number.load(Ordering::Acquire)
}
