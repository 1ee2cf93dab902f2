//! The history of versioned types: every change of their objects is kept in the file.
//!
//! [`WorkspaceBuilder::versioned`](crate::WorkspaceBuilder::versioned) makes a type versioned. From
//! the type's next change on, each transaction on it appends a [`Step`] to the file, in the same
//! commit: the keys of the changed objects, and their states before. [`Workspace::history`] reads
//! the steps.
//!
//! A program without the feature `history`, and one that is older than this module, cannot write to
//! a versioned type: it fails with [`NewerSchema`](crate::ErrorKind::NewerSchema). It reads the
//! type as ever.

mod log;

use std::fmt;

pub use dflat_history::steps::{Note, Step, StepId, TableStep};

use crate::{Object, Table, Workspace};
pub use log::Log;

impl Workspace {
    /// The history of the versioned types. Without any, it is empty.
    pub fn history(&self) -> History<'_> {
        History {
            workspace: self,
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

    /// The steps, from the latest one back to the first. They are read in batches.
    pub fn log(&self) -> Log {
        Log::new(self.workspace, self.filter())
    }

    fn filter(&self) -> log::Filter {
        log::Filter {
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
