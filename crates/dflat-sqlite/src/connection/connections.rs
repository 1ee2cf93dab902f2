//! The connections to a file, and what they share.

mod file_length;
mod first_page;
mod in_place;
mod left_log;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

use dflat_engine::storage::CloseOptions;
use dflat_engine::telemetry::TARGET;
use dflat_engine::{Error, ErrorKind, Result};

use crate::connection::commits::Commits;
use crate::connection::connections::file_length::FileLength;
use crate::connection::connections::left_log::LeftLog;
use crate::connection::file_connection::{FileConnection, OpenMark};
use crate::connection::identity::{Identity, OpenedFile};
use crate::connection::open::{self, CLOSE_WAITS_MS, TAKE_IN_WAITS_MS};
use crate::connection::pool::Pool;
use crate::connection::read_only;
use crate::connection::readers::ShardId;
use crate::ffi::LogExtent;
use crate::io::names::{LONGEST_SUFFIX, check_length, resolve_links};
use crate::io::{Monitor, Space, WrittenRecords, monitor_of};
use crate::options::SqliteOptions;

/// The connections to a file.
pub(crate) struct Connections {
    path: Arc<Path>,
    options: SqliteOptions,
    pool: Pool,
    commits: Arc<Commits>,
    /// Held during a checkpoint, because SQLite refuses the second of two concurrent checkpoints.
    /// Order: locked before write access is taken.
    checkpoints: Mutex<()>,
    /// The mark of the connections that are open, once one was opened.
    open_mark: Mutex<Option<Weak<OpenMark>>>,
    /// The file, once a connection has opened it. After a suspension, the path may name another
    /// file, which becomes this one.
    opened: Mutex<Option<Arc<OpenedFile>>>,
    /// The log that the suspension left beside the file.
    left_log: Mutex<Option<LeftLog>>,
    /// The length of the file, as it was seen.
    length: FileLength,
    /// Present if the file's I/O is counted.
    monitor: Option<Arc<Monitor>>,
}

/// The length of the log and the unused pages after a transaction, if they were read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileSizes {
    /// How long the log is.
    pub(crate) log: Option<LogExtent>,
    /// How much of the file is unused.
    pub(crate) space: Option<Space>,
    /// The change records that the transaction wrote.
    pub(crate) records: WrittenRecords,
}

