//! The presence file: an empty file whose locks show which processes follow the database, and whose
//! time is changed to notify them.
//!
//! The last follower that ends deletes the file, so that a process without followers finds out by
//! one system call that there is none. A file that killed processes left behind is deleted by the
//! next process that finds it without locks. Only a process that holds the lock alone deletes the
//! file, and a follower checks after it has locked the file that the file still has its name. So no
//! follower stays with a file that another process has deleted.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::ffi::create_private;
use crate::io::names::{PRESENCE, beside};
use crate::presence::system;

/// How often a follower tries again that meets a process which deletes the file.
const ATTEMPTS: u32 = 100;

/// The path of the presence file of a database.
pub(super) fn path_of(database: &Path) -> PathBuf {
    beside(database, PRESENCE)
}

/// A presence file that is open, and locked if this process follows.
pub(super) struct PresenceFile {
    file: File,
    path: PathBuf,
}

impl PresenceFile {
    /// Opens the file if there is one.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => Ok(Some(Self {
                file,
                path: path.to_owned(),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the file, or creates it for its owner alone, and takes a shared lock. Calls `watch`
    /// before, so that no notice to a locked file is missed.
    pub(super) fn follow(
        path: &Path,
        mut watch: impl FnMut(&Path) -> io::Result<()>,
    ) -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            let Some(opened) = Self::open(path)? else {
                match create_private(path, None) {
                    // It is opened again, for reading as well as for writing.
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(error),
                }
                continue;
            };
            match watch(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                watched => watched?,
            }
            if system::lock_shared(&opened.file)? && opened.has_name() {
                return Ok(opened);
            }
            // Another process is deleting the file, or has deleted it.
            std::thread::sleep(Duration::from_millis(1));
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Whether another process follows. If that can't be found out, it is taken to follow.
    ///
    /// # Cost
    /// One system call.
    pub(super) fn has_others(&self) -> bool {
        system::is_locked_by_others(&self.file).unwrap_or(true)
    }

    /// Whether the path still names this file.
    #[cfg(unix)]
    pub(super) fn has_name(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        let (Ok(own), Ok(named)) = (self.file.metadata(), fs::symlink_metadata(&self.path)) else {
            return false;
        };
        (own.dev(), own.ino()) == (named.dev(), named.ino())
    }

    /// Whether the path still names this file.
    #[cfg(not(unix))]
    pub(super) fn has_name(&self) -> bool {
        self.path.exists()
    }

    /// Notifies the processes that follow. An error has no effect but that they look later.
    ///
    /// # Cost
    /// One system call, which changes the file's time and none of its bytes.
    pub(super) fn notify(&self) {
        let _ = self.file.set_modified(SystemTime::now());
    }

    /// Deletes the file, if it is the library's.
    pub(super) fn remove(&self) {
        if self.has_name() && self.is_own() {
            let _ = fs::remove_file(&self.path);
        }
    }

    /// A file with content is not the library's.
    fn is_own(&self) -> bool {
        self.file.metadata().is_ok_and(|file| file.len() == 0)
    }

    /// Closes the file, which releases the lock. Deletes the file if no other process follows.
    pub(super) fn leave(self) {
        let is_alone = || system::lock_alone(&self.file).unwrap_or(false);
        // Two followers that leave at the same time keep each other from being alone. So each gives
        // up its own lock and tries once more: the later one is alone then.
        if is_alone() || (system::unlock(&self.file).is_ok() && is_alone()) {
            self.remove();
        }
    }
}

#[cfg(all(
    test,
    any(target_os = "linux", target_os = "android"),
    target_pointer_width = "64"
))]
#[allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]
mod tests {
    use super::*;

    fn follow(path: &Path) -> PresenceFile {
        PresenceFile::follow(path, |_| Ok(())).unwrap()
    }

    #[test]
    fn last_follower_deletes_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = path_of(&directory.path().join("a.db"));
        let (first, second) = (follow(&path), follow(&path));
        assert!(first.has_others() && second.has_others());
        first.leave();
        assert!(path.exists() && !second.has_others());
        second.leave();
        assert!(!path.exists());
    }

    #[test]
    fn file_that_is_followed_is_not_deleted_by_a_writer() {
        let directory = tempfile::tempdir().unwrap();
        let path = path_of(&directory.path().join("a.db"));
        let follower = follow(&path);
        let writer = PresenceFile::open(&path).unwrap().unwrap();
        assert!(writer.has_others() && !follower.has_others());
        writer.leave();
        assert!(path.exists());
        drop(follower);
        // As after the death of the process: the lock is gone, and the file stays.
        let writer = PresenceFile::open(&path).unwrap().unwrap();
        assert!(!writer.has_others());
        writer.leave();
        assert!(!path.exists());
    }

    #[test]
    fn file_with_content_is_never_deleted() {
        let directory = tempfile::tempdir().unwrap();
        let path = path_of(&directory.path().join("a.db"));
        fs::write(&path, "of another program").unwrap();
        follow(&path).leave();
        assert_eq!(fs::read(&path).unwrap(), b"of another program");
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_may_use_the_file() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = path_of(&directory.path().join("a.db"));
        let follower = follow(&path);
        let mode = follower.file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    /// Followers begin and end at the same time; each that holds the file has the file's name.
    #[test]
    fn follower_never_holds_a_deleted_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = path_of(&directory.path().join("a.db"));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let follower = follow(&path);
                        assert!(follower.has_name());
                        follower.leave();
                    }
                });
            }
        });
        assert!(!path.exists(), "the last follower deletes it");
    }

    #[test]
    fn followers_that_leave_at_the_same_time_leave_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = path_of(&directory.path().join("a.db"));
        for _ in 0..300 {
            let followers = [follow(&path), follow(&path), follow(&path)];
            let barrier = std::sync::Barrier::new(followers.len());
            std::thread::scope(|scope| {
                for follower in followers {
                    scope.spawn(|| {
                        barrier.wait();
                        follower.leave();
                    });
                }
            });
            assert!(!path.exists());
        }
    }
}
