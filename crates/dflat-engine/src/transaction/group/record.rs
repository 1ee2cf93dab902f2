//! Writes the change records and the steps of a commit, from the final write sets of its members.

use std::ops::ControlFlow;

use dflat_model::record::{Part, RecordWriter, TableHead, WrittenRow, empty_record};
use dflat_model::{RowId, Table};
use smallvec::SmallVec;

use super::super::changed_table::{ChangedTable, is_undone};
use super::super::newest::NewestSchemas;
use super::super::recording::{Note, RecordOrigin, RecordPlace, Recording};
use super::super::row::{Prepared, changed_key, key_parts, milliseconds, write_mended_record};
use super::super::write_set::WriteSet;
use super::target::Target;
use super::written::Written;
use crate::change_set::{RowChange, RowRange, record_engine};
use crate::error::Result;
use crate::fetch;
use crate::object::Object;
use crate::storage::{ScanPlan, Source, WriteTransaction};

/// A transaction with more rows than this, or with more bytes in the objects before its changes, is
/// recorded in parts. A part ends with the row that makes it longer than these bytes.
const ROWS_MAX: usize = 4096;
const PART_BYTES: usize = 256 << 10;

/// The most tables whose descriptors' hashes are kept.
const TABLES_MAX: usize = 64;

/// Writes the records of an engine.
#[derive(Default)]
pub(super) struct Recorder {
    origin: RecordOrigin,
    /// The bytes of the latest record.
    buffer: Vec<u8>,
    /// The hashes of descriptors, which take long to compute.
    hashes: Vec<(Table, u64)>,
    /// The foreign rows that the transaction of the backend that ended last has put into indexes,
    /// by table, each by ascending row id.
    mended: Vec<(Table, Vec<RowId>)>,
    /// Whether a record may be a step of a history, too. A step has the whole object before a
    /// change of its key.
    has_history: bool,
}

/// A transaction to record, and its tables.
#[derive(Clone, Copy)]
struct Recorded<'c> {
    place: RecordPlace<'c>,
    tables: &'c [ChangedTable],
    /// Whether it is recorded in one record.
    is_small: bool,
}

impl Recorder {
    /// Writes the records of an engine of the process.
    pub(super) fn new(engine: u64, recording: Recording) -> Self {
        Self {
            origin: RecordOrigin {
                engine: record_engine(engine),
                recording,
                file: None,
            },
            ..Self::default()
        }
    }

    /// Notes the foreign rows that a transaction of the backend, which is about to end, has put
    /// into indexes.
    pub(super) fn note_mended(&mut self, prepared: &mut [Prepared]) {
        self.mended.clear();
        self.mended.extend(Prepared::take_mended(prepared));
    }

