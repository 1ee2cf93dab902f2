//! The workspace: an engine, its dictionary and the file that stores their data.

use std::fmt;
#[cfg(feature = "sqlite")]
use std::path::Path;
use std::sync::Arc;

use dflat_engine::callback;
use dflat_engine::dictionary::Dictionary;
use dflat_engine::engine::{Engine, EngineOptions};
use dflat_engine::storage::{Backend, CloseOptions, MemoryBackend};
#[cfg(feature = "sqlite")]
use dflat_sqlite::{IoReport, SqliteBackend};

use crate::Result;
#[cfg(feature = "sqlite")]
use crate::file::{self, FileOptions};

/// A database of objects, in memory or on a file.
///
/// Clones share one workspace. Dropping the last clone finishes the transactions queued so far and
/// releases all resources, as [`shutdown_with`](Self::shutdown_with) does.
#[derive(Clone)]
pub struct Workspace {
    owner: Arc<Owner>,
}

struct Owner {
    engine: Engine,
    dictionary: Arc<Dictionary>,
    /// `None` in memory.
    #[cfg(feature = "sqlite")]
    sqlite: Option<Arc<SqliteBackend>>,
}

impl Owner {
    /// Never closes the file: in a child process that was forked, SQLite's connections are those of
    /// the parent, and closing them could change the files that the parent uses.
    fn leak(&self) {
        std::mem::forget(self.engine.clone());
        std::mem::forget(Arc::clone(&self.dictionary));
        #[cfg(feature = "sqlite")]
        std::mem::forget(self.sqlite.clone());
    }

    /// Ends a suspension, because queued transactions have to run before the shutdown.
    #[allow(clippy::unused_self, reason = "in memory there is nothing to suspend")]
    fn end_suspension(&self) {
        #[cfg(feature = "sqlite")]
        if let Some(sqlite) = &self.sqlite {
            sqlite.resume();
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if self.engine.is_of_parent() {
            self.leak();
            return;
        }
        let options = CloseOptions::default();
        self.end_suspension();
        if callback::is_running() {
            self.dictionary.close();
            // Waiting here could deadlock, because the shutdown may wait for this thread.
            self.engine.shutdown_then(options, Box::new(|_| {}));
        } else {
            // A drop can't return an error; `shutdown_with` does.
            let _ = self.dictionary.close_and_wait();
            let _ = self.engine.shutdown(options);
        }
    }
}

impl Workspace {
    /// A workspace that keeps its objects in memory. They are lost when the last clone is dropped.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::on_backend(MemoryBackend::new(), EngineOptions::default())
    }

    /// A workspace on a backend that the caller provides.
    #[must_use]
    pub fn on_backend(backend: Arc<dyn Backend>, options: EngineOptions) -> Self {
        let engine = Engine::new(backend, options);
        Self {
            owner: Arc::new(Owner {
                dictionary: Arc::new(Dictionary::new(engine.clone(), usize::MAX)),
                engine,
                #[cfg(feature = "sqlite")]
                sqlite: None,
            }),
        }
    }

    /// A workspace on the file of a backend, shared with no other workspace of this process.
    #[cfg(feature = "sqlite")]
    pub(crate) fn on_file_alone(backend: Arc<SqliteBackend>) -> Self {
        let storage = Arc::clone(&backend) as Arc<dyn Backend>;
        let engine = Engine::new(storage, EngineOptions::default());
        Self {
            owner: Arc::new(Owner {
                dictionary: Arc::new(Dictionary::new(engine.clone(), usize::MAX)),
                engine,
                sqlite: Some(backend),
            }),
        }
    }

    /// Opens the database file at `path`. No byte is written and no file is created before the
    /// first change.
    ///
    /// All workspaces of one process on one file share one engine, even if they were opened by
    /// different paths. Each workspace is shut down on its own; the engine ends with the last of
    /// them.
    ///
    /// # Errors
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the file is open in this process
    ///   with another value of an option that was set. Options that were not set have the values of
    ///   the workspace that is already open.
    /// - [`NotADatabase`](crate::ErrorKind::NotADatabase) if the file is not an SQLite database.
    /// - [`NotFound`](crate::ErrorKind::NotFound) if the file is opened for
    ///   [reading only](FileOptions::read_only) and is missing, unless
    ///   [`allow_missing`](FileOptions::allow_missing) was set.
    /// - [`Io`](crate::ErrorKind::Io) if the file's directory does not exist, or the file can't be
    ///   read.
    #[cfg(feature = "sqlite")]
    pub fn open(path: impl AsRef<Path>, options: &FileOptions) -> Result<Self> {
        let (dictionary, engine, backend) = file::on_file(path.as_ref(), options)?;
        Ok(Self {
            owner: Arc::new(Owner {
                engine,
                dictionary: Arc::new(dictionary),
                sqlite: Some(backend),
            }),
        })
    }

    /// The engine, which runs transactions, queries and subscriptions.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.owner.engine
    }

    /// The dictionary: small values by key. All workspaces of this process on one file share its
    /// values in memory.
    #[must_use]
    pub fn dictionary(&self) -> &Arc<Dictionary> {
        &self.owner.dictionary
    }

    /// The file's backend; `None` in memory.
    #[cfg(feature = "sqlite")]
    #[must_use]
    pub fn sqlite(&self) -> Option<&Arc<SqliteBackend>> {
        self.owner.sqlite.as_ref()
    }

    /// The reads, writes and waits of each file since the file was opened in this process. `None`
    /// in memory, and unless [`io_stats`](FileOptions::io_stats) was set.
    #[cfg(feature = "sqlite")]
    #[must_use]
    pub fn io_report(&self) -> Option<IoReport> {
        self.sqlite()?.io_report()
    }

    /// Finishes the transactions queued so far, writes the dictionary and releases every resource.
    /// Every later call that reads or writes fails with [`ShutDown`](crate::ErrorKind::ShutDown),
    /// those of the dictionary and of upkeep included. Handlers that were queued before can read
    /// until they end. Snapshots that are still
    /// held end, and so does a suspension. A second call is harmless.
    ///
    /// # Errors
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback.
    /// - [`Busy`](crate::ErrorKind::Busy) if `options` asks for work on a file that another program
    ///   uses. The file is closed nevertheless.
    /// - Otherwise, the errors of writing and closing the file.
    pub fn shutdown_with(&self, options: CloseOptions) -> Result<()> {
        callback::forbid_blocking("wait for the shutdown")?;
        if self.engine().is_of_parent() {
            return Ok(());
        }
        self.owner.end_suspension();
        let written = self.owner.dictionary.close_and_wait();
        self.engine().shutdown(options)?;
        written
    }

    /// Shuts down without waiting. `completion` is called at the end, on a separate thread.
    pub fn shutdown_then(
        &self,
        options: CloseOptions,
        completion: impl FnOnce(Result<()>) + Send + 'static,
    ) {
        self.owner.end_suspension();
        // Order: the dictionary queues its writes before the engine refuses further work.
        self.owner.dictionary.close();
        self.engine().shutdown_then(options, Box::new(completion));
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspace").finish_non_exhaustive()
    }
}
