//! Commits.

use std::fmt;

use dflat_history::commits::{self, Commit, CommitId, CommitLog, TreeBuild};

use super::History;
use super::strangers::{notice_to_read, versioned};
use crate::{Result, Workspace};

impl History<'_> {
    /// Commits the present state of all versioned types: gives it a name, which does not depend on
    /// the file. The commit closes the steps since the one before. If nothing has changed since, no
    /// commit is made, and the result is the one before.
    ///
    /// The commit has the root of a tree for each type. Equal objects have equal roots, whatever
    /// changes led to them. An object whose key lacks a part is in no tree.
    ///
    /// A type is versioned from its first write on, or from the opening of the file on if it has
    /// more than 2,048 objects.
    ///
    /// The first commit reads all objects of the versioned types, beside writers, apart from those
    /// whose tree [was built](Self::tree_builds) before. So does one after more than 50,000
    /// changes. After a further type was versioned, the objects of this type are read. Any other
    /// commit reads the objects that have changed, in a transaction over all versioned types.
    ///
    /// # Errors
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if no type is versioned, or if
    ///   the key of an object takes more than 16,384 bytes.
    /// - [`Corrupt`](crate::ErrorKind::Corrupt) if the steps do not fit the objects, or an object
    ///   is damaged.
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback;
    ///   otherwise the errors of a transaction.
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
    /// store("a")?;
    /// let first = workspace.history().commit("one post")?;
    /// store("b")?;
    /// let second = workspace.history().commit("two posts")?;
    /// assert_ne!(first, second);
    /// assert_eq!(workspace.at(first)?.fetch::<Post>().count()?, 1);
    /// let commits = workspace.history().commits().collect::<dflat::Result<Vec<_>>>()?;
    /// assert_eq!(commits[0].label.as_deref(), Some("two posts"));
    /// assert_eq!(commits[0].parents, [first]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn commit(&self, label: &str) -> Result<CommitId> {
        let engine = self.workspace.engine();
        let mut tables = versioned(self.workspace)?;
        if commits::begin_builds(engine, &tables)? {
            tables = versioned(self.workspace)?;
        }
        commits::commit(engine, &tables, Some(label))
    }

    /// The first trees that are built in the background, from the opening of the file on, and that
    /// no commit has yet. [`WorkspaceBuilder::versioned`](crate::WorkspaceBuilder::versioned)
    /// begins a build.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the history is damaged;
    /// [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown; otherwise the errors of reading.
    pub fn tree_builds(&self) -> Result<Vec<TreeBuild>> {
        commits::tree_builds(self.workspace.engine())
    }

    /// The last commit; `None` before the first.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the history is damaged;
    /// [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown; otherwise the errors of reading.
    pub fn head(&self) -> Result<Option<CommitId>> {
        let head = self.workspace.engine().read_history(commits::head)?;
        Ok(head.commit)
    }

    /// The commits from the last one back to the first, each before its parents.
    pub fn commits(&self) -> Commits {
        Commits {
            workspace: self.workspace.clone(),
            log: None,
            has_ended: false,
        }
    }

    /// The commit whose id begins with hexadecimal digits.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound) if there is none, and
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if there are several; otherwise as
    /// [`head`](Self::head).
    pub fn find_commit(&self, digits: &str) -> Result<CommitId> {
        commits::find(self.workspace.engine(), digits)
    }
}

/// The commits of a history, each before its parents. After an error it ends.
///
/// # Errors
/// As [`History::head`].
#[must_use = "the commits are read as the iterator is used"]
pub struct Commits {
    workspace: Workspace,
    log: Option<CommitLog>,
    has_ended: bool,
}

impl Commits {
    fn read(&mut self) -> Result<Option<Commit>> {
        let engine = self.workspace.engine();
        let log = match &mut self.log {
            Some(log) => log,
            None => {
                notice_to_read(&self.workspace)?;
                let head = engine.read_history(commits::head)?;
                self.log.insert(CommitLog::of(head.commit))
            }
        };
        log.next(engine)
    }
}

impl Iterator for Commits {
    type Item = Result<Commit>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let read = self.read();
        self.has_ended = !matches!(read, Ok(Some(_)));
        read.transpose()
    }
}

impl fmt::Debug for Commits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commits").finish_non_exhaustive()
    }
}
