//! The new file of a backup or a salvage.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::arguments::CopyOnlyArguments;
use crate::failure::Failure;
use crate::record;

/// The place of the new file.
pub(super) struct Target {
    pub(super) path: PathBuf,
    /// The folder of a dry run, deleted at the end.
    _folder: Option<TempDir>,
}

impl Target {
    /// The given path, or one in a temporary folder for a dry run.
    pub(super) fn new(path: &Path, arguments: &CopyOnlyArguments) -> Result<Self, Failure> {
        if !arguments.dry_run {
            return Ok(Self {
                path: path.to_owned(),
                _folder: None,
            });
        }
        // Nothing shows better whether the name is free than the check of the library itself.
        if let Some(obstacle) = dflat_sqlite::obstacle(path) {
            let path = path.display();
            return Err(Failure::usage(format!("cannot write {path}: {obstacle}")));
        }
        let folder = tempfile::tempdir()
            .map_err(|error| Failure::file(format!("cannot make a temporary folder: {error}")))?;
        Ok(Self {
            path: folder.path().join("copy.db"),
            _folder: Some(folder),
        })
    }

    /// Prints the counts of the command.
    pub(super) fn report(
        &self,
        arguments: &CopyOnlyArguments,
        counts: &[(&str, u64)],
    ) -> Result<(), Failure> {
        record::report(arguments.format.get(), arguments.dry_run, counts)
    }
}
