//! Steps of changes of programs that keep no history, in parts if they are large.

use std::time::{SystemTime, UNIX_EPOCH};

use dflat_engine::Result;
use dflat_engine::storage::WriteTransaction;
use dflat_model::Table;
use dflat_model::record::{Part, RecordHead, RecordWriter, TableHead};

use crate::steps::Note;

/// A step with more rows than this, or with more bytes in their states before, is stored in parts.
/// A part ends with the row that makes it longer than these bytes.
const ROWS_MAX: usize = 4096;
const PART_BYTES: usize = 256 << 10;

/// A changed row.
pub(super) trait ChangedRow {
    /// The number of bytes of its state before.
    fn bytes_before(&self) -> usize;

    /// Writes the row.
    fn write(&self, table: &Table, record: &mut RecordWriter<'_>);
}

/// The changed rows of a table.
pub(super) struct Changed<'c, R> {
    pub(super) table: &'c Table,
    /// Whether any other row may have been changed, too.
    pub(super) has_unnoted: bool,
    /// The rows, each group by ascending row id. The changes of a group came before those of the
    /// next.
    pub(super) groups: [&'c [R]; 2],
}

impl<R: ChangedRow> Changed<'_, R> {
    /// Appends the step, in parts if it is large, or if both groups have rows.
    ///
    /// # Errors
    /// The errors of writing.
    pub(super) fn append(&self, writer: &mut dyn WriteTransaction) -> Result<()> {
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        let time = time.map_or(0, |time| {
            u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
        });
        let note = Note::Unknown.to_bytes();
        let all = || self.groups.iter().flat_map(|group| group.iter());
        let count = all().count();
        let is_small = count <= ROWS_MAX
            && all().map(R::bytes_before).sum::<usize>() <= PART_BYTES
            && self.groups.iter().any(|group| group.is_empty());
        if is_small {
            let mut rows = all().peekable();
            let record = self.record(time, Part::Whole, &mut rows);
            return writer.append_step(&note, &record);
        }
        let mut early = 0;
        for group in self.groups {
            let mut rest = group.iter().peekable();
            while rest.peek().is_some() {
                let record = self.record(time, Part::Early { number: early }, &mut rest);
                writer.append_step(&note, &record)?;
                early += 1;
            }
        }
        let rows = count as u64;
        let last = Part::Final { early, rows };
        let record = self.record(time, last, &mut [].iter());
        writer.append_step(&note, &record)
    }

    /// A record with the next rows.
    fn record<'r>(&self, time: u64, part: Part, rows: &mut impl Iterator<Item = &'r R>) -> Vec<u8>
    where
        R: 'r,
    {
        let head = RecordHead {
            time,
            part,
            ..RecordHead::default()
        };
        let mut bytes = Vec::new();
        let mut record = RecordWriter::new(&head, false, &mut bytes);
        let key_columns = self.table.primary_key.len();
        record.table(&TableHead {
            name: &self.table.name,
            descriptor: self.table.content_hash(),
            key_columns: u32::try_from(key_columns).unwrap_or(u32::MAX),
            is_foreign: self.has_unnoted && !matches!(part, Part::Early { .. }),
        });
        let is_whole = part == Part::Whole;
        while is_whole || record.len_bytes() < PART_BYTES {
            let Some(row) = rows.next() else {
                break;
            };
            row.write(self.table, &mut record);
        }
        record.finish();
        bytes
    }
}
