//! An open file and its types.

mod schemas;
mod types;
mod unknown;

use std::path::{Path, PathBuf};

use dflat_engine::storage::CloseOptions;
use dflat_workspace::{FileOptions, Source, Workspace};

use crate::arguments::FileArguments;
use crate::failure::Failure;
pub(crate) use types::{FileType, Origin, Types};
pub(crate) use unknown::slots;

/// An open file.
pub(crate) struct OpenFile {
    pub(crate) path: PathBuf,
    pub(crate) workspace: Workspace,
    pub(crate) types: Types,
}

impl OpenFile {
    /// Opens the file for reading only.
    pub(crate) fn read(arguments: &FileArguments) -> Result<Self, Failure> {
        let mut options = FileOptions::default();
        options.read_only(true);
        options.follow_processes(false);
        Self::open(arguments, &options)
    }

    fn open(arguments: &FileArguments, options: &FileOptions) -> Result<Self, Failure> {
        let path = arguments.path.clone();
        if path.is_dir() {
            let path = path.display();
            return Err(Failure::file(format!("cannot open {path}: it is a folder")));
        }
        let workspace = Workspace::open(&path, options)?;
        let types = Types::find(&workspace, &path, &arguments.schemas)?;
        Ok(Self {
            path,
            workspace,
            types,
        })
    }

    /// The latest state.
    pub(crate) fn source(&self) -> Source<'_> {
        Source::Workspace(self.workspace.engine())
    }

    /// Closes the file.
    pub(crate) fn close(self) -> Result<(), Failure> {
        self.workspace.shutdown_with(CloseOptions::default())?;
        Ok(())
    }

    /// The path of the write-ahead log.
    pub(crate) fn log_path(&self) -> PathBuf {
        beside(&self.path, "-wal")
    }
}

/// The path of a file beside another, whose name has an ending more.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
