//! Which file a path names, whatever the path.

use std::path::Path;

use crate::ffi::{FileNumber, file_number};

/// Tells a file from all others, for as long as it is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity(FileNumber);

impl Identity {
    /// That of the file at `path`, if there is one.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        file_number(path).map(Self)
    }
}
