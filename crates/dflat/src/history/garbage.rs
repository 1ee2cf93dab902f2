//! Garbage collection.

use dflat_history::garbage::{Collected, KeepTrees, collect};

use super::History;
use super::strangers::versioned;
use crate::Result;

impl History<'_> {
    /// Deletes the commits that no branch has, and the nodes of trees that are not kept: those of
    /// commits that `keep` does not name, and that no merge needs. Commits of branches stay, and so
    /// do the steps and the changes of commits of other files, so their states can be read as
    /// before; [`diff`](Self::diff) of a commit without a tree costs as much as with a step.
    /// Branches are those of this file and [those of others](Self::remote_branches).
    ///
    /// The collection works in small transactions beside other writers. If it is interrupted,
    /// another one completes it. The freed pages are used again, or
    /// [given back](crate::WorkspaceBuilder::reclaim).
    ///
    /// # Errors
    /// - [`Corrupt`](crate::ErrorKind::Corrupt) if a commit or a node is damaged.
    /// - [`Busy`](crate::ErrorKind::Busy) if others make commits again and again.
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback;
    ///   otherwise the errors of a transaction.
    ///
    /// # Cost
    /// All commits, and the nodes of the kept trees above their leaves, are read. 32 bytes of each
    /// node are in memory: 0.4 MiB for a tree of a million objects.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use dflat::history::KeepTrees;
    /// use post::{Post, PostChangeRequest, PostData};
    /// # fn main() -> dflat::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a directory");
    /// # let path = directory.path().join("posts.db");
    /// let workspace = Workspace::builder(path).versioned::<Post>().open()?;
    /// workspace.perform_changes_blocking([Post::TABLE], |tx| {
    ///     tx.submit(PostChangeRequest::creation(PostData::default())).map(drop)
    /// })?;
    /// workspace.history().commit("first")?;
    /// let collected = workspace.history().collect_garbage(&KeepTrees::default())?;
    /// assert_eq!(collected.nodes, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn collect_garbage(&self, keep: &KeepTrees) -> Result<Collected> {
        let tables = versioned(self.workspace)?;
        collect(self.workspace.engine(), &tables, keep)
    }
}
