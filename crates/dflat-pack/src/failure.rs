//! Errors of files, and of bytes that are no pack.

use std::fmt::Display;
use std::io;
use std::path::Path;

use dflat_engine::{Error, ErrorKind};

/// The error of a read from a pack. If the file ends too early, the pack is damaged.
#[cold]
pub(crate) fn read_failed(path: &Path, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::UnexpectedEof => ErrorKind::Corrupt,
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        _ => ErrorKind::Io,
    };
    Error::with_source(kind, format!("cannot read {}", path.display()), error)
}

/// The error of a write into a directory.
#[cold]
pub(crate) fn write_failed(directory: &Path, error: io::Error) -> Error {
    let message = format!("cannot build a pack in {}", directory.display());
    Error::with_source(kind_of_write(&error), message, error)
}

/// The error of deleting a file.
#[cold]
pub(crate) fn delete_failed(path: &Path, error: io::Error) -> Error {
    let message = format!("cannot delete {}", path.display());
    Error::with_source(kind_of_write(&error), message, error)
}

fn kind_of_write(error: &io::Error) -> ErrorKind {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            ErrorKind::StorageFull
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::ReadOnly,
        _ => ErrorKind::Io,
    }
}

/// The error of a damaged pack.
#[cold]
pub(crate) fn damaged(path: &Path, why: impl Display) -> Error {
    let message = format!("cannot read {}: {why}", path.display());
    Error::new(ErrorKind::Corrupt, message)
}
