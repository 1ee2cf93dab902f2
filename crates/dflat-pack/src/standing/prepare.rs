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
    let mut rows = Vec::new();
    let plan = ScanPlan {
        table,
        source: Source::Rows,
        payload: true,
    };
    file.scan(&plan, &mut |row| {
        // A row that cannot be read has no entries; reads report it.
        if let Ok(derived) = derive(table, row.payload) {
            rows.push((row.row_id, derived));
        }
        ControlFlow::Continue(())
    })?;
    let repairs: Vec<RowRepair<'_>> = rows
        .iter()
        .map(|(row_id, derived)| RowRepair {
            row_id: *row_id,
            is_foreign: false,
            entries: entries_of(derived, &[])
                .into_iter()
                .filter(|entry| missing.contains(&entry.index))
                .collect(),
        })
        .collect();
    let filled: Vec<(usize, Option<RowId>)> = missing.iter().map(|index| (*index, None)).collect();
    let repair = IndexRepair {
        rows: &repairs,
        filled: &filled,
    };
    file.repair_indexes(table, &repair)
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
