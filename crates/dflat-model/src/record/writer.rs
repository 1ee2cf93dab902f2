//! Writes records.

use super::rows::kind;
use super::{
    ByteDifference, Part, RECORD_VERSION, RecordHead, TABLE_FOREIGN, TableHead, checksum, field,
};
use crate::encoding::{Encode, encode_bytes, encode_value};
use crate::{RowId, ValueRef};

/// A changed row to write into a record. A row without a state before was inserted, one without a
/// state after was deleted, and one without both was a foreign row that was mended.
#[derive(Clone, Copy, Debug)]
pub struct WrittenRow<'a> {
    /// The row id.
    pub row_id: RowId,
    /// As in [`RowRecord::key`](super::RowRecord::key).
    pub key: &'a [ValueRef<'a>],
    /// As in [`RowRecord::is_foreign`](super::RowRecord::is_foreign).
    pub is_foreign: bool,
    /// The object before the transaction.
    pub before: Option<&'a [u8]>,
    /// The object after the transaction.
    pub after: Option<&'a [u8]>,
}

/// A row to write whose object before the transaction is not known.
#[derive(Clone, Copy, Debug)]
pub struct LostRow<'a> {
    /// The row id.
    pub row_id: RowId,
    /// The primary key before the transaction, which an update did not change.
    pub key: &'a [ValueRef<'a>],
    /// Whether the row was deleted; otherwise it was updated.
    pub is_deleted: bool,
    /// As in [`RowRecord::before_hash`](super::RowRecord::before_hash).
    pub hash: Option<[u8; 32]>,
}

/// Writes a record, table by table and row by row, and appends it to a buffer. It allocates no
/// memory except that of the buffer.
pub struct RecordWriter<'o> {
    out: &'o mut Vec<u8>,
    /// Where the record begins in the buffer.
    start: usize,
    /// Where the present table begins in the buffer.
    table: Option<usize>,
    previous: u64,
    keys_only: bool,
}

impl<'o> RecordWriter<'o> {
    /// Begins a record. With `keys_only`, no state before is written, for readers that need none.
    pub fn new(head: &RecordHead<'_>, keys_only: bool, out: &'o mut Vec<u8>) -> Self {
        let start = out.len();
        out.push(RECORD_VERSION);
        head.place.encode(out);
        out.extend(head.engine.to_le_bytes());
        head.time.encode(out);
        let mut optional = |number: u64, body: &[u8]| {
            (number << 1).encode(out);
            encode_bytes(body, out);
        };
        if let Some(file) = head.file {
            optional(field::FILE, &file.to_le_bytes());
        }
        if let Some(workspace) = head.workspace {
            optional(field::WORKSPACE, &workspace.to_le_bytes());
        }
        if let Some(author) = head.author {
            optional(field::AUTHOR, author.as_bytes());
        }
        if let Some(label) = head.label {
            optional(field::LABEL, label.as_bytes());
        }
        let mut body = Vec::new();
        if let Some(group) = head.undo_group {
            group.encode(&mut body);
            optional(field::UNDO_GROUP, &body);
            body.clear();
        }
        let number = match head.part {
            Part::Whole => None,
            Part::Early { number } => {
                number.encode(&mut body);
                Some(field::EARLY)
            }
            Part::Final { early, rows } => {
                early.encode(&mut body);
                rows.encode(&mut body);
                Some(field::FINAL)
            }
        };
        if let Some(number) = number {
            (number << 1 | 1).encode(out);
            encode_bytes(&body, out);
        }
        Self {
            out,
            start,
            table: None,
            previous: 0,
            keys_only,
        }
    }

    /// Begins a table, to which the next rows belong.
    pub fn table(&mut self, table: &TableHead<'_>) {
        self.end_table();
        (field::TABLE << 1 | 1).encode(self.out);
        self.table = Some(begin_length(self.out));
        self.previous = 0;
        encode_bytes(table.name.as_bytes(), self.out);
        self.out.extend(table.descriptor.to_le_bytes());
        let flags = if table.is_foreign { TABLE_FOREIGN } else { 0 };
        flags.encode(self.out);
        table.key_columns.encode(self.out);
    }

