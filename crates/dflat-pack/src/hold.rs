//! Locks that keep files from being deleted as garbage.

use std::fs::File;
use std::path::Path;

/// Keeps the file at a path from being deleted as garbage, until the handle is dropped. `None` if
/// there is no such file, or its file system has no locks.
pub(crate) fn hold(path: &Path) -> Option<File> {
    // To open a named pipe would wait for another process that writes to it.
    let file = path.is_file().then(|| File::open(path).ok()).flatten()?;
    // A collection has the lock for as long as it takes to delete the file.
    file.lock_shared().ok()?;
    Some(file)
}
