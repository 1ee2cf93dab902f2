//! New files that appear under their name when they are whole.
//!
//! On Linux the file has no name until then, so the operating system removes the file whenever the
//! process ends. Elsewhere, and on file systems without such files, it has a temporary name, which
//! is removed if building fails; the next build removes those that a killed process has left. If
//! the operating system does not give the file without a name its name, the bytes are copied to a
//! file with a temporary name.

use std::fs::{self, File};
use std::io::{self, Seek};
use std::path::Path;

use tempfile::NamedTempFile;

use super::kept::kept;

/// The beginning and the end of a temporary name.
const PREFIX: &str = ".dflat-";
const SUFFIX: &str = ".partial";

/// A file that is being written.
#[derive(Debug)]
pub(crate) enum NewFile {
    /// It has no name.
    #[cfg(target_os = "linux")]
    Unnamed(File),
    /// It has a temporary name.
    Named(NamedTempFile),
}

impl NewFile {
    /// Makes a file in a directory. Only its owner may read it.
    pub(crate) fn create(directory: &Path) -> io::Result<Self> {
        remove_left_behind(directory);
        #[cfg(target_os = "linux")]
        if let Ok(file) = linux::unnamed(directory) {
            let _ = file.try_lock();
            return Ok(Self::Unnamed(file));
        }
        temporary(directory).map(Self::Named)
    }

    pub(crate) fn file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => file,
            Self::Named(file) => file.as_file(),
        }
    }

    /// Writes all bytes to the device, then gives the file its name, in place of another file with
    /// this name. If that file has the same bytes, it stays. The file is not deleted as garbage
    /// until the handle is dropped, so that the caller can open it.
    pub(crate) fn publish(self, path: &Path) -> io::Result<File> {
        if let Some(kept) = kept(self.file(), path) {
            sync_directory(path)?;
            return Ok(kept);
        }
        self.file().sync_all()?;
        let file = match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => {
                // Order: before the file has a name, because no lock is held for a moment.
                let _ = file.lock_shared();
                match linux::name(&file, path) {
                    Ok(()) => file,
                    // Some sandboxes forbid links.
                    Err(_) => rename(copy(file, path)?, path)?,
                }
            }
            Self::Named(file) => rename(file, path)?,
        };
        sync_directory(path)?;
        Ok(file)
    }
}

/// Makes a file with a temporary name.
fn temporary(directory: &Path) -> io::Result<NamedTempFile> {
    let file = tempfile::Builder::new()
        .prefix(PREFIX)
        .suffix(SUFFIX)
        .tempfile_in(directory)?;
    // The lock ends with the process. It shows that the file is in use.
    let _ = file.as_file().try_lock();
    Ok(file)
}

/// Gives a file its name, in place of another file with this name.
fn rename(file: NamedTempFile, path: &Path) -> io::Result<File> {
    let file = file.persist(path)?;
    let _ = file.lock_shared();
    Ok(file)
}

/// Copies a file to one with a temporary name beside a path, and writes all bytes to the device.
#[cfg(target_os = "linux")]
fn copy(mut file: File, path: &Path) -> io::Result<NamedTempFile> {
    let mut copied = temporary(directory_of(path))?;
    file.rewind()?;
    io::copy(&mut file, copied.as_file_mut())?;
    copied.as_file().sync_all()?;
    Ok(copied)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};

    pub(super) fn unnamed(directory: &Path) -> io::Result<File> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = File::from(open(directory, flags, Mode::RUSR | Mode::WUSR)?);
        // Without this directory the file could not get a name.
        std::fs::metadata(in_proc(&file)).map(|_| file)
    }

    fn in_proc(file: &File) -> String {
        format!("/proc/self/fd/{}", file.as_raw_fd())
    }

    /// Gives a file a name. A name that exists is replaced in one step.
    pub(super) fn name(file: &File, path: &Path) -> io::Result<()> {
        let link = |path: &Path| linkat(CWD, in_proc(file), CWD, path, AtFlags::SYMLINK_FOLLOW);
        match link(path) {
            Err(rustix::io::Errno::EXIST) => {}
            done => return Ok(done?),
        }
        let directory = super::directory_of(path);
        let linked = tempfile::Builder::new()
            .prefix(super::PREFIX)
            .suffix(super::SUFFIX)
            .make_in(directory, |path| Ok(link(path)?))?;
        linked.into_temp_path().persist(path)?;
        Ok(())
    }
}

