//! A file as a place where objects are stored.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use dflat_engine::Result;
use dflat_engine::storage::{Backend, CloseOptions, Durability, Snapshot, View, WriteTransaction};

use crate::connection::configure::log_bytes;
use crate::connection::connections::Connections;
use crate::io::IoReport;
use crate::options::SqliteOptions;
use crate::read::snapshot::SqliteSnapshot;
use crate::upkeep::backup::{self, Progress};
use crate::upkeep::owner::Upkeep;
use crate::write::transaction::SqliteTransaction;

/// A database in a file of SQLite's.
///
/// Several may have one file open at a time, in this process and in others.
///
/// # Compatibility
/// Dflat for Swift reads and writes the same files.
pub struct SqliteBackend {
    upkeep: Arc<Upkeep>,
}

impl SqliteBackend {
    /// Opens the file at `path`, or gets ready to create it with the first write.
    ///
    /// Nothing is written, and nothing is left beside the file. A file in rollback-journal mode
    /// turns to a write-ahead log with the first write. That write waits for pinned snapshots, and
    /// fails with [`Busy`](dflat_engine::ErrorKind::Busy) if one lives longer than the busy
    /// timeout.
    ///
    /// # Errors
    /// - `NotADatabase` if the file is something else.
    /// - `Io` if its directory does not exist, or it can't be read.
    pub fn open(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Arc<Self>> {
        let connections = Connections::new(path.as_ref(), options)?;
        Ok(Arc::new(Self {
            upkeep: Arc::new(Upkeep::new(Arc::new(connections))),
        }))
    }

    /// The file's path, absolute.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.connections().path()
    }

    /// Whether `path` names the file of this backend: by another name of it, too, and also while
    /// neither exists.
    #[must_use]
    pub fn is_on(&self, path: &Path) -> bool {
        self.connections().is_on(path)
    }

    /// The I/O of the file since it was opened, by all backends of this process that count it;
    /// `None` if this one does not.
    #[must_use]
    pub fn io_report(&self) -> Option<IoReport> {
        let monitor = self.connections().monitor();
        monitor.map(|monitor| monitor.report())
    }

    /// Closes the file, so that no lock on it is held, when those who use it are done; they are
    /// waited for up to the busy timeout. Until [`Self::resume`], writers wait, and readers, too,
    /// up to the busy timeout. A suspension that another thread has begun is waited for, and has
    /// the same outcome.
    ///
    /// # Errors
    /// `Busy` if somebody still uses it then: all goes on as before. `ShutDown` after closing.
    pub fn suspend(&self) -> Result<()> {
        self.connections().suspend()
    }

    /// Ends a suspension, if there is one.
    pub fn resume(&self) {
        self.connections().pool().resume();
    }

    /// Gives up to `pages` unused pages back to the file system; how many are left. Call it in a
    /// loop: other writers go on between the steps, and readers all the time.
    ///
    /// # Errors
    /// `InvalidArgument` if the file was made without incremental vacuum, as those of Dflat for
    /// Swift are: [`Self::compact`] changes that. Else as writing can fail.
    pub fn reclaim(&self, pages: u32) -> Result<u64> {
        self.upkeep.reclaim(pages)
    }

    /// Removes the last traces of what was deleted: afterwards none of its bytes is in the file or
    /// beside it.
    ///
    /// # Cost
    /// The whole file is written anew. Giving back the unused pages would not do: SQLite leaves
    /// copies in the unused parts of used pages when it moves rows between them.
    ///
    /// # Errors
    /// - `Busy` if a reader still sees an older state, which the log must keep.
    /// - `InvalidArgument` if the file was made without incremental vacuum, as those of Dflat for
    ///   Swift are: [`Self::compact`] changes that, and purges.
    /// - Else as writing can fail.
    pub fn purge(&self) -> Result<()> {
        self.upkeep.purge()
    }

    /// Waits until a suspension ends, if there is one. The engine's owner calls this before each
    /// handler of a transaction.
    pub fn wait_while_suspended(&self) {
        self.connections().pool().wait_while_suspended();
    }

    /// The bytes of the write-ahead log that no checkpoint has copied into the file yet.
    #[must_use]
    pub fn log_bytes(&self) -> u64 {
        log_bytes(self.path())
    }

    /// Whether a reader of an older state keeps the log from being cut back.
    #[must_use]
    pub fn is_log_pinned(&self) -> bool {
        self.upkeep.is_log_pinned()
    }

    /// How often a write transaction waited to begin because the log was too long.
    #[must_use]
    pub fn log_waits(&self) -> u64 {
        self.upkeep.held_count()
    }

    /// Writes the whole file anew, without unused space and without a trace of what was deleted;
    /// from then on it can be reclaimed and purged in steps.
    ///
    /// # Errors
    /// `Busy` if a reader still sees an older state; else as writing can fail.
    pub fn compact(&self) -> Result<()> {
        self.upkeep.compact()
    }

    /// Copies the state of this moment into a new file, private to its owner, while others read and
    /// write. `progress` is told after each 256 pages, on this thread, and may end it.
    ///
    /// The file has its name once it is whole and synced. Until then the log can't be cut back.
    /// What a program that was killed has left of a copy of the same name is deleted.
    ///
    /// # Errors
    /// - `InvalidArgument` if there is something of that name, or the log or journal of an earlier
    ///   file beside it.
    /// - `Cancelled` if `progress` breaks. Nothing is left then, as after any other error.
    /// - `Busy` if somebody has written meanwhile to a file that can't be shared.
    /// - Else as reading the file and writing the copy can fail.
    pub fn backup(
        &self,
        to: &Path,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<()> {
        backup::backup(self.connections(), to, progress)
    }

    pub(crate) fn connections(&self) -> &Connections {
        self.upkeep.connections()
    }

    pub(crate) fn upkeep(&self) -> &Upkeep {
        &self.upkeep
    }
}

impl Backend for SqliteBackend {
    fn snapshot(self: Arc<Self>, view: View) -> Result<Box<dyn Snapshot>> {
        let upkeep = Arc::clone(&self.upkeep);
        Ok(Box::new(SqliteSnapshot::new(upkeep, view)?))
    }

    fn begin(self: Arc<Self>, durability: Durability) -> Result<Box<dyn WriteTransaction>> {
        let upkeep = Arc::clone(&self.upkeep);
        Ok(Box::new(SqliteTransaction::new(upkeep, durability)?))
    }

    fn durability(&self) -> Durability {
        self.connections().options().durability
    }

    fn close(&self, options: CloseOptions) -> Result<()> {
        self.upkeep.close();
        self.connections().close(options)
    }
}

impl std::fmt::Debug for SqliteBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteBackend")
            .field("path", &self.path())
            .field("options", self.connections().options())
            .finish_non_exhaustive()
    }
}
