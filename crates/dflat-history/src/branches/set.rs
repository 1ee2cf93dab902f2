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
}

/// The objects of a table to set.
pub(super) type TableToSet<'t> = (&'t Table, Vec<ObjectToSet>);

/// The row ids that new objects would get back, and that other objects have.
///
/// # Errors
/// The errors of reading.
pub(super) fn taken(
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

/// Sets objects of all tables, each with the row ids that are [taken](taken()). An object with a
/// key that exists stays in its row, one whose row id is free gets it back, and any other gets a
/// new row id. Returns how many rows were changed.
///
/// # Errors
/// [`ErrorKind::AlreadyExists`] if an object that is in no commit has a unique value; otherwise the
/// errors of writing.
pub(super) fn set(
    transaction: &Transaction,
    tables: &[(TableToSet<'_>, BTreeSet<RowId>)],
) -> Result<u64> {
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
    if let Some((table, row_id)) = refused.first() {
        let message = format!(
            "cannot set row {row_id} of {}: an object that is in no commit has its key or a unique \
             value",
            table.type_name
        );
        return Err(Error::new(ErrorKind::AlreadyExists, message));
    }
    for (table, payload) in new {
        transaction.submit(table, Change::Create { payload })?;
        changed += 1;
    }
    Ok(changed)
}
