//! Row ids that no other object may get.

use dflat_model::{RowId, Table};

use super::super::write_set::WriteSet;

/// The largest row id, by table, of the objects that were inserted and never committed. A handler
/// may have handed out such an object, so no other object may get its row id.
#[derive(Default)]
pub(in super::super) struct UsedRowIds(Vec<(String, RowId)>);

impl UsedRowIds {
    /// Notes the row ids of the objects that these changes inserted.
    pub(super) fn note_used(&mut self, changes: &WriteSet) {
        for (table, row_id) in changes.largest_inserted() {
            match self.0.iter_mut().find(|(name, _)| *name == table.name) {
                Some((_, largest)) => *largest = row_id.max(*largest),
                None => self.0.push((table.name.to_string(), row_id)),
            }
        }
    }

    /// Whether objects of a table were inserted and never committed.
    pub(in super::super) fn has(&self, table: &Table) -> bool {
        self.0.iter().any(|(name, _)| *name == table.name)
    }

    /// The row id to use instead of `row_id`; `None` if no object that was never committed can have
    /// had `row_id`.
    pub(in super::super) fn instead_of(&self, table: &Table, row_id: RowId) -> Option<RowId> {
        let (_, largest) = self.0.iter().find(|(name, _)| *name == table.name)?;
        (*largest >= row_id).then_some(RowId(largest.0 + 1))
    }
}
