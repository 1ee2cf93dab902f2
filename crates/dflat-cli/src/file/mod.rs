//! An open file, or a schema of a server, and its types.

mod file_type;
mod schemas;
mod server;
mod types;
mod unknown;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dflat_engine::engine::EngineOptions;
use dflat_engine::storage::{Backend, CloseOptions};
use dflat_history::keeper::Keeper;
use dflat_pack::{Pack, PackBackend, StandingBackend, is_pack};
use dflat_postgres::PostgresBackend;
use dflat_workspace::{Base, FileOptions, Source, Workspace, open_damaged};
use tempfile::TempDir;

use crate::arguments::FileArguments;
use crate::failure::{Failure, note};
pub(crate) use file_type::{FileType, Origin};
pub(crate) use server::{address_of, exists, is_same_file, shown};
pub(crate) use types::Types;
pub(crate) use unknown::slots;

/// How long a completion waits for a server.
const QUIET_WAIT: Duration = Duration::from_secs(2);

/// An open file, or a schema of a server.
pub(crate) struct OpenFile {
    pub(crate) path: PathBuf,
    pub(crate) workspace: Workspace,
    pub(crate) types: Types,
    /// The pack, if the file is one.
    pub(crate) pack: Option<Pack>,
    /// The server, if there is an address in place of a file.
    pub(crate) server: Option<Arc<PostgresBackend>>,
    /// The folder of the temporary copy that a dry run uses.
    copy: Option<TempDir>,
}

impl OpenFile {
    /// The name of the type of a table of the file.
    pub(crate) fn type_name(&self, table: &str) -> String {
        let mut known = self.types.iter();
        let known = known.find(|known| known.table.name == table);
        known.map_or_else(
            || table.to_owned(),
            |known| known.table.type_name.to_string(),
        )
    }

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
        if let Some(address) = address_of(&arguments.path) {
            return Self::of_server(address, arguments, Some(QUIET_WAIT));
        }
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
            let path = shown(&arguments.path);
            return Err(Failure::usage(format!(
                "cannot change {path}: it is a pack\nhelp: `dflat unpack` writes its objects into a \
                 file that can be changed"
            )));
        }
        if let Some(address) = address_of(&arguments.path) {
            if is_dry {
                let shown = shown(&arguments.path);
                return Err(Failure::usage(format!(
                    "cannot make a dry run on {shown}: it works on a copy of a file\nhelp: `dflat \
                     copy` copies the objects into a file"
                )));
            }
            return Self::of_server(address, arguments, None);
        }
        let mut options = FileOptions::default();
        options.follow_processes(false);
        // The changes of versioned types are kept, as in every program of the library.
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
            server: None,
            copy: Some(folder),
        })
    }

    /// As [`write`](Self::write), for a command that changes what is there already: in the file, or
    /// in the pack on which it stands.
    pub(crate) fn write_existing(arguments: &FileArguments, is_dry: bool) -> Result<Self, Failure> {
        if arguments.on.is_none() {
            Self::check_exists(&arguments.path)?;
        }
        Self::write(arguments, is_dry)
    }

    /// Fails if there is no file at a path.
    pub(crate) fn check_exists(path: &Path) -> Result<(), Failure> {
        if exists(path) {
            return Ok(());
        }
        let path = shown(path);
        Err(Failure::file(format!(
            "cannot open {path}: there is no such file"
        )))
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
            server: None,
            copy: None,
        })
    }

    /// Connects to a server, which describes its types. `wait` is how long this may take, if not as
    /// long as usual.
    fn of_server(
        address: &str,
        arguments: &FileArguments,
        wait: Option<Duration>,
    ) -> Result<Self, Failure> {
        if arguments.on.is_some() {
            let message = "objects on a server stand on no pack with --on";
            return Err(Failure::usage(message));
        }
        let backend = PostgresBackend::new(address, server::options(wait))?;
        let stored = backend.stored_descriptors()?;
        let storage = Arc::clone(&backend) as Arc<dyn Backend>;
        Ok(Self {
            path: arguments.path.clone(),
            workspace: Workspace::on_backend(storage, EngineOptions::default()),
            types: Types::of_server(stored, arguments)?,
            pack: None,
            server: Some(backend),
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
        if let Some(address) = address_of(&path) {
            return Self::of_server(address, arguments, None);
        }
        Self::refuse_folder(&path)?;
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
            server: None,
            copy: None,
        })
    }

    /// The latest state.
    pub(crate) fn source(&self) -> Source<'_> {
        Source::Workspace(self.workspace.engine())
    }

    /// The types of a damaged file, of which pages may be missing.
    pub(crate) fn types_of_damaged(arguments: &FileArguments) -> Result<Types, Failure> {
        Self::refuse_folder(&arguments.path)?;
        let pack = arguments.on.as_ref().map(Pack::open).transpose()?;
        let workspace = open_damaged(&arguments.path)?;
        let types = Types::find(&workspace, arguments, pack.as_ref(), &mut note)?;
        if workspace
            .stored_tables()?
            .iter()
            .any(|table| table.is_versioned)
        {
            note("the history of the file is not saved");
        }
        workspace.shutdown_with(CloseOptions::default())?;
        Ok(types)
    }

    fn refuse_folder(path: &Path) -> Result<(), Failure> {
        match path.is_dir() {
            false => Ok(()),
            true => {
                let path = path.display();
                Err(Failure::file(format!("cannot open {path}: it is a folder")))
            }
        }
    }

    /// Closes the file.
    pub(crate) fn close(self) -> Result<(), Failure> {
        self.workspace.shutdown_with(CloseOptions::default())?;
        // If the folder cannot be deleted, the system deletes it later.
        let _ = self.copy.map(TempDir::close);
        Ok(())
    }

    /// Its name for people.
    pub(crate) fn shown(&self) -> String {
        shown(&self.path)
    }

    /// Refuses a server, for a command that knows files only.
    pub(crate) fn refuse_server(path: &Path, verb: &str) -> Result<(), Failure> {
        if address_of(path).is_none() {
            return Ok(());
        }
        let shown = shown(path);
        Err(Failure::usage(format!(
            "cannot {verb} {shown}: it is a server\nhelp: `dflat copy` copies its objects into a \
             file; docs/postgres.md has the upkeep of a server"
        )))
    }

    /// The path of the write-ahead log.
    pub(crate) fn log_path(&self) -> PathBuf {
        Self::log_of(&self.path)
    }

    /// The path of the write-ahead log of a file: beside the file to which a symbolic link leads.
    pub(crate) fn log_of(path: &Path) -> PathBuf {
        let file = path.canonicalize();
        beside(file.as_deref().unwrap_or(path), "-wal")
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
