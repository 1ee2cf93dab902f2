//! Systems whose file events and locks the library does not use: a follower looks at intervals.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
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

/// There are none.
pub(in super::super) enum Events {}

/// There is none.
pub(in super::super) enum Alarm {}

impl Events {
    /// Fails: there are no events to watch for.
    pub(super) fn new(_: [PathBuf; 3], _: &Path) -> io::Result<(Self, Alarm)> {
        Err(unsupported())
    }

    pub(super) fn watch_presence(&self, _: &Path) -> io::Result<()> {
        match *self {}
    }

    pub(super) fn wait(&self, _: Awaited, _: Duration) -> Woken {
        match *self {}
    }

    pub(super) fn take_changes(&self, _: &mut Woken) {
        match *self {}
    }
}
