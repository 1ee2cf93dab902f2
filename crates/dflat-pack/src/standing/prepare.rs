//! The tables of the file, made ready for the first write of a transaction.

use std::ops::ControlFlow;

use dflat_engine::storage::{
    EntryValues, IndexEntry, IndexRepair, IndexState, RowRepair, RowWrite, ScanPlan, Source,
    WriteError, WriteTransaction,
};
use dflat_engine::transaction::{Derived, derive};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{IndexDescriptor, RowId, Table, Value, ValueRef};

use super::union::Union;
use crate::backend::{index_in, row_id};

/// Bit 0 of a type: its row ids in the file begin behind those of the pack.
pub(super) const PREPARED: RowId = RowId(0);

/// Makes a table ready. Returns whether [`PREPARED`] is to be hidden: the row ids of the table now
/// begin behind those of the pack, because the last of the pack's rows was written and deleted and
/// so counts as used.
pub(super) fn prepare(
    union: &mut Union<'_>,
    file: &mut dyn WriteTransaction,
    table: &Table,
) -> Result<bool> {
    let stored = union.stored.table();
    let lacks = |index: &&IndexDescriptor| index_in(stored, index).is_none();
    if let Some(index) = table.indexes.iter().find(lacks) {
        let fields: Vec<&str> = index.fields.iter().map(|field| &*field.name).collect();
        let message = format!(
            "cannot write {}: the pack that the file stands on lacks its index on {}; build the \
             pack again with this schema",
            table.type_name,
            fields.join(", ")
        );
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    fill(file, table)?;
    if union.hidden.is_some_and(|rows| rows.contains(PREPARED)) {
        return Ok(false);
    }
    if let Some(last) = union.stored.len().checked_sub(1) {
        let payload = union.payload(last)?.to_vec();
        use_up(file, table, row_id(last), &payload)?;
    }
    Ok(true)
}

/// Writes a row and deletes it, so that its row id counts as used.
fn use_up(
    file: &mut dyn WriteTransaction,
    table: &Table,
    row_id: RowId,
    payload: &[u8],
) -> Result<()> {
    let derived = derive(table, payload)?;
    let key: Vec<ValueRef<'_>> = derived.key.iter().map(Value::as_ref).collect();
    let row = RowWrite {
        key: Some(&key),
        payload,
        entries: &entries_of(&derived, &[]),
    };
    match file.restore(table, row_id, &row) {
        Ok(()) => file.delete(table, row_id).map(drop),
        Err(WriteError::Failed(error)) => Err(error),
        Err(WriteError::Conflict(_)) => {
            let why = "its table in the file has a row that was written without the pack";
            let message = format!("cannot write {}: {why}", table.type_name);
            Err(Error::new(ErrorKind::Corrupt, message))
        }
    }
}

/// The rows, and the bytes of payloads, that are read at once to fill an index.
const FILL_ROWS: usize = 1000;
const FILL_BYTES: usize = 4 << 20;

/// Fills the indexes of a table of the file that are not ready, such as dropped ones. The engine
/// cannot fill them, because it reads the rows of the pack as well.
fn fill(file: &mut dyn WriteTransaction, table: &Table) -> Result<()> {
    let states = file.indexes(table)?.states;
    let missing = states.iter().enumerate();
    let missing: Vec<usize> = missing
        .filter(|(_, state)| **state != IndexState::Ready)
        .map(|(number, _)| number)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let has_note = |index: &&usize| {
        let index = table.indexes.get(**index);
        index.is_some_and(|index| index.condition.is_some())
    };
    let noted = || missing.iter().filter(has_note);
    let mut last = None;
    loop {
        let rows = rows_behind(file, table, last)?;
        let next = rows.last().map(|(row_id, _)| *row_id);
        let repairs = rows.iter().filter_map(|(row_id, derived)| {
            Some(RowRepair {
                row_id: *row_id,
                is_foreign: false,
                entries: entries_of(derived.as_ref()?, &[])
                    .into_iter()
                    .filter(|entry| missing.contains(&entry.index))
                    .collect(),
            })
        });
        let repairs: Vec<RowRepair<'_>> = repairs.collect();
        let filled: Vec<_> = noted().map(|index| (*index, next)).collect();
        let repair = IndexRepair {
            rows: &repairs,
            filled: &filled,
        };
        file.repair_indexes(table, &repair)?;
        if next.is_none() {
            return Ok(());
        }
        last = next;
    }
}

/// Some of the rows behind a row id, with their values; `None` for a row that cannot be read, which
/// has no entries: reads report it.
fn rows_behind(
    file: &mut dyn WriteTransaction,
    table: &Table,
    last: Option<RowId>,
) -> Result<Vec<(RowId, Option<Derived>)>> {
    let mut rows = Vec::new();
    let mut bytes = 0;
    let plan = ScanPlan {
        table,
        source: last.map_or(Source::Rows, Source::RowsAfter),
        payload: true,
    };
    file.scan(&plan, &mut |row| {
        rows.push((row.row_id, derive(table, row.payload).ok()));
        bytes += row.payload.len();
        match rows.len() < FILL_ROWS && bytes < FILL_BYTES {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    })?;
    Ok(rows)
}

/// All index entries of a row: those given, and otherwise those of the object before.
pub(super) fn entries_of<'e>(
    derived: &'e Derived,
    given: &[IndexEntry<'e>],
) -> Vec<IndexEntry<'e>> {
    let entries = derived.entries.iter().enumerate();
    let entry = entries.map(|(index, values)| {
        let given = given.iter().find(|entry| entry.index == index);
        let before = || match values {
            Some(values) => EntryValues::from(values.as_slice()),
            None => EntryValues::Absent,
        };
        IndexEntry {
            index,
            values: given.map_or_else(before, |entry| entry.values.clone()),
        }
    });
    entry.collect()
}
