//! Writes a finished transaction's changes again, from its write set.

use std::fmt;

use dflat_model::{RowId, Table};

use super::newest::NewestSchemas;
use super::row::{IndexCoverage, Prepared, key_parts, prepare, present_entries};
use super::write_set::WriteSet;
use crate::change_set::RowChange;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch;
use crate::object::Origin;
use crate::storage::{Aborted, RowWrite, WriteError, WriteTransaction};

/// Writes the changes again, with the same row ids, and stores the schemas that are not stored.
///
/// # Errors
/// [`ErrorKind::Busy`] if another process has changed the same objects meanwhile; otherwise the
/// errors of writing.
pub(super) fn replay(
    writer: &mut dyn WriteTransaction,
    (prepared, schemas): (&mut Vec<Prepared>, &mut NewestSchemas),
    changes: &WriteSet,
) -> Result<()> {
    if changes.has_ranges() {
        let message = "cannot write a transaction again: the rows it inserted are not in memory";
        return Err(Error::new(ErrorKind::Backend, message));
    }
    for (table, rows) in changes.rows() {
        // The transaction that stored the schema before may have been undone.
        schemas.learn(writer, table)?;
        let coverage = prepare(writer, prepared, table)?;
        // Order: all deletions first, so that keys that moved between objects are free.
        for (row_id, change) in rows {
            delete(writer, table, *row_id, change)?;
        }
        for (row_id, change) in rows {
            insert(writer, (table, &coverage), *row_id, change)?;
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
    (table, coverage): (&Table, &IndexCoverage),
    row_id: RowId,
    change: &RowChange,
) -> Result<()> {
    let Some(after) = &change.after else {
        return Ok(());
    };
    let key = key_parts(table, after.payload())?;
    let mut entries = present_entries(table, after.payload())?;
    coverage.leave(&mut entries, Some(row_id));
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
    overtaken(std::slice::from_ref(table))
}

/// The reason why a transaction can't go on from the state that it has read.
#[derive(Debug)]
struct Overtaken;

impl fmt::Display for Overtaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "another process has committed since the transaction began to read; for a handler that \
             reads before it writes, use perform_changes_retrying, \
             perform_changes_blocking_retrying or write_first",
        )
    }
}

impl std::error::Error for Overtaken {}

/// The error of a transaction on these tables that can't go on from the state that it has read.
pub(super) fn overtaken(tables: &[Table]) -> Error {
    let names: Vec<&str> = tables
        .iter()
        .map(|table| table.type_name.as_ref())
        .collect();
    let message = format!("cannot change {}", names.join(", "));
    Error::with_source(ErrorKind::Busy, message, Overtaken)
}

/// Whether the transaction may succeed if its handler is run again, because another process has
/// committed since its first read, or the backend has ended the transaction because of another one.
pub(crate) fn is_overtaken(error: &Error) -> bool {
    error.cause_as::<Overtaken>().is_some() || is_aborted(error)
}

/// Whether the backend has ended the transaction because of another one.
pub(super) fn is_aborted(error: &Error) -> bool {
    error.cause_as::<Aborted>().is_some()
}