/// Removes the temporary files of processes that have ended. A file that cannot be removed now is
/// left to a later build.
fn remove_left_behind(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if !name.starts_with(PREFIX) || !name.ends_with(SUFFIX) {
            continue;
        }
        let path = entry.path();
        // To open a named pipe would wait for another process that writes to it.
        if !path.is_file() {
            continue;
        }
        if File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(path);
        }
    }
}

fn directory_of(path: &Path) -> &Path {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or_else(|| Path::new("."))
}

/// Makes the names of a directory survive a loss of power, where the operating system can do so.
fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(directory_of(path))?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).expect("it is a directory");
        let names = entries.map(|entry| entry.expect("it is read").file_name());
        names
            .map(|name| name.to_string_lossy().into_owned())
            .collect()
    }

    fn named(directory: &Path) -> NewFile {
        NewFile::Named(temporary(directory).expect("it is made"))
    }

    #[test]
    fn file_appears_whole_and_replaces_another() {
        let directory = tempfile::tempdir().expect("it is made");
        let path = directory.path().join("a");
        for (text, is_named) in [("one", false), ("two", false), ("three", true), ("4", true)] {
            let new = match is_named {
                false => NewFile::create(directory.path()).expect("it is made"),
                true => named(directory.path()),
            };
            new.file()
                .write_all(text.as_bytes())
                .expect("it is written");
            new.publish(&path).expect("it gets its name");
            assert_eq!(names(directory.path()), ["a"]);
            assert_eq!(fs::read_to_string(&path).expect("it is there"), text);
        }
    }

    /// A collection of garbage deleted the file before its builder had opened it.
    #[test]
    fn published_file_is_no_garbage_until_its_handle_is_dropped() {
        let directory = tempfile::tempdir().expect("it is made");
        let path = directory.path().join("a");
        for new in [
            NewFile::create(directory.path()).ok(),
            Some(named(directory.path())),
        ] {
            let published = new.expect("it is made").publish(&path);
            let published = published.expect("it gets its name");
            let other = File::open(&path).expect("it is there");
            assert!(other.try_lock().is_err());
            other.try_lock_shared().expect("it can be opened as a pack");
            other.unlock().expect("it is locked");
            drop(published);
            other.try_lock().expect("no other handle has the lock");
        }
    }

    /// A build failed if the operating system refused the link that gives the file its name.
    #[cfg(target_os = "linux")]
    #[test]
    fn file_that_gets_no_link_is_copied_to_its_name() {
        use rustix::fs::{Mode, OFlags, open};

        let directory = tempfile::tempdir().expect("it is made");
        let path = directory.path().join("a");
        for text in ["one", "two"] {
            // The kernel links no file that was opened with these flags.
            let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::EXCL;
            let unnamed = open(directory.path(), flags, Mode::RUSR | Mode::WUSR);
            let mut unnamed = File::from(unnamed.expect("the file system has unnamed files"));
            unnamed.write_all(text.as_bytes()).expect("it is written");
            assert!(linux::name(&unnamed, &path).is_err());
            let published = NewFile::Unnamed(unnamed).publish(&path);
            let published = published.expect("it gets its name");
            assert_eq!(names(directory.path()), ["a"]);
            assert_eq!(fs::read_to_string(&path).expect("it is there"), text);
            let other = File::open(&path).expect("it is there");
            assert!(other.try_lock().is_err());
            drop(published);
        }
    }

    #[test]
    fn abandoned_file_leaves_nothing() {
        let directory = tempfile::tempdir().expect("it is made");
        drop(NewFile::create(directory.path()).expect("it is made"));
        drop(named(directory.path()));
        assert!(names(directory.path()).is_empty());
    }

    #[test]
    fn files_of_ended_processes_are_removed_and_those_in_use_stay() {
        let directory = tempfile::tempdir().expect("it is made");
        let left = directory.path().join(".dflat-left.partial");
        let used = directory.path().join(".dflat-used.partial");
        let other = directory.path().join("other.partial");
        for path in [&left, &used, &other] {
            fs::write(path, "bytes").expect("it is written");
        }
        let lock = File::open(&used).expect("it is there");
        lock.try_lock().expect("no other handle has the lock");
        drop(NewFile::create(directory.path()).expect("it is made"));
        assert_eq!(
            (left.exists(), used.exists(), other.exists()),
            (false, true, true)
        );
    }
}
