//! Fills indexes, and mends those of foreign rows.

use std::sync::Arc;

use dflat_engine::Result;
use dflat_engine::storage::{EntryValues, IndexEntry, IndexRepair};
use dflat_model::{RowId, Table};

use super::statement::{delete, put_entry};
use super::transaction::PostgresTransaction;
use crate::layout::{StoredIndex, StoredKey};

impl PostgresTransaction {
    /// Writes entries of rows that exist, and notes how far indexes are built.
    pub(super) fn repair(&mut self, table: &Table, repair: &IndexRepair<'_>) -> Result<()> {
        let stored = self.stored(table)?.clone();
        self.has_written = true;
        let indexes: Vec<&str> = stored.indexes.iter().map(|i| i.relation.as_str()).collect();
        for row in repair.rows.iter().filter(|row| row.is_foreign) {
            let statement = delete(None, &indexes);
            self.run(operation(table), |connection| {
                connection.query(&statement, &[&row.row_id.0])
            })?;
        }
        for row in repair.rows {
            for entry in &row.entries {
                let index = table.indexes.get(entry.index);
                if let Some(index) = index.and_then(|index| stored.index(index)) {
                    self.put(table, index, row.row_id, entry)?;
                }
            }
        }
        for (position, up_to) in repair.filled {
            let index = table.indexes.get(*position);
            if let Some(index) = index.and_then(|index| stored.index(index)) {
                self.note_filled(table, index, up_to.map(|row_id| row_id.0))?;
            }
        }
        Ok(())
    }

    /// Puts an entry into an index. If another row has an equal value, the index keeps both.
    fn put(
        &mut self,
        table: &Table,
        index: &StoredIndex,
        row_id: RowId,
        entry: &IndexEntry<'_>,
    ) -> Result<()> {
        let Some(values) = entry.values.get() else {
            let statement = delete(None, &[&index.relation]);
            self.run(operation(table), |connection| {
                connection.query(&statement, &[&row_id.0])
            })?;
            return Ok(());
        };
        let key = StoredKey::new(values);
        let statement = put_entry(&index.relation);
        let has_equal = self.run(operation(table), |connection| {
            let rows = connection.query(&statement, &[&row_id.0, &key.key(), &key.rest()])?;
            rows.first().map_or(Ok(false), |row| row.try_get(0))
        })?;
        if has_equal && index.is_unique && can_conflict(&entry.values) {
            self.admit(table, &index.name)?;
        }
        Ok(())
    }

    /// Notes that a unique index has equal values.
    fn admit(&mut self, table: &Table, name: &str) -> Result<()> {
        let mut indexes = self.stored(table)?.indexes.iter_mut();
        let Some(index) = indexes.find(|index| index.name == name && !index.admits_equal) else {
            return Ok(());
        };
        index.admits_equal = true;
        let database = Arc::clone(&self.database);
        self.run(operation(table), |connection| {
            connection.query(&database.control().admit, &[&name])
        })?;
        Ok(())
    }

    fn note_filled(&mut self, table: &Table, index: &StoredIndex, to: Option<i64>) -> Result<()> {
        let mut indexes = self.stored(table)?.indexes.iter_mut();
        if let Some(stored) = indexes.find(|stored| stored.name == index.name) {
            stored.built_to = to;
        }
        let database = Arc::clone(&self.database);
        self.run(operation(table), |connection| {
            connection.query(&database.control().built, &[&index.name, &to])
        })?;
        Ok(())
    }
}

fn can_conflict(values: &EntryValues<'_>) -> bool {
    values.can_conflict()
}

fn operation(table: &Table) -> String {
    format!("build the indexes of {}", table.type_name)
}
