//! Opening a workspace with options.

use std::path::{Path, PathBuf};
use std::time::Duration;

use dflat_engine::engine::EngineOptions;
pub use dflat_engine::transaction::Concurrency;
pub use dflat_sqlite::{Durability, Reclaim};
use dflat_sqlite::{SqliteBackend, SqliteOptions};

use crate::{Result, Workspace};

/// Options of a workspace on a file; [`Workspace::builder`] makes one with the defaults.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `open` is called"]
pub struct WorkspaceBuilder {
    path: PathBuf,
    sqlite: SqliteOptions,
    engine: EngineOptions,
}

impl WorkspaceBuilder {
    /// When a commit survives a loss of power. Defaults to [`Durability::Normal`].
    pub fn durability(mut self, durability: Durability) -> Self {
        self.sqlite.durability = durability;
        self
    }

    /// Whether transactions of disjoint types run at the same time. Defaults to
    /// [`Concurrency::MultiWriter`].
    pub fn concurrency(mut self, concurrency: Concurrency) -> Self {
        self.engine.concurrency = concurrency;
        self
    }

    /// How long to wait for another process that has the file locked. Defaults to 30 s.
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.sqlite.busy_timeout = timeout;
        self
    }

    /// The most threads that run transactions, at least 1. Defaults to 64. Transactions of disjoint
    /// types that wait for one another need a thread each.
    pub fn threads_max(mut self, threads: usize) -> Self {
        self.engine.threads_max = threads;
        self
    }

    /// The most connections that read at the same time, at least 1. Defaults to 64. A held
    /// [`Snapshot`](crate::Snapshot) is one, and so is a transaction that has read and not yet
    /// changed anything. One more waits for the busy timeout and then fails with
    /// [`Busy`](crate::ErrorKind::Busy).
    pub fn readers_max(mut self, readers: usize) -> Self {
        self.sqlite.readers_max = readers;
        self
    }

    /// When unused space is given back to the file system. Defaults to
    /// [`Reclaim::default`]: in steps of 64 pages, when more than 20 per cent of the file's pages
    /// are unused and nobody has written for a second.
    pub fn reclaim(mut self, reclaim: Reclaim) -> Self {
        self.sqlite.reclaim = reclaim;
        self
    }

    /// Whether the file's I/O is counted, for [`Workspace::io_report`]. Defaults to no, which costs
    /// nothing.
    pub fn io_stats(mut self, io_stats: bool) -> Self {
        self.sqlite.io_stats = io_stats;
        self
    }

    /// Opens the workspace.
    ///
    /// # Errors
    /// As [`Workspace::open`].
    pub fn open(self) -> Result<Workspace> {
        let backend = SqliteBackend::open(&self.path, self.sqlite)?;
        Ok(Workspace::on_file(backend, self.engine))
    }
}

impl Workspace {
    /// Opens the database file at `path` with default options. Nothing is written, and no file is
    /// created, before the first change; a file that is created is private to its owner.
    ///
    /// Each call makes a workspace of its own. Two on one file, in one process or several, see each
    /// other's commits when they fetch; a subscription is told of those of its own workspace only,
    /// so share one workspace (it is cheap to clone) where results are watched.
    ///
    /// # Errors
    /// - [`NotADatabase`](crate::ErrorKind::NotADatabase) if the file is something else.
    /// - [`Io`](crate::ErrorKind::Io) if its directory does not exist, or the file can't be read.
    ///
    /// # Durability
    /// By default a commit survives the end of the process at once, and a loss of power once SQLite
    /// has written it back; see [`Durability`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder(path).open()
    }

    /// Options for opening the database file at `path`.
    pub fn builder(path: impl AsRef<Path>) -> WorkspaceBuilder {
        WorkspaceBuilder {
            path: path.as_ref().to_owned(),
            sqlite: SqliteOptions::default(),
            engine: EngineOptions::default(),
        }
    }
}
