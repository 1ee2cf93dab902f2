//! The sizes and times of a file and of those beside it. By these the library notices changes of a
//! file that it reads without the index of its log.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::connection::log_header::{head, is_begun};
use crate::ffi::Access;
use crate::io::names::beside;

/// A file that is read without the index of its log, so that SQLite does not notice foreign writes.
pub(crate) struct PolledFile {
    pub(crate) look: FileStamps,
    pub(crate) sharing: Sharing,
}

/// How reads of the file are protected from foreign writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// By locks of the file itself.
    Locked,
    /// Not protected.
    Unguarded,
    /// Not protected; only the file itself is read, without any log or journal beside it.
    Immutable,
}

/// The sizes and times of a file and of those beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileStamps {
    main: Option<(u64, SystemTime)>,
    log: Option<(u64, SystemTime)>,
    has_journal: bool,
    pub(crate) has_index: bool,
}

impl FileStamps {
    /// The stamps of the file at `path`. The file is not opened, because closing it would drop the
    /// locks of other connections in this process.
    pub(crate) fn of(path: &Path) -> Self {
        let look = |path: &Path| {
            let metadata = fs::metadata(path).ok()?;
            Some((metadata.len(), metadata.modified().ok()?))
        };
        Self {
            main: look(path),
            log: look(&beside(path, "-wal")),
            has_journal: look(&beside(path, "-journal")).is_some_and(|(len, _)| len > 0),
            has_index: beside(path, "-shm").exists(),
        }
    }

    /// Whether the latest change is so old that a later one has another time, on every system.
    pub(crate) fn are_settled(&self) -> bool {
        /// Longer than the steps of the times of files.
        const STEP_MAX: Duration = Duration::from_millis(100);
        let mut times = [self.main, self.log].into_iter().flatten();
        // A time in the future is that of another clock.
        times.all(|(_, time)| time.elapsed().is_ok_and(|age| age > STEP_MAX))
    }

    fn log_bytes(&self) -> u64 {
        self.log.map_or(0, |(len, _)| len)
    }

    /// Whether the log of the file at `path` has an index and no frame.
    pub(crate) fn is_log_dead(&self, path: &Path) -> bool {
        self.has_index && self.log_bytes() > 0 && !is_begun(&beside(path, "-wal"))
    }

    /// Whether there is a rollback journal that must be played back. A finished journal may stay,
    /// with zeros in the place of its header.
    fn has_hot_journal(&self, path: &Path) -> bool {
        self.has_journal && head(&beside(path, "-journal")).is_some_and(|[first]| first != 0)
    }

    /// How to open the file at `path`.
    pub(crate) fn access(&self, path: &Path, has_log: bool) -> Access {
        if self.log.is_some() && self.has_index && !self.is_log_dead(path) {
            Access::SharedReadOnly
        } else if self.log_bytes() > 0 {
            Access::OwnLogIndex
        } else if has_log && !self.has_hot_journal(path) {
            Access::Immutable
        } else {
            // Without a log, locks of the file alone protect its readers.
            Access::SharedReadOnly
        }
    }
}
