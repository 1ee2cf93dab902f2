//! Writes a finished transaction's changes again, from its write set.

use dflat_model::{RowId, Table};

use super::row::{KeyParts, index_entries, prepare};
use super::write_set::WriteSet;
use crate::change_set::RowChange;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch;
use crate::object::Origin;
use crate::storage::{RowWrite, WriteError, WriteTransaction};

/// Writes the changes again, with the same row ids.
///
/// # Errors
/// [`ErrorKind::Busy`] if another process has changed the same objects meanwhile; else as writing
/// can fail.
pub(super) fn replay(
    writer: &mut dyn WriteTransaction,
    prepared: &mut Vec<Table>,
    changes: &WriteSet,
) -> Result<()> {
    for (table, rows) in changes.rows() {
        prepare(writer, prepared, table)?;
        // Order: all deletions first, so that keys that moved between objects are free.
        for (row_id, change) in rows {
            delete(writer, table, *row_id, change)?;
        }
        for (row_id, change) in rows {
            insert(writer, table, *row_id, change)?;
        }
    }
    Ok(())
}

fn delete(
    writer: &mut dyn WriteTransaction,
    table: &Table,
    row_id: RowId,
    change: &RowChange,
) -> Result<()> {
    let Some(before) = &change.before else {
        return Ok(());
    };
    let found = fetch::find(writer, table, row_id, Origin::default())?;
    if found.is_none_or(|found| found.payload() != before.payload()) {
        return Err(interfered(table));
    }
    writer.delete(table, row_id).map(|_| ())
}

fn insert(
    writer: &mut dyn WriteTransaction,
    table: &Table,
    row_id: RowId,
    change: &RowChange,
) -> Result<()> {
    let Some(after) = &change.after else {
        return Ok(());
    };
    let key = KeyParts::read(table, after.payload())?;
    let entries = index_entries(table, after.payload())?;
    let key = Some(key.as_slice());
    let row = RowWrite {
        key,
        payload: after.payload(),
        entries: &entries,
    };
    writer
        .restore(table, row_id, &row)
        .map_err(|error| match error {
            WriteError::Failed(error) => error,
            WriteError::Conflict(_) => interfered(table),
        })
}

fn interfered(table: &Table) -> Error {
    let message = format!(
        "cannot commit changes to {}: another process has changed the same objects",
        table.type_name
    );
    Error::new(ErrorKind::Busy, message)
}
