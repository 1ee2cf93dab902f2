//! Goes forward over the changes of received commits.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use dflat_engine::storage::{ScanPlan, Snapshot, Source};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{RowId, Table, Value, ValueRef, key};

use super::overlay::{PastTable, key_of};
use crate::received::each_change;
use crate::steps::CommitId;

/// New objects get row ids from here on, unless the tables have an object with their key.
const ROW_ID_MIN: i64 = 1 << 62;

/// The objects of a table after changes, by their keys.
type Changes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// The changes of received commits, by table, of which the last commit comes first.
///
/// # Errors
/// As [`each_change`].
pub(super) fn changes_of(
    snapshot: &mut dyn Snapshot,
    commits: &[CommitId],
) -> Result<BTreeMap<String, Changes>> {
    let mut tables: BTreeMap<String, Changes> = BTreeMap::new();
    for commit in commits.iter().rev() {
        each_change(snapshot, *commit, &mut |(table, key, payload)| {
            let payload = payload.map(<[u8]>::to_vec);
            match tables.get_mut(table) {
                Some(changes) => drop(changes.insert(key.to_vec(), payload)),
                None => {
                    let changes = Changes::from([(key.to_vec(), payload)]);
                    tables.insert(table.to_owned(), changes);
                }
            }
            Ok(())
        })?;
    }
    Ok(tables)
}

/// Sets the objects of a state after which the changes come.
///
/// An object with a key that the state has stays in its row. Any other gets the row that the tables
/// have for its key, if that is free in the state, and otherwise a new row id.
///
/// # Errors
/// The errors of reading.
pub(super) fn forward(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    past: &mut PastTable,
    changes: Changes,
) -> Result<()> {
    let present = rows_with_keys(snapshot, table, changes.keys())?;
    let present = present.into_iter();
    let present: BTreeMap<Vec<u8>, RowId> = present
        .map(|(row_id, payload)| (key_of(table, &payload), row_id))
        .collect();
    let mut new = Vec::new();
    for (key, state) in changes {
        past.forget_lost(&key);
        let of_past = past.row_with_key(&key);
        let of_present = present.get(&key).copied();
        let unchanged = of_present.filter(|row_id| !past.hides(*row_id));
        match (of_past.or(unchanged), state) {
            (Some(row_id), state) => past.set(table, row_id, state),
            (None, Some(payload)) => new.push((of_present, payload)),
            (None, None) => {}
        }
    }
    // Order: all objects that stay in their rows first, so that it is known which rows are free.
    let mut without_row = Vec::new();
    for (row_id, payload) in new {
        match row_id.filter(|row_id| past.payload(*row_id).is_none()) {
            Some(row_id) => past.set(table, row_id, Some(payload)),
            None => without_row.push(payload),
        }
    }
    let row_ids = free(snapshot, table, past, without_row.len())?;
    for (row_id, payload) in row_ids.into_iter().zip(without_row) {
        past.set(table, row_id, Some(payload));
    }
    Ok(())
}

/// Row ids that neither the tables nor the state have.
fn free(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    past: &PastTable,
    count: usize,
) -> Result<Vec<RowId>> {
    let mut free = Vec::new();
    let mut next = ROW_ID_MIN;
    while free.len() < count {
        let candidates: Vec<RowId> = (next..).take(count - free.len()).map(RowId).collect();
        let Some(last) = candidates.last() else {
            break;
        };
        next = last.0.saturating_add(1);
        let mut taken = BTreeSet::new();
        let plan = ScanPlan {
            table,
            source: Source::RowIds(&candidates),
            payload: false,
        };
        snapshot.scan(&plan, &mut |row| {
            taken.insert(row.row_id);
            ControlFlow::Continue(())
        })?;
        let is_free = |row_id: &RowId| !taken.contains(row_id) && past.payload(*row_id).is_none();
        free.extend(candidates.iter().copied().filter(is_free));
    }
    Ok(free)
}

/// The present rows that have these keys.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if a key is malformed; otherwise the errors of reading.
pub(crate) fn rows_with_keys<'k>(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    keys: impl IntoIterator<Item = &'k Vec<u8>>,
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
