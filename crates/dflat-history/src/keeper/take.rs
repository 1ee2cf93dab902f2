//! Makes steps of the changes of programs that have prevented the notes of them.

use dflat_engine::storage::WriteTransaction;
use dflat_engine::{ErrorKind, Result};
use dflat_model::{RowId, Table};

use super::expected::Expected;
use super::sources::find_lost;
use super::strangers::{Notes, key_of, noted};
use super::unnoted::{
    ROWS_MAX, StateBefore, UnnotedChange, UnnotedRow, append, differing, each_payload,
};
use super::whole::{Base, compare};
use crate::commits::latest;
use crate::steps::{StepId, end};

/// Makes a step of the changes that other programs may have made since the triggers of the table
/// were altered. Called before this transaction writes to the table.
///
/// The objects of the table are compared with the tree that the file has of them, and with the
/// steps since. Without a tree, or after very many changes, the states of all objects before the
/// step are lost.
///
/// # Errors
/// The errors of reading and writing.
pub(super) fn take_unnoted(writer: &mut dyn WriteTransaction, table: &Table) -> Result<()> {
    let notes = noted(writer, table)?;
    let found = match Base::of(writer, table)? {
        Some(base) => match compare(writer, table, &base, &notes) {
            // A damaged tree or step must not prevent writes.
            Err(error) if error.kind() == ErrorKind::Corrupt => None,
            found => found?,
        },
        None => None,
    };
    match found {
        Some(rows) if rows.is_empty() => {}
        Some(mut rows) => {
            match find_lost(writer, table, &mut rows) {
                Err(error) if error.kind() == ErrorKind::Corrupt => {}
                found => found?,
            }
            append(writer, table, (rows, false))?;
        }
        // Without any step, there is no state before.
        None if latest_step(writer)? == StepId(0) => {}
        None => {
            let rows = certain(writer, table, &notes)?;
            append(writer, table, (rows, true))?;
            // The steps lead from no tree to the present objects.
            end(writer, &table.name)?;
        }
    }
    writer.forget_notes(table, false)
}

/// The id of the latest step, if the steps can be read.
fn latest_step(writer: &mut dyn WriteTransaction) -> Result<StepId> {
    match latest(writer) {
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(StepId(i64::MAX)),
        step => step,
    }
}

/// The rows whose changes are certain although the file has no tree: those that differ from the
/// states in which the steps have left them, and those that were noted.
fn certain(
    writer: &mut dyn WriteTransaction,
    table: &Table,
    notes: &Notes,
) -> Result<Vec<UnnotedRow>> {
    let expected = match Expected::since(writer, table, None, ROWS_MAX) {
        Err(error) if error.kind() == ErrorKind::Corrupt => None,
        expected => expected?,
    };
    let mut rows = Vec::new();
    if let Some(expected) = &expected {
        differing(writer, table, (expected, notes), &mut |row, is_certain| {
            rows.extend(is_certain.then_some(row));
        })?;
    }
    let is_other = |row_id: &RowId| {
        let mut expected = expected.iter();
        row_id.0 > 0 && !expected.any(|expected| expected.rows.contains_key(row_id))
    };
    let others: Vec<RowId> = notes.keys().copied().filter(is_other).collect();
    each_payload(writer, table, &others, &mut |row_id, payload| {
        let before = notes.get(&row_id).and_then(Option::as_deref);
        let key = |states| {
            key_of(table, states)
                .iter()
                .map(|part| part.to_value())
                .collect()
        };
        let lost = StateBefore::Lost(None);
        match (before, payload) {
            (None, None) => {}
            (_, Some(payload)) => rows.push(UnnotedRow {
                row_id,
                key: key([Some(payload), before]),
                change: UnnotedChange::Updated(lost),
            }),
            (Some(before), None) => rows.push(UnnotedRow {
                row_id,
                key: key([Some(before), None]),
                change: UnnotedChange::Deleted(lost),
            }),
        }
    })?;
    rows.truncate(ROWS_MAX);
    Ok(rows)
}