    /// Appends a record of each of these write sets with its note, in order, if the backend's
    /// transaction is followed; before them, one of the foreign rows that were noted. Appends a
    /// step of each write set with a versioned table. Called immediately before the commit, so that
    /// nothing is undone afterwards.
    ///
    /// # Errors
    /// Errors that lose the backend's transaction. After any error it must not be committed.
    pub(super) fn record<'c>(
        &mut self,
        writer: &mut dyn WriteTransaction,
        schemas: &NewestSchemas,
        members: impl Iterator<Item = (&'c WriteSet, &'c Note)>,
    ) -> Result<()> {
        let mut members = members.peekable();
        let history = schemas.history();
        self.has_history = history.is_some();
        let is_followed = members.peek().is_some() && writer.is_followed();
        if members.peek().is_none() || !(is_followed || history.is_some()) {
            return Ok(());
        }
        if self.origin.names_file() {
            self.origin.file = writer.file_id()?;
        }
        let time = milliseconds();
        let mut place = 0;
        if is_followed && !self.mended.is_empty() {
            self.append_mended(writer)?;
            place = 1;
        }
        for (changes, note) in members {
            if changes.is_empty() {
                continue;
            }
            let tables = changes.changed_tables();
            let recorded = Recorded {
                place: RecordPlace { place, time, note },
                tables,
                is_small: is_small(changes),
            };
            let is_versioned = |changed: &ChangedTable| schemas.is_versioned(&changed.table);
            let step = history.filter(|_| tables.iter().any(is_versioned));
            let step = step.map(|history| Target::History(history, schemas));
            if is_followed {
                self.append(writer, recorded, Target::Log)?;
            }
            match step {
                Some(step) if is_followed && self.is_step(recorded, schemas) => {
                    step.append(writer, note, &self.buffer)?;
                }
                Some(step) => self.append(writer, recorded, step)?,
                None => {}
            }
            place += 1;
        }
        // Changes that were undone leave no table in the write set but may leave traces in the
        // storage, so the commit needs a record.
        if is_followed && place == 0 {
            writer.append_record(&empty_record())?;
        }
        Ok(())
    }

    /// Whether the record in the buffer is the step of the same transaction, too.
    fn is_step(&self, recorded: Recorded<'_>, schemas: &NewestSchemas) -> bool {
        let mut tables = recorded.tables.iter();
        recorded.is_small
            && !self.origin.recording.keys_only
            && tables.all(|changed| schemas.is_versioned(&changed.table))
    }

    fn append(
        &mut self,
        writer: &mut dyn WriteTransaction,
        recorded: Recorded<'_>,
        target: Target<'_>,
    ) -> Result<()> {
        match recorded.is_small {
            true => self.append_whole(writer, recorded, target),
            false => self.append_parts(writer, recorded, target),
        }
    }

    fn append_mended(&mut self, writer: &mut dyn WriteTransaction) -> Result<()> {
        let mended = self.mended.iter();
        let mended = mended.map(|(table, rows)| (table, rows.as_slice()));
        self.buffer.clear();
        write_mended_record(self.origin.engine, mended, &mut self.buffer);
        writer.append_record(&self.buffer)
    }

    fn append_whole(
        &mut self,
        writer: &mut dyn WriteTransaction,
        recorded: Recorded<'_>,
        target: Target<'_>,
    ) -> Result<()> {
        self.learn(recorded.tables);
        let head = self.origin.head(recorded.place, Part::Whole);
        let keys_only = target.keys_only(&self.origin.recording);
        self.buffer.clear();
        let mut record = RecordWriter::new(&head, keys_only, &mut self.buffer);
        for changed in recorded.tables {
            let rows = rows_in_order(changed);
            if !rows.is_empty() {
                record.table(&table_head(&self.hashes, &changed.table));
            }
            for (row_id, change) in rows {
                if !target.takes_rows(&changed.table) {
                    break;
                }
                let row = (*row_id, change);
                write_row(&mut record, &changed.table, row, self.has_history)?;
            }
        }
        record.finish();
        target.append(writer, recorded.place.note, &self.buffer)
    }

    /// Appends a large transaction in parts, of which one at a time is in memory.
    fn append_parts(
        &mut self,
        writer: &mut dyn WriteTransaction,
        recorded: Recorded<'_>,
        target: Target<'_>,
    ) -> Result<()> {
        self.learn(recorded.tables);
        let mut written = Written::new(target);
        let taken = recorded.tables.iter();
        for changed in taken.filter(|changed| target.takes_rows(&changed.table)) {
            let mut rows = rows_in_order(changed).into_iter().peekable();
            while rows.peek().is_some() {
                self.write_listed(recorded, &mut written, &changed.table, &mut rows)?;
                target.append(writer, recorded.place.note, &self.buffer)?;
            }
            let mut rest = changed.inserted;
            while let Some(range) = rest {
                rest = self.write_range(writer, recorded, &mut written, (&changed.table, range))?;
                target.append(writer, recorded.place.note, &self.buffer)?;
            }
        }
        let part = Part::Final {
            early: written.parts,
            rows: written.rows,
        };
        let head = self.origin.head(recorded.place, part);
        let keys_only = written.keys_only(&self.origin.recording);
        self.buffer.clear();
        let mut record = RecordWriter::new(&head, keys_only, &mut self.buffer);
        for changed in recorded.tables {
            record.table(&table_head(&self.hashes, &changed.table));
        }
        record.finish();
        target.append(writer, recorded.place.note, &self.buffer)
    }

    /// Writes a part with the next listed rows.
    fn write_listed<'c>(
        &mut self,
        recorded: Recorded<'_>,
        written: &mut Written<'_>,
        table: &Table,
        rows: &mut impl Iterator<Item = &'c (RowId, RowChange)>,
    ) -> Result<()> {
        let head = self.origin.head(recorded.place, written.next_part());
        let keys_only = written.keys_only(&self.origin.recording);
        self.buffer.clear();
        let mut record = RecordWriter::new(&head, keys_only, &mut self.buffer);
        record.table(&table_head(&self.hashes, table));
        while record.len_bytes() < PART_BYTES
            && let Some((row_id, change)) = rows.next()
        {
            write_row(&mut record, table, (*row_id, change), self.has_history)?;
            written.rows += 1;
        }
        record.finish();
        Ok(())
    }

    /// Writes a part with the first inserted rows of a range, and returns the rest of the range.
    fn write_range(
        &mut self,
        writer: &mut dyn WriteTransaction,
        recorded: Recorded<'_>,
        written: &mut Written<'_>,
        (table, range): (&Table, RowRange),
    ) -> Result<Option<RowRange>> {
        let head = self.origin.head(recorded.place, written.next_part());
        let keys_only = written.keys_only(&self.origin.recording);
        self.buffer.clear();
        let mut record = RecordWriter::new(&head, keys_only, &mut self.buffer);
        record.table(&table_head(&self.hashes, table));
        let plan = ScanPlan {
            table,
            source: Source::RowsAfter(RowId(range.first.0 - 1)),
            payload: true,
        };
        let (mut rest, mut damaged) = (None, None);
        writer.scan(&plan, &mut |row| {
            if row.row_id > range.last {
                return ControlFlow::Break(());
            }
            if record.len_bytes() >= PART_BYTES {
                rest = Some(RowRange {
                    first: row.row_id,
                    ..range
                });
                return ControlFlow::Break(());
            }
            match key_parts(table, row.payload) {
                Ok(key) => record.row(&WrittenRow {
                    row_id: row.row_id,
                    key: key.as_slice(),
                    is_foreign: false,
                    before: None,
                    after: Some(row.payload),
                }),
                Err(_) => damaged = Some(fetch::corrupt(table, row.row_id)),
            }
            written.rows += 1;
            match damaged {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        })?;
        record.finish();
        damaged.map_or(Ok(rest), Err)
    }

    /// Computes the hashes of tables that are not known yet.
    fn learn(&mut self, tables: &[ChangedTable]) {
        for ChangedTable { table, .. } in tables {
            if !self.hashes.iter().any(|(known, _)| known.is_same(table)) {
                if self.hashes.len() >= TABLES_MAX {
                    self.hashes.clear();
                }
                self.hashes.push((table.clone(), table.content_hash()));
            }
        }
    }
}

