//! A log that is left beside the file when this process suspends, because another process has the
//! file open.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::connection::identity::Identity;
use crate::io::names::beside;

/// The log beside a file, as it was at some time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LeftLog {
    identity: Identity,
    /// The system may give the number of a deleted file to a new one. Absent if the file system
    /// does not keep the time.
    created: Option<SystemTime>,
}

impl LeftLog {
    /// The log beside the file at `path`, if there is one.
    pub(super) fn beside(path: &Path) -> Option<Self> {
        let log = beside(path, "-wal");
        let created = fs::metadata(&log).ok()?.created().ok();
        let identity = Identity::of(&log)?;
        Some(Self { identity, created })
    }
}
