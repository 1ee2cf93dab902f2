//! The rows that differ from the present state.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dflat_engine::object::field_value;
use dflat_engine::storage::{ScanPlan, Snapshot, Source, StepId};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{RowId, Table, ValueRef, key};

use crate::steps::{Backwards, CommitId, State, States, StoredStep, go_back, rows_of};

/// The time to go back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// After a step.
    Step(StepId),
    /// After the last step of this time or before.
    Time(SystemTime),
    /// Of a commit.
    Commit(Place),
}

/// The place of a commit among the steps: after the latest step that is not later than `step`, or
/// that has set the objects to those of the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The last step that the commit closes, if it was made by this file.
    pub step: Option<StepId>,
    /// The commit.
    pub commit: Option<CommitId>,
}

impl Place {
    /// The place of the present state.
    pub const PRESENT: Self = Self {
        step: Some(StepId(i64::MAX)),
        commit: None,
    };

    /// Whether a step and those before it led to the commit.
    #[must_use]
    pub fn is_at(&self, step: &StoredStep) -> bool {
        let is_named = self.commit.is_some() && step.note.commit() == self.commit;
        is_named || self.step.is_some_and(|last| step.id <= last)
    }
}

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

    /// Whether the present row of this id is not that of the earlier state.
    pub(super) fn hides(&self, row_id: RowId) -> bool {
        self.rows.contains_key(&row_id)
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
    pub(crate) fn table(&self, table: &Table) -> Option<&PastTable> {
        self.tables.get(table.name.as_ref())
    }

    /// Goes back over all steps after a moment.
    ///
    /// # Errors
    /// See [`PastBackend::open`](super::PastBackend::open).
    pub(crate) fn build(
        snapshot: &mut dyn Snapshot,
        tables: &[Table],
        moment: Moment,
    ) -> Result<Self> {
        let mut overlay = Self::default();
        let mut steps = Backwards::below(None);
        let mut reached = None;
        while let Some(step) = steps.next(snapshot)? {
            if is_reached(&step, moment)? {
                reached = Some(step.id);
                break;
            }
            overlay.reverse(snapshot, tables, &step)?;
        }
        match moment {
            Moment::Step(id) if reached != Some(id) => return Err(missing(id)),
            Moment::Commit(place) if place.step.is_none() && reached.is_none() => {
                return Err(unplaced());
            }
            Moment::Step(_) | Moment::Time(_) | Moment::Commit(_) => {}
        }
        for (name, past) in &mut overlay.tables {
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
        Ok(overlay)
    }

    fn reverse(
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

/// Whether a step belongs to the state at a moment.
pub(crate) fn is_reached(step: &StoredStep, moment: Moment) -> Result<bool> {
    Ok(match moment {
        Moment::Step(id) => step.id <= id,
        Moment::Time(time) => {
            let of_step = Duration::from_millis(step.time()?);
            UNIX_EPOCH + of_step <= time
        }
        Moment::Commit(place) => place.is_at(step),
    })
}

pub(crate) fn unplaced() -> Error {
    let message = "cannot go back to a commit: the objects of this file never were those of it";
    Error::new(ErrorKind::NotFound, message)
}

pub(crate) fn missing(id: StepId) -> Error {
    let message = format!("there is no step {} in the history", id.0);
    Error::new(ErrorKind::NotFound, message)
}
