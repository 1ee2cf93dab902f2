//! The state of the log and the number of commits, as a connection sees them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::connection::commits::{CommitBase, CommitCount, Commits, FileHeader};
use crate::connection::file_connection::FileConnection;
use crate::ffi::{LogCount, LogExtent, LogState, SqliteError};
use crate::layout::control::ControlStatement;

impl FileConnection {
    /// Reads, and notes whether the file has a log.
    pub(crate) fn look_for_log(&mut self) -> Result<(), SqliteError> {
        self.control(ControlStatement::Touch)?;
        self.count();
        Ok(())
    }

    /// How long the log is, if there was one when this connection last read.
    pub(crate) fn log_extent(&self) -> Option<LogExtent> {
        self.has_log.then(|| self.raw.log_extent())?
    }

    /// The state of the log and of the file, under the same condition. `None` if this connection
    /// has an index of its own, which does not show checkpoints.
    pub(crate) fn log_state(&self) -> Option<LogState> {
        let is_shared = self.has_log && self.polled.is_none();
        is_shared.then(|| self.raw.log_state())?
    }

    /// The number of pages of the log that are not in the file yet, under the same condition.
    pub(crate) fn uncopied_pages(&self) -> u32 {
        let log = self.log_extent();
        log.map_or(0, |log| log.pages.saturating_sub(log.copied))
    }

    /// The length of the log after the last commit, if it was not taken yet.
    pub(crate) fn take_log_extent(&mut self) -> Option<LogExtent> {
        self.log_extent.take()
    }

    /// Counts the commits of this connection, and those of other programs, in `commits`.
    pub(crate) fn track_commits(&mut self, commits: &Arc<Commits>) {
        self.commits = Some(Arc::clone(commits));
    }

    /// The base state of the open write transaction.
    pub(crate) fn commit_base(&self) -> Option<CommitBase> {
        self.commit_base
    }

    /// How many commits the file has seen; inside a transaction.
    pub(crate) fn count(&mut self) -> Option<CommitCount> {
        if !self.has_log {
            let header = FileHeader::read(&self.raw)?;
            // SQLite must not be queried for a log that it does not read.
            if header.has_log && !self.is_immutable() {
                self.has_log = true;
            } else if !self.is_unguarded() {
                return Some(CommitCount::File(header.count));
            }
        }
        match &self.polled {
            Some(polled) if self.is_unguarded() => Some(CommitCount::Stamps(polled.look.digest())),
            _ => self.log_count(),
        }
    }

    /// A hash that changes with each foreign write to the file, if there is a log without frames;
    /// after this connection has read.
    pub(crate) fn file_under_empty_log(&mut self) -> Option<u64> {
        let metadata = std::fs::metadata(&self.path).ok()?;
        let header = FileHeader::read(&self.raw)?;
        let mut hasher = DefaultHasher::new();
        (metadata.len(), metadata.modified().ok(), header.count).hash(&mut hasher);
        // Order: the count is read after the metadata. A write in between went into the log, which
        // this connection keeps open, so the count shows it.
        match self.count()? {
            CommitCount::Log(LogCount { salt: 0, .. }) => Some(hasher.finish()),
            _ => None,
        }
    }

    /// How many commits the log has seen, if there was one when this connection last read.
    pub(crate) fn log_count(&self) -> Option<CommitCount> {
        let log = self.has_log.then_some(&self.raw)?;
        log.log_count().map(CommitCount::Log)
    }
}
