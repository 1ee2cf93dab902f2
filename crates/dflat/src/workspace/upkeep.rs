//! Upkeep of the file: space, copies, and leaving it alone for a while.

use std::ops::ControlFlow;
use std::path::Path;

use dflat_sqlite::Progress;
use dflat_workspace::{CheckReport, RepairReport, SalvageReport};

use crate::{Result, Table, Workspace};

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
        self.untyped().reclaim(pages)
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
        self.untyped().purge()
    }

    /// Writes the whole file anew, without unused space and without a trace of deleted objects;
    /// from then on it can be [reclaimed](Self::reclaim) and [purged](Self::purge). In memory there
    /// is nothing to do.
    ///
    /// # Errors
    /// As [`purge`](Self::purge), on any file.
    pub fn compact(&self) -> Result<()> {
        self.untyped().compact()
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
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if there is something of that name,
    ///   a link included, or a log or journal that an earlier file has left beside it; or if the
    ///   workspace is in memory.
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback.
    /// - Else as reading the file and writing the copy can fail. Nothing is left of the copy then.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<()> {
        self.backup_with(to, |_| ControlFlow::Continue(()))
    }

    /// Copies as [`backup`](Self::backup) does. `progress` is told how many pages are copied, after
    /// each 256 of them, on this thread; if it breaks, the copy is given up. It is a callback: what
    /// waits, as for a shutdown, is refused inside.
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
    /// systems kill a program that holds one while it is suspended.
    ///
    /// What is committed stays; transactions and reads that run are waited for. Meanwhile
    /// transactions can be performed: they wait and run after `resume`. Reads wait, too, and fail
    /// with [`Busy`](crate::ErrorKind::Busy) after the
    /// [busy timeout](crate::WorkspaceBuilder::busy_timeout). That goes for all workspaces of this
    /// process on the file. A shutdown ends the suspension. In memory there is nothing to do.
    ///
    /// A handler that runs already, and has nothing open when this is called, reads like everybody
    /// else. Other programs may use the file meanwhile: if it has read before, and changes
    /// something only after, it fails with [`Busy`](crate::ErrorKind::Busy) as if they had.
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
    ///   within the busy timeout. All goes on as before then.
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback.
    /// - [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown.
    pub fn suspend(&self) -> Result<()> {
        self.untyped().suspend()
    }

    /// Lets go on what [`suspend`](Self::suspend) made wait. Without a suspension there is nothing
    /// to do.
    pub fn resume(&self) {
        self.untyped().resume();
    }

    /// Looks for damage in the file: of its pages; of each object of these types and each value of
    /// the dictionary; of their primary keys and indexes; and for index entries without an object.
    /// Types that are not named are covered by the check of the pages only. Transactions and reads
    /// go on meanwhile. In memory there is nothing to check.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(
    /// #         env!("CARGO_MANIFEST_DIR"),
    /// #         "/../dflat-codegen/tests/data/post/rust.rs"
    /// #     ));
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
    /// As reading can fail for another reason than damage, which is what the report is for;
    /// [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback.
    ///
    /// # Cost
    /// Reads the whole file twice, and looks up each index entry. Until it ends the write-ahead log
    /// can't be cut back.
    pub fn check(&self, types: impl IntoIterator<Item = Table>) -> Result<CheckReport> {
        self.check_with(types, |_| ControlFlow::Continue(()))
    }

    /// Checks as [`check`](Self::check) does. `progress` is told, on this thread, how many objects
    /// of the type at hand were looked at; if it breaks, the check is given up. It is a callback:
    /// what waits, as for a shutdown, is refused inside.
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

    /// Mends what can be: builds indexes anew, those of SQLite and ours, and moves objects that
    /// can't be read into the table `dflat__unreadable` of the file, with their bytes. Nothing that
    /// can be read is lost. Transactions wait for parts of it.
    ///
    /// Call it before subscribing: subscribers are not told what it does.
    ///
    /// # Errors
    /// - [`Corrupt`](crate::ErrorKind::Corrupt) if pages are damaged in a way that can't be mended
    ///   in place: [`salvage`](Self::salvage) saves what can be read.
    /// - Else as [`check`](Self::check), and as writing can fail.
    pub fn repair(&self, types: impl IntoIterator<Item = Table>) -> Result<RepairReport> {
        self.repair_with(types, |_| ControlFlow::Continue(()))
    }

    /// Repairs as [`repair`](Self::repair) does. `progress` is told, on this thread, how many
    /// objects of the type at hand were looked at, before and after, and while indexes are built
    /// how many they have passed; if it breaks, the repair is given up: what was mended stays so,
    /// and indexes that are being built are built to the end. It is a callback: what waits, as for
    /// a shutdown, is refused inside.
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

    /// Saves what can be read of these types, and of the dictionary, from a damaged file into a new
    /// one, which must not exist. Objects keep their row ids, unless damage shows several with the
    /// same one; indexes are built anew, and a `unique` one keeps what damage has made equal. Of
    /// several with the same primary key it is that of the one beside which it is stored; the
    /// others, and bytes that are no object, are set aside.
    ///
    /// The damaged file may not be open. It is not changed, and nothing is written beside it,
    /// unless a rollback journal is there: what that holds is taken back first.
    ///
    /// # Errors
    /// - [`NotADatabase`](crate::ErrorKind::NotADatabase) or [`Corrupt`](crate::ErrorKind::Corrupt)
    ///   if not even the list of the tables can be read.
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if there is something at `to`, or
    ///   the log or journal of an earlier file beside it.
    /// - Else as reading the one and writing the other can fail. Nothing is left of the new file
    ///   then.
    pub fn salvage(
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        types: impl IntoIterator<Item = Table>,
    ) -> Result<SalvageReport> {
        Self::salvage_with(from, to, types, |_| ControlFlow::Continue(()))
    }

    /// Saves as [`salvage`](Self::salvage) does. `progress` is told, on this thread, which row id
    /// of the type at hand was reached, and about which is the last; where damage is met, it
    /// begins again. If it breaks, all is given up. It is a callback: what waits, as for a
    /// shutdown, is refused inside.
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
