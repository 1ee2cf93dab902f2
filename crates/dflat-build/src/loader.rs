//! Schema files from the file system.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
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
}

impl FileLoader {
    /// A loader of paths relative to `base`; an empty one is the working directory.
    #[must_use]
    pub fn new(base: impl Into<PathBuf>, include_dirs: Vec<PathBuf>) -> Self {
        Self {
            base: base.into(),
            include_dirs,
            visited: RefCell::default(),
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

    fn candidates(&self, path: &str, includer: Option<&str>) -> Vec<PathBuf> {
        let Some(includer) = includer else {
            return vec![PathBuf::from(path)];
        };
        let beside = Path::new(includer)
            .parent()
            .unwrap_or_else(|| Path::new(""));
        let dirs = self.include_dirs.iter().map(PathBuf::as_path);
        let candidates = std::iter::once(beside).chain(dirs);
        candidates.map(|dir| dir.join(path)).collect()
    }
}

impl Loader for FileLoader {
    fn load(&self, path: &str, includer: Option<&str>) -> io::Result<Option<Loaded>> {
        for candidate in self.candidates(path, includer) {
            let candidate = normalized(&candidate);
            let place = self.base.join(&candidate);
            let text = fs::read_to_string(&place);
            let absent = text.as_ref().is_err_and(is_absent);
            self.visited.borrow_mut().insert(place, !absent);
            match text {
                Ok(text) => {
                    let path = candidate.to_string_lossy().replace('\\', "/");
                    return Ok(Some(Loaded { path, text }));
                }
                Err(_) if absent => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
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
