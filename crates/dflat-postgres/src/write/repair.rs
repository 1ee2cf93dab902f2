//! Fills indexes, and mends those of foreign rows.

use std::sync::Arc;

use dflat_engine::Result;
use dflat_engine::storage::IndexRepair;
use dflat_model::Table;

use super::statement::{delete_entries, has_equal_entries, put_entries};
use super::transaction::PostgresTransaction;
use crate::layout::{StoredIndex, StoredKey};

/// Entries of one index to write, in columns.
#[derive(Default)]
struct Entries {
    row_ids: Vec<i64>,
    keys: Vec<Vec<u8>>,
    rests: Vec<Option<Vec<u8>>>,
    /// Of these rows, a unique index should have no equal values.
    checked: Vec<i64>,
    /// Rows that have no entry.
    absent: Vec<i64>,
}

impl Entries {
    /// The entries of the index at a position.
    fn of(repair: &IndexRepair<'_>, position: usize) -> Self {
        let mut entries = Self::default();
        for row in repair.rows {
            for entry in row.entries.iter().filter(|entry| entry.index == position) {
                let Some(values) = entry.values.get() else {
                    entries.absent.push(row.row_id.0);
                    continue;
                };
                let key = StoredKey::new(values);
                entries.row_ids.push(row.row_id.0);
                entries.keys.push(key.key().to_vec());
                entries.rests.push(key.rest().map(<[u8]>::to_vec));
                if entry.values.can_conflict() {
                    entries.checked.push(row.row_id.0);
                }
            }
        }
        entries
    }
}

impl PostgresTransaction {
    /// Writes entries of rows that exist, and notes how far indexes are built. Each index takes a
    /// few round trips, whatever the number of rows.
    pub(super) fn repair(&mut self, table: &Table, repair: &IndexRepair<'_>) -> Result<()> {
        let stored = self.stored(table)?.clone();
        self.has_written = true;
        let foreign = repair.rows.iter().filter(|row| row.is_foreign);
        let foreign: Vec<i64> = foreign.map(|row| row.row_id.0).collect();
        for index in &stored.indexes {
            self.delete_entries(table, index, &foreign)?;
        }
        for (position, index) in table.indexes.iter().enumerate() {
            if let Some(index) = stored.index(index) {
                self.put(table, index, &Entries::of(repair, position))?;
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

    /// Puts entries into an index. If rows have equal values, the index keeps them all.
    fn put(&mut self, table: &Table, index: &StoredIndex, entries: &Entries) -> Result<()> {
        self.delete_entries(table, index, &entries.absent)?;
        if entries.row_ids.is_empty() {
            return Ok(());
        }
        let put = put_entries(&index.relation);
        self.run(operation(table), |connection| {
            connection.query(&put, &[&entries.row_ids, &entries.keys, &entries.rests])
        })?;
        if !index.is_unique || index.admits_equal || entries.checked.is_empty() {
            return Ok(());
        }
        let has_equal = has_equal_entries(&index.relation);
        let has_equal = self.run(operation(table), |connection| {
            let rows = connection.query(&has_equal, &[&entries.checked])?;
            rows.first().map_or(Ok(false), |row| row.try_get(0))
        })?;
        if has_equal {
            self.admit(table, &index.name)?;
        }
        Ok(())
    }

    fn delete_entries(&mut self, table: &Table, index: &StoredIndex, rows: &[i64]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let delete = delete_entries(&index.relation);
        self.run(operation(table), |connection| {
            connection.query(&delete, &[&rows])
        })?;
        Ok(())
    }

    /// Notes that a unique index has equal values.
    fn admit(&mut self, table: &Table, name: &str) -> Result<()> {
        let mut indexes = self.stored(table)?.indexes.iter_mut();
        if let Some(index) = indexes.find(|index| index.name == name) {
            index.admits_equal = true;
        }
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

fn operation(table: &Table) -> String {
    format!("build the indexes of {}", table.type_name)
}
