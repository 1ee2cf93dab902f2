//! Upkeep of the file: space, copies, suspension, checks and repairs.

use std::ops::ControlFlow;
use std::path::Path;

use dflat_sqlite::Progress;
use dflat_workspace::{CheckReport, Purged, RepairReport, SalvageReport};

use crate::{Result, Table, Workspace};

impl Workspace {
    /// Gives up to `pages` unused pages of the file back to the file system. Returns how many
    /// unused pages are left. Call it in a loop: transactions go on between the calls, and reads
    /// all the time. In memory there is nothing to do.
    ///
    /// # Errors
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the file was made without
    ///   incremental vacuum, as those of Dflat for Swift are: [`compact`](Self::compact) changes
    ///   that.
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback.
    /// - Otherwise the errors of writing.
    pub fn reclaim(&self, pages: u32) -> Result<u64> {
        self.untyped().reclaim(pages)
    }

    /// Removes the bytes of deleted objects from the file and from its log. In memory there is
    /// nothing to do.
    ///
    /// The history of a versioned type keeps earlier states of objects and deleted objects. The
    /// result names the tables of these types; `forget` of the history deletes what it has of a
    /// type, and the next purge then removes the bytes.
    ///
    /// # Errors
    /// - [`Busy`](crate::ErrorKind::Busy) if a snapshot still sees an older state.
    /// - [`Corrupt`](crate::ErrorKind::Corrupt) if pages are damaged. Nothing is changed then,
    ///   because the rows on damaged pages would be left out.
    /// - Otherwise as [`reclaim`](Self::reclaim).
    ///
    /// # Cost
    /// The whole file is written anew.
    pub fn purge(&self) -> Result<Purged> {
        self.untyped().purge()
    }

    /// Writes the whole file anew, without unused space and without the bytes of deleted objects.
    /// Afterwards the file can be [reclaimed](Self::reclaim) and [purged](Self::purge). In memory
    /// there is nothing to do.
    ///
    /// # Errors
    /// As [`purge`](Self::purge), but a file without incremental vacuum is no error.
    pub fn compact(&self) -> Result<()> {
        self.untyped().compact()
    }

