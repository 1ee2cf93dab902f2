//! Garbage collection, and objects that are forgotten.

use dflat_history::garbage::{Collected, ForgottenObject, KeepTrees, collect, forget_object};

use super::History;
use super::strangers::versioned;
use crate::{Object, Result};

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

    /// Deletes the object with a primary key from the whole history, and leaves a mark. Delete the
    /// object itself before. Afterwards no step, no commit of this file and no change of a commit
    /// of another file has the object or its key, and undo does not bring it back. A change of
    /// another key to this one becomes a deletion, and a change of this key to another one an
    /// insertion; an object stays under its other keys. Commits that no branch has are deleted.
    ///
    /// All other commits and steps stay, with their ids.
    /// [`has_forgotten_objects`](super::CommitTable::has_forgotten_objects) says of a commit that
    /// it has lost an object, so that its root can no longer be checked. Another file takes such a
    /// commit only if it [accepts](super::Remote::accept_forgotten) forgotten objects. The texts of
    /// labels and authors stay.
    ///
    /// The deleted bytes stay in unused pages of the file until
    /// [`purge`](crate::Workspace::purge). If the call is interrupted, call it again.
    ///
    /// **The mark.** It is a hash of the type's table and of the key, with a random key that stands
    /// in the same file. Both are sent to files that pull from this one or take its pushes. Without
    /// the random key, the mark discloses nothing. A program that has both can check for any key
    /// of an object whether it was forgotten, and so finds a key of few possible values, such as a
    /// number, by trying all of them.
    ///
    /// Because of the mark, a commit of another file that has the object is refused, so that no
    /// pull brings it back. A file that [accepts](super::Remote::accept_forgotten) forgotten
    /// objects forgets it, too, when it takes the mark. The program may insert an object with the
    /// key again: this is a new object with a history of its own. Other files that have received it
    /// may change it.
    ///
    /// # Errors
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the object exists: delete it
    ///   first.
    /// - [`NotFound`](crate::ErrorKind::NotFound) if the type is not versioned.
    /// - [`Corrupt`](crate::ErrorKind::Corrupt) if the history is damaged.
    /// - [`Busy`](crate::ErrorKind::Busy) if others make commits again and again: the object is
    ///   forgotten, but nodes with its key may be left until the next call.
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback;
    ///   otherwise the errors of a transaction.
    ///
    /// # Cost
    /// All steps, commits and changes of commits of other files are read in one transaction, which
    /// other writers wait for. For each commit whose trees are kept and that had the object, one
    /// node of each level is written. Afterwards garbage is collected, with all trees kept.
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
    /// let data = PostData {
    ///     title: "secret".to_owned(),
    ///     ..PostData::default()
    /// };
    /// workspace.perform_changes_blocking([Post::TABLE], |tx| {
    ///     tx.submit(PostChangeRequest::creation(data)).map(drop)
    /// })?;
    /// let history = workspace.history();
    /// let first = history.commit("first")?;
    /// workspace.perform_changes_blocking([Post::TABLE], |tx| {
    ///     let post = tx.get::<Post>("secret")?.expect("it exists");
    ///     let deletion = PostChangeRequest::deletion(tx, &post)?.expect("it exists");
    ///     tx.submit(deletion).map(drop)
    /// })?;
    /// let forgotten = history.forget_object::<Post>("secret")?;
    /// assert_eq!((forgotten.changes, forgotten.commits), (2, 1));
    /// workspace.purge()?;
    /// assert!(workspace.at(first)?.get::<Post>("secret")?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn forget_object<T: Object>(&self, key: T::Key<'_>) -> Result<ForgottenObject> {
        let tables = versioned(self.workspace)?;
        let key = T::key_values(key);
        forget_object(self.workspace.engine(), &tables, &T::TABLE, &key)
    }
}
