//! A file that stays in place of a new one with the same bytes.
//!
//! Processes that have the file open hold its lock. If another file took its name, no lock would
//! keep that file from being deleted as garbage, and the packs that are open would lose their name.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use crate::file::read_exact_at;
use crate::hold::hold;

/// The bytes that are compared at a time.
const PART: usize = 1 << 16;

/// The file at a path, if it has the bytes of a new file; it is locked, and as young as the new
/// file. `None` if it can't stay.
pub(super) fn kept(new: &File, path: &Path) -> Option<File> {
    let held = hold(path)?;
    let stays = are_same(&held, new).ok()? && is_at(&held, path);
    // The time of a file of another user can't be set.
    (stays && held.set_modified(SystemTime::now()).is_ok()).then_some(held)
}

/// Whether two files have the same bytes.
fn are_same(one: &File, other: &File) -> io::Result<bool> {
    let len = one.metadata()?.len();
    if other.metadata()?.len() != len {
        return Ok(false);
    }
    let (mut left, mut right) = (vec![0; PART], vec![0; PART]);
    let mut at = 0;
    while at < len {
        let part = usize::try_from(len - at).map_or(PART, |rest| rest.min(PART));
        let (left, right) = (&mut left[..part], &mut right[..part]);
        read_exact_at(one, at, left)?;
        read_exact_at(other, at, right)?;
        if left != right {
            return Ok(false);
        }
        at += part as u64;
    }
    Ok(true)
}

/// Whether a file has a name still.
fn is_at(held: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let number = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        let (held, named) = (held.metadata(), std::fs::metadata(path));
        held.ok().map(number) == named.ok().map(number)
    }
    #[cfg(not(unix))]
    {
        let _ = held;
        path.exists()
    }
}
