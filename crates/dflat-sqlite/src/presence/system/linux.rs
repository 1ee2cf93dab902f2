//! Linux: locks of open file descriptions, and inotify.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};

use super::{Awaited, Woken};

/// A lock of the file's first byte. The file may be shorter.
fn first_byte(kind: libc::c_int) -> libc::flock {
    libc::flock {
        // The numbers of the kinds are below 3.
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 1,
        // Must be 0 for locks of open file descriptions.
        l_pid: 0,
    }
}

/// Takes a lock without waiting, in place of the lock that is held. Returns false, and the held
/// lock stays, if the lock of another open file excludes it.
fn lock(file: &File, kind: libc::c_int) -> io::Result<bool> {
    match fcntl(file, FcntlArg::F_OFD_SETLK(&first_byte(kind))) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Takes the lock that several open files may hold. Returns false if another one is locked alone.
pub(in super::super) fn lock_shared(file: &File) -> io::Result<bool> {
    lock(file, libc::F_RDLCK)
}

/// Takes the lock that excludes all others. Returns false, and a shared lock stays, if another open
/// file is locked.
pub(in super::super) fn lock_alone(file: &File) -> io::Result<bool> {
    lock(file, libc::F_WRLCK)
}

/// Releases the lock.
pub(in super::super) fn unlock(file: &File) -> io::Result<()> {
    lock(file, libc::F_UNLCK).map(drop)
}

/// Whether another open file is locked, in this process or in another.
///
/// # Cost
/// One system call.
pub(in super::super) fn is_locked_by_others(file: &File) -> io::Result<bool> {
    let mut other = first_byte(libc::F_WRLCK);
    fcntl(file, FcntlArg::F_OFD_GETLK(&mut other))?;
    Ok(libc::c_int::from(other.l_type) != libc::F_UNLCK)
}

/// The events of the database, of its log and of the presence file.
pub(in super::super) struct Events {
    /// Reports writes to the database and its log, and the names that are made and deleted in their
    /// directory.
    writes: Inotify,
    /// The directory, in `writes`.
    directory: WatchDescriptor,
    /// Reports the presence file. It is an instance of its own, so that a thread can wait for other
    /// processes without being woken by each write of this process.
    notices: Inotify,
    /// Closed when the thread is to end.
    ending: PipeReader,
    written: [PathBuf; 3],
    presence: OsString,
}

/// Ends the waits of [`Events`] when it is dropped.
pub(in super::super) struct Alarm(#[allow(dead_code, reason = "dropped")] PipeWriter);

impl Events {
    /// Watches the files `written`, and the directory of the file `presence`.
    pub(super) fn new(written: [PathBuf; 3], presence: &Path) -> io::Result<(Self, Alarm)> {
        let flags = InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK;
        let writes = Inotify::init(flags)?;
        let names = AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_MOVE
            | AddWatchFlags::IN_ONLYDIR;
        let directory = presence.parent().unwrap_or_else(|| Path::new("/"));
        let directory = writes.add_watch(directory, names)?;
        let (ending, alarm) = io::pipe()?;
        let events = Self {
            writes,
            directory,
            notices: Inotify::init(flags)?,
            ending,
            written,
            presence: presence.file_name().map(OsString::from).unwrap_or_default(),
        };
        events.watch_written();
        Ok((events, Alarm(alarm)))
    }

    /// Watches the files that exist. One that is made later is reported by its name first.
    fn watch_written(&self) {
        for path in &self.written {
            let _ = self.writes.add_watch(path, AddWatchFlags::IN_MODIFY);
        }
    }

    /// Waits for changes of the presence file at `path`, too.
    pub(super) fn watch_presence(&self, path: &Path) -> io::Result<()> {
        let changes = AddWatchFlags::IN_MODIFY | AddWatchFlags::IN_ATTRIB;
        self.notices.add_watch(path, changes)?;
        Ok(())
    }

    /// Waits for a change, at most for `timeout`. If the events can't be awaited, it sleeps.
    pub(super) fn wait(&self, awaited: Awaited, timeout: Duration) -> Woken {
        let end = Instant::now() + timeout;
        loop {
            let mut descriptors = [
                PollFd::new(self.ending.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.notices.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.writes.as_fd(), PollFlags::POLLIN),
            ];
            let count = if awaited == Awaited::All { 3 } else { 2 };
            let left = end.saturating_duration_since(Instant::now());
            // Longer timeouts than the system's largest end early.
            // Rounded up: without the rest of a millisecond, the wait would be repeated without a
            // pause until that rest has passed.
            let left = left.saturating_add(Duration::from_nanos(999_999));
            let polled = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            match poll(&mut descriptors[..count], polled) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => std::thread::sleep(left.min(Duration::from_millis(20))),
            }
            let [is_ending, has_notice, has_write] =
                descriptors.map(|descriptor| descriptor.any().unwrap_or(false));
            let mut woken = Woken {
                is_ending,
                by_notice: has_notice && drain(&self.notices, |_| {}),
                ..Woken::default()
            };
            if has_write {
                self.take_changes(&mut woken);
            }
            // The directory reports other files too.
            if is_ending || woken.is_change() || Instant::now() >= end {
                return woken;
            }
        }
    }

    /// Notes the changes that no wait was ended by.
    pub(super) fn take_changes(&self, woken: &mut Woken) {
        let mut is_new = false;
        drain(&self.writes, |event| {
            if event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW) {
                (woken.by_write, woken.by_presence, is_new) = (true, true, true);
            } else if event.wd != self.directory {
                woken.by_write = true;
            } else if event.name.as_ref() == Some(&self.presence) {
                woken.by_presence = true;
            } else if self
                .written
                .iter()
                .any(|file| file.file_name() == event.name.as_deref())
            {
                (woken.by_write, is_new) = (true, true);
            }
        });
        if is_new {
            self.watch_written();
        }
    }
}

/// Takes all events. Returns whether there was one.
fn drain(events: &Inotify, mut note: impl FnMut(&InotifyEvent)) -> bool {
    let mut is_any = false;
    while let Ok(taken) = events.read_events() {
        if taken.is_empty() {
            break;
        }
        is_any = true;
        taken.iter().for_each(&mut note);
    }
    is_any
}
