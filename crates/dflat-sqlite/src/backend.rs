//! A file as a place where objects are stored.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use dflat_engine::storage::{Backend, CloseOptions, Durability, Snapshot, View, WriteTransaction};
use dflat_engine::{Error, ErrorKind, Result};

use dflat_engine::telemetry::TARGET;

use crate::connection::commits::Commits;
use crate::connection::identity::Identity;
use crate::connection::open;
use crate::connection::pool::Pool;
use crate::connection::readers::PlaceId;
use crate::connection::session::Session;
use crate::io::{self, IoReport, Monitor};
use crate::options::SqliteOptions;
use crate::read::snapshot::SqliteSnapshot;
use crate::upkeep::checkpointer::Checkpointer;
use crate::upkeep::keeper::Keeper;
use crate::upkeep::reclaimer::Reclaimer;
use crate::write::transaction::SqliteTransaction;

/// A database in a file of SQLite's.
///
/// Several may have one file open at a time, in this process and in others.
///
/// # Compatibility
/// Dflat for Swift reads and writes the same files.
pub struct SqliteBackend {
    path: Arc<Path>,
    options: SqliteOptions,
    pool: Pool,
    commits: Arc<Commits>,
    /// Held by who makes a checkpoint: SQLite does not wait for another. Taken before the place of
    /// the writer.
    checkpoints: Mutex<()>,
    /// That of the file, once a connection has opened it.
    identity: OnceLock<Identity>,
    /// There if the file's I/O is counted.
    monitor: Option<Arc<Monitor>>,
    reclaimer: Arc<Reclaimer>,
    checkpointer: Arc<Checkpointer>,
    keeper: Arc<Keeper>,
    this: Weak<Self>,
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
        let path = open::resolve(path.as_ref())?;
        let monitor = options.io_stats.then(|| io::monitor_of(&path));
        let span = tracing::debug_span!(target: TARGET, "open", path = %path.display());
        span.in_scope(|| open::check(&path, &options))?;
        Ok(Arc::new_cyclic(|this| Self {
            pool: Pool::new(options.readers_max),
            commits: Arc::default(),
            checkpoints: Mutex::default(),
            identity: OnceLock::new(),
            path: path.into(),
            reclaimer: Arc::new(Reclaimer::new(options.reclaim)),
            checkpointer: Arc::new(Checkpointer::new(options.log_bytes_max)),
            keeper: Arc::default(),
            options,
            monitor,
            this: Weak::clone(this),
        }))
    }

    /// The file's path, absolute.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether `path` names the file of this backend: by another name of it, too, and also while
    /// neither exists.
    #[must_use]
    pub fn is_on(&self, path: &Path) -> bool {
        let Ok(path) = open::resolve(path) else {
            return false;
        };
        let other = Identity::of(&path);
        match (self.identity.get(), &other) {
            (Some(identity), other) => other.as_ref() == Some(identity),
            (None, Some(_)) => Identity::of(&self.path) == other,
            (None, None) => *self.path == *path && Identity::of(&self.path).is_none(),
        }
    }

    /// Refuses to write what was opened to be read only.
    fn check_writable(&self) -> Result<()> {
        if !self.options.read_only {
            return Ok(());
        }
        let path = self.path.display();
        let message = format!("cannot write {path}: it was opened to be read only");
        Err(Error::new(ErrorKind::ReadOnly, message))
    }

    /// Refuses another file in the place of the one that was opened.
    fn check_in_place(&self) -> Result<()> {
        let there = Identity::of(&self.path);
        match self.identity.get() {
            Some(identity) if there.as_ref() != Some(identity) => {
                let message = format!(
                    "cannot use {}: the file was deleted or replaced since it was opened",
                    self.path.display()
                );
                Err(Error::new(ErrorKind::Io, message))
            }
            _ => Ok(()),
        }
    }

    /// Notes which file the connections are on.
    fn note_identity(&self) {
        if self.identity.get().is_none()
            && let Some(identity) = Identity::of(&self.path)
        {
            self.identity.get_or_init(|| identity);
        }
    }

    /// The I/O of the file since it was opened, by all backends of this process that count it;
    /// `None` if this one does not.
    #[must_use]
    pub fn io_report(&self) -> Option<IoReport> {
        self.monitor.as_ref().map(|monitor| monitor.report())
    }

    pub(crate) fn monitor(&self) -> Option<&Monitor> {
        self.monitor.as_deref()
    }

    /// Counts a reader, and gives it a connection if there is a file.
    pub(crate) fn take_reader(&self) -> Result<(PlaceId, Option<Box<Session>>)> {
        let (place, session) = self.pool.readers().take(self.options.busy_timeout)?;
        if session.is_some() {
            return Ok((place, session));
        }
        let opened = self.open_reader();
        if opened.is_err() {
            self.pool.readers().give_back(place, None);
        }
        Ok((place, opened?))
    }

    /// A connection for a reader that has none, if there is a file.
    pub(crate) fn open_reader(&self) -> Result<Option<Box<Session>>> {
        self.check_in_place()?;
        let opened = open::open_reader(&self.path, &self.options, self.monitor.as_ref())?;
        if opened.is_some() {
            self.note_identity();
        }
        Ok(opened.map(Box::new))
    }

    /// Takes back a reader's connection, if it can be used again.
    pub(crate) fn return_reader(&self, place: PlaceId, session: Option<Box<Session>>) {
        let readers = self.pool.readers();
        if readers.give_back(place, session) && !self.keeper.note_kept(&self.this) {
            readers.end_kept();
        }
    }

    /// Waits for the writer before and takes its place.
    pub(crate) fn take_writer(&self) -> Result<Session> {
        self.check_writable()?;
        let session = self.pool.take_writer()?;
        self.ready_writer(session)
    }

    /// Takes the place of the writer; `None` if another has it.
    pub(crate) fn try_take_writer(&self) -> Result<Option<Session>> {
        self.check_writable()?;
        match self.pool.try_take_writer()? {
            Some(session) => self.ready_writer(session).map(Some),
            None => Ok(None),
        }
    }

    /// The connection of the writer, whose place is taken.
    fn ready_writer(&self, session: Option<Session>) -> Result<Session> {
        if let Some(session) = session {
            return Ok(session);
        }
        let opened = self.open_writer();
        if opened.is_err() {
            self.pool.return_writer(None);
        }
        opened
    }

    /// A connection that can write; who uses it must not be in the way of the writer.
    pub(crate) fn open_writer(&self) -> Result<Session> {
        self.check_writable()?;
        self.check_in_place()?;
        let monitor = self.monitor.as_ref();
        let opened = open::open_writer(&self.path, &self.options, monitor, &self.commits)?;
        self.note_identity();
        Ok(opened)
    }

    /// Gives back the place of the writer, and the connection if it can be used again.
    pub(crate) fn return_writer(&self, mut session: Option<Session>) {
        let space = session.as_mut().and_then(Session::take_space);
        let log = session.as_mut().and_then(Session::take_log_extent);
        self.pool.return_writer(session);
        if let Some(log) = log {
            self.checkpointer.note_commit(&self.this, log);
        }
        self.reclaimer.note_write(&self.this, space);
    }

    /// What is known of the commits to the file.
    pub(crate) fn commits(&self) -> &Commits {
        &self.commits
    }

    pub(crate) fn reclaimer(&self) -> &Reclaimer {
        &self.reclaimer
    }

    /// Waits until nobody else makes a checkpoint.
    pub(crate) fn lock_checkpoints(&self) -> MutexGuard<'_, ()> {
        self.checkpoints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn options(&self) -> &SqliteOptions {
        &self.options
    }

    /// Closes the file, so that no lock on it is held, when those who use it are done; they are
    /// waited for up to the busy timeout. Until [`Self::resume`], writers wait, and readers, too,
    /// up to the busy timeout. A suspension that another thread has begun is waited for, and has
    /// the same outcome.
    ///
    /// # Errors
    /// `Busy` if somebody still uses it then: all goes on as before. `ShutDown` after closing.
    pub fn suspend(&self) -> Result<()> {
        self.pool.suspend(self.options.busy_timeout)?;
        self.commits.begin_anew();
        Ok(())
    }

    /// Ends a suspension, if there is one.
    pub fn resume(&self) {
        self.pool.resume();
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Notes that a snapshot has ended, which may have pinned the log.
    pub(crate) fn note_snapshot_end(&self) {
        self.checkpointer.note_snapshot_end(&self.this);
    }

    /// Holds a writer back that is about to begin while the log is far too long.
    pub(crate) fn hold_back(&self) {
        self.checkpointer.hold_back();
    }

    #[cfg(test)]
    pub(crate) fn checkpointer(&self) -> &Arc<Checkpointer> {
        &self.checkpointer
    }
}

