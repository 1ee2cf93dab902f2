//! Sets objects to those of a commit.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use dflat_engine::storage::{ScanPlan, Snapshot, Source};
use dflat_engine::transaction::{Change, Transaction};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{RowId, Table};

use crate::steps::{RowToSet, apply};

/// An object to set.
#[derive(Debug)]
pub(super) struct ObjectToSet {
    /// The object with the key as it is; `None` if there is none.
    pub(super) current: Option<(RowId, Vec<u8>)>,
    /// The object as it is to be, and the row id that it had, if it had one; `None` to delete it.
    pub(super) target: Option<(Option<RowId>, Vec<u8>)>,
    /// The other states of an object that both sides of a merge have changed, or that the caller
    /// has decided about.
    pub(super) merged: Option<Box<MergedFrom>>,
}

/// The states from which an object was merged, beside ours.
#[derive(Debug)]
pub(super) struct MergedFrom {
    pub(super) base: Option<Vec<u8>>,
    pub(super) theirs: Option<Vec<u8>>,
}

/// The row of an object of the present state, in which all objects have rows.
pub(super) fn row_of(state: Option<(Option<RowId>, Vec<u8>)>) -> Option<(RowId, Vec<u8>)> {
    let (row_id, payload) = state?;
    Some((row_id?, payload))
}

/// The objects of a table to set.
pub(super) type TableToSet<'t> = (&'t Table, Vec<ObjectToSet>);

/// The row ids that new objects would get back, and that other objects have.
///
/// # Errors
/// The errors of reading.
fn taken(
    snapshot: &mut dyn Snapshot,
    (table, objects): &TableToSet<'_>,
) -> Result<BTreeSet<RowId>> {
    let new = objects.iter().filter(|object| object.current.is_none());
    let row_ids = new.filter_map(|object| object.target.as_ref()?.0);
    let row_ids: BTreeSet<RowId> = row_ids.collect();
    let row_ids: Vec<RowId> = row_ids.into_iter().collect();
    let mut taken = BTreeSet::new();
    let plan = ScanPlan {
        table,
        source: Source::RowIds(&row_ids),
        payload: false,
    };
    snapshot.scan(&plan, &mut |row| {
        taken.insert(row.row_id);
        ControlFlow::Continue(())
    })?;
    let deleted = objects.iter().filter(|object| object.target.is_none());
    for (row_id, _) in deleted.filter_map(|object| object.current.as_ref()) {
        taken.remove(row_id);
    }
    Ok(taken)
}

/// Objects to set, and the row ids that are taken.
pub(super) type ToSet<'t> = Vec<(TableToSet<'t>, BTreeSet<RowId>)>;

/// Finds the row ids that are taken.
///
/// # Errors
/// The errors of reading.
pub(super) fn with_taken<'t>(
    snapshot: &mut dyn Snapshot,
    to_set: Vec<TableToSet<'t>>,
) -> Result<ToSet<'t>> {
    let found = to_set.into_iter().map(|table| {
        let taken = taken(snapshot, &table)?;
        Ok((table, taken))
    });
    found.collect()
}

/// An object that was not set: its table and its payload.
pub(super) type Refused<'t> = (&'t Table, &'t [u8]);

/// Sets objects of all tables. An object with a key that exists stays in its row, one whose row id
/// is free gets it back, and any other gets a new row id. Returns how many rows were changed, and
/// the objects that were left as they are because another object has a unique value of them.
///
/// # Errors
/// The errors of writing.
pub(super) fn set<'t>(
    transaction: &Transaction,
    tables: &'t ToSet<'_>,
) -> Result<(u64, Vec<Refused<'t>>)> {
    let (mut rows, mut new) = (Vec::new(), Vec::new());
    for ((table, objects), taken) in tables {
        for object in objects {
            let target = object
                .target
                .as_ref()
                .map(|(_, payload)| payload.as_slice());
            let current = object
                .current
                .as_ref()
                .map(|(_, payload)| payload.as_slice());
            let of_current = object.current.as_ref().map(|(row_id, _)| *row_id);
            let of_target = object.target.as_ref().and_then(|(row_id, _)| *row_id);
            let free = of_target.filter(|row_id| !taken.contains(row_id));
            match of_current.or(free) {
                Some(row_id) => rows.push(RowToSet {
                    table,
                    row_id,
                    current,
                    target,
                }),
                None => new.extend(target.map(|payload| (*table, payload))),
            }
        }
    }
    let (mut changed, refused) = apply(transaction, &rows)?;
    let is_refused = |row: &&RowToSet<'_>| {
        let mut refused = refused.iter();
        refused.any(|(table, row_id)| *row_id == row.row_id && table.is_stored_as(row.table))
    };
    let refused = rows.iter().filter(is_refused);
    let mut refused: Vec<(&Table, &[u8])> = refused
        .filter_map(|row| Some((row.table, row.target?)))
        .collect();
    for (table, payload) in new {
        match transaction.submit(table, Change::Create { payload }) {
            Ok(_) => changed += 1,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                refused.push((table, payload));
            }
            Err(error) => return Err(error),
        }
    }
    Ok((changed, refused))
}

/// As [`set`], and fails if an object was left as it is.
///
/// # Errors
/// [`ErrorKind::AlreadyExists`] if an object that is in no commit has a unique value; otherwise the
/// errors of writing.
pub(super) fn set_all(transaction: &Transaction, tables: &ToSet<'_>) -> Result<u64> {
    let (changed, refused) = set(transaction, tables)?;
    let Some((table, _)) = refused.first() else {
        return Ok(changed);
    };
    let message = format!(
        "cannot set objects of {}: an object that is in no commit has the key or a unique value of \
         one of them",
        table.type_name
    );
    Err(Error::new(ErrorKind::AlreadyExists, message))
}
