//! Opening the damaged file.

use std::fs;
use std::path::Path;

use dflat_sqlite::{SqliteBackend, SqliteOptions};

use crate::{Error, ErrorKind, Result, Workspace};

/// The damaged file is opened for reading only, unless a rollback journal shows an unfinished
/// transaction: rolling it back takes writing.
pub(super) fn source_options(from: &Path) -> SqliteOptions {
    // The journal is beside the file to which a symbolic link leads.
    let file = fs::canonicalize(from).unwrap_or_else(|_| from.to_owned());
    let mut journal = file.into_os_string();
    journal.push("-journal");
    SqliteOptions {
        read_only: !fs::metadata(journal).is_ok_and(|journal| journal.len() > 0),
        stands_on_pack: true,
        may_lack_pages: true,
        ..SqliteOptions::default()
    }
}

/// A workspace that reads a damaged file as [`salvage`](super::salvage()) does, for the
/// descriptions of its types. Of a file that stands on a pack, it reads the rows of the file alone.
///
/// # Errors
/// [`NotFound`](ErrorKind::NotFound) if there is no such file, and the errors of
/// [`Workspace::open`].
pub fn open_damaged(path: &Path) -> Result<Workspace> {
    if !path.try_exists().unwrap_or(true) {
        let path = path.display();
        let message = format!("cannot open {path} for reading only: there is no such file");
        return Err(Error::new(ErrorKind::NotFound, message));
    }
    let backend = SqliteBackend::open(path, source_options(path))?;
    Ok(Workspace::on_file_alone(backend))
}
