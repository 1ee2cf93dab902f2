//! How a file begins.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use dflat_engine::Result;

use crate::failure::read_failed;
use crate::layout::MAGIC;

/// Whether a file begins as a pack does, for programs that take packs and other files. The rest of
/// the file is not read.
///
/// # Errors
/// [`NotFound`](dflat_engine::ErrorKind::NotFound) if there is no such file, and
/// [`Io`](dflat_engine::ErrorKind::Io) if it cannot be read.
///
/// # Examples
/// ```
/// # let directory = tempfile::tempdir().expect("a directory");
/// let path = directory.path().join("note.txt");
/// std::fs::write(&path, "a note").expect("it is written");
/// assert!(!dflat_pack::is_pack(&path)?);
/// # Ok::<(), dflat_engine::Error>(())
/// ```
pub fn is_pack(path: impl AsRef<Path>) -> Result<bool> {
    let path = path.as_ref();
    let mut begin = Vec::new();
    let file = File::open(path).map_err(|error| read_failed(path, error))?;
    let len = MAGIC.len() as u64;
    let read = file.take(len).read_to_end(&mut begin);
    read.map_err(|error| read_failed(path, error))?;
    Ok(begin == MAGIC)
}
