//! What the file of a copy is called that is not whole yet.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::BuildHasher;
use std::io;
use std::path::{Path, PathBuf};

use crate::connection::open::beside;
use crate::ffi::create_private;

/// What stands between the name of the copy and a random number. Nobody else is likely to call a
/// file like that: those that were left are deleted.
const MARK: &str = "-dflat-part-";

/// The hexadecimal digits of the number.
const DIGITS: usize = 16;

/// The place of the copy of which a file of this name is a part.
pub(crate) fn place_of(path: &Path) -> Option<PathBuf> {
    let (place, number) = path.to_str()?.rsplit_once(MARK)?;
    let is_digit = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
    let is_number = number.len() == DIGITS && number.bytes().all(is_digit);
    is_number.then(|| PathBuf::from(place))
}

/// The name of a file that nobody else makes; deleted when this is dropped.
pub(crate) struct Name(PathBuf);

impl Name {
    /// Creates an empty file for a copy at this place.
    pub(crate) fn create(to: &Path) -> io::Result<Self> {
        // Each has keys of its own, from the system's random numbers.
        let number = RandomState::new().hash_one(std::process::id());
        let path = beside(to, &format!("{MARK}{number:0DIGITS$x}"));
        create_private(&path, None)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        // The file may have another name, and this one no more.
        let _ = fs::remove_file(&self.0);
    }
}
