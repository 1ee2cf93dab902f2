//! Whether the file has lost pages at its end, as when another program has cut it.
//!
//! SQLite shortens a file only to its pages as of the last commit, when all of the log is in the
//! file. So each page that the file lacks is a page of the log that was not copied yet.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::ffi::LogState;

/// The size of SQLite's smallest page, in bytes.
pub(super) const PAGE_BYTES_MIN: u64 = 512;

/// The place of SQLite's locks. The page that has it is never written.
const LOCK_BYTE: u64 = 1 << 30;

/// The length of a file, as it was seen.
#[derive(Default)]
pub(super) struct FileLength {
    /// The greatest length that the file has had since SQLite shortened it, as far as it was seen.
    longest: AtomicU64,
    /// Whether the file was seen without pages that it had.
    is_truncated: AtomicBool,
}

/// A look at the length of a file. The file may have grown since, and another thread may have noted
/// that, so the look is compared only with a length that was noted before it.
#[derive(Clone, Copy)]
pub(super) struct SeenLength {
    /// The [`FileLength::longest`] before the look.
    pub(super) longest: u64,
    pub(super) length: u64,
}

impl FileLength {
    /// The greatest length that the file has had since SQLite shortened it, as far as it was seen.
    pub(super) fn longest(&self) -> u64 {
        self.longest.load(Ordering::Acquire)
    }

    /// Notes a length. Returns whether the file has lost its first page, or was seen to have lost
    /// others.
    pub(super) fn note(&self, seen: SeenLength) -> bool {
        if seen.length < PAGE_BYTES_MIN && seen.longest >= PAGE_BYTES_MIN {
            self.is_truncated.store(true, Ordering::Relaxed);
        } else if seen.length > self.longest.load(Ordering::Relaxed) {
            self.longest.fetch_max(seen.length, Ordering::Release);
        }
        self.is_truncated.load(Ordering::Relaxed)
    }

    /// Whether the file was seen to have its first page.
    pub(super) fn has_first_page(&self) -> bool {
        self.longest.load(Ordering::Relaxed) >= PAGE_BYTES_MIN
    }

    /// Whether the file, which has this length, lacks pages that its log does not have. The state
    /// of the log is from before the look at the length; `open_log` opens its file.
    pub(super) fn lacks_pages(
        &self,
        SeenLength { longest, length }: SeenLength,
        log: LogState,
        open_log: impl FnOnce() -> io::Result<File>,
    ) -> bool {
        let is_shorter = length < longest;
        let (present, pages) = (length / log.page_bytes, u64::from(log.database_pages));
        if pages == 0 {
            // Nothing was committed since the first connection opened the file.
            return is_shorter;
        }
        let lock_page = LOCK_BYTE / log.page_bytes + 1;
        let is_lock_lacking = present < lock_page && lock_page <= pages;
        let lacking = pages.saturating_sub(present) - u64::from(is_lock_lacking);
        if lacking > u64::from(log.pages.saturating_sub(log.copied)) {
            return true;
        }
        if !is_shorter {
            return false;
        }
        if lacking > 0 {
            match open_log().and_then(|file| uncopied_pages(file, log)) {
                Ok(found) if (found.range(present + 1..=pages).count() as u64) < lacking => {
                    return true;
                }
                Ok(_) => {}
                // Reads and commits notice a log that is gone.
                Err(_) => return false,
            }
        }
        self.longest.store(length, Ordering::Relaxed);
        false
    }

    /// Notes that the file was seen to lack pages.
    pub(super) fn note_lost_pages(&self) {
        self.is_truncated.store(true, Ordering::Relaxed);
    }

    /// Forgets all, as if no file was seen.
    pub(super) fn reset(&self) {
        self.longest.store(0, Ordering::Relaxed);
        self.is_truncated.store(false, Ordering::Relaxed);
    }

    /// Forgets the length, but not that the file has a first page. If this process has no
    /// connection, others may shorten the file and begin a new log.
    pub(super) fn forget(&self) {
        self.longest.fetch_min(PAGE_BYTES_MIN, Ordering::Relaxed);
    }
}

