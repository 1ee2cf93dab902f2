//! The error of a build script.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why schema files were not compiled.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// No schema file was given.
    NoFiles,
    /// The schema has errors. The string has the rendered diagnostics.
    Schema(String),
    /// An earlier call of this build script wrote the same output file for other schema files.
    SameOutput {
        /// The output file.
        path: PathBuf,
        /// The schema files of the earlier call.
        before: Vec<PathBuf>,
        /// The schema files of this call.
        now: Vec<PathBuf>,
    },
    /// A file could not be written.
    Output {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A variable that cargo sets for build scripts is not set.
    Environment(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFiles => f.write_str("no schema file was given"),
            Self::Schema(diagnostics) => f.write_str(diagnostics),
            Self::SameOutput { path, before, now } => {
                let paths = |paths: &[PathBuf]| {
                    let paths = paths.iter().map(|path| path.display().to_string());
                    paths.collect::<Vec<_>>().join(", ")
                };
                let (path, before, now) = (path.display(), paths(before), paths(now));
                write!(
                    f,
                    "{path} was written for {before} and would be overwritten for {now}; compile \
                     all files in one call, or choose another `name` or `out_dir`"
                )
            }
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
            _ => None,
        }
    }
}
