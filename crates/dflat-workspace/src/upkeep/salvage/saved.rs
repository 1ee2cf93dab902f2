//! Writing saved rows: one of several rows with the same key is chosen, and the others are
//! moved to `dflat__unreadable`.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use dflat_engine::storage::{
    Backend, EntryValues, IndexEntry, IndexRepair, RowRepair, RowWrite, ScanPlan, Source,
    WriteError, WriteTransaction,
};
use dflat_engine::transaction::Derived;
use dflat_model::{RowId, Table, Value, ValueRef};
use dflat_sqlite::{SqliteBackend, UnreadableRow};

use super::SalvageReport;
use crate::Result;

/// The number of rows that one transaction saves.
const ROWS_MAX: usize = 1000;

/// A row that was read and is to be written.
pub(super) struct SavedRow {
    /// The row id with which the row was read.
    pub found: RowId,
    /// The row id in the new file. It is a new one if damage has given the row the row id of
    /// another row.
    pub row_id: RowId,
    /// The row's bytes.
    pub payload: Vec<u8>,
    /// The row's key and index entries.
    pub derived: Derived,
}

/// Writes the readable rows of a table in one table, and the other rows in `dflat__unreadable`.
pub(super) struct Saved<'s> {
    source: &'s SqliteBackend,
    target: &'s Arc<SqliteBackend>,
    table: &'s Table,
    rows: Vec<SavedRow>,
    unreadable: Vec<UnreadableRow>,
    saved: u64,
    unreadable_count: u64,
}

impl<'s> Saved<'s> {
    pub(super) fn new(
        source: &'s SqliteBackend,
        target: &'s Arc<SqliteBackend>,
        table: &'s Table,
    ) -> Self {
        Self {
            source,
            target,
            table,
            rows: Vec::new(),
            unreadable: Vec::new(),
            saved: 0,
            unreadable_count: 0,
        }
    }

    pub(super) fn table(&self) -> &'s Table {
        self.table
    }

    /// Adds a row to be written.
    pub(super) fn put(&mut self, row: SavedRow) {
        self.rows.push(row);
    }

    /// Adds bytes to be written to `dflat__unreadable`, with the reason.
    pub(super) fn put_unreadable(&mut self, row_id: RowId, reason: String, payload: &[u8]) {
        self.unreadable.push(UnreadableRow {
            row_id,
            reason,
            payload: payload.to_vec(),
        });
        self.unreadable_count += 1;
    }

    /// Writes the added rows if there are at least [`ROWS_MAX`].
    pub(super) fn write_if_many(&mut self) -> Result<()> {
        if self.rows.len() + self.unreadable.len() < ROWS_MAX {
            return Ok(());
        }
        self.write()
    }

    /// Writes the remaining rows, and adds the counts to the report.
    pub(super) fn finish(mut self, report: &mut SalvageReport) -> Result<()> {
        self.write()?;
        report.saved += self.saved;
        report.unreadable += self.unreadable_count;
        Ok(())
    }

    fn write(&mut self) -> Result<()> {
        if self.rows.is_empty() && self.unreadable.is_empty() {
            return Ok(());
        }
        let mut writer = Arc::clone(self.target).begin(self.target.durability())?;
        writer.create(self.table)?;
        let mut rivals = Vec::new();
        for row in std::mem::take(&mut self.rows) {
            if !self.restore(&mut *writer, &row)? {
                rivals.push(row);
            }
        }
        if !rivals.is_empty() {
            self.settle(&mut *writer, rivals)?;
        }
        writer.commit()?;
        let unreadable = std::mem::take(&mut self.unreadable);
        if unreadable.is_empty() {
            return Ok(());
        }
        self.target.insert_unreadable(self.table, &unreadable)
    }

    /// Writes a row, unless another row has its key. Returns whether the row was written.
    fn restore(&mut self, writer: &mut dyn WriteTransaction, row: &SavedRow) -> Result<bool> {
        let key: Vec<ValueRef<'_>> = row.derived.key.iter().map(Value::as_ref).collect();
        let write = RowWrite {
            key: Some(&key),
            payload: &row.payload,
            entries: &[],
        };
        match writer.restore(self.table, row.row_id, &write) {
            Ok(()) => {}
            Err(WriteError::Conflict(_)) => return Ok(false),
            Err(WriteError::Failed(error)) => return Err(error),
        }
        let entries = row.derived.entries.iter().enumerate();
        let entries = entries.filter_map(|(index, values)| {
            let values = EntryValues::from(values.as_deref()?);
            Some(IndexEntry { index, values })
        });
        // The index entries are written separately, as an index repair. It keeps equal values of a
        // unique index, so that no object is lost, as when an index is built over existing rows.
        let rows = [RowRepair {
            row_id: row.row_id,
            is_foreign: false,
            entries: entries.collect(),
        }];
        let repair = IndexRepair {
            rows: &rows,
            filled: &[],
        };
        writer.repair_indexes(self.table, &repair)?;
        self.saved += 1;
        Ok(true)
    }

    /// Decides between rows that have the same key, by their bytes in the damaged file: the key
    /// belongs to the row that is found by its row id with the key stored beside it, otherwise to
    /// the first row.
    fn settle(&mut self, writer: &mut dyn WriteTransaction, rivals: Vec<SavedRow>) -> Result<()> {
        let mut holders = Vec::with_capacity(rivals.len());
        for rival in &rivals {
            holders.push(self.holder(writer, &rival.derived.key)?);
        }
        let mut asked: Vec<(RowId, &[Value], &[u8])> = Vec::with_capacity(2 * rivals.len());
        for (rival, holder) in rivals.iter().zip(&holders) {
            let key = &rival.derived.key;
            asked.push((rival.found, key, &rival.payload));
            let holder = holder.as_ref();
            let (row_id, payload) = holder.map_or((RowId(0), &[][..]), |(id, p)| (*id, p));
            asked.push((row_id, key, payload));
        }
        let stored = self.source.are_stored(self.table, &asked)?;
        let mut gone = HashSet::new();
        for ((mut rival, holder), stored) in rivals.into_iter().zip(holders).zip(stored.chunks(2)) {
            let key = &rival.derived.key;
            let reason = format!("another object has its primary key, {key:?}");
            match holder {
                // A row id is given up only once, because the row that took the place was not
                // compared.
                Some((row_id, payload)) if stored == [true, false] && gone.insert(row_id) => {
                    writer.delete(self.table, row_id)?;
                    self.saved -= 1;
                    self.put_unreadable(row_id, reason.clone(), &payload);
                    if row_id == rival.found {
                        rival.row_id = row_id;
                    }
                    if !self.restore(writer, &rival)? {
                        self.put_unreadable(rival.found, reason, &rival.payload);
                    }
                }
                _ => self.put_unreadable(rival.found, reason, &rival.payload),
            }
        }
        Ok(())
    }

    /// The row that has a key.
    fn holder(
        &self,
        writer: &mut dyn WriteTransaction,
        key: &[Value],
    ) -> Result<Option<(RowId, Vec<u8>)>> {
        let key: Vec<ValueRef<'_>> = key.iter().map(Value::as_ref).collect();
        let plan = ScanPlan {
            table: self.table,
            source: Source::PrimaryKey(&key),
            payload: true,
        };
        let mut holder = None;
        writer.scan(&plan, &mut |row| {
            holder = Some((row.row_id, row.payload.to_vec()));
            ControlFlow::Break(())
        })?;
        Ok(holder)
    }
}
