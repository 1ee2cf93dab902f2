//! Upkeep of a file: space, copies, suspension, checks and repairs.

mod check;
mod progress;
mod repair;
mod salvage;
mod stored_tables;

use std::path::Path;

use dflat_engine::callback;
use dflat_model::TableDescriptor;
use dflat_sqlite::SqliteBackend;

use crate::{Error, ErrorKind, Result, Workspace};
pub use check::CheckReport;
use progress::OnProgress;
use progress::with_progress;
pub use repair::RepairReport;
pub use salvage::{SalvageReport, open_damaged, salvage};
pub use stored_tables::{StoredTable, described_table};

/// The result of a purge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Purged {
    /// The names of the tables whose history is kept, such as `post`. The history has earlier
    /// states of objects and deleted objects, and a purge does not touch it.
    pub versioned: Vec<String>,
}

/// In memory, all of these methods succeed and do nothing, unless their documentation says
/// otherwise. After shutdown, each of them fails with [`ShutDown`](ErrorKind::ShutDown).
impl Workspace {
    /// Runs `work` on the file. Does nothing if the workspace is in memory.
    fn on_sqlite<R: Default>(
        &self,
        verb: &str,
        work: impl FnOnce(&SqliteBackend) -> Result<R>,
    ) -> Result<R> {
        callback::forbid_blocking(verb)?;
        self.engine().refuse_work(format_args!("{verb}"))?;
        self.sqlite()
            .map_or_else(|| Ok(R::default()), |sqlite| work(sqlite))
    }

    /// Returns up to `pages` unused pages of the file to the file system. The result is the number
    /// of unused pages that are left.
    ///
    /// # Errors
    /// - [`InvalidArgument`](ErrorKind::InvalidArgument) if the file has no incremental vacuum;
    ///   [`compact`](Self::compact) changes that.
    /// - [`WouldDeadlock`](ErrorKind::WouldDeadlock) inside a handler or a callback.
    /// - Otherwise, the errors of writing.
    pub fn reclaim(&self, pages: u32) -> Result<u64> {
        self.on_sqlite("reclaim space", |sqlite| sqlite.reclaim(pages))
    }

    /// Removes the bytes of deleted objects from the file and its log. The result names the tables
    /// whose history keeps such bytes.
    ///
    /// # Errors
    /// [`Busy`](ErrorKind::Busy) if a snapshot still reads an older state;
    /// [`Corrupt`](ErrorKind::Corrupt) if pages are damaged, and nothing is changed then;
    /// otherwise, the errors of [`reclaim`](Self::reclaim).
    pub fn purge(&self) -> Result<Purged> {
        self.on_sqlite("purge", |sqlite| {
            // Listed first, so that an error means that nothing was purged.
            let stored = sqlite.stored_descriptors()?.into_iter();
            let versioned = stored.filter(|(_, bytes)| TableDescriptor::is_versioned(bytes));
            let versioned = versioned.map(|(name, _)| name).collect();
            sqlite.purge()?;
            Ok(Purged { versioned })
        })
    }

    /// Writes the whole file anew, without unused space and without the bytes of deleted objects.
    ///
    /// # Errors
    /// As [`purge`](Self::purge), but a file without incremental vacuum is no error.
    pub fn compact(&self) -> Result<()> {
        self.on_sqlite("compact", |sqlite| sqlite.compact())
    }

    /// Copies the current state into a new file, private to its owner, while transactions and reads
    /// go on. The copy gets its name when it is complete and on the device. `progress` is called on
    /// this thread after every 256 pages. If it returns `Break`, the backup ends and the copy is
    /// deleted.
    ///
    /// # Errors
    /// - [`InvalidArgument`](ErrorKind::InvalidArgument) if there is a file at `to`, or a log or
    ///   journal beside it; if a file of this name would belong to another database; or if the
    ///   workspace is in memory.
    /// - [`WouldDeadlock`](ErrorKind::WouldDeadlock) inside a handler or a callback.
    /// - [`Cancelled`](ErrorKind::Cancelled) if `progress` returns `Break`, and
    ///   [`Panicked`](ErrorKind::Panicked) if it panics.
    /// - Otherwise, the errors of reading the file and of writing the copy.
    pub fn backup(&self, to: &Path, progress: OnProgress<'_>) -> Result<()> {
        callback::forbid_blocking("back up")?;
        self.engine().refuse_work(format_args!("back up"))?;
        let Some(sqlite) = self.sqlite() else {
            let message = "cannot back up: the workspace is in memory";
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        };
        with_progress("back up", progress, |progress| sqlite.backup(to, progress))
    }

    /// Closes the file until [`resume`](Self::resume), so that no lock on it is held. Transactions
    /// and reads of this process wait meanwhile.
    ///
    /// # Errors
    /// - [`Busy`](ErrorKind::Busy) if a snapshot, a transaction or a backup has not ended within
    ///   the busy timeout. The file stays open then.
    /// - [`WouldDeadlock`](ErrorKind::WouldDeadlock) inside a handler or a callback.
    /// - [`ShutDown`](ErrorKind::ShutDown) after shutdown.
    pub fn suspend(&self) -> Result<()> {
        self.on_sqlite("suspend", |sqlite| sqlite.suspend())
    }

    /// Ends a suspension, if there is one.
    pub fn resume(&self) {
        if let Some(sqlite) = self.sqlite() {
            sqlite.resume();
        }
    }
}
