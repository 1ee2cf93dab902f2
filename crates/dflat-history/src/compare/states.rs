//! The states of some objects at earlier moments, by their keys.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use dflat_engine::storage::{ScanPlan, Snapshot, Source};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::record::{Before, Change, RowRecord};
use dflat_model::{RowId, Table, Value, ValueRef, key};

use crate::commits::Content;
use crate::past::{Moment, is_reached, missing, unplaced};
use crate::steps::{Backwards, StoredStep, each_row, misfit, state_before};

/// Rows by their keys: the row id and the payload of each.
pub type KeyedStates = BTreeMap<Vec<u8>, (RowId, Vec<u8>)>;

/// The rows that have some keys, at a moment between the present and the earliest step.
struct Walk<'w> {
    table: &'w Table,
    content: Content<'w>,
    keys: &'w BTreeSet<Vec<u8>>,
    rows: BTreeMap<RowId, Vec<u8>>,
}

/// The objects with some keys, as they were at each of these moments. The memory is in proportion
/// to the keys, and all steps back to the earliest moment are read.
///
/// # Errors
/// [`ErrorKind::NotFound`] if the history has no such step; [`ErrorKind::Corrupt`] if a step does
/// not fit the objects; otherwise the errors of reading.
pub fn states_at(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    keys: &BTreeSet<Vec<u8>>,
    moments: &[Moment],
) -> Result<Vec<KeyedStates>> {
    let mut walk = Walk {
        table,
        content: Content::of(table),
        keys,
        rows: present(snapshot, table, keys)?,
    };
    let mut found: Vec<Option<KeyedStates>> = vec![None; moments.len()];
    let mut steps = Backwards::below(None);
    loop {
        let step = steps.next(snapshot)?;
        for (moment, found) in moments.iter().zip(&mut found) {
            let is_here = match &step {
                Some(step) => is_reached(step, *moment)?,
                None => is_before_all(*moment)?,
            };
            if is_here && found.is_none() {
                *found = Some(walk.by_key());
            }
        }
        match step {
            Some(step) if found.iter().any(Option::is_none) => walk.go_back(&step)?,
            _ => return Ok(found.into_iter().flatten().collect()),
        }
    }
}

/// Whether the state before the first step is that of a moment.
fn is_before_all(moment: Moment) -> Result<bool> {
    match moment {
        Moment::Step(id) => Err(missing(id)),
        Moment::Commit(place) if place.step.is_none() => Err(unplaced()),
        Moment::Commit(_) | Moment::Time(_) => Ok(true),
    }
}

/// The present rows that have these keys.
fn present(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    keys: &BTreeSet<Vec<u8>>,
) -> Result<BTreeMap<RowId, Vec<u8>>> {
    let columns: Vec<_> = table
        .primary_key
        .iter()
        .map(|field| field.column_type())
        .collect();
    let mut rows = BTreeMap::new();
    for bytes in keys {
        let values = key::decode(bytes, &columns).map_err(|_| {
            let message = format!("a key of {} in the history is malformed", table.type_name);
            Error::new(ErrorKind::Corrupt, message)
        })?;
        let parts: Vec<ValueRef<'_>> = values.iter().map(Value::as_ref).collect();
        let plan = ScanPlan {
            table,
            source: Source::PrimaryKey(&parts),
            payload: true,
        };
        snapshot.scan(&plan, &mut |row| {
            rows.insert(row.row_id, row.payload.to_vec());
            ControlFlow::Continue(())
        })?;
    }
    Ok(rows)
}

impl Walk<'_> {
    fn by_key(&self) -> KeyedStates {
        let rows = self.rows.iter();
        let keyed = rows.filter_map(|(row_id, payload)| {
            Some((self.content.key(payload)?, (*row_id, payload.clone())))
        });
        keyed.collect()
    }

    /// Goes back over a step. The difference of an update never hides another key before it, so a
    /// row whose state is not known has none of the keys until a step has its whole state.
    fn go_back(&mut self, step: &StoredStep) -> Result<()> {
        let name = self.table.name.clone();
        each_row(step, &mut |table, row| {
            if *table != *name {
                return Ok(());
            }
            let before = match self.rows.remove(&row.row_id) {
                Some(after) => state_before(row, Some(after))
                    .map_err(|why| misfit(step.id, row.row_id, why))?,
                None => whole_before(row),
            };
            if let Some(before) = before
                && self
                    .content
                    .key(&before)
                    .is_some_and(|key| self.keys.contains(&key))
            {
                self.rows.insert(row.row_id, before);
            }
            Ok(())
        })
    }
}

/// The state before a change, if the step has it whole.
fn whole_before(row: &RowRecord<'_>) -> Option<Vec<u8>> {
    match row.change {
        Change::Deleted(before) => before.map(<[u8]>::to_vec),
        Change::Updated(Before::Object(before)) => Some(before.to_vec()),
        _ => None,
    }
}
