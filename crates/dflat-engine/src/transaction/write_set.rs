//! What a transaction has changed so far.

use std::collections::BTreeMap;

use dflat_model::{CommitSeq, RowId, Table};

use crate::change_set::{ChangeSet, RowChange, TableChanges};
use crate::object::Object;

/// The changes of a transaction, a row once, in the order tables were first changed.
#[derive(Default)]
pub(super) struct WriteSet {
    tables: Vec<(Table, BTreeMap<RowId, RowChange>)>,
}

impl WriteSet {
    /// What the transaction made of a row: `None` if it did not touch it, `Some(None)` if it
    /// deleted it.
    pub(super) fn latest(&self, table: &Table, row_id: RowId) -> Option<Option<&Object>> {
        let (_, rows) = self
            .tables
            .iter()
            .find(|(changed, _)| changed.name == table.name)?;
        rows.get(&row_id).map(|change| change.after.as_ref())
    }

    /// Notes a change. The state before is that of the first change of the row.
    pub(super) fn note(
        &mut self,
        table: &Table,
        row_id: RowId,
        before: Option<Object>,
        after: Option<Object>,
    ) {
        let position = self
            .tables
            .iter()
            .position(|(changed, _)| changed.name == table.name);
        let position = position.unwrap_or_else(|| {
            self.tables.push((table.clone(), BTreeMap::new()));
            self.tables.len() - 1
        });
        let Some((_, rows)) = self.tables.get_mut(position) else {
            return;
        };
        let change = rows.entry(row_id).or_insert(RowChange {
            row_id,
            before,
            after: None,
        });
        change.after = after;
        if change.before.is_none() && change.after.is_none() {
            // Inserted and deleted: nobody will ever have seen it.
            rows.remove(&row_id);
        }
    }

    /// The tables changed.
    pub(super) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().map(|(table, _)| table)
    }

    /// The rows changed, by table.
    pub(super) fn rows(
        &self,
    ) -> impl Iterator<Item = (&Table, impl Iterator<Item = &RowChange> + Clone)> {
        self.tables
            .iter()
            .map(|(table, rows)| (table, rows.values()))
    }

    /// Whether nothing changed in the end.
    pub(super) fn is_empty(&self) -> bool {
        self.tables.iter().all(|(_, rows)| rows.is_empty())
    }

    /// The change set of the commit.
    pub(super) fn into_change_set(self, seq: CommitSeq) -> ChangeSet {
        let changed = self.tables.into_iter().filter(|(_, rows)| !rows.is_empty());
        let tables = changed
            .map(|(table, rows)| TableChanges {
                table,
                rows: rows.into_values().collect(),
            })
            .collect();
        ChangeSet { seq, tables }
    }
}
