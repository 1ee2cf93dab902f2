//! The rows that programs have changed while they prevented the notes of that.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::storage::{ScanPlan, Source, WriteTransaction};
use dflat_model::record::{LostRow, RecordWriter, WrittenRow};
use dflat_model::{RowId, Table, Value, ValueRef, key};

use super::expected::{Expected, ExpectedState};
use super::parts::{Changed, ChangedRow};
use super::strangers::{Notes, key_of};
use crate::chunk::Address;
use crate::commits::Content;

/// The most rows whose changes are listed. If there are more, the states of all rows before are
/// lost.
pub(super) const ROWS_MAX: usize = 50_000;

/// A row that a program has changed.
pub(super) struct UnnotedRow {
    pub(super) row_id: RowId,
    pub(super) key: Vec<Value>,
    pub(super) change: UnnotedChange,
}

/// The change of a row, with its state before.
pub(super) enum UnnotedChange {
    Inserted,
    /// The row has the same key as before.
    Updated(StateBefore),
    Deleted(StateBefore),
}

/// The state of a row before its change.
pub(super) enum StateBefore {
    /// The payload.
    Known(Vec<u8>),
    /// At most the hash of the payload is known.
    Lost(Option<Address>),
}

/// Calls `visit` with the changes of the rows that may differ from the states in which the steps
/// have left them, and whether the change is certain.
///
/// # Errors
/// The errors of reading.
pub(super) fn differing(
    writer: &mut dyn WriteTransaction,
    table: &Table,
    (expected, notes): (&Expected, &Notes),
    visit: &mut dyn FnMut(UnnotedRow, bool),
) -> Result<()> {
    let content = Content::of(table);
    let row_ids: Vec<RowId> = expected.rows.keys().copied().collect();
    each_payload(writer, table, &row_ids, &mut |row_id, payload| {
        let Some(row) = expected.rows.get(&row_id) else {
            return;
        };
        let is_same = row.state.is(payload);
        let before = || {
            let noted = notes.get(&row_id).and_then(Option::as_ref);
            match noted.filter(|noted| row.state.is(Some(noted)) == Some(true)) {
                Some(noted) => StateBefore::Known(noted.clone()),
                None => StateBefore::Lost(None),
            }
        };
        let mut push = |key, change| {
            let changed = UnnotedRow {
                row_id,
                key,
                change,
            };
            visit(changed, is_same.is_some());
        };
        let was_there = !matches!(row.state, ExpectedState::Absent);
        match (was_there, payload) {
            _ if is_same == Some(true) => {}
            (true, Some(payload)) if has_key(&content, payload, &row.key) => {
                push(row.key.clone(), UnnotedChange::Updated(before()));
            }
            (was_there, payload) => {
                if was_there {
                    push(row.key.clone(), UnnotedChange::Deleted(before()));
                }
                if let Some(payload) = payload {
                    push(present_key(table, payload), UnnotedChange::Inserted);
                }
            }
        }
    })
}

/// Whether the object of a payload has a key.
fn has_key(content: &Content<'_>, payload: &[u8], key: &[Value]) -> bool {
    content.key(payload) == Some(key::encode(key.iter().map(Value::as_ref)))
}

/// The key of a present payload. A part that cannot be read is NULL.
pub(super) fn present_key(table: &Table, payload: &[u8]) -> Vec<Value> {
    let key = key_of(table, [Some(payload), None]);
    key.iter().map(|part| part.to_value()).collect()
}

/// Calls `visit` with each of these rows and its payload, if there is the row.
pub(super) fn each_payload(
    writer: &mut dyn WriteTransaction,
    table: &Table,
    row_ids: &[RowId],
    visit: &mut dyn FnMut(RowId, Option<&[u8]>),
) -> Result<()> {
    for row_id in row_ids {
        let mut is_there = false;
        let plan = ScanPlan {
            table,
            source: Source::RowIds(std::slice::from_ref(row_id)),
            payload: true,
        };
        writer.scan(&plan, &mut |row| {
            is_there = true;
            visit(row.row_id, Some(row.payload));
            ControlFlow::Continue(())
        })?;
        if !is_there {
            visit(*row_id, None);
        }
    }
    Ok(())
}

/// Appends the step.
///
/// # Errors
/// The errors of writing.
pub(super) fn append(
    writer: &mut dyn WriteTransaction,
    table: &Table,
    (rows, has_unnoted): (Vec<UnnotedRow>, bool),
) -> Result<()> {
    let is_insertion = |row: &UnnotedRow| matches!(row.change, UnnotedChange::Inserted);
    let (mut later, mut rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(is_insertion);
    // A row that was deleted and inserted again, with another key, has two changes.
    let changed: BTreeSet<RowId> = rows.iter().map(|row| row.row_id).collect();
    if !later.iter().any(|row| changed.contains(&row.row_id)) {
        rows.append(&mut later);
    }
    rows.sort_by_key(|row| row.row_id);
    later.sort_by_key(|row| row.row_id);
    let changed = Changed {
        table,
        has_unnoted,
        groups: [&rows, &later],
    };
    changed.append(writer)
}

impl ChangedRow for UnnotedRow {
    fn bytes_before(&self) -> usize {
        match &self.change {
            UnnotedChange::Updated(StateBefore::Known(before))
            | UnnotedChange::Deleted(StateBefore::Known(before)) => before.len(),
            _ => 0,
        }
    }

    fn write(&self, _table: &Table, record: &mut RecordWriter<'_>) {
        let key: Vec<ValueRef<'_>> = self.key.iter().map(Value::as_ref).collect();
        let (before, is_deleted) = match &self.change {
            UnnotedChange::Inserted => (None, false),
            UnnotedChange::Updated(before) => (Some(before), false),
            UnnotedChange::Deleted(before) => (Some(before), true),
        };
        let known = match before {
            Some(StateBefore::Lost(hash)) => {
                record.lost_row(&LostRow {
                    row_id: self.row_id,
                    key: &key,
                    is_deleted,
                    hash: hash.map(|hash| *hash.as_bytes()),
                });
                return;
            }
            Some(StateBefore::Known(before)) => Some(before.as_slice()),
            None => None,
        };
        record.moved_row(&WrittenRow {
            row_id: self.row_id,
            key: &key,
            is_foreign: false,
            before: known,
            // The whole object before is written, so the one after does not matter.
            after: (!is_deleted).then_some(&[]),
        });
    }
}
