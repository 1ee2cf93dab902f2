//! Schema files from the file system.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use dflat_schema::{Loaded, Loader};

/// Finds schema files: a requested one as it is given, an included one beside its includer, then in
/// the include directories.
///
/// Remembers every path it looked at, so that a build system can look again when one of them
/// changes or comes into being.
#[derive(Debug, Default)]
pub struct FileLoader {
    base: PathBuf,
    include_dirs: Vec<PathBuf>,
    /// By path, whether a file is there.
    visited: RefCell<BTreeMap<PathBuf, bool>>,
    /// By the place of a file, the path it was first found by: its identity.
    paths: RefCell<BTreeMap<PathBuf, String>>,
}

/// No more of a file is read: a little more than the compiler takes, so that it says so.
const FILE_BYTES_MAX: u64 = (1 << 20) + 1;

impl FileLoader {
    /// A loader of paths relative to `base`; an empty one is the working directory.
    #[must_use]
    pub fn new(base: impl Into<PathBuf>, include_dirs: Vec<PathBuf>) -> Self {
        Self {
            base: base.into(),
            include_dirs,
            visited: RefCell::default(),
            paths: RefCell::default(),
        }
    }

    /// The paths of the files that were read.
    #[must_use]
    pub fn found(&self) -> Vec<PathBuf> {
        self.visited(true)
    }

    /// The paths of files that would have been read if they existed.
    #[must_use]
    pub fn missing(&self) -> Vec<PathBuf> {
        self.visited(false)
    }

    fn visited(&self, there: bool) -> Vec<PathBuf> {
        let visited = self.visited.borrow();
        let chosen = visited.iter().filter(|(_, found)| **found == there);
        chosen.map(|(path, _)| path.clone()).collect()
    }

    /// The path that a file goes by, however it was reached: absolute, relative or by a link.
    fn identity(&self, candidate: &Path, place: &Path) -> String {
        let path = candidate.to_string_lossy().replace('\\', "/");
        match fs::canonicalize(place) {
            Ok(place) => self.paths.borrow_mut().entry(place).or_insert(path).clone(),
            // The file was there a moment ago; if it is gone, the path is as good.
            Err(_) => path,
        }
    }
}

/// The paths where a schema file may be, in the order in which they are looked at: a requested one
/// as it is given, an included one beside its includer, then in the include directories.
#[must_use]
pub fn candidates(path: &str, includer: Option<&str>, include_dirs: &[PathBuf]) -> Vec<PathBuf> {
    let Some(includer) = includer else {
        return vec![normalized(Path::new(path))];
    };
    let beside = Path::new(includer)
        .parent()
        .unwrap_or_else(|| Path::new(""));
    let dirs = include_dirs.iter().map(PathBuf::as_path);
    let candidates = std::iter::once(beside).chain(dirs);
    candidates.map(|dir| normalized(&dir.join(path))).collect()
}

impl Loader for FileLoader {
    fn load(&self, path: &str, includer: Option<&str>) -> io::Result<Option<Loaded>> {
        for candidate in candidates(path, includer, &self.include_dirs) {
            let place = self.base.join(&candidate);
            let text = read(&place);
            let absent = text.as_ref().is_err_and(is_absent);
            self.visited.borrow_mut().insert(place.clone(), !absent);
            match text {
                Ok(text) => {
                    let path = self.identity(&candidate, &place);
                    return Ok(Some(Loaded { path, text }));
                }
                Err(_) if absent => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

fn read(place: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    fs::File::open(place)?
        .take(FILE_BYTES_MAX)
        .read_to_end(&mut bytes)?;
    // The end of what was read may be in the middle of a character.
    let cut = bytes.len() as u64 == FILE_BYTES_MAX;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) if cut && error.utf8_error().error_len().is_none() => {
            Ok(String::from_utf8_lossy(error.as_bytes()).into_owned())
        }
        Err(error) => {
            let position = error.utf8_error().valid_up_to();
            let message = format!("it is not UTF-8 at byte {position}");
            Err(io::Error::new(io::ErrorKind::InvalidData, message))
        }
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// The path without `.` and, where a name stands before it, `..`: one file, one path, as far as no
/// symbolic link is asked.
fn normalized(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(out.components().next_back(), Some(Component::Normal(_))) =>
            {
                out.pop();
            }
            component => out.push(component),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_has_one_path() {
        for (path, expected) in [
            ("./a/../b.fbs", "b.fbs"),
            ("../a.fbs", "../a.fbs"),
            ("/a/./b.fbs", "/a/b.fbs"),
        ] {
            assert_eq!(normalized(Path::new(path)), Path::new(expected));
        }
    }
}
