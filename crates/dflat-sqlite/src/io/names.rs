//! The names of the files beside a database: its log, and a backup that is being written.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::BuildHasher;
use std::io;
use std::path::{Path, PathBuf};

use dflat_engine::{Error, ErrorKind, Result};

use crate::ffi::create_private;

/// The end of the name of a file by which processes know that they follow a database.
pub(crate) const PRESENCE: &str = "-dflat-presence";

/// The ends of the names of the files beside a database.
pub(crate) const BESIDE: [&str; 4] = ["-wal", "-shm", "-journal", PRESENCE];

/// The path of the file whose name is the database's name with a suffix, such as `-wal`.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// The existing database for whose log, index, journal or presence file the name of `path` is kept.
pub(crate) fn database_beside(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.as_encoded_bytes();
    BESIDE.into_iter().find_map(|suffix| {
        let name = name.strip_suffix(suffix.as_bytes())?;
        let name = str::from_utf8(name).ok().filter(|name| !name.is_empty())?;
        let database = path.with_file_name(name);
        fs::symlink_metadata(&database).is_ok().then_some(database)
    })
}

/// The absolute path of the file itself, to which symbolic links lead: its log is beside it.
///
/// A link whose file is missing is an error. If a program created the file later, this path would
/// lead to the file, but not to its log.
pub(crate) fn resolve_links(path: &Path) -> Result<PathBuf> {
    let named = resolve(path)?;
    match fs::canonicalize(&named) {
        Ok(file) => Ok(file),
        Err(error) if named.is_symlink() => {
            let what = format!("cannot open {}: the link leads to no file", path.display());
            Err(io_error(error, what))
        }
        // There is no file yet, or the attempt to open it tells why it can't be used.
        Err(_) => Ok(named),
    }
}

/// The file's absolute path, whose directory must exist. Its last part may be a link.
pub(crate) fn resolve(path: &Path) -> Result<PathBuf> {
    let fail = |error: io::Error| io_error(error, format!("cannot open {}", path.display()));
    let Some(name) = path.file_name() else {
        let message = format!(
            "cannot open {}: the path does not name a file",
            path.display()
        );
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    };
    // An absolute path can't be one of the names to which SQLite gives another meaning, and it
    // keeps naming the same file if the process changes its directory.
    let absolute = std::path::absolute(path).map_err(fail)?;
    let directory = absolute.parent().unwrap_or_else(|| Path::new("/"));
    let directory = fs::canonicalize(directory).map_err(|error| {
        let what = format!(
            "cannot open {}: its directory can't be used",
            path.display()
        );
        io_error(error, what)
    })?;
    Ok(directory.join(name))
}

/// The longest suffix of a file that SQLite puts beside a database.
pub(crate) const LONGEST_SUFFIX: &str = "-journal";

/// The longest path that SQLite takes on Unix, in bytes.
const PATH_BYTES_MAX: usize = 512;

/// The longest name of a file on most file systems, in bytes.
const NAME_BYTES_MAX: usize = 255;

/// Refuses a path that is too long for the files whose names are that of a file with a suffix of
/// this length.
pub(crate) fn check_length(path: &Path, suffix: usize) -> Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    let name = path.file_name().unwrap_or_default();
    let lengths = [
        ("path", path.as_os_str().len(), PATH_BYTES_MAX),
        ("name", name.len(), NAME_BYTES_MAX),
    ];
    for (what, length, longest) in lengths {
        let longest = longest - suffix;
        if length > longest {
            let message = format!(
                "cannot use {}: the {what} has {length} bytes, and at most {longest} are possible",
                path.display()
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
    }
    Ok(())
}

/// The error of opening or reading a file.
pub(crate) fn io_error(error: io::Error, message: String) -> Error {
    Error::with_source(ErrorKind::Io, message, error)
}

/// The text between the name of a copy and a random number, in the name of its partial file. Other
/// programs are unlikely to give a file such a name, so files of this form that were left behind
/// are deleted.
const MARK: &str = "-dflat-part-";

/// The number of hexadecimal digits of the random number.
const DIGITS: usize = 16;

/// The path of the copy of which a file with this name is the partial form. `None` if the name does
/// not have that form.
pub(crate) fn place_of(path: &Path) -> Option<PathBuf> {
    let (place, number) = path.to_str()?.rsplit_once(MARK)?;
    let is_digit = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
    let is_number = number.len() == DIGITS && number.bytes().all(is_digit);
    is_number.then(|| PathBuf::from(place))
}

/// The name of a file that no other process creates. The file is deleted when this is dropped.
pub(crate) struct PartialName(PathBuf);

impl PartialName {
    /// The bytes by which the name of a partial copy is longer than that of the copy.
    pub(crate) const SUFFIX_BYTES: usize = MARK.len() + DIGITS;

    /// Creates an empty file for a copy to the path `to`.
    pub(crate) fn create(to: &Path) -> io::Result<Self> {
        // Each `RandomState` has its own keys, from the system's random numbers.
        let number = RandomState::new().hash_one(std::process::id());
        let path = beside(to, &format!("{MARK}{number:0DIGITS$x}"));
        create_private(&path, None)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PartialName {
    fn drop(&mut self) {
        // The file may have been renamed, so that this name no longer exists.
        let _ = fs::remove_file(&self.0);
    }
}
