//! What a committed transaction changed.

use dflat_model::{CommitSeq, RowId, Table};
use smallvec::SmallVec;

use crate::object::Object;

/// The changes of one commit. It exists only for a committed transaction, it is complete but for
/// what is [untold](TableChanges::is_untold), and a row appears once, with its state before and
/// after.
#[derive(Clone, Debug)]
pub struct ChangeSet {
    /// The commit.
    pub seq: CommitSeq,
    /// The tables changed, each once; most commits change one.
    pub tables: SmallVec<[TableChanges; 1]>,
}

impl ChangeSet {
    /// How many rows it changes.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.tables.iter().map(|table| table.rows.len()).sum()
    }
}

/// The changes to one table.
#[derive(Clone, Debug)]
pub struct TableChanges {
    /// The table.
    pub table: Table,
    /// The rows changed, each once, by ascending row id; many commits change one.
    pub rows: SmallVec<[(RowId, RowChange); 1]>,
    /// Whether a row was changed more than once, so that it may have the values it had before. One
    /// that was changed once has others.
    pub repeated: bool,
    /// Whether objects after the commit share memory, so that whoever keeps one keeps others.
    pub is_attached: bool,
    /// Whether no rows are told: there were many, and nobody observed the table when they were
    /// written.
    pub is_untold: bool,
}

impl TableChanges {
    /// The same with objects after the commit that each can be kept without others.
    #[must_use]
    pub fn detached(&self) -> Self {
        let mut changes = self.clone();
        for (_, change) in &mut changes.rows {
            let attached = change.after.as_mut().filter(|after| after.is_attached());
            if let Some(after) = attached {
                *after = after.detach();
            }
        }
        changes.is_attached = false;
        changes
    }
}

/// The change to one row; never absent both before and after.
#[derive(Clone, Debug)]
pub struct RowChange {
    /// The object before, or `None` if the row was inserted.
    pub before: Option<Object>,
    /// The object after, or `None` if the row was deleted.
    pub after: Option<Object>,
}
