//! Why nothing was compiled.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why nothing was compiled.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The schema has errors: the diagnostics, as text to show.
    Schema(String),
    /// A file could not be written.
    Output {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A variable that cargo sets for build scripts is not set.
    Environment(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Schema(diagnostics) => f.write_str(diagnostics),
            Self::Output { path, source } => {
                write!(f, "cannot write {}: {source}", path.display())
            }
            Self::Environment(name) => {
                write!(
                    f,
                    "{name} is not set; cargo sets it when it runs a build script"
                )
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Output { source, .. } => Some(source),
            Self::Schema(_) | Self::Environment(_) => None,
        }
    }
}