impl Backend for SqliteBackend {
    fn snapshot(self: Arc<Self>, view: View) -> Result<Box<dyn Snapshot>> {
        Ok(Box::new(SqliteSnapshot::new(self, view)?))
    }

    fn begin(self: Arc<Self>) -> Result<Box<dyn WriteTransaction>> {
        let durability = self.options.durability;
        self.begin_with(durability)
    }

    fn begin_with(self: Arc<Self>, durability: Durability) -> Result<Box<dyn WriteTransaction>> {
        Ok(Box::new(SqliteTransaction::new(self, durability)?))
    }

    fn durability(&self) -> Durability {
        self.options.durability
    }

    fn wait_while_suspended(&self) {
        self.pool.wait_while_suspended();
    }

    fn log_bytes(&self) -> u64 {
        open::log_bytes(&self.path)
    }

    fn is_log_pinned(&self) -> bool {
        self.checkpointer.is_pinned()
    }

    fn log_waits(&self) -> u64 {
        self.checkpointer.held_count()
    }

    fn close(&self, options: CloseOptions) -> Result<()> {
        self.reclaimer.close();
        self.checkpointer.close();
        self.keeper.close();
        if !self.pool.drain() {
            return Ok(());
        }
        let outcome = if options == CloseOptions::default() {
            Ok(())
        } else {
            let tidy = || open::tidy(&self.path, &self.options, options);
            self.check_writable().and_then(|()| tidy())
        };
        self.pool.set_closed();
        outcome
    }
}

impl std::fmt::Debug for SqliteBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteBackend")
            .field("path", &self.path)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