/// Whether a transaction is recorded in one record.
fn is_small(changes: &WriteSet) -> bool {
    let bytes = |rows: &[(RowId, RowChange)]| -> usize {
        let before = rows.iter().filter_map(|(_, change)| change.before.as_ref());
        before.map(|before| before.payload().len()).sum()
    };
    !changes.has_ranges()
        && changes.listed() <= ROWS_MAX
        && changes.rows().map(|(_, rows)| bytes(rows)).sum::<usize>() <= PART_BYTES
}

/// The listed rows that the commit changes, by ascending row id, without those in the range.
fn rows_in_order(changed: &ChangedTable) -> SmallVec<[&(RowId, RowChange); 4]> {
    let is_in_range = |row_id| {
        let range = changed.inserted;
        range.is_some_and(|range| range.contains(row_id))
    };
    let rows = changed.rows.iter();
    let mut rows: SmallVec<[_; 4]> = rows
        .filter(|row| !is_undone(row) && !is_in_range(row.0))
        .collect();
    if !rows.is_sorted_by_key(|(row_id, _)| *row_id) {
        rows.sort_unstable_by_key(|(row_id, _)| *row_id);
    }
    rows
}

fn write_row(
    record: &mut RecordWriter<'_>,
    table: &Table,
    (row_id, change): (RowId, &RowChange),
    has_history: bool,
) -> Result<()> {
    let before = change.before.as_ref().map(Object::payload);
    let after = change.after.as_ref().map(Object::payload);
    let Some(keyed) = after.or(before) else {
        return Ok(());
    };
    let key = key_parts(table, keyed)?;
    let row = WrittenRow {
        row_id,
        key: key.as_slice(),
        is_foreign: false,
        before,
        after,
    };
    match before.zip(after).filter(|_| has_history) {
        Some((before, after)) if changed_key(table, before, after)?.is_some() => {
            record.moved_row(&row);
        }
        _ => record.row(&row),
    }
    Ok(())
}

fn table_head<'t>(hashes: &[(Table, u64)], table: &'t Table) -> TableHead<'t> {
    let hash = hashes.iter().find(|(known, _)| known.is_same(table));
    TableHead {
        name: &table.name,
        descriptor: hash.map_or(0, |(_, hash)| *hash),
        key_columns: u32::try_from(table.primary_key.len()).unwrap_or(u32::MAX),
        is_foreign: false,
    }
}