/// The numbers of the pages that are in the log and were not copied into the file.
fn uncopied_pages(mut file: File, log: LogState) -> io::Result<BTreeSet<u64>> {
    const FILE_HEADER_BYTES: u64 = 32;
    const FRAME_HEADER_BYTES: usize = 24;
    let mut found = BTreeSet::new();
    for frame in log.copied..log.pages {
        let frame_bytes = log.page_bytes + FRAME_HEADER_BYTES as u64;
        file.seek(SeekFrom::Start(
            FILE_HEADER_BYTES + u64::from(frame) * frame_bytes,
        ))?;
        let mut header = [0; FRAME_HEADER_BYTES];
        file.read_exact(&mut header)?;
        let (words, _) = header.as_chunks::<4>();
        let [page, _, salts @ .., _, _] = words else {
            continue;
        };
        if *salts == log.salts.map(u32::to_ne_bytes) {
            found.insert(u64::from(u32::from_be_bytes(*page)));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 4096;

    impl FileLength {
        /// A look that finds this length now.
        fn seen(&self, length: u64) -> SeenLength {
            SeenLength {
                longest: self.longest(),
                length,
            }
        }
    }

    /// A log of 8 pages, of which 2 were copied, of a database with `database_pages`.
    fn state(database_pages: u32) -> LogState {
        LogState {
            commits: 1,
            page_bytes: PAGE,
            pages: 8,
            copied: 2,
            database_pages,
            salts: [1, 2],
        }
    }

    /// A log whose frames have these pages.
    fn log(pages: [u32; 8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut bytes = vec![0; 32];
        for page in pages {
            bytes.extend(page.to_be_bytes());
            bytes.extend(1_u32.to_be_bytes());
            bytes.extend([1_u32, 2].map(u32::to_ne_bytes).concat());
            bytes.resize(bytes.len() + 8 + PAGE as usize, 0);
        }
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    #[test]
    fn file_with_all_pages_is_whole_and_may_be_shorter_than_before() {
        let length = FileLength::default();
        let log = log([1, 2, 3, 4, 5, 6, 7, 8]);
        assert!(!length.note(length.seen(100 * PAGE)));
        assert!(!length.lacks_pages(length.seen(50 * PAGE), state(50), || log.reopen()));
        // Now 50 pages are known: pages that were added since then are in the log.
        assert!(!length.lacks_pages(length.seen(50 * PAGE), state(56), || log.reopen()));
    }

    #[test]
    fn file_that_lacks_more_pages_than_the_log_has_left_is_not_whole() {
        let length = FileLength::default();
        let log = log([1, 2, 3, 4, 5, 6, 7, 8]);
        assert!(!length.lacks_pages(length.seen(44 * PAGE), state(50), || log.reopen()));
        assert!(length.lacks_pages(length.seen(43 * PAGE), state(50), || log.reopen()));
    }

    #[test]
    fn pages_that_a_shorter_file_lacks_must_be_in_the_log() {
        let check = |pages: [u32; 8], expected: bool| {
            let length = FileLength::default();
            assert!(!length.note(length.seen(60 * PAGE)));
            let found =
                length.lacks_pages(length.seen(48 * PAGE), state(50), || log(pages).reopen());
            assert_eq!(found, expected, "{pages:?}");
        };
        check([1, 2, 3, 49, 5, 50, 7, 8], false);
        check([1, 2, 3, 49, 5, 6, 7, 8], true);
        // The first two frames were copied, so the file had these pages.
        check([49, 50, 3, 4, 5, 6, 7, 8], true);
    }

    #[test]
    fn file_without_a_commit_since_it_was_opened_keeps_its_length() {
        let length = FileLength::default();
        let log = log([0; 8]);
        assert!(!length.note(length.seen(9 * PAGE)));
        assert!(!length.lacks_pages(length.seen(9 * PAGE), state(0), || log.reopen()));
        assert!(length.lacks_pages(length.seen(8 * PAGE), state(0), || log.reopen()));
        length.forget();
        assert!(!length.lacks_pages(length.seen(8 * PAGE), state(0), || log.reopen()));
        assert!(length.note(length.seen(0)));
    }

    /// A thread that had looked at the empty file and noted its look only after the first
    /// transaction made every later call fail.
    #[test]
    fn look_from_before_the_file_has_grown_is_not_a_loss() {
        let length = FileLength::default();
        let log = log([0; 8]);
        let (empty, short) = (length.seen(0), length.seen(PAGE));
        assert!(!length.note(length.seen(9 * PAGE)));
        assert!(!length.note(empty));
        assert!(!length.lacks_pages(short, state(0), || log.reopen()));
        assert!(length.note(length.seen(0)));
    }

    #[test]
    fn page_of_the_locks_is_not_expected() {
        let length = FileLength::default();
        let log = log([1, 2, 3, 4, 5, 6, 7, 8]);
        let lock_page = 1 << 18;
        let present = u64::from(lock_page) * PAGE;
        assert!(!length.lacks_pages(length.seen(present), state(lock_page + 7), || log.reopen()));
        assert!(length.lacks_pages(length.seen(present), state(lock_page + 8), || log.reopen()));
    }
}
