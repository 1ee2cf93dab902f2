//! What a transaction has changed so far.

use std::collections::BTreeMap;

use dflat_model::{CommitSeq, RowId, Table};

use crate::change_set::{ChangeSet, RowChange, TableChanges};
use crate::object::Object;

/// The changes of a transaction, a row once, in the order tables were first changed.
#[derive(Default)]
pub(super) struct WriteSet {
    tables: Vec<ChangedTable>,
}

struct ChangedTable {
    table: Table,
    rows: BTreeMap<RowId, RowChange>,
    /// The largest row id in `rows` so far: most transactions change rows in ascending order, and
    /// need not search for what they have not changed.
    largest: RowId,
}

impl WriteSet {
    /// What the transaction made of a row: `None` if it did not touch it, `Some(None)` if it
    /// deleted it.
    pub(super) fn latest(&self, table: &Table, row_id: RowId) -> Option<Option<&Object>> {
        let changed = self.tables.iter().find(|changed| changed.is_of(table))?;
        if row_id > changed.largest {
            return None;
        }
        changed
            .rows
            .get(&row_id)
            .map(|change| change.after.as_ref())
    }

    /// Notes a change. The state before is that of the first change of the row.
    pub(super) fn note(
        &mut self,
        table: &Table,
        row_id: RowId,
        before: Option<Object>,
        after: Option<Object>,
    ) {
        let position = self.tables.iter().position(|changed| changed.is_of(table));
        let position = position.unwrap_or_else(|| {
            let (table, rows, largest) = (table.clone(), BTreeMap::new(), row_id);
            self.tables.push(ChangedTable {
                table,
                rows,
                largest,
            });
            self.tables.len() - 1
        });
        let Some(changed) = self.tables.get_mut(position) else {
            return;
        };
        changed.largest = changed.largest.max(row_id);
        let new = RowChange {
            before,
            after: None,
        };
        let change = changed.rows.entry(row_id).or_insert(new);
        change.after = after;
        if change.before.is_none() && change.after.is_none() {
            // Inserted and deleted: nobody will ever have seen it.
            changed.rows.remove(&row_id);
        }
    }

    /// The tables changed.
    pub(super) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().map(|changed| &changed.table)
    }

    /// The rows changed, by table.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&Table, &BTreeMap<RowId, RowChange>)> {
        self.tables
            .iter()
            .map(|changed| (&changed.table, &changed.rows))
    }

    /// Whether nothing changed in the end.
    pub(super) fn is_empty(&self) -> bool {
        self.tables.iter().all(|changed| changed.rows.is_empty())
    }

    /// The change set of the commit.
    pub(super) fn into_change_set(self, seq: CommitSeq) -> ChangeSet {
        let changed = self
            .tables
            .into_iter()
            .filter(|changed| !changed.rows.is_empty());
        let tables = changed
            .map(|ChangedTable { table, rows, .. }| TableChanges { table, rows })
            .collect();
        ChangeSet { seq, tables }
    }
}

impl ChangedTable {
    fn is_of(&self, table: &Table) -> bool {
        self.table.is_same(table) || self.table.name == table.name
    }
}
