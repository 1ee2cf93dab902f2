//! Writes files atomically.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::Error;

/// Records the schema files for which this process writes an output file.
///
/// # Errors
///
/// Returns an error if this process wrote the output file for other schema files before.
pub(crate) fn claim(path: &Path, files: impl Iterator<Item = PathBuf>) -> Result<(), Error> {
    static CLAIMED: Mutex<BTreeMap<PathBuf, Vec<PathBuf>>> = Mutex::new(BTreeMap::new());
    let now: Vec<PathBuf> = files.collect();
    let mut claimed = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
    let before = claimed
        .entry(path.to_owned())
        .or_insert_with(|| now.clone());
    if *before == now {
        return Ok(());
    }
    Err(Error::SameOutput {
        path: path.to_owned(),
        before: before.clone(),
        now,
    })
}

/// Writes a text to a temporary file beside `path`, and renames it to `path`. If the file has the
/// text already, it is not written, so that no later build step runs again.
///
/// # Errors
///
/// Returns an error with the path if the folder cannot be created or the file cannot be written.
pub fn write_if_changed(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Error> {
    let content = content.as_ref();
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    replace(path, content).map_err(|source| Error::Output {
        path: path.to_owned(),
        source,
    })
}

fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    if !folder.as_os_str().is_empty() {
        fs::create_dir_all(folder)?;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // The process id avoids a conflict between two compilers that write the same file.
    let temporary = folder.join(format!(".{name}.{}.tmp", std::process::id()));
    let written = fs::File::create(&temporary)
        .and_then(|mut file| file.write_all(content))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is more useful than an error of this removal.
        let _ = fs::remove_file(&temporary);
    }
    written
}