    /// Writes a row of the present table. The rows of a table must come by ascending row id, each
    /// once, with as many key values as the table has key columns. Otherwise the record cannot be
    /// read.
    pub fn row(&mut self, row: &WrittenRow<'_>) {
        self.write(row, false);
    }

    /// Writes a row whose update has changed its primary key: with the whole object before, in
    /// which a reader finds the key before. Otherwise as [`row`](Self::row).
    pub fn moved_row(&mut self, row: &WrittenRow<'_>) {
        self.write(row, true);
    }

    /// Writes a row whose object before is not known, but at most its hash. Otherwise as
    /// [`row`](Self::row).
    pub fn lost_row(&mut self, row: &LostRow<'_>) {
        self.put_row_id(row.row_id);
        self.out.push(match (row.is_deleted, row.hash) {
            (false, None) => kind::UPDATED_KEY,
            (true, None) => kind::DELETED_KEY,
            (false, Some(_)) => kind::UPDATED_HASH,
            (true, Some(_)) => kind::DELETED_HASH,
        });
        row.key
            .iter()
            .for_each(|value| encode_value(*value, self.out));
        self.out.extend(row.hash.iter().flatten());
    }

    fn put_row_id(&mut self, row_id: RowId) {
        let row_id = row_id.0.cast_unsigned();
        row_id.wrapping_sub(self.previous).encode(self.out);
        self.previous = row_id;
    }

    fn write(&mut self, row: &WrittenRow<'_>, is_moved: bool) {
        self.put_row_id(row.row_id);
        let kind = match (row.before, row.after) {
            (None, None) => kind::MENDED,
            (None, Some(_)) => kind::INSERTED,
            (Some(_), Some(_)) if self.keys_only => kind::UPDATED_KEY,
            (Some(_), Some(_)) => kind::DIFFERENCE,
            (Some(_), None) if self.keys_only => kind::DELETED_KEY,
            (Some(_), None) => kind::DELETED,
        };
        let kind_at = self.out.len();
        let foreign = if row.is_foreign { kind::FOREIGN } else { 0 };
        self.out.push(kind | foreign);
        if kind != kind::MENDED {
            row.key
                .iter()
                .for_each(|value| encode_value(*value, self.out));
        }
        let before = row.before.filter(|_| !self.keys_only);
        match (before, row.after) {
            (Some(before), Some(after)) => {
                let start = begin_length(self.out);
                if !is_moved && ByteDifference::between(after, before, self.out) {
                    end_length(start, self.out);
                } else {
                    self.out.truncate(start);
                    encode_bytes(before, self.out);
                    if let Some(written) = self.out.get_mut(kind_at) {
                        *written = *written - kind::DIFFERENCE + kind::UPDATED;
                    }
                }
            }
            (Some(before), None) => encode_bytes(before, self.out),
            (None, _) => {}
        }
    }

    /// The number of bytes of the record so far, without its checksum.
    #[must_use]
    pub const fn len_bytes(&self) -> usize {
        self.out.len() - self.start
    }

    /// Ends the record with its checksum.
    pub fn finish(mut self) {
        self.end_table();
        let written = self.out.get(self.start..).unwrap_or_default();
        self.out.extend(checksum(written));
    }

    fn end_table(&mut self) {
        if let Some(start) = self.table.take() {
            end_length(start, self.out);
        }
    }
}

/// A record of a commit that changes no object, for instance of upkeep.
#[must_use]
pub fn empty_record() -> Vec<u8> {
    let mut record = Vec::new();
    RecordWriter::new(&RecordHead::default(), false, &mut record).finish();
    record
}

/// Leaves a byte for the length of the bytes that follow, which is mostly short, and returns the
/// byte's position.
pub(super) fn begin_length(out: &mut Vec<u8>) -> usize {
    out.push(0);
    out.len() - 1
}

/// Writes the length of the bytes after the position `start`.
pub(super) fn end_length(start: usize, out: &mut Vec<u8>) {
    let end = out.len();
    let length = end - start - 1;
    if let (Ok(length @ ..0x80), Some(left)) = (u8::try_from(length), out.get_mut(start)) {
        *left = length;
        return;
    }
    length.encode(out);
    let taken = out.len() - end;
    let first = out.remove(end);
    if let Some([left, body @ ..]) = out.get_mut(start..) {
        *left = first;
        body.rotate_right(taken - 1);
    }
}
