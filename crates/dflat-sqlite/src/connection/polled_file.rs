//! The sizes and times of a file and of those beside it. By these the library notices changes of a
//! file that it reads without the index of its log.
//!
//! The times of files go in steps, so two changes may have one time. Stamps are *settled* once a
//! later change must have another time. Only settled stamps show that nothing has changed since.

use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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

/// The size and the times of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Stamp {
    bytes: u64,
    /// When the content was changed; a program can set this time.
    modified: SystemTime,
    /// When the content or the description of the database was changed, on systems with this time,
    /// which no program can set. `None` for a log: SQLite sets its owner when it opens the log.
    changed: Option<SystemTime>,
}

impl Stamp {
    fn of_log(path: &Path) -> Option<Self> {
        let stamp = Self::of_database(path)?;
        Some(Self {
            changed: None,
            ..stamp
        })
    }

    fn of_database(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self {
            bytes: metadata.len(),
            modified: metadata.modified().ok()?,
            changed: changed(&metadata),
        })
    }

    /// Whether a change from now on has another time.
    fn is_settled(&self, now: SystemTime) -> bool {
        let mut times = self.changed.into_iter().chain([self.modified]);
        times.all(|time| {
            // A later change has an earlier time if this one was set, or is that of another clock.
            let distance = match now.duration_since(time) {
                Ok(age) => age,
                Err(future) => future.duration(),
            };
            distance > step(time)
        })
    }
}

/// When the file's content or description was changed.
#[cfg(unix)]
fn changed(metadata: &Metadata) -> Option<SystemTime> {
    use std::os::unix::fs::MetadataExt;
    let seconds = u64::try_from(metadata.ctime()).ok()?;
    let nanoseconds = u32::try_from(metadata.ctime_nsec()).ok()?;
    UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds))
}

/// The system has no such time.
#[cfg(not(unix))]
fn changed(_: &Metadata) -> Option<SystemTime> {
    None
}

/// An upper bound of the steps of times on the file system that has given a file this time.
fn step(time: SystemTime) -> Duration {
    /// The clocks of operating systems go in steps of up to 16 ms.
    const CLOCK: Duration = Duration::from_millis(20);
    /// Some file systems keep whole seconds, some even seconds.
    const SECONDS: Duration = Duration::from_secs(2);
    match time.duration_since(UNIX_EPOCH) {
        Ok(time) if time.subsec_nanos() == 0 => SECONDS,
        _ => CLOCK,
    }
}

/// The present time by the clock from which files get their times.
///
/// If the machine is busy, this clock may stand still for longer than its steps.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn clock_of_files() -> SystemTime {
    use nix::time::{ClockId, clock_gettime};
    let clock = clock_gettime(ClockId::CLOCK_REALTIME_COARSE).ok();
    let time = clock.and_then(|time| UNIX_EPOCH.checked_add(Duration::from(time)));
    time.unwrap_or_else(SystemTime::now)
}

/// The present time by the clock from which files get their times.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn clock_of_files() -> SystemTime {
    SystemTime::now()
}

/// The sizes and times of a file and of those beside it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileStamps {
    main: Option<Stamp>,
    log: Option<Stamp>,
    has_journal: bool,
    pub(crate) has_index: bool,
}

impl FileStamps {
    /// The stamps of the file at `path`. The file is not opened, because closing it would drop the
    /// locks of other connections in this process.
    pub(crate) fn of(path: &Path) -> Self {
        Self {
            main: Stamp::of_database(path),
            log: Stamp::of_log(&beside(path, "-wal")),
            has_journal: fs::metadata(beside(path, "-journal"))
                .is_ok_and(|journal| journal.len() > 0),
            has_index: beside(path, "-shm").exists(),
        }
    }

    /// Whether a change of the file or its log from now on has another time.
    pub(crate) fn are_settled(&self) -> bool {
        let now = clock_of_files();
        let mut stamps = [self.main, self.log].into_iter().flatten();
        stamps.all(|stamp| stamp.is_settled(now))
    }

    /// A number that is another one after a change, if these stamps are settled.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    fn log_bytes(&self) -> u64 {
        self.log.map_or(0, |log| log.bytes)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn is_settled(time: SystemTime, now: SystemTime) -> bool {
        let stamp = Stamp {
            bytes: 1,
            modified: time,
            changed: Some(time),
        };
        stamp.is_settled(now)
    }

    #[test]
    fn stamp_is_settled_once_a_later_change_has_another_time() {
        let at = |seconds: u64, milliseconds: u32| {
            UNIX_EPOCH + Duration::new(1_700_000_000 + seconds, milliseconds * 1_000_000)
        };
        let now = at(10, 500);
        for (time, expected) in [
            (at(10, 500), false),
            (at(10, 485), false),
            (at(10, 475), true),
            // Such a time may stand for two seconds.
            (at(9, 0), false),
            (at(8, 0), true),
            // The clock of the file system may be behind by a step.
            (at(10, 515), false),
            (at(11, 500), true),
        ] {
            assert_eq!(is_settled(time, now), expected, "{time:?}");
        }
    }

    #[test]
    fn clock_of_files_is_that_of_new_files() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        fs::write(&path, []).unwrap();
        let look = FileStamps::of(&path);
        let start = std::time::Instant::now();
        while !look.are_settled() {
            assert!(start.elapsed().as_secs() < 60, "the clock does not advance");
            std::thread::yield_now();
        }
        fs::write(&path, []).unwrap();
        assert_ne!(FileStamps::of(&path), look);
        assert_ne!(FileStamps::of(&path).digest(), look.digest());
    }
}
