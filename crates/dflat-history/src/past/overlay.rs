//! The rows that differ from the present state.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::object::field_value;
use dflat_engine::storage::{ScanPlan, Snapshot, Source};
use dflat_model::{RowId, Table, ValueRef, key};

use crate::steps::{State, States, StoredStep, go_back, rows_of};

/// The rows of each table that differ from the present state.
#[derive(Default)]
pub(crate) struct Overlay {
    tables: BTreeMap<String, PastTable>,
}

/// The rows of a table that differ from the present state.
#[derive(Default)]
pub(crate) struct PastTable {
    /// The payload of each row; `None` if there was no such row.
    rows: BTreeMap<RowId, State>,
    /// The encoded keys of the rows, in their order.
    keys: BTreeSet<(Vec<u8>, RowId)>,
    /// Whether no present row is a row of the earlier state.
    is_whole: bool,
}

impl PastTable {
    pub(crate) fn row_ids(&self) -> impl Iterator<Item = RowId> {
        self.rows.keys().copied()
    }

    pub(crate) const fn rows(&self) -> &BTreeMap<RowId, State> {
        &self.rows
    }

    pub(super) const fn keys(&self) -> &BTreeSet<(Vec<u8>, RowId)> {
        &self.keys
    }

    /// Whether no present row is a row of the earlier state.
    pub(crate) const fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether the present row of this id is not that of the earlier state.
    pub(super) fn hides(&self, row_id: RowId) -> bool {
        self.is_whole || self.rows.contains_key(&row_id)
    }

    /// Sets the state of a row.
    pub(super) fn set(&mut self, table: &Table, row_id: RowId, state: State) {
        if let Some(Some(before)) = self.rows.get(&row_id) {
            self.keys.remove(&(key_of(table, before), row_id));
        }
        if let Some(payload) = &state {
            self.keys.insert((key_of(table, payload), row_id));
        }
        self.rows.insert(row_id, state);
    }

    /// The row of an encoded key, if the overlay has it.
    pub(super) fn row_with_key(&self, key: &[u8]) -> Option<RowId> {
        let mut rows = self.keys.range((key.to_vec(), RowId(i64::MIN))..);
        rows.next()
            .filter(|(found, _)| found == key)
            .map(|(_, row_id)| *row_id)
    }

    pub(super) fn payload(&self, row_id: RowId) -> Option<&[u8]> {
        self.rows.get(&row_id)?.as_deref()
    }
}

/// The encoded primary key of a payload. A part that cannot be read is NULL.
pub(super) fn key_of(table: &Table, payload: &[u8]) -> Vec<u8> {
    let parts = table.primary_key.iter();
    key::encode(parts.map(|field| field_value(payload, field).unwrap_or(ValueRef::Null)))
}

impl States for Overlay {
    fn of(&mut self, table: &str, row_id: RowId) -> Option<&mut State> {
        self.tables.get_mut(table)?.rows.get_mut(&row_id)
    }
}

impl Overlay {
    /// The table with a name, which the overlay has from now on.
    pub(super) fn table_mut(&mut self, name: &str) -> &mut PastTable {
        self.tables.entry(name.to_owned()).or_default()
    }

    pub(crate) fn table(&self, table: &Table) -> Option<&PastTable> {
        self.tables.get(table.name.as_ref())
    }

    /// Makes the earlier state one without objects.
    pub(super) fn empty(&mut self, tables: &[Table]) {
        self.tables.clear();
        for table in tables {
            let past = self.tables.entry(table.name.to_string()).or_default();
            past.is_whole = true;
        }
    }

    /// Finds the keys of the rows.
    pub(super) fn index(&mut self, tables: &[Table]) {
        for (name, past) in &mut self.tables {
            let Some(table) = tables.iter().find(|table| table.name == *name) else {
                continue;
            };
            let rows = past.rows.iter();
            let keys = rows.filter_map(|(row_id, state)| {
                let payload = state.as_deref()?;
                Some((key_of(table, payload), *row_id))
            });
            past.keys = keys.collect();
        }
    }

    /// Goes back over a step.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`](dflat_engine::ErrorKind::Corrupt) if the step cannot be read, or does
    /// not fit; otherwise the errors of reading.
    pub(super) fn reverse(
        &mut self,
        snapshot: &mut dyn Snapshot,
        tables: &[Table],
        step: &StoredStep,
    ) -> Result<()> {
        for (name, row_ids) in rows_of(step)? {
            // The history of a type that is versioned no more was deleted.
            if let Some(table) = tables.iter().find(|table| table.name == name) {
                self.read(snapshot, table, &row_ids)?;
            }
        }
        go_back(step, self)
    }

    /// Reads the present states of the rows that no later step has changed.
    fn read(
        &mut self,
        snapshot: &mut dyn Snapshot,
        table: &Table,
        row_ids: &[RowId],
    ) -> Result<()> {
        let past = self.tables.entry(table.name.to_string()).or_default();
        let unknown = row_ids
            .iter()
            .copied()
            .filter(|row_id| !past.hides(*row_id));
        let unknown: Vec<RowId> = unknown.collect();
        past.rows
            .extend(unknown.iter().map(|row_id| (*row_id, None)));
        let plan = ScanPlan {
            table,
            source: Source::RowIds(&unknown),
            payload: true,
        };
        snapshot.scan(&plan, &mut |row| {
            past.rows.insert(row.row_id, Some(row.payload.to_vec()));
            ControlFlow::Continue(())
        })
    }
}
