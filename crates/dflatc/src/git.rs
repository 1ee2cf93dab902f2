//! Schema files as they were in a git revision, by the program `git`.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use dflat_build::candidates;
use dflat_schema::{Loaded, Loader};

/// Finds files of a revision, relative to the working directory.
pub(crate) struct GitLoader<'a> {
    revision: &'a str,
    include_dirs: &'a [PathBuf],
}

impl<'a> GitLoader<'a> {
    /// A loader for a revision that git knows; otherwise says why there is none.
    pub(crate) fn new(revision: &'a str, include_dirs: &'a [PathBuf]) -> Result<Self, String> {
        let commit = format!("{revision}^{{commit}}");
        let arguments = [
            "rev-parse",
            "--quiet",
            "--verify",
            "--end-of-options",
            &commit,
        ];
        let known = git(&arguments).map_err(|error| format!("cannot run git: {error}"))?;
        if known.status.success() {
            Ok(Self {
                revision,
                include_dirs,
            })
        } else {
            Err(format!(
                "`{revision}` is neither a file nor a git revision here"
            ))
        }
    }

    /// Whether the revision has a file.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.load(path, None).is_ok_and(|found| found.is_some())
    }

    /// How git calls a file of the revision.
    fn object(&self, path: &Path) -> String {
        let here = std::env::current_dir().unwrap_or_default();
        let path = path.strip_prefix(&here).unwrap_or(path);
        let path = path.to_string_lossy().replace('\\', "/");
        format!("{}:./{path}", self.revision)
    }
}

impl Loader for GitLoader<'_> {
    fn load(&self, path: &str, includer: Option<&str>) -> io::Result<Option<Loaded>> {
        let prefix = format!("{}:", self.revision);
        let includer = includer.map(|includer| includer.strip_prefix(&prefix).unwrap_or(includer));
        for candidate in candidates(path, includer, self.include_dirs) {
            let object = self.object(&candidate);
            if !git(&["cat-file", "-e", &object])?.status.success() {
                continue;
            }
            let shown = git(&["cat-file", "blob", &object])?;
            if !shown.status.success() {
                let error = String::from_utf8_lossy(&shown.stderr).trim().to_owned();
                return Err(io::Error::other(error));
            }
            let text = String::from_utf8(shown.stdout)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            let path = format!("{prefix}{}", candidate.to_string_lossy().replace('\\', "/"));
            return Ok(Some(Loaded { path, text }));
        }
        Ok(None)
    }
}

fn git(arguments: &[&str]) -> io::Result<Output> {
    Command::new("git").args(arguments).output()
}