    /// Copies the current state into a new file, private to its owner, while transactions and reads
    /// go on. The copy is a database like any other.
    ///
    /// The copy gets its name when it is complete and on the device; an existing file is never
    /// overwritten. Until then the write-ahead log can't start again, as while a snapshot is held.
    /// The unfinished copy has the same name with `-dflat-part-` and a random number appended. If a
    /// killed program has left an unfinished copy, the next backup of the same name deletes it.
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
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if there is a file or link at `to`,
    ///   or a log or journal of an earlier file beside it; if a file of this name would belong
    ///   to another database, as one with the ending `-journal`; if the path has more than 476
    ///   bytes on Unix, or the name more than 219; or if the workspace is in memory.
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback.
    /// - Otherwise the errors of reading the file and writing the copy. The unfinished copy is
    ///   deleted then.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<()> {
        self.backup_with(to, |_| ControlFlow::Continue(()))
    }

    /// Copies as [`backup`](Self::backup) does. `progress` is called on this thread after every 256
    /// pages with the number of copied pages; if it breaks, the backup ends. `progress` is a
    /// callback: calls that wait, such as a shutdown, are refused inside.
    ///
    /// # Errors
    /// As [`backup`](Self::backup); [`Cancelled`](crate::ErrorKind::Cancelled) if `progress`
    /// breaks, and [`Panicked`](crate::ErrorKind::Panicked) if it panics.
    pub fn backup_with(
        &self,
        to: impl AsRef<Path>,
        mut progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<()> {
        self.untyped().backup(to.as_ref(), &mut progress)
    }

    /// Closes the file until [`resume`](Self::resume), so that no lock on it is held: mobile
    /// systems kill a program that holds a lock while it is suspended.
    ///
    /// Waits for the transactions and reads that run. Committed changes stay. Transactions that are
    /// performed meanwhile wait and run after `resume`. Reads wait, too, and fail with
    /// [`Busy`](crate::ErrorKind::Busy) after the [busy
    /// timeout](crate::WorkspaceBuilder::busy_timeout). All this holds for all workspaces of this
    /// process on the file. A shutdown ends the suspension. In memory there is nothing to do.
    ///
    /// The call does not wait for a running handler that has no read or write open at that time;
    /// the reads of such a handler wait like all others. Other programs may use the file during the
    /// suspension. So if such a handler has read before the suspension, and makes its first change
    /// after it, its transaction fails with [`Busy`](crate::ErrorKind::Busy).
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
    /// - [`Busy`](crate::ErrorKind::Busy) if a snapshot, a transaction or a backup has not ended
    ///   within the busy timeout. The file stays open then.
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback.
    /// - [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown.
    pub fn suspend(&self) -> Result<()> {
        self.untyped().suspend()
    }

    /// Ends a suspension: waiting transactions and reads go on. Without a suspension it does
    /// nothing.
    pub fn resume(&self) {
        self.untyped().resume();
    }

    /// Looks for damage in the file: of its pages; of the stored descriptions of all types; of each
    /// object of these types and each value of the dictionary; of their primary keys and indexes;
    /// and for index entries without an object. The objects of other types are covered by the check
    /// of the pages only. Transactions and reads go on meanwhile. In memory there is nothing to
    /// check.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use post::Post;
    /// # fn main() -> dflat::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a directory");
    /// # let path = directory.path().join("posts.db");
    /// let workspace = Workspace::open(path)?;
    /// let report = workspace.check([Post::TABLE])?;
    /// assert!(report.is_sound(), "{:?}", report.problems);
    /// # workspace.shutdown()
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of reading, except those that damage causes, which the report lists;
    /// [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback.
    ///
    /// # Cost
    /// Reads the whole file twice, and looks up each index entry. Until the check ends, the
    /// write-ahead log can't start again.
    pub fn check(&self, types: impl IntoIterator<Item = Table>) -> Result<CheckReport> {
        self.check_with(types, |_| ControlFlow::Continue(()))
    }

    /// Checks as [`check`](Self::check) does. `progress` is called on this thread with the number
    /// of checked objects of the current type; if it breaks, the check ends. `progress` is a
    /// callback: calls that wait, such as a shutdown, are refused inside.
    ///
    /// # Errors
    /// As [`check`](Self::check); [`Cancelled`](crate::ErrorKind::Cancelled) if `progress` breaks,
    /// and [`Panicked`](crate::ErrorKind::Panicked) if it panics.
    pub fn check_with(
        &self,
        types: impl IntoIterator<Item = Table>,
        mut progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<CheckReport> {
        self.untyped().check(types, &mut progress)
    }

    /// Mends damage in place: builds indexes anew, those of SQLite and those of the schema, and
    /// moves objects that can't be read into the table `dflat__unreadable` of the file, with their
    /// bytes. An object whose key differs from the key that is stored beside it is moved, too. An
    /// object with a [missing key](crate::ProblemKind::MissingKey) stays, and is listed in the
    /// report's `after`, as is a damaged [description](crate::ProblemKind::Description) of another
    /// type.
    /// Transactions wait for parts of the repair.
    ///
    /// Call it before subscribing: subscribers are not notified of its changes.
    ///
    /// # Errors
    /// - [`Corrupt`](crate::ErrorKind::Corrupt) if pages are damaged in a way that can't be mended
    ///   in place: [`salvage`](Self::salvage) saves the readable objects into a new file.
    /// - Otherwise the errors of [`check`](Self::check) and of writing.
    pub fn repair(&self, types: impl IntoIterator<Item = Table>) -> Result<RepairReport> {
        self.repair_with(types, |_| ControlFlow::Continue(()))
    }

    /// Repairs as [`repair`](Self::repair) does. `progress` is called on this thread with the
    /// number of checked objects of the current type, before and after the repair, and, while
    /// indexes are built, with the number of processed objects. If it breaks, the repair ends:
    /// finished parts stay, and indexes that are being built are built to the end. `progress` is a
    /// callback: calls that wait, such as a shutdown, are refused inside.
    ///
    /// # Errors
    /// As [`repair`](Self::repair); [`Cancelled`](crate::ErrorKind::Cancelled) if `progress`
    /// breaks, and [`Panicked`](crate::ErrorKind::Panicked) if it panics.
    pub fn repair_with(
        &self,
        types: impl IntoIterator<Item = Table>,
        mut progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<RepairReport> {
        self.untyped().repair(types, &mut progress)
    }

    /// Saves all readable objects of these types, and all readable values of the dictionary, from a
    /// damaged file into a new one, which must not exist. Objects keep their row ids, unless damage
    /// shows several with the same row id. Indexes are built anew; a `unique` index keeps values
    /// that damage has made equal. Of several objects with the same primary key, the one that is
    /// stored beside the key is kept. The others, and bytes that are not an object, are moved to
    /// the table `dflat__unreadable` of the new file.
    ///
    /// The damaged file may not be open. It is not changed, and nothing is written beside it,
    /// unless a rollback journal is there: its unfinished transaction is rolled back first.
    ///
    /// # Errors
    /// - [`NotFound`](crate::ErrorKind::NotFound) if there is no file at `from`.
    /// - [`NotADatabase`](crate::ErrorKind::NotADatabase) or [`Corrupt`](crate::ErrorKind::Corrupt)
    ///   if the list of the tables can't be read.
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if there is a file at `to`, or the
    ///   log or journal of an earlier file beside it.
    /// - Otherwise the errors of reading the damaged file and of writing the new one. The new file
    ///   is deleted then.
    pub fn salvage(
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        types: impl IntoIterator<Item = Table>,
    ) -> Result<SalvageReport> {
        Self::salvage_with(from, to, types, |_| ControlFlow::Continue(()))
    }

    /// Saves as [`salvage`](Self::salvage) does. `progress` is called on this thread with the row
    /// id that was reached in the current type and, approximately, the last one; it begins again
    /// where damage is met. If it breaks, the salvage ends and the new file is deleted. `progress`
    /// is a callback: calls that wait, such as a shutdown, are refused inside.
    ///
    /// # Errors
    /// As [`salvage`](Self::salvage); [`Cancelled`](crate::ErrorKind::Cancelled) if `progress`
    /// breaks, and [`Panicked`](crate::ErrorKind::Panicked) if it panics.
    pub fn salvage_with(
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        types: impl IntoIterator<Item = Table>,
        mut progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<SalvageReport> {
        dflat_workspace::salvage(from.as_ref(), to.as_ref(), types, &mut progress)
    }
}
