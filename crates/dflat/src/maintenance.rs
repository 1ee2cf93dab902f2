//! Upkeep of the file: space, copies, and leaving it alone for a while.

use std::ops::ControlFlow;
use std::path::Path;

use dflat_engine::callback;
use dflat_sqlite::Progress;

use crate::{Error, ErrorKind, Result, Workspace};

impl Workspace {
    /// Gives up to `pages` unused pages of the file back to the file system; how many are left.
    /// Call it in a loop: transactions go on between the steps, and readers all the time. In memory
    /// there is nothing to do.
    ///
    /// # Errors
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the file was made without
    ///   incremental vacuum, as those of Dflat for Swift are: [`compact`](Self::compact) changes
    ///   that.
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback.
    /// - Else as writing can fail.
    pub fn reclaim(&self, pages: u32) -> Result<u64> {
        callback::forbid_blocking("reclaim space")?;
        let sqlite = self.untyped().sqlite();
        sqlite.map_or(Ok(0), |sqlite| sqlite.reclaim(pages))
    }

    /// Removes the last traces of deleted objects: afterwards none of their bytes is in the file or
    /// beside it. In memory there is nothing to do.
    ///
    /// # Errors
    /// - [`Busy`](crate::ErrorKind::Busy) if a snapshot still sees an older state.
    /// - Else as [`reclaim`](Self::reclaim).
    ///
    /// # Cost
    /// The whole file is written anew.
    pub fn purge(&self) -> Result<()> {
        callback::forbid_blocking("purge")?;
        let sqlite = self.untyped().sqlite();
        sqlite.map_or(Ok(()), |sqlite| sqlite.purge())
    }

    /// Writes the whole file anew, without unused space and without a trace of deleted objects;
    /// from then on it can be [reclaimed](Self::reclaim) and [purged](Self::purge). In memory there
    /// is nothing to do.
    ///
    /// # Errors
    /// As [`purge`](Self::purge), on any file.
    pub fn compact(&self) -> Result<()> {
        callback::forbid_blocking("compact")?;
        let sqlite = self.untyped().sqlite();
        sqlite.map_or(Ok(()), |sqlite| sqlite.compact())
    }

    /// Copies the state of this moment into a new file, private to its owner, while transactions
    /// and reads go on. The copy is a database like any other.
    ///
    /// The file gets its name when it is whole and on the device; nothing is ever overwritten.
    /// Until then the write-ahead log can't be cut back, as while a snapshot is held, and the file
    /// is called like the copy with `-dflat-part-` and a random number behind: one that a killed
    /// program has left is deleted by the next backup of the same name.
    ///
    /// # Examples
    /// ```
    /// use dflat::Workspace;
    /// # fn main() -> dflat::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a directory");
    /// # let path = directory.path().join("posts.db");
    /// # let copy = directory.path().join("posts-copy.db");
    /// let workspace = Workspace::open(path)?;
    /// workspace.backup(&copy)?;
    /// let copied = Workspace::open(&copy)?;
    /// assert!(workspace.backup(&copy).is_err(), "it is there already");
    /// # copied.shutdown()
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`InvalidArgument`](ErrorKind::InvalidArgument) if there is something of that name, a link
    ///   included, or a log or journal that an earlier file has left beside it; or if the workspace
    ///   is in memory.
    /// - [`WouldDeadlock`](ErrorKind::WouldDeadlock) inside a handler or a callback.
    /// - Else as reading the file and writing the copy can fail. Nothing is left of the copy then.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<()> {
        self.backup_with(to, |_| ControlFlow::Continue(()))
    }

    /// Copies as [`backup`](Self::backup) does. `progress` is told how many pages are copied, after
    /// each 256 of them, on this thread; if it breaks, the copy is given up. It is a callback: what
    /// waits, as for a shutdown, is refused inside.
    ///
    /// # Errors
    /// As [`backup`](Self::backup); [`Cancelled`](ErrorKind::Cancelled) if `progress` breaks, and
    /// [`Panicked`](ErrorKind::Panicked) if it panics.
    pub fn backup_with(
        &self,
        to: impl AsRef<Path>,
        mut progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<()> {
        callback::forbid_blocking("back up")?;
        let Some(sqlite) = self.untyped().sqlite() else {
            let message = "cannot back up: the workspace is in memory";
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        };
        with_progress("back up", &mut progress, |progress| {
            sqlite.backup(to.as_ref(), progress)
        })
    }

    /// Closes the file until [`resume`](Self::resume), so that no lock on it is held: mobile
    /// systems kill a program that holds one while it is suspended.
    ///
    /// What is committed stays; transactions and reads that run are waited for. Meanwhile
    /// transactions can be performed: they wait and run after `resume`. Reads wait, too, and fail
    /// with [`Busy`](ErrorKind::Busy) after the
    /// [busy timeout](crate::WorkspaceBuilder::busy_timeout). That goes for all workspaces of this
    /// process on the file. A shutdown ends the suspension. In memory there is nothing to do.
    ///
    /// A handler that runs already, and has nothing open when this is called, reads like everybody
    /// else. Other programs may use the file meanwhile: if it has read before, and changes
    /// something only after, it fails with [`Busy`](ErrorKind::Busy) as if they had.
    ///
    /// # Examples
    /// ```
    /// use dflat::Workspace;
    /// # fn main() -> dflat::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a directory");
    /// # let path = directory.path().join("posts.db");
    /// let workspace = Workspace::open(path)?;
    /// workspace.suspend()?;
    /// // The system may stop the program here.
    /// workspace.resume();
    /// # workspace.shutdown()
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`Busy`](ErrorKind::Busy) if a snapshot, a transaction or a backup has not ended within
    ///   the busy timeout. All goes on as before then.
    /// - [`WouldDeadlock`](ErrorKind::WouldDeadlock) inside a handler or a callback.
    /// - [`ShutDown`](ErrorKind::ShutDown) after shutdown.
    pub fn suspend(&self) -> Result<()> {
        callback::forbid_blocking("suspend")?;
        self.untyped()
            .sqlite()
            .map_or(Ok(()), |sqlite| sqlite.suspend())
    }

    /// Lets go on what [`suspend`](Self::suspend) made wait. Without a suspension there is nothing
    /// to do.
    pub fn resume(&self) {
        if let Some(sqlite) = self.untyped().sqlite() {
            sqlite.resume();
        }
    }
}

/// What is told how far work has come, and may end it.
pub(crate) type Tell<'t> = &'t mut dyn FnMut(Progress) -> ControlFlow<()>;

/// Does work that tells a closure how far it has come, as a callback: what would wait for the work
/// is refused there, and a panic ends the work.
pub(crate) fn with_progress<T>(
    verb: &str,
    tell: Tell<'_>,
    work: impl FnOnce(Tell<'_>) -> Result<T>,
) -> Result<T> {
    let what = format!("cannot {verb}: what is told the progress");
    let mut panicked = None;
    let outcome = work(&mut |progress| {
        callback::run(&what, || tell(progress)).unwrap_or_else(|error| {
            panicked = Some(error);
            ControlFlow::Break(())
        })
    });
    panicked.map_or(outcome, Err)
}
