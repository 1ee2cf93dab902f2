//! The rows that differ from the present state.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::object::field_value;
use dflat_engine::storage::{ScanPlan, Snapshot, Source, StepId};
use dflat_model::{RowId, Table, ValueRef, key};

use crate::steps::{Lost, State, States, StoredStep, go_back, rows_of, unnoted_tables};

/// The rows of each table that differ from the present state.
#[derive(Default)]
pub(crate) struct Overlay {
    tables: BTreeMap<String, PastTable>,
}

/// The rows of a table that differ from the present state.
#[derive(Default)]
pub(crate) struct PastTable {
    /// The state of each row.
    rows: BTreeMap<RowId, State>,
    /// The encoded keys of the rows, in their order.
    keys: BTreeSet<(Vec<u8>, RowId)>,
    /// Whether no present row is a row of the earlier state.
    is_whole: bool,
    /// The rows whose states are lost, by encoded key.
    lost: BTreeMap<Vec<u8>, BTreeSet<RowId>>,
    /// The latest step before which the states of all other rows are lost: those that are not in
    /// `rows`, or are lost there without their keys.
    unnoted: Option<StepId>,
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
        self.unnoted.is_some() || self.has(row_id)
    }

    /// Whether the state of a row does not depend on the present one.
    fn has(&self, row_id: RowId) -> bool {
        self.is_whole || self.rows.contains_key(&row_id)
    }

    /// The rows whose states are lost, by encoded key.
    pub(super) const fn lost(&self) -> &BTreeMap<Vec<u8>, BTreeSet<RowId>> {
        &self.lost
    }

    /// The step before which the states of all rows are lost that the overlay does not have.
    pub(crate) const fn unnoted(&self) -> Option<StepId> {
        self.unnoted
    }

    /// Sets the object of a row.
    pub(super) fn set(&mut self, table: &Table, row_id: RowId, payload: Option<Vec<u8>>) {
        if let Some(before) = self.payload(row_id) {
            let key = (key_of(table, before), row_id);
            self.keys.remove(&key);
        }
        if let Some(payload) = &payload {
            self.keys.insert((key_of(table, payload), row_id));
        }
        self.rows.insert(row_id, State::Known(payload));
    }

    /// Takes the lost objects with an encoded key for deleted.
    pub(super) fn forget_lost(&mut self, key: &[u8]) {
        for row_id in self.lost.remove(key).into_iter().flatten() {
            self.rows.insert(row_id, State::Known(None));
        }
    }

    /// The row of an encoded key, if the overlay has it.
    pub(super) fn row_with_key(&self, key: &[u8]) -> Option<RowId> {
        let mut rows = self.keys.range((key.to_vec(), RowId(i64::MIN))..);
        rows.next()
            .filter(|(found, _)| found == key)
            .map(|(_, row_id)| *row_id)
    }

    pub(super) fn payload(&self, row_id: RowId) -> Option<&[u8]> {
        self.rows.get(&row_id)?.payload()
    }
}

/// The encoded primary key of a payload. A part that cannot be read is NULL.
pub(super) fn key_of(table: &Table, payload: &[u8]) -> Vec<u8> {
    let parts = table.primary_key.iter();
    key::encode(parts.map(|field| field_value(payload, field).unwrap_or(ValueRef::Null)))
}

impl PastTable {
    /// Loses the states of all rows but the listed ones before a step, whose states before are in
    /// the step.
    fn lose(&mut self, listed: &[RowId], step: StepId) {
        for (row_id, state) in &mut self.rows {
            if listed.binary_search(row_id).is_err() {
                *state = std::mem::take(state).before_unnoted(step);
            }
        }
        self.unnoted = Some(step);
    }
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

    /// Makes the earlier state one without objects of these tables.
    pub(super) fn empty(&mut self, tables: &[Table]) {
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
                let payload = state.payload()?;
                Some((key_of(table, payload), *row_id))
            });
            past.keys = keys.collect();
            past.lost.clear();
            for (row_id, state) in &past.rows {
                if let Some(key) = state.lost().and_then(Lost::encoded_key) {
                    past.lost.entry(key).or_default().insert(*row_id);
                }
            }
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
        let listed = rows_of(step)?;
        for name in unnoted_tables(step)? {
            if let Some(past) = self.tables.get_mut(&name) {
                past.lose(listed.get(&name).map_or(&[], Vec::as_slice), step.id);
            } else if tables.iter().any(|table| table.name == name) {
                self.table_mut(&name).unnoted = Some(step.id);
            }
        }
        for (name, row_ids) in listed {
            // The history of a type that is versioned no more was deleted.
            if let Some(table) = tables.iter().find(|table| table.name == name) {
                self.read(snapshot, table, &row_ids)?;
            }
        }
        go_back(step, self)
    }

    /// Reads the present states of the rows that no later step has changed. If the states of all
    /// rows were lost since, theirs are lost, too.
    fn read(
        &mut self,
        snapshot: &mut dyn Snapshot,
        table: &Table,
        row_ids: &[RowId],
    ) -> Result<()> {
        let past = self.tables.entry(table.name.to_string()).or_default();
        let unknown = row_ids.iter().copied().filter(|row_id| !past.has(*row_id));
        let unknown: Vec<RowId> = unknown.collect();
        let state = |payload| match past.unnoted {
            Some(step) => State::Known(payload).before_unnoted(step),
            None => State::Known(payload),
        };
        let rows = &mut past.rows;
        rows.extend(unknown.iter().map(|row_id| (*row_id, state(None))));
        let plan = ScanPlan {
            table,
            source: Source::RowIds(&unknown),
            payload: true,
        };
        snapshot.scan(&plan, &mut |row| {
            rows.insert(row.row_id, state(Some(row.payload.to_vec())));
            ControlFlow::Continue(())
        })
    }
}
