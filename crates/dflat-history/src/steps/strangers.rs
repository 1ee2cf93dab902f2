//! Changes of programs that keep no history, as steps of their own.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::{SystemTime, UNIX_EPOCH};

use dflat_engine::Result;
use dflat_engine::object::field_value;
use dflat_engine::storage::{ScanPlan, Source, WriteTransaction};
use dflat_model::record::{Part, RecordHead, RecordWriter, TableHead, WrittenRow};
use dflat_model::{RowId, Table, ValueRef};

use super::Note;

/// A step with more rows than this, or with more bytes in their states before, is stored in parts.
/// A part ends with the row that makes it longer than these bytes.
const ROWS_MAX: usize = 4096;
const PART_BYTES: usize = 256 << 10;

/// The states of a row: before the changes of another program, and now.
#[derive(Default)]
struct States {
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

/// Makes a step of the rows that other programs have changed, if there are any. Called before this
/// transaction writes to the table, so the stored rows are those of the other programs.
pub(super) fn take_notes(writer: &mut dyn WriteTransaction, table: &Table) -> Result<()> {
    let mut rows: BTreeMap<RowId, States> = BTreeMap::new();
    writer.noted(table, &mut |noted| {
        rows.entry(noted.row_id).or_default().before = noted.before.map(<[u8]>::to_vec);
        ControlFlow::Continue(())
    })?;
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
    append(writer, table, &rows)?;
    writer.forget_notes(table, false)
}

/// Appends the step, in parts if it is large.
fn append(
    writer: &mut dyn WriteTransaction,
    table: &Table,
    rows: &BTreeMap<RowId, States>,
) -> Result<()> {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    let time = time.map_or(0, |time| {
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    });
    let note = Note::Unknown.to_bytes();
    let before = rows.values().filter_map(|states| states.before.as_ref());
    let is_small = rows.len() <= ROWS_MAX && before.map(Vec::len).sum::<usize>() <= PART_BYTES;
    let mut early = 0;
    let mut rest = rows.iter().peekable();
    while rest.peek().is_some() {
        let part = match is_small {
            true => Part::Whole,
            false => Part::Early { number: early },
        };
        let record = record(table, time, part, &mut rest);
        writer.append_step(&note, &record)?;
        early += 1;
    }
    if !is_small {
        let rows = rows.len() as u64;
        let part = Part::Final { early, rows };
        let record = record(table, time, part, &mut rest);
        writer.append_step(&note, &record)?;
    }
    Ok(())
}

/// A record with the next rows.
fn record<'r>(
    table: &Table,
    time: u64,
    part: Part,
    rows: &mut impl Iterator<Item = (&'r RowId, &'r States)>,
) -> Vec<u8> {
    let head = RecordHead {
        time,
        part,
        ..RecordHead::default()
    };
    let mut bytes = Vec::new();
    let mut record = RecordWriter::new(&head, false, &mut bytes);
    record.table(&TableHead {
        name: &table.name,
        descriptor: table.content_hash(),
        key_columns: u32::try_from(table.primary_key.len()).unwrap_or(u32::MAX),
        is_foreign: false,
    });
    let is_whole = part == Part::Whole;
    while is_whole || record.len_bytes() < PART_BYTES {
        let Some((row_id, states)) = rows.next() else {
            break;
        };
        // Other programs may have changed the key.
        record.moved_row(&WrittenRow {
            row_id: *row_id,
            key: &states.key(table),
            is_foreign: false,
            before: states.before.as_deref(),
            after: states.after.as_deref(),
        });
    }
    record.finish();
    bytes
}

impl States {
    /// The primary key, of the present state if it can be read. A part that neither state has is
    /// NULL.
    fn key<'s>(&'s self, table: &'s Table) -> Vec<ValueRef<'s>> {
        let fields = table.primary_key.iter();
        let states = [self.after.as_deref(), self.before.as_deref()];
        let part = |field| {
            let found = states
                .into_iter()
                .flatten()
                .map(|payload| field_value(payload, field));
            found.flatten().next().unwrap_or(ValueRef::Null)
        };
        fields.map(part).collect()
    }
}
