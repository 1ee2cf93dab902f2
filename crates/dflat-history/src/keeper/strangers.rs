//! Changes of programs that keep no history, as steps of their own.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::object::field_value;
use dflat_engine::storage::{ScanPlan, Source, WriteTransaction};
use dflat_model::record::{RecordWriter, WrittenRow};
use dflat_model::{RowId, Table, ValueRef};

use super::parts::{Changed, ChangedRow};

/// The states of a row: before the changes of another program, and now.
#[derive(Default)]
struct States {
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

/// The payloads of rows before the first change that was noted; `None` if there was no such row.
pub(super) type Notes = BTreeMap<RowId, Option<Vec<u8>>>;

/// The rows that the triggers have noted.
///
/// # Errors
/// The errors of reading.
pub(super) fn noted(writer: &mut dyn WriteTransaction, table: &Table) -> Result<Notes> {
    let mut rows = Notes::new();
    writer.noted(table, &mut |noted| {
        rows.insert(noted.row_id, noted.before.map(<[u8]>::to_vec));
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}

/// Makes a step of the rows that other programs have changed, if there are any. Called before this
/// transaction writes to the table, so the stored rows are those of the other programs.
pub(super) fn take_notes(writer: &mut dyn WriteTransaction, table: &Table) -> Result<()> {
    let noted = noted(writer, table)?.into_iter();
    let mut rows: BTreeMap<RowId, States> = noted
        .map(|(row_id, before)| {
            let after = None;
            (row_id, States { before, after })
        })
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    let row_ids: Vec<RowId> = rows.keys().copied().collect();
    let plan = ScanPlan {
        table,
        source: Source::RowIds(&row_ids),
        payload: true,
    };
    writer.scan(&plan, &mut |row| {
        if let Some(states) = rows.get_mut(&row.row_id) {
            states.after = Some(row.payload.to_vec());
        }
        ControlFlow::Continue(())
    })?;
    rows.retain(|row_id, states| row_id.0 > 0 && states.before != states.after);
    let rows: Vec<_> = rows.into_iter().collect();
    if !rows.is_empty() {
        let changed = Changed {
            table,
            has_unnoted: false,
            groups: [&rows, &[]],
        };
        changed.append(writer)?;
    }
    writer.forget_notes(table, false)
}

impl ChangedRow for (RowId, States) {
    fn bytes_before(&self) -> usize {
        self.1.before.as_ref().map_or(0, Vec::len)
    }

    fn write(&self, table: &Table, record: &mut RecordWriter<'_>) {
        let (row_id, states) = self;
        // Other programs may have changed the key.
        record.moved_row(&WrittenRow {
            row_id: *row_id,
            key: &states.key(table),
            is_foreign: false,
            before: states.before.as_deref(),
            after: states.after.as_deref(),
        });
    }
}

impl States {
    /// The primary key, of the present state if it can be read. A part that neither state has is
    /// NULL.
    fn key<'s>(&'s self, table: &'s Table) -> Vec<ValueRef<'s>> {
        key_of(table, [self.after.as_deref(), self.before.as_deref()])
    }
}

/// The primary key, of the first of these payloads that has it. A part that none has is NULL.
pub(super) fn key_of<'s>(table: &'s Table, states: [Option<&'s [u8]>; 2]) -> Vec<ValueRef<'s>> {
    let fields = table.primary_key.iter();
    let part = |field| {
        let found = states
            .into_iter()
            .flatten()
            .map(|payload| field_value(payload, field));
        found.flatten().next().unwrap_or(ValueRef::Null)
    };
    fields.map(part).collect()
}
