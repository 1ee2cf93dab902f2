//! The identity of the file that a path names: the same for every path of the file.

use std::path::Path;

use crate::ffi::{FileNumber, file_number, file_number_and_length};

/// Distinguishes a file from all others, for as long as it is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity(FileNumber);

impl Identity {
    /// The identity of the file at `path`, if there is one.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        file_number(path).map(Self)
    }

    /// That of the file at `path`, and its length in bytes, if there is one.
    pub(crate) fn and_length(path: &Path) -> Option<(Self, u64)> {
        let (number, length) = file_number_and_length(path)?;
        Some((Self(number), length))
    }
}
