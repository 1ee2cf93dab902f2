//! An open file and its types.

mod schemas;
mod types;
mod unknown;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dflat_engine::engine::EngineOptions;
use dflat_engine::storage::CloseOptions;
use dflat_history::steps::Keeper;
use dflat_pack::{Pack, PackBackend, StandingBackend, is_pack};
use dflat_workspace::{Base, FileOptions, Source, Workspace};
use tempfile::TempDir;

use crate::arguments::FileArguments;
use crate::failure::{Failure, note};
pub(crate) use types::{FileType, Origin, Types};
pub(crate) use unknown::slots;

/// An open file.
pub(crate) struct OpenFile {
    pub(crate) path: PathBuf,
    pub(crate) workspace: Workspace,
    pub(crate) types: Types,
    /// The pack, if the file is one.
    pub(crate) pack: Option<Pack>,
    /// The folder of the temporary copy that a dry run uses.
    copy: Option<TempDir>,
}

impl OpenFile {
    /// Opens the file for reading only.
    pub(crate) fn read(arguments: &FileArguments) -> Result<Self, Failure> {
        let mut options = FileOptions::default();
        options.read_only(true);
        options.follow_processes(false);
        Self::open(arguments, &options)
    }

    /// The same, without notes about the types.
    pub(crate) fn read_quietly(arguments: &FileArguments) -> Result<Self, Failure> {
        let mut options = FileOptions::default();
        options.read_only(true);
        options.follow_processes(false);
        Self::open_with(arguments, &options, &mut |_| {})
    }

    /// Opens the file for reading only, and follows the commits of other processes.
    pub(crate) fn follow(arguments: &FileArguments) -> Result<Self, Failure> {
        let mut options = FileOptions::default();
        options.read_only(true);
        Self::open(arguments, &options)
    }

    /// Opens the file for writing, or a temporary copy of it for a dry run. A file that does not
    /// exist is created by the first change.
    pub(crate) fn write(arguments: &FileArguments, is_dry: bool) -> Result<Self, Failure> {
        if Self::is_pack(&arguments.path)? {
            let path = arguments.path.display();
            return Err(Failure::usage(format!(
                "cannot change {path}: it is a pack\nhelp: `dflat unpack` writes its objects into a \
                 file that can be changed"
            )));
        }
        let mut options = FileOptions::default();
        options.follow_processes(false);
        // The changes of versioned types are kept, whoever makes them.
        options.history(Arc::new(Keeper::default()));
        if !is_dry {
            return Self::open(arguments, &options);
        }
        let folder = tempfile::tempdir()
            .map_err(|error| Failure::file(format!("cannot make a temporary folder: {error}")))?;
        let copy = folder.path().join("copy.db");
        if arguments.path.exists() {
            let original = Self::read(arguments)?;
            let go_on = &mut |_| ControlFlow::Continue(());
            original.workspace.backup(&copy, go_on)?;
            original.close()?;
        }
        let (workspace, types) = opened(&copy, arguments, &options, &mut note)?;
        Ok(Self {
            path: arguments.path.clone(),
            workspace,
            types,
            pack: None,
            copy: Some(folder),
        })
    }

    /// Whether a path is that of a pack.
    pub(crate) fn is_pack(path: &Path) -> Result<bool, Failure> {
        Ok(path.is_file() && is_pack(path)?)
    }

    /// Opens a pack, which describes its types.
    fn of_pack(path: PathBuf) -> Result<Self, Failure> {
        let pack = Pack::open(&path)?;
        let backend = PackBackend::new(pack.clone());
        Ok(Self {
            path,
            workspace: Workspace::on_backend(backend, EngineOptions::default()),
            types: Types::of_pack(&pack),
            pack: Some(pack),
            copy: None,
        })
    }

    fn open(arguments: &FileArguments, options: &FileOptions) -> Result<Self, Failure> {
        Self::open_with(arguments, options, &mut note)
    }

    fn open_with(
        arguments: &FileArguments,
        options: &FileOptions,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, Failure> {
        let path = arguments.path.clone();
        if path.is_dir() {
            let path = path.display();
            return Err(Failure::file(format!("cannot open {path}: it is a folder")));
        }
        if Self::is_pack(&path)? {
            if arguments.on.is_some() {
                let path = path.display();
                let message = format!("{path} is a pack, which stands on no other with --on");
                return Err(Failure::usage(message));
            }
            return Self::of_pack(path);
        }
        let (workspace, types) = opened(&path, arguments, options, say)?;
        Ok(Self {
            path,
            workspace,
            types,
            pack: None,
            copy: None,
        })
    }

    /// The latest state.
    pub(crate) fn source(&self) -> Source<'_> {
        Source::Workspace(self.workspace.engine())
    }

    /// Closes the file, and returns its types.
    pub(crate) fn close_and_keep_types(self) -> Result<Types, Failure> {
        self.workspace.shutdown_with(CloseOptions::default())?;
        Ok(self.types)
    }

    /// Closes the file.
    pub(crate) fn close(self) -> Result<(), Failure> {
        self.workspace.shutdown_with(CloseOptions::default())?;
        // If the folder cannot be deleted, the system deletes it later.
        let _ = self.copy.map(TempDir::close);
        Ok(())
    }

    /// The path of the write-ahead log.
    pub(crate) fn log_path(&self) -> PathBuf {
        Self::log_of(&self.path)
    }

    /// The path of the write-ahead log of a file.
    pub(crate) fn log_of(path: &Path) -> PathBuf {
        beside(path, "-wal")
    }
}

/// Opens a file, on the pack on which it stands, and finds its types.
fn opened(
    path: &Path,
    arguments: &FileArguments,
    options: &FileOptions,
    say: &mut dyn FnMut(&str),
) -> Result<(Workspace, Types), Failure> {
    let Some(pack) = &arguments.on else {
        let workspace = Workspace::open(path, options)?;
        let types = Types::find(&workspace, arguments, None, say)?;
        return Ok((workspace, types));
    };
    let pack = Pack::open(pack)?;
    let over = pack.clone();
    let mut options = options.clone();
    options.base(Some(Base::new(pack.digest().0, move |file| {
        StandingBackend::new(file, over.clone())
    })));
    let workspace = Workspace::open(path, &options)?;
    let types = Types::find(&workspace, arguments, Some(&pack), say)?;
    Ok((workspace, types))
}

/// The path of a file beside another, whose name has an ending more.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
