//! Branches.

use dflat_history::branches::{self, Checkout};
use dflat_history::commits::{self, Branch, CommitId};
use dflat_history::steps::notice;

use super::History;
use super::strangers::versioned;
use crate::{Result, Workspace};

impl History<'_> {
    /// The branch whose objects the tables have: `main`, until another one is
    /// [checked out](Self::checkout).
    ///
    /// # Errors
    /// As [`head`](Self::head).
    pub fn current_branch(&self) -> Result<String> {
        let head = self.workspace.engine().read_history(commits::head)?;
        Ok(head.branch)
    }

    /// The branches that have a commit, by name.
    ///
    /// # Errors
    /// As [`head`](Self::head).
    pub fn branches(&self) -> Result<Vec<Branch>> {
        self.workspace.engine().read_history(commits::branches)
    }

    /// The branches of other files, as this file last saw them, by name: `laptop/main` is the
    /// branch `main` of the remote `laptop`. [`Workspace::at_branch`] reads one,
    /// [`merge`](Self::merge) merges one, and [`branch_at`](Self::branch_at) makes a branch of this
    /// file from one.
    ///
    /// # Errors
    /// As [`head`](Self::head).
    pub fn remote_branches(&self) -> Result<Vec<Branch>> {
        self.workspace.engine().read_history(commits::remotes)
    }

    /// Creates a branch with the present state of all versioned types. Changes since the last
    /// commit are committed first. The tables stay those of the current branch.
    ///
    /// # Errors
    /// - [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if there is a branch of this name.
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a name that is empty, has more
    ///   than 255 bytes or has control characters.
    /// - Otherwise as [`commit`](Self::commit).
    pub fn branch(&self, name: &str) -> Result<CommitId> {
        let tables = versioned(self.workspace)?;
        branches::create(self.workspace.engine(), &tables, name)
    }

    /// Creates a branch at a commit, of this file or of another one. The tables stay those of the
    /// current branch.
    ///
    /// # Errors
    /// - [`NotFound`](crate::ErrorKind::NotFound) if the file has no such commit, or the history of
    ///   one of its types was forgotten since.
    /// - [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if there is a branch of this name.
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a name that is empty, has more
    ///   than 255 bytes or has control characters.
    /// - [`Corrupt`](crate::ErrorKind::Corrupt) if the history is damaged.
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback;
    ///   otherwise the errors of a transaction.
    ///
    /// # Cost
    /// If [a collection](Self::collect_garbage) has deleted the trees of the commit, they are built
    /// from all of its objects.
    pub fn branch_at(&self, name: &str, commit: CommitId) -> Result<()> {
        let tables = versioned(self.workspace)?;
        let engine = self.workspace.engine();
        notice(engine, &tables)?;
        branches::create_at(engine, &tables, name, commit)
    }

    /// Deletes a branch. Its commits stay. A branch of a remote is forgotten until the next pull.
    ///
    /// # Errors
    /// - [`NotFound`](crate::ErrorKind::NotFound) if there is no branch of this name.
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for the current branch.
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback;
    ///   otherwise the errors of a transaction.
    pub fn delete_branch(&self, name: &str) -> Result<()> {
        let tables = versioned(self.workspace)?;
        branches::delete(self.workspace.engine(), &tables, name)
    }

    /// Gives the tables the objects of a branch, and makes it the current one. Changes since the
    /// last commit are committed on the branch before.
    ///
    /// The checkout is one transaction over all versioned types: subscribers get exactly the
    /// objects that differ. An object that both branches have stays in its row, so a subscription
    /// to it goes on. An object that only the other branch has gets its row id back, if that is
    /// free. Undo goes back to the last checkout or merge that changed an object, and no further.
    /// A branch from before a type was versioned has none of its objects.
    ///
    /// # Errors
    /// - [`NotFound`](crate::ErrorKind::NotFound) if there is no branch of this name, or the
    ///   history of a type was forgotten since its last commit.
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a branch of a remote, and if a
    ///   type of the branch is versioned no more.
    /// - [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if an object that is in no commit has a
    ///   unique value of an object of the branch.
    /// - [`Busy`](crate::ErrorKind::Busy) if others change objects again and again.
    /// - Otherwise as [`commit`](Self::commit).
    ///
    /// # Cost
    /// The objects that differ are in memory. The steps after the last commit of the branch are
    /// read.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use post::{Post, PostChangeRequest, PostData};
    /// # fn main() -> dflat::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a directory");
    /// # let path = directory.path().join("posts.db");
    /// let workspace = Workspace::builder(path).versioned::<Post>().open()?;
    /// let store = |title: &str| {
    ///     let data = PostData { title: title.into(), ..PostData::default() };
    ///     workspace.perform_changes_blocking([Post::TABLE], |tx| {
    ///         tx.submit(PostChangeRequest::creation(data)).map(drop)
    ///     })
    /// };
    /// let history = workspace.history();
    /// store("a")?;
    /// history.branch("draft")?;
    /// history.checkout("draft")?;
    /// store("b")?;
    /// history.checkout("main")?;
    /// assert!(workspace.get::<Post>("b")?.is_none());
    /// assert!(workspace.at_branch("draft")?.get::<Post>("b")?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn checkout(&self, name: &str) -> Result<Checkout> {
        let tables = versioned(self.workspace)?;
        let engine = self.workspace.engine();
        notice(engine, &tables)?;
        branches::checkout(engine, &tables, name)
    }
}

impl Workspace {
    /// The objects of the last commit of a branch, as [`at`](Self::at) has them, without a
    /// checkout. A branch of a remote is one, too: `laptop/main`.
    ///
    /// # Errors
    /// As [`at`](Self::at); and [`NotFound`](crate::ErrorKind::NotFound) if there is no branch of
    /// this name.
    ///
    /// # Cost
    /// As [`at`](Self::at).
    pub fn at_branch(&self, name: &str) -> Result<Self> {
        self.at(branches::tip_of(self.engine(), name)?)
    }
}
