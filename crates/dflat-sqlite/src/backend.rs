//! The backend that keeps objects in a file.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use dflat_engine::Result;
use dflat_engine::storage::{
    Backend, CloseOptions, Durability, Looked, Snapshot, StateId, View, WriteTransaction,
};

use crate::connection::configure::log_bytes;
use crate::connection::connections::Connections;
use crate::ffi::keep_freed_memory;
use crate::io::{IoReport, WrittenRecords};
use crate::options::SqliteOptions;
use crate::presence::Following;
use crate::read::snapshot::SqliteSnapshot;
use crate::upkeep::backup::{self, Progress};
use crate::upkeep::owner::Upkeep;
use crate::write::transaction::SqliteTransaction;

/// A database in an SQLite file.
///
/// Several backends may have one file open at a time, in this process and in others.
///
/// # Compatibility
/// Dflat for Swift reads and writes the same files.
pub struct SqliteBackend {
    upkeep: Arc<Upkeep>,
}

impl SqliteBackend {
    /// Opens the file at `path`; if there is none, the first write creates it.
    ///
    /// Opening writes nothing and leaves nothing beside the file. The first write to a file in
    /// rollback-journal mode switches it to a write-ahead log. That write waits for pinned
    /// snapshots, and fails with [`Busy`](dflat_engine::ErrorKind::Busy) if one lives longer than
    /// the busy timeout. A snapshot of an empty file is one of no file, and delays no write.
    ///
    /// # Errors
    /// - `NotADatabase` if the file is not an SQLite database.
    /// - `Io` if its directory does not exist, or it can't be read.
    pub fn open(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Arc<Self>> {
        keep_freed_memory();
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

    /// Whether `path` names the file of this backend, also by another name of the file, and also
    /// while the file does not exist.
    #[must_use]
    pub fn is_on(&self, path: &Path) -> bool {
        self.connections().is_on(path)
    }

    /// The I/O of the file since it was opened, by all backends of this process that count it;
    /// `None` if this backend does not count.
    #[must_use]
    pub fn io_report(&self) -> Option<IoReport> {
        let monitor = self.connections().monitor();
        monitor.map(|monitor| monitor.report())
    }

    /// Closes the file, so that this backend holds no lock on it, after waiting up to the busy
    /// timeout for transactions, snapshots and backups to end. Until [`Self::resume`], writers
    /// wait, and readers wait up to the busy timeout. If another thread is suspending, this call
    /// waits for it and has the same outcome.
    ///
    /// # Errors
    /// `Busy` if the file is still in use then; the backend goes on as before. `ShutDown` after
    /// closing.
    pub fn suspend(&self) -> Result<()> {
        let presence = self.upkeep.presence();
        // Order: the thread that follows reads, and a suspended file is not read.
        presence.suspend();
        let suspended = self.connections().suspend();
        if suspended.is_err() {
            presence.resume();
        }
        suspended
    }

    /// Ends a suspension, if there is one.
    pub fn resume(&self) {
        self.upkeep.presence().resume();
        self.connections().resume();
    }

    /// Gives up to `pages` unused pages back to the file system, and returns how many are left.
    /// Call it in a loop: other writers go on between the calls, and readers at any time.
    ///
    /// # Errors
    /// `InvalidArgument` if the file was made without incremental vacuum, as files of Dflat for
    /// Swift are; [`Self::compact`] changes that. Otherwise the errors of writing.
    pub fn reclaim(&self, pages: u32) -> Result<u64> {
        self.upkeep.reclaim(pages)
    }

    /// Removes the last traces of deleted objects: afterwards none of their bytes is in the file or
    /// beside it.
    ///
    /// # Cost
    /// The whole file is written anew. Giving back the unused pages would not suffice: when SQLite
    /// moves rows between pages, it leaves copies in the unused parts of used pages.
    ///
    /// # Errors
    /// - `Busy` if a reader still sees an older state, which the log must keep.
    /// - `InvalidArgument` if the file was made without incremental vacuum, as files of Dflat for
    ///   Swift are; [`Self::compact`] changes that, and purges.
    /// - Otherwise the errors of writing.
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

    /// The change records that commits of this backend wrote, those of its upkeep included.
    #[must_use]
    pub fn written_records(&self) -> WrittenRecords {
        self.upkeep.written_records()
    }

    /// Whether a reader of an older state keeps the log from starting again.
    #[must_use]
    pub fn is_log_pinned(&self) -> bool {
        self.upkeep.is_log_pinned()
    }

    /// How this process learns of the commits of other processes.
    #[must_use]
    pub fn following(&self) -> Following {
        self.upkeep.presence().following()
    }

    /// How often a write transaction waited to begin because the log was too long.
    #[must_use]
    pub fn log_waits(&self) -> u64 {
        self.upkeep.held_count()
    }

    /// Writes the whole file anew, without unused space and without a trace of deleted objects.
    /// From then on [`Self::reclaim`] and [`Self::purge`] work on it.
    ///
    /// # Errors
    /// `Busy` if a reader still sees an older state; otherwise the errors of writing.
    pub fn compact(&self) -> Result<()> {
        self.upkeep.compact()
    }

    /// Copies the current state into a new file, private to its owner, while transactions and reads
    /// go on. Calls `progress` after each 256 pages, on this thread; `progress` can cancel.
    ///
    /// The copy gets its name once it is complete and synced. Until then the log can't start again.
    /// A partial copy of the same name that a killed program left is deleted.
    ///
    /// # Errors
    /// - `InvalidArgument` if a file of that name exists, or the log or journal of an earlier file
    ///   beside it, or if a file of this name would belong to another database.
    /// - `Cancelled` if `progress` breaks. As after any other error, no copy is left.
    /// - `Busy` if another process has meanwhile written to a file that can't be shared.
    /// - Otherwise the errors of reading the file and writing the copy.
    pub fn backup(
        &self,
        to: &Path,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<()> {
        backup::backup(self.connections(), to, progress)
    }

    /// The bytes of the descriptor that the file keeps for a table: that of the newest code which
    /// has written to the table. `None` if the file has none.
    ///
    /// # Errors
    /// The errors of reading the file; `ShutDown` after `close`.
    pub fn stored_descriptor(&self, table: &str) -> Result<Option<Vec<u8>>> {
        let timeout = self.connections().options().busy_timeout;
        self.connections().pool().begin_upkeep(timeout)?;
        let opened = self.connections().open_reader();
        let stored = opened.and_then(|connection| {
            let Some(mut connection) = connection else {
                return Ok(None);
            };
            let stored = connection.stored_schema(table);
            connection.check_untorn()?;
            stored.map_err(|error| {
                error.into_error(format_args!("cannot read the descriptor of {table}"))
            })
        });
        self.connections().pool().end_upkeep();
        stored
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
        upkeep.presence().start_again();
        Ok(Box::new(SqliteSnapshot::new(upkeep, view)?))
    }

    fn begin(self: Arc<Self>, durability: Durability) -> Result<Box<dyn WriteTransaction>> {
        let upkeep = Arc::clone(&self.upkeep);
        upkeep.presence().start_again();
        Ok(Box::new(SqliteTransaction::new(upkeep, durability)?))
    }

    fn own_state(&self) -> Option<StateId> {
        let connections = self.connections();
        let count = connections.pool().count_of_idle_writer()?;
        connections.commits().own_state(count)
    }

    fn durability(&self) -> Durability {
        self.connections().options().durability
    }

    fn follow(&self, look: Arc<dyn Fn() -> Looked + Send + Sync>) {
        if self.connections().options().follow {
            self.upkeep.presence().follow(look);
        }
    }

    fn close(&self, options: CloseOptions) -> Result<()> {
        self.upkeep.presence().close();
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
