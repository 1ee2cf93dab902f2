//! The history of versioned types: every change of their objects is kept in the file.
//!
//! [`WorkspaceBuilder::versioned`](crate::WorkspaceBuilder::versioned) makes a type versioned. From
//! the type's next change on, each transaction on it appends a [`Step`] to the file, in the same
//! commit: the keys of the changed objects, and their states before. [`Workspace::history`] reads
//! the steps. [`History::commit`] gives a state a name.
//!
//! A program without the feature `history`, and one that is older than this module, cannot write to
//! a versioned type: it fails with [`NewerSchema`](crate::ErrorKind::NewerSchema). It reads the
//! type as ever.

mod branches;
mod commits;
mod diff;
mod garbage;
mod log;
mod merge;
mod past;
mod strangers;
mod sync;
mod undo;

use std::fmt;

pub use dflat_history::branches::{Checkout, ConflictReason, ObjectConflict};
pub use dflat_history::chunk::Address;
pub use dflat_history::commits::{Branch, Commit, CommitId, CommitTable, TreeBuild};
pub use dflat_history::compare::Version;
pub use dflat_history::garbage::{Collected, ForgottenObject, KeepTrees};
use dflat_history::garbage::{collect_through, forget};
use dflat_history::steps::{Author, Scope, blame};
pub use dflat_history::steps::{
    Blame, BlameChange, Conflict, Note, Step, StepId, TableStep, Undone,
};
pub use dflat_history::sync::{Pulled, Pushed, Served, SyncLimits};
pub use dflat_history::tree::Root;

use crate::{Object, Result, Table, Workspace};
pub use commits::Commits;
pub use diff::{Change, Diff};
pub use log::Log;
pub use merge::{MergeConflict, Merged, PendingMerge, Side};
pub use sync::{Remote, Server};

impl Workspace {
    /// The history of the versioned types. Without any, it is empty.
    pub fn history(&self) -> History<'_> {
        History {
            workspace: self,
            author: None,
            table: None,
            label: None,
        }
    }
}

/// The history of the versioned types of a workspace.
///
/// Without [`of`](Self::of) and [`labelled`](Self::labelled), it has the steps of all types.
#[derive(Clone)]
#[must_use = "a history does nothing by itself"]
pub struct History<'w> {
    workspace: &'w Workspace,
    /// The programs whose steps are read; `None` for the choice of each call: `log` reads those of
    /// all programs, `undo` those of this workspace.
    author: Option<Author>,
    table: Option<Table>,
    label: Option<String>,
}

impl History<'_> {
    /// Only the steps that have changed objects of a type.
    pub fn of<T: Object>(mut self) -> Self {
        self.table = Some(T::TABLE);
        self
    }

    /// Only the steps of transactions with this
    /// [label](crate::TransactionContext::set_label).
    pub fn labelled(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// The steps of all programs, also in [`undo`](Self::undo) and [`redo`](Self::redo).
    pub const fn of_everyone(mut self) -> Self {
        self.author = Some(Author::Everyone);
        self
    }

    /// Only the steps of this workspace. If the program [named the
    /// workspace](crate::WorkspaceBuilder::workspace_id), they are those of all its runs; otherwise
    /// those since the file was opened.
    pub fn of_workspace(mut self) -> Self {
        self.author = Some(Author::of(self.workspace.engine()));
        self
    }

    /// The steps, from the latest one back to the first. They are read in batches. Without
    /// [`of_workspace`](Self::of_workspace), they are those of all programs.
    pub fn log(&self) -> Log {
        Log::new(self.workspace, self.scope(Author::Everyone))
    }

    /// The steps that have changed the object with a primary key, the latest one first: of the
    /// object that has the key now, also under its earlier keys, and of those that had the key
    /// before, up to the step that deleted them or gave them another key.
    ///
    /// # Errors
    /// As [`Log`].
    ///
    /// # Cost
    /// All steps are read.
    pub fn blame<T: Object>(&self, key: T::Key<'_>) -> Result<Vec<Blame>> {
        strangers::notice_to_read(self.workspace)?;
        let key = T::key_values(key);
        let object = self.workspace.source().get(&T::TABLE, &key)?;
        let row_id = object.map(|object| object.row_id());
        let mut blamed = blame(self.workspace.engine(), &T::TABLE, &key, row_id)?;
        let scope = self.scope(Author::Everyone);
        blamed.retain(|blamed| scope.takes(&blamed.step));
        Ok(blamed)
    }

    /// Ends the history of a type: no further change of its objects is kept, and its changes are
    /// deleted from all steps. Steps without other changes are deleted. The nodes of its trees,
    /// which have its keys, are deleted, and so are commits that no branch has. The objects stay.
    /// Other commits stay with their ids, and
    /// [`is_forgotten`](CommitTable::is_forgotten) says that their objects of the type are lost.
    /// From then on, programs without a history may write to the type.
    ///
    /// A program that opens the file with
    /// [`versioned`](crate::WorkspaceBuilder::versioned) begins a new history with its next change.
    /// The deleted bytes stay in unused pages of the file until
    /// [`purge`](crate::Workspace::purge).
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound) if the type is not versioned;
    /// [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback; otherwise
    /// the errors of a transaction.
    ///
    /// # Cost
    /// All steps are read.
    pub fn forget<T: Object>(&self) -> Result<()> {
        let tables = strangers::versioned(self.workspace)?;
        let engine = self.workspace.engine();
        // A build and the commits of another file have trees, too.
        let has_trees = !self.tree_builds()?.is_empty() || !self.remote_branches()?.is_empty();
        forget(engine, &tables, &T::TABLE)?;
        if self.head()?.is_none() && !has_trees {
            return Ok(());
        }
        // The nodes of its trees have its keys.
        let rest = tables
            .into_iter()
            .filter(|table| !table.is_stored_as(&T::TABLE));
        let rest: Vec<Table> = rest.collect();
        collect_through(engine, &T::TABLE, &rest, &KeepTrees::ALL).map(drop)
    }

    fn scope(&self, author: Author) -> Scope {
        Scope {
            author: self.author.unwrap_or(author),
            table: self.table.as_ref().map(|table| table.name.to_string()),
            label: self.label.clone(),
        }
    }
}

impl fmt::Debug for History<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History")
            .field("table", &self.table)
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}
