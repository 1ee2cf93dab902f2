//! Reads schema files of a git revision, by calling `git`.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use dflat_build::candidates;
use dflat_schema::{Loaded, Loader};

/// Finds files of a revision, in the repository of the working directory.
pub(crate) struct GitLoader<'a> {
    revision: &'a str,
    /// The revision's commit. A branch may move while the files are read.
    commit: String,
    /// The root folder of the repository.
    top: PathBuf,
    include_dirs: &'a [PathBuf],
}

impl<'a> GitLoader<'a> {
    /// Creates a loader for a revision, or returns an error if git cannot find the revision.
    pub(crate) fn new(revision: &'a str, include_dirs: &'a [PathBuf]) -> Result<Self, String> {
        let unknown = |error| match error {
            GitError::Failed(reason) if reason.is_empty() => {
                format!("`{revision}` is not a file and not a revision of the git repository")
            }
            error => format!(
                "`{revision}` is not a file, and git cannot find this revision: {}",
                error.reason()
            ),
        };
        let top = git(&["rev-parse", "--show-toplevel"]).map_err(unknown)?;
        let top = line(top).and_then(|top| Path::new(&top).canonicalize());
        let top = top.map_err(|error| format!("cannot find the repository: {error}"))?;
        let commit = format!("{revision}^{{commit}}");
        let arguments = [
            "rev-parse",
            "--quiet",
            "--verify",
            "--end-of-options",
            &commit,
        ];
        let commit = line(git(&arguments).map_err(unknown)?).map_err(|error| error.to_string())?;
        Ok(Self {
            revision,
            commit,
            top,
            include_dirs,
        })
    }

    /// Whether the revision has a file. Returns an error if git cannot say.
    pub(crate) fn has(&self, path: &str) -> Result<bool, String> {
        let cannot = |reason: &dyn std::fmt::Display| {
            format!("cannot look up `{path}` in `{}`: {reason}", self.revision)
        };
        let inside = self.repository_path(Path::new(path));
        if inside.map_err(|error| cannot(&error))?.is_none() {
            return Err(cannot(&"it is outside of the repository"));
        }
        let found = self.load(path, None).map_err(|error| cannot(&error))?;
        Ok(found.is_some())
    }

    /// The path of a file from the root of the repository, or `None` if the file is outside.
    fn repository_path(&self, path: &Path) -> io::Result<Option<String>> {
        let path = resolved(&std::env::current_dir()?.join(path))?;
        let Ok(path) = path.strip_prefix(&self.top) else {
            return Ok(None);
        };
        let parts: Option<Vec<&str>> = path.iter().map(OsStr::to_str).collect();
        let parts = parts.ok_or_else(|| io::Error::other("its path is not UTF-8"))?;
        Ok(Some(parts.join("/")))
    }

    /// The text of a file of the revision, by its path from the root of the repository.
    fn text(&self, path: &str) -> io::Result<Option<String>> {
        // Unlike `cat-file -e`, `ls-tree` distinguishes an absent file from a failure.
        let arguments = [
            "--literal-pathspecs",
            "ls-tree",
            "-z",
            "--full-tree",
            &self.commit,
            "--",
            path,
        ];
        let entry = utf8(git(&arguments)?)?;
        let mut parts = entry.split([' ', '\t']);
        let (mode, kind, object) = (parts.next(), parts.next(), parts.next());
        match (mode, kind, object) {
            (Some("120000"), _, _) => {
                let message = format!("`{path}` is a symbolic link in the revision");
                Err(io::Error::other(message))
            }
            (_, Some("blob"), Some(object)) => Ok(Some(utf8(git(&["cat-file", "blob", object])?)?)),
            _ => Ok(None),
        }
    }
}

impl Loader for GitLoader<'_> {
    fn load(&self, path: &str, includer: Option<&str>) -> io::Result<Option<Loaded>> {
        let prefix = format!("{}:", self.revision);
        let includer = includer.map(|includer| includer.strip_prefix(&prefix).unwrap_or(includer));
        for candidate in candidates(path, includer, self.include_dirs) {
            let Some(inside) = self.repository_path(&candidate)? else {
                continue;
            };
            let Some(text) = self.text(&inside)? else {
                continue;
            };
            let path = format!("{prefix}{}", candidate.to_string_lossy().replace('\\', "/"));
            return Ok(Some(Loaded { path, text }));
        }
        Ok(None)
    }
}

/// Resolves symbolic links in the folders of a path, as far as the folders exist now.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    for folder in path.ancestors().skip(1) {
        match folder.canonicalize() {
            Ok(real) => {
                let rest = path.strip_prefix(folder).unwrap_or(path);
                return Ok(real.join(rest));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(path.to_owned())
}

/// Why a call of git failed.
enum GitError {
    /// The program could not be run.
    Absent(io::Error),
    /// The program failed, with this text on standard error.
    Failed(String),
}

impl GitError {
    fn reason(self) -> String {
        match self {
            Self::Absent(error) => format!("cannot run git: {error}"),
            Self::Failed(reason) => reason,
        }
    }
}

impl From<GitError> for io::Error {
    fn from(error: GitError) -> Self {
        Self::other(error.reason())
    }
}

/// Runs git, and returns its standard output.
fn git(arguments: &[&str]) -> Result<Vec<u8>, GitError> {
    let mut command = Command::new("git");
    let output = command.args(arguments).output().map_err(GitError::Absent)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(GitError::Failed(reason))
}

fn utf8(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// The output of git, without the line end.
fn line(bytes: Vec<u8>) -> io::Result<String> {
    let mut text = utf8(bytes)?;
    text.truncate(text.trim_end_matches(['\r', '\n']).len());
    Ok(text)
}
