//! Finds the states to which an undo sets rows.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use dflat_engine::storage::{ScanPlan, Snapshot, Source, StepId};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::record::RowRecord;
use dflat_model::{RowId, Table, Value};

use super::backwards::unreadable;
use super::find::load;
use super::state::{State, check_notes, state_before, unnoted_tables};
use super::{Backwards, StoredStep};

/// A row that the reversed steps have changed.
#[derive(Debug, Default)]
pub(super) struct ReversedRow {
    pub(super) key: Vec<Value>,
    /// The payload before the undo; `None` if there is no such row.
    pub(super) current: Option<Vec<u8>>,
    /// The state before all reversed steps.
    pub(super) target: State,
    /// The state after the latest reversed step.
    pub(super) reached: State,
    /// Later steps of others that have changed the row, if their changes would be lost.
    pub(super) later: Vec<StepId>,
    /// The state back to the step that was read last.
    state: State,
    /// How many reversed steps that have changed the row are not read yet.
    remaining: usize,
    /// The steps that came after the latest reversed step.
    after: Vec<StepId>,
    is_reached: bool,
}

/// The rows that the reversed steps have changed, by table.
pub(super) type ReversedRows = BTreeMap<String, BTreeMap<RowId, ReversedRow>>;

/// Reads the rows that steps have changed, and finds their states before.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if a step cannot be read, or does not fit the states after it; otherwise
/// those of [`check_notes`].
pub(super) fn reverse(
    snapshot: &mut dyn Snapshot,
    tables: &[Table],
    reversed: &[StepId],
) -> Result<ReversedRows> {
    check_notes(snapshot, tables)?;
    let mut rows = ReversedRows::new();
    let mut remaining: BTreeSet<StepId> = BTreeSet::new();
    for id in reversed {
        let Some(step) = load(snapshot, *id)? else {
            let message = format!("there is no step {} in the history", id.0);
            return Err(Error::new(ErrorKind::NotFound, message));
        };
        remaining.insert(*id);
        each_row(&step, &mut |table, row| {
            let of_table = rows.entry(table.to_owned()).or_default();
            let of_row = of_table.entry(row.row_id).or_default();
            if of_row.remaining == 0 {
                of_row.key = row.key.iter().map(|part| part.to_value()).collect();
            }
            of_row.remaining += 1;
            Ok(())
        })?;
    }
    read_current(snapshot, tables, &mut rows)?;
    let mut steps = Backwards::below(None);
    while !remaining.is_empty()
        && let Some(step) = steps.next(snapshot)?
    {
        let is_reversed = remaining.remove(&step.id);
        lose_unnoted(&step, &mut rows)?;
        each_row(&step, &mut |table, row| {
            let found = rows
                .get_mut(table)
                .and_then(|rows| rows.get_mut(&row.row_id));
            match found {
                Some(found) if found.remaining > 0 => found.go_back(&step, row, is_reversed),
                _ => Ok(()),
            }
        })?;
    }
    Ok(rows)
}

/// Loses the states of the rows that a step does not list, if any row may have been changed.
fn lose_unnoted(step: &StoredStep, rows: &mut ReversedRows) -> Result<()> {
    let unnoted = unnoted_tables(step)?;
    if unnoted.is_empty() {
        return Ok(());
    }
    let listed = rows_of(step)?;
    for name in unnoted {
        let listed = listed.get(&name).map(Vec::as_slice).unwrap_or_default();
        for (row_id, row) in rows.get_mut(&name).into_iter().flatten() {
            if row.remaining > 0 && listed.binary_search(row_id).is_err() {
                row.note_other(step.id);
                row.state = std::mem::take(&mut row.state).before_unnoted(step.id);
            }
        }
    }
    Ok(())
}

impl ReversedRow {
    /// Notes that a step that is not reversed has changed the row.
    fn note_other(&mut self, step: StepId) {
        let noted = match self.is_reached {
            true => &mut self.later,
            false => &mut self.after,
        };
        // A step may have changed a row in several of its parts.
        if noted.last() != Some(&step) {
            noted.push(step);
        }
    }

    fn go_back(&mut self, step: &StoredStep, row: &RowRecord<'_>, is_reversed: bool) -> Result<()> {
        if is_reversed && !self.is_reached {
            self.is_reached = true;
            self.reached.clone_from(&self.state);
            // Changes that cancel one another out are no conflict.
            if self.state.lost().is_some() || self.state.payload() != self.current.as_deref() {
                self.later.append(&mut self.after);
            }
        }
        if !is_reversed {
            self.note_other(step.id);
        }
        let state = std::mem::take(&mut self.state);
        self.state = state_before(step, row, state)?;
        if is_reversed {
            self.remaining -= 1;
            self.target.clone_from(&self.state);
        }
        Ok(())
    }
}

/// The rows that a step has changed, by table and by ascending row id.
///
/// # Errors
/// [`ErrorKind::Corrupt`] for a step that cannot be read.
pub(crate) fn rows_of(step: &StoredStep) -> Result<BTreeMap<String, Vec<RowId>>> {
    let mut rows: BTreeMap<String, Vec<RowId>> = BTreeMap::new();
    each_row(step, &mut |table, row| {
        rows.entry(table.to_owned()).or_default().push(row.row_id);
        Ok(())
    })?;
    for rows in rows.values_mut() {
        rows.sort_unstable();
        rows.dedup();
    }
    Ok(rows)
}

/// Replaces the states after a step by those before it. `states` has the rows of a table; a row
/// that it lacks does not matter.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if the step cannot be read, or does not fit a state.
pub(crate) fn go_back(step: &StoredStep, states: &mut dyn States) -> Result<()> {
    each_row(step, &mut |table, row| {
        if let Some(state) = states.of(table, row.row_id) {
            let after = std::mem::take(state);
            *state = state_before(step, row, after)?;
        }
        Ok(())
    })
}

/// The states of rows.
pub(crate) trait States {
    /// The state of a row.
    fn of(&mut self, table: &str, row_id: RowId) -> Option<&mut State>;
}

/// Visits the rows of a step, of its last part first.
///
/// # Errors
/// [`ErrorKind::Corrupt`] for a step that cannot be read; otherwise those of `visit`.
pub(crate) fn each_row(
    step: &StoredStep,
    visit: &mut dyn FnMut(&str, &RowRecord<'_>) -> Result<()>,
) -> Result<()> {
    for record in step.records() {
        for table in record?.tables {
            for row in table.rows() {
                let row = row.map_err(|error| unreadable(step.id, &error))?;
                visit(table.table.name, &row)?;
            }
        }
    }
    Ok(())
}

/// Reads the current states of the rows.
fn read_current(
    snapshot: &mut dyn Snapshot,
    tables: &[Table],
    rows: &mut ReversedRows,
) -> Result<()> {
    for (name, rows) in rows {
        let Some(table) = tables.iter().find(|table| table.name == *name) else {
            let message = format!("cannot undo changes of {name}: the type is not versioned");
            return Err(Error::new(ErrorKind::NotFound, message));
        };
        let row_ids: Vec<RowId> = rows.keys().copied().collect();
        let plan = ScanPlan {
            table,
            source: Source::RowIds(&row_ids),
            payload: true,
        };
        snapshot.scan(&plan, &mut |row| {
            if let Some(found) = rows.get_mut(&row.row_id) {
                found.current = Some(row.payload.to_vec());
                found.state = State::Known(found.current.clone());
            }
            ControlFlow::Continue(())
        })?;
    }
    Ok(())
}
