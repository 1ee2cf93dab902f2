//! Writes the row of one object, with its key and index entries.

use dflat_model::{Field, RowId, Table};

use super::group::WriteAccess;
use super::row::{Prepared, changed_entries, changed_key, prepare, shown};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Key, RowWrite, WriteError};

/// Prepares a table for writing with the schema of the newest code that has written to it. Returns
/// that schema if it is not `table`.
pub(super) fn prepare_newest(table: &Table, access: &mut WriteAccess<'_>) -> Result<Option<Table>> {
    // A failure may leave storage that is half created.
    let had_created = std::mem::replace(access.has_created, true);
    let learned = access.schemas.learn(access.writer, table)?;
    let newest = learned.newest;
    let stored_as = newest.as_ref().unwrap_or(table);
    access.coverage = prepare(access.writer, access.prepared, stored_as)?;
    // A stored schema that stays is that of a transaction that was committed, or is about to be,
    // and that has created the storage.
    *access.has_created = had_created || learned.has_written;
    if newest.is_none() {
        Prepared::note_newest(access.prepared, table);
    }
    Ok(newest)
}

/// Inserts a row with a row id that no object ever had, committed or not.
#[inline]
pub(super) fn insert_with_unused_id(
    access: &mut WriteAccess<'_>,
    table: &Table,
    row: &RowWrite<'_>,
) -> Result<RowId, WriteError> {
    let row_id = access.writer.insert(table, row)?;
    let Some(fresh) = access.used_row_ids.instead_of(table, row_id) else {
        return Ok(row_id);
    };
    access.writer.delete(table, row_id)?;
    access.writer.restore(table, fresh, row)?;
    Ok(fresh)
}

/// As [`insert_with_unused_id`], of a row whose key was looked up and not found.
pub(super) fn insert_absent(
    access: &mut WriteAccess<'_>,
    table: &Table,
    row: &RowWrite<'_>,
) -> Result<RowId, WriteError> {
    match access.used_row_ids.has(table) {
        true => insert_with_unused_id(access, table, row),
        false => access.writer.insert_absent(table, row),
    }
}

/// Replaces the stored payload of an object, and its key and index entries if they differ.
#[inline]
pub(super) fn write_over(
    table: &Table,
    row_id: RowId,
    (before, payload): (&[u8], &[u8]),
    access: &mut WriteAccess<'_>,
) -> Result<()> {
    let key = changed_key(table, before, payload)?;
    let mut entries = changed_entries(table, before, payload)?;
    access.coverage.leave(&mut entries, Some(row_id));
    let key = key.as_deref();
    let row = RowWrite {
        key,
        payload,
        entries: &entries,
    };
    let written = access.writer.update(table, row_id, &row);
    written.map_err(|error| refused("update", table, payload, error))
}

/// The error with the operation and the type.
pub(super) fn named(operation: &str, table: &Table, error: Error) -> Error {
    error.context(format_args!("cannot {operation} {}", table.type_name))
}

/// The error of a write, with the operation, the type and the value that conflicts.
pub(super) fn refused(operation: &str, table: &Table, payload: &[u8], error: WriteError) -> Error {
    let conflict = match error {
        WriteError::Failed(error) => return named(operation, table, error),
        WriteError::Conflict(conflict) => conflict,
    };
    let fields: &[Field] = match conflict.key {
        Key::Primary => &table.primary_key,
        Key::Index(position) => {
            let index = table.indexes.get(position);
            index.map_or(&[], |index| &index.fields)
        }
    };
    let what = match conflict.key {
        Key::Primary => "primary key",
        Key::Index(_) if fields.len() > 1 => "unique values",
        Key::Index(_) => "unique value",
    };
    let message = format!(
        "cannot {operation} {}: another object has the {what} {}",
        table.type_name,
        shown(fields, payload)
    );
    Error::new(ErrorKind::AlreadyExists, message)
}