impl Connections {
    /// The connections to the file at `path`, of which none is open yet.
    pub(crate) fn new(path: &Path, options: SqliteOptions) -> Result<Self> {
        let path = resolve_links(path)?;
        check_length(&path, LONGEST_SUFFIX.len())?;
        let monitor = options.io_stats.then(|| monitor_of(&path));
        let span = tracing::debug_span!(target: TARGET, "open", path = %path.display());
        span.in_scope(|| open::check(&path, &options))?;
        Ok(Self {
            pool: Pool::new(options.readers_max),
            commits: Arc::default(),
            checkpoints: Mutex::default(),
            open_mark: Mutex::default(),
            opened: Mutex::default(),
            left_log: Mutex::default(),
            length: FileLength::default(),
            path: path.into(),
            options,
            monitor,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether `path` names the file, also by another name, and also while the file does not exist.
    pub(crate) fn is_on(&self, path: &Path) -> bool {
        let Ok(path) = resolve_links(path) else {
            return false;
        };
        let other = Identity::of(&path);
        match (self.opened(), &other) {
            (Some(opened), other) => other.as_ref() == Some(&opened.identity),
            (None, Some(_)) => Identity::of(&self.path) == other,
            (None, None) => *self.path == *path && Identity::of(&self.path).is_none(),
        }
    }

    /// Fails if the file was opened read-only.
    fn check_writable(&self) -> Result<()> {
        if !self.options.read_only {
            return Ok(());
        }
        let path = self.path.display();
        let message = format!("cannot write {path}: the file was opened read-only");
        Err(Error::new(ErrorKind::ReadOnly, message))
    }

    /// Marks one more connection as open, before it opens the file. If no other one is open, SQLite
    /// may have closed the log's index, and may count commits anew.
    fn mark_open(&self) -> Arc<OpenMark> {
        let open_mark = self.open_mark.lock();
        let mut last = open_mark.unwrap_or_else(PoisonError::into_inner);
        if let Some(mark) = last.as_ref().and_then(Weak::upgrade) {
            return mark;
        }
        if last.is_some() {
            self.commits.begin_anew();
            self.length.forget();
        }
        let mark = Arc::new(OpenMark);
        *last = Some(Arc::downgrade(&mark));
        mark
    }

    pub(crate) fn monitor(&self) -> Option<&Arc<Monitor>> {
        self.monitor.as_ref()
    }

    /// Counts a reader, and lends it a connection if there is a file.
    pub(crate) fn take_reader(&self) -> Result<(ShardId, Option<Box<FileConnection>>)> {
        let (place, connection) = self.pool.readers().take(self.options.busy_timeout)?;
        if connection.is_some() {
            return Ok((place, connection));
        }
        let opened = self.open_reader();
        if opened.is_err() {
            self.pool.readers().give_back(place, None);
        }
        Ok((place, opened?))
    }

    /// A connection for a reader that has none, if there is a file.
    pub(crate) fn open_reader(&self) -> Result<Option<Box<FileConnection>>> {
        let mark = self.mark_open();
        self.check_in_place()?;
        let opened = open::open_reader(&self.path, &self.options, self.monitor.as_ref());
        let opened = opened.or_else(|error| self.check_in_place().and(Err(error)))?;
        let Some(mut opened) = opened else {
            return Ok(None);
        };
        opened.mark = Some(mark);
        opened.file = self.note_opened();
        Ok(Some(Box::new(opened)))
    }

    /// Takes back a reader's connection, if it can be used again. Returns whether the connection
    /// keeps its read transaction.
    pub(crate) fn return_reader(
        &self,
        place: ShardId,
        connection: Option<Box<FileConnection>>,
    ) -> bool {
        self.pool.readers().give_back(place, connection)
    }

    /// Waits for write access, and takes it.
    pub(crate) fn take_writer(&self) -> Result<FileConnection> {
        self.check_writable()?;
        let connection = self.pool.take_writer()?;
        self.ready_writer(connection)
    }

    /// Takes write access; `None` if another caller has it.
    pub(crate) fn try_take_writer(&self) -> Result<Option<FileConnection>> {
        self.check_writable()?;
        match self.pool.try_take_writer()? {
            Some(connection) => self.ready_writer(connection).map(Some),
            None => Ok(None),
        }
    }

    /// The connection of the caller that has just taken write access.
    fn ready_writer(&self, connection: Option<FileConnection>) -> Result<FileConnection> {
        if let Some(connection) = connection {
            return Ok(connection);
        }
        let opened = self.open_writer();
        if opened.is_err() {
            self.pool.return_writer(None);
        }
        opened
    }

    /// A connection that can write. If the caller has no write access, it must not write rows.
    pub(crate) fn open_writer(&self) -> Result<FileConnection> {
        self.check_writable()?;
        let (mark, monitor) = (self.mark_open(), self.monitor.as_ref());
        self.check_in_place()?;
        let opened = open::open_writer(&self.path, &self.options, monitor, &self.commits);
        let mut opened = opened.or_else(|error| self.check_in_place().and(Err(error)))?;
        opened.mark = Some(mark);
        opened.file = self.note_opened();
        Ok(opened)
    }

    /// Replaces the connection of the caller that has write access, because SQLite does not let
    /// that connection write.
    ///
    /// If SQLite could not open the index of the log for writing, all connections of the process
    /// share an index that they only read, until the last of them is closed. So the connections
    /// that are idle are closed first. Without a new connection, write access is given back.
    pub(crate) fn replace_writer(&self, refused: Option<FileConnection>) -> Result<FileConnection> {
        if read_only::can_write(&self.path) {
            drop(refused);
            self.pool.readers().close_idle();
            return self.ready_writer(None);
        }
        self.ready_writer(refused)
    }

    /// Gives back write access, and the connection if it can be used again.
    pub(crate) fn return_writer(&self, mut connection: Option<FileConnection>) -> FileSizes {
        let sizes = FileSizes {
            log: connection
                .as_mut()
                .and_then(FileConnection::take_log_extent),
            space: connection.as_mut().and_then(FileConnection::take_space),
            records: connection
                .as_mut()
                .map(|connection| std::mem::take(&mut connection.change_log.committed))
                .unwrap_or_default(),
        };
        self.pool.return_writer(connection);
        sizes
    }

    /// The commits to the file.
    pub(crate) fn commits(&self) -> &Commits {
        &self.commits
    }

    /// Waits until no other thread makes a checkpoint, and keeps other threads from making one.
    pub(crate) fn lock_checkpoints(&self) -> MutexGuard<'_, ()> {
        self.checkpoints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Self::lock_checkpoints`], but returns `None` at once if another thread makes one.
    pub(crate) fn try_lock_checkpoints(&self) -> Option<MutexGuard<'_, ()>> {
        match self.checkpoints.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(crate) fn options(&self) -> &SqliteOptions {
        &self.options
    }

    /// Closes the connections, after waiting up to the busy timeout until all are returned. From
    /// then on, the path may name another file, unless a log is left, which SQLite would apply to
    /// that file.
    pub(crate) fn suspend(&self) -> Result<()> {
        self.pool.suspend(self.options.busy_timeout, || {
            if self.check_in_place().is_err() {
                return;
            }
            if open::take_in_log(&self.path, &self.options, &TAKE_IN_WAITS_MS) {
                self.forget_opened();
            } else {
                *self.lock_left_log() = LeftLog::beside(&self.path);
            }
        })
    }

    /// Ends a suspension, if there is one. If the log that was left is gone, the last process that
    /// had the file open has closed it, and the path may name another file, which may have a log of
    /// its own.
    pub(crate) fn resume(&self) {
        // Order: while no connection is lent.
        if let Some(left) = self.lock_left_log().take()
            && LeftLog::beside(&self.path) != Some(left)
        {
            self.forget_opened();
        }
        self.pool.resume();
    }

    fn lock_left_log(&self) -> MutexGuard<'_, Option<LeftLog>> {
        self.left_log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the connections when all are returned, then does the work that `options` requests.
    pub(crate) fn close(&self, options: CloseOptions) -> Result<()> {
        if self.check_in_place().is_err()
            && let Ok(Some(mut writer)) = self.pool.try_take_writer()
        {
            // The errors of the calls before have reported it.
            let _ = writer.as_mut().map(|writer| self.check_writer(writer));
            self.pool.return_writer(writer);
        }
        let Some(could_write) = self.pool.drain() else {
            return Ok(());
        };
        let outcome = if options == CloseOptions::default() {
            if could_write && self.check_in_place().is_ok() {
                open::take_in_log(&self.path, &self.options, &CLOSE_WAITS_MS);
            }
            Ok(())
        } else {
            let tidy = || open::tidy(&self.path, &self.options, options);
            self.check_writable().and_then(|()| tidy())
        };
        self.pool.set_closed();
        outcome
    }
}
