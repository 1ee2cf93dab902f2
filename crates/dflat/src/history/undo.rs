//! Undo and redo.

use dflat_history::steps::{Author, Mode, StepId, Target, Undo, Undone, notice};

use super::History;
use super::strangers::versioned;
use crate::Result;

impl History<'_> {
    /// Undoes the latest change that is not undone: a transaction of this workspace, unless
    /// [`of_everyone`](Self::of_everyone) is set, that [`of`](Self::of) and
    /// [`labelled`](Self::labelled) choose. `None` if there is none.
    ///
    /// The undo is a transaction: its objects get the states from before the change, byte for byte,
    /// and subscribers get the difference. A deleted object returns under its row id, but
    /// subscriptions to it have ended. Transactions with the same [undo
    /// group](crate::TransactionContext::set_undo_group), one after the other, are undone together.
    ///
    /// Changes of types that are not versioned, such as values of the dictionary, remain;
    /// [`Undone::remaining`] names their tables.
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
    /// for priority in [1, 2] {
    ///     workspace.perform_changes_blocking([Post::TABLE], |tx| {
    ///         let data = PostData { title: "a".into(), priority, ..PostData::default() };
    ///         tx.submit(PostChangeRequest::upsert(data)).map(drop)
    ///     })?;
    /// }
    /// let priority = || workspace.get::<Post>("a").map(|post| post.map(|post| post.priority()));
    /// workspace.history().undo()?.expect("the update");
    /// assert_eq!(priority()?, Some(1));
    /// workspace.history().undo()?.expect("the creation");
    /// assert_eq!(priority()?, None);
    /// workspace.history().redo()?.expect("the creation");
    /// workspace.history().redo()?.expect("the update");
    /// assert_eq!(priority()?, Some(2));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Concurrency
    /// The transaction takes its turn on all versioned types, on this thread, and takes write
    /// access first.
    ///
    /// # Errors
    /// - [`OutOfDate`](crate::ErrorKind::OutOfDate) if later steps have changed the same objects,
    ///   or another object has their key or a unique value. The message names them. Nothing is
    ///   changed.
    /// - [`Corrupt`](crate::ErrorKind::Corrupt) if the steps do not fit the objects.
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback;
    ///   otherwise the errors of a transaction.
    ///
    /// # Cost
    /// The steps back to the undone one are read.
    pub fn undo(&self) -> Result<Option<Undone>> {
        let target = Target::Latest(self.scope(self.this_workspace()));
        self.perform(target, Mode::Whole)
    }

    /// As [`undo`](Self::undo), but leaves the objects that later steps have changed as they are,
    /// and undoes the rest. [`Undone::conflicts`] has these objects.
    ///
    /// # Errors
    /// As [`undo`](Self::undo); [`OutOfDate`](crate::ErrorKind::OutOfDate) only if there is no
    /// rest.
    pub fn undo_rest(&self) -> Result<Option<Undone>> {
        let target = Target::Latest(self.scope(self.this_workspace()));
        self.perform(target, Mode::Rest)
    }

    /// Undoes one step of any author. `None` if its objects have the states from before
    /// already.
    ///
    /// # Errors
    /// As [`undo`](Self::undo); and [`NotFound`](crate::ErrorKind::NotFound) if there is no such
    /// step, or the state of an object before the step is lost,
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if it is an undo or a redo, or is
    /// undone already.
    pub fn undo_step(&self, step: StepId) -> Result<Option<Undone>> {
        self.perform(Target::Step(step), Mode::Whole)
    }

    /// Redoes the latest undo that is not redone. A change after the undo ends the redo: `None`.
    ///
    /// # Errors
    /// As [`undo`](Self::undo).
    ///
    /// # Cost
    /// The steps back to the undo are read.
    pub fn redo(&self) -> Result<Option<Undone>> {
        let target = Target::Undone(self.scope(self.this_workspace()));
        self.perform(target, Mode::Whole)
    }

    /// As [`redo`](Self::redo), but leaves the objects that later steps have changed as they are.
    ///
    /// # Errors
    /// As [`undo_rest`](Self::undo_rest).
    pub fn redo_rest(&self) -> Result<Option<Undone>> {
        let target = Target::Undone(self.scope(self.this_workspace()));
        self.perform(target, Mode::Rest)
    }

    fn this_workspace(&self) -> Author {
        Author::of(self.workspace.engine())
    }

    fn perform(&self, target: Target, mode: Mode) -> Result<Option<Undone>> {
        let engine = self.workspace.engine();
        let undo = Undo { target, mode };
        let tables = versioned(self.workspace)?;
        // Order: in a transaction of its own, whose steps stay if the undo is refused.
        notice(engine, &tables)?;
        undo.perform(engine, &tables)
    }
}
