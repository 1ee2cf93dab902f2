//! Which file a path names, whatever the path.

use std::fs;
use std::path::Path;

/// Tells a file from all others, for as long as it is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity(Inner);

#[cfg(unix)]
type Inner = (u64, u64);
#[cfg(not(unix))]
type Inner = std::path::PathBuf;

impl Identity {
    /// That of the file at `path`, if there is one.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let metadata = fs::metadata(path).ok()?;
            Some(Self((metadata.dev(), metadata.ino())))
        }
        #[cfg(not(unix))]
        fs::canonicalize(path).ok().map(Self)
    }
}
