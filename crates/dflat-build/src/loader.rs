//! Loads schema files from the file system.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use dflat_schema::{Loaded, Loader};

/// Loads schema files. A requested file is looked up by its path, and an included file beside its
/// includer, then in the include directories.
///
/// The loader remembers every path that it tried, so that a build system can run again when one of
/// these files changes or appears.
#[derive(Debug, Default)]
pub struct FileLoader {
    base: PathBuf,
    include_dirs: Vec<PathBuf>,
    /// By path: whether the file exists.
    visited: RefCell<BTreeMap<PathBuf, bool>>,
    /// By canonical path: the path by which the file was found first, which is its identity.
    paths: RefCell<BTreeMap<PathBuf, String>>,
}

/// The limit on bytes read of a file. It is above the limit of the compiler, which then reports the
/// file as too large.
const FILE_BYTES_MAX: u64 = (1 << 20) + 1;

impl FileLoader {
    /// Creates a loader of paths relative to `base`. An empty `base` is the working directory.
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

    /// The paths of files that do not exist, and would have been read otherwise.
    #[must_use]
    pub fn missing(&self) -> Vec<PathBuf> {
        self.visited(false)
    }

    fn visited(&self, exists: bool) -> Vec<PathBuf> {
        let visited = self.visited.borrow();
        let chosen = visited.iter().filter(|(_, found)| **found == exists);
        chosen.map(|(path, _)| path.clone()).collect()
    }

    /// The path that identifies a file: the same for absolute and relative paths and for links.
    fn identity(&self, candidate: &Path, full_path: &Path) -> String {
        let path = candidate.to_string_lossy().replace('\\', "/");
        match fs::canonicalize(full_path) {
            Ok(full_path) => self
                .paths
                .borrow_mut()
                .entry(full_path)
                .or_insert(path)
                .clone(),
            // The file was deleted just now, so any path identifies it.
            Err(_) => path,
        }
    }
}

/// The paths where a schema file may be, in the order of look-up: the given path of a requested
/// file; for an included file, beside its includer, then in the include directories.
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
            let full_path = self.base.join(&candidate);
            let text = read(&full_path);
            let absent = text.as_ref().is_err_and(is_absent);
            self.visited.borrow_mut().insert(full_path.clone(), !absent);
            match text {
                Ok(text) => {
                    let path = self.identity(&candidate, &full_path);
                    return Ok(Some(Loaded { path, text }));
                }
                Err(_) if absent => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

fn read(full_path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    fs::File::open(full_path)?
        .take(FILE_BYTES_MAX)
        .read_to_end(&mut bytes)?;
    // The limit may split a character.
    let cut = bytes.len() as u64 == FILE_BYTES_MAX;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) if cut && error.utf8_error().error_len().is_none() => {
            Ok(String::from_utf8_lossy(error.as_bytes()).into_owned())
        }
        Err(error) => {
            let position = error.utf8_error().valid_up_to();
            let message = format!("the file is not UTF-8 at byte {position}");
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

/// Removes `.`, and each `..` together with the name before it, so that a file has one path.
/// Symbolic links are not resolved.
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
    fn paths_of_one_file_are_normalized_to_one() {
        for (path, expected) in [
            ("./a/../b.fbs", "b.fbs"),
            ("../a.fbs", "../a.fbs"),
            ("/a/./b.fbs", "/a/b.fbs"),
        ] {
            assert_eq!(normalized(Path::new(path)), Path::new(expected));
        }
    }
}
