//! Systems whose file events and locks the library does not use: a follower looks at intervals.

use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::{Awaited, Woken};

fn unsupported() -> io::Error {
    io::ErrorKind::Unsupported.into()
}

/// Fails: without such locks no process is known to follow.
pub(in super::super) fn lock_shared(_: &File) -> io::Result<bool> {
    Err(unsupported())
}

/// Fails, as [`lock_shared`].
pub(in super::super) fn lock_alone(_: &File) -> io::Result<bool> {
    Err(unsupported())
}

/// Fails, as [`lock_shared`].
pub(in super::super) fn unlock(_: &File) -> io::Result<()> {
    Err(unsupported())
}

/// Fails, as [`lock_shared`].
pub(in super::super) fn is_locked_by_others(_: &File) -> io::Result<bool> {
    Err(unsupported())
}

/// Waits that end early only if the thread is to end.
pub(in super::super) struct Events(Receiver<Infallible>);

/// Ends the waits of [`Events`] when it is dropped.
pub(in super::super) struct Alarm(#[allow(dead_code, reason = "dropped")] Sender<Infallible>);

impl Events {
    /// There are no events to watch for.
    pub(in super::super) fn new(_: [PathBuf; 3], _: &Path) -> io::Result<(Self, Alarm)> {
        let (alarm, ending) = channel();
        Ok((Self(ending), Alarm(alarm)))
    }

    /// Fails.
    pub(in super::super) fn watch_presence(&self, _: &Path) -> io::Result<()> {
        Err(unsupported())
    }

    /// Waits for `timeout`.
    pub(in super::super) fn wait(&self, _: Awaited, timeout: Duration) -> Woken {
        let waited = self.0.recv_timeout(timeout);
        Woken {
            is_ending: matches!(waited, Err(RecvTimeoutError::Disconnected)),
            ..Woken::default()
        }
    }

    /// There are none.
    pub(in super::super) fn take_changes(&self, _: &mut Woken) {}
}
