//! The identity of the file that a path names: the same for every path of the file.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::ffi::{FileNumber, file_number, file_number_and_length, linked_length, open_unread};

/// How long reads rely on the handle of an opened file before they look again for the file's name.
const NAME_LOOK_AFTER: Duration = Duration::from_millis(10);

/// Distinguishes a file from all others, for as long as it is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity(FileNumber);

impl Identity {
    /// The identity of the file at `path`, if there is one.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        file_number(path).ok().map(Self)
    }

    /// That of the file at `path`, and its length in bytes.
    pub(crate) fn and_length(path: &Path) -> io::Result<(Self, u64)> {
        let (number, length) = file_number_and_length(path)?;
        Ok((Self(number), length))
    }
}

/// The file that was opened first.
///
/// A look for the file's name costs about three times as much as one by a handle. The handle can't
/// read the file, and its close drops no locks; it shows the file's length, and whether the file
/// still has a name. Whether that name is the path is a question for a look at the path.
pub(crate) struct OpenedFile {
    pub(crate) identity: Identity,
    /// Absent if the system has no such handles.
    handle: Option<File>,
    opened: Instant,
    /// When the path was last seen to name the file, in microseconds after `opened`.
    named: AtomicU64,
}

impl OpenedFile {
    /// The file at `path`, and its length in bytes, if there is one.
    pub(crate) fn at(path: &Path) -> Option<(Self, u64)> {
        let handle = open_unread(path);
        let (identity, length) = Identity::and_length(path).ok()?;
        // Another file may have taken the place of the one that the handle is of.
        let handle = handle
            .filter(|handle| linked_length(handle).is_some_and(|(number, _)| number == identity.0));
        let opened = Self {
            identity,
            handle,
            opened: Instant::now(),
            named: AtomicU64::new(0),
        };
        Some((opened, length))
    }

    /// The length of the file, if its path named it a moment ago, and it still has a name.
    pub(crate) fn length_by_handle(&self) -> Option<u64> {
        let handle = self.handle.as_ref()?;
        let named = Duration::from_micros(self.named.load(Ordering::Relaxed));
        if self.opened.elapsed() >= named + NAME_LOOK_AFTER {
            return None;
        }
        linked_length(handle).map(|(_, length)| length)
    }

    /// Notes that the path names the file.
    pub(crate) fn note_named(&self) {
        let now = self.opened.elapsed().as_micros();
        let now = u64::try_from(now).unwrap_or(u64::MAX);
        self.named.store(now, Ordering::Relaxed);
    }
}
