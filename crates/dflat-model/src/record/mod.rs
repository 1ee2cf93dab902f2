//! Records of the change log: the changes of one committed transaction as bytes.
//!
//! `docs/storage-format.md` has the format, with examples. [`RecordWriter`] writes a record, and
//! [`ChangeRecord::decode`] reads it. A record gives each changed row with its state *before* the
//! transaction. The state after is in the next record of that row, or in the file.
//!
//! Decoding takes any bytes. It copies nothing out of them, and allocates memory in proportion to
//! the bytes that it has read. The rows of a table are decoded by [`TableRecord::rows`], so a
//! reader pays nothing for the rows of other tables.

mod difference;
mod hash;
mod rewrite;
mod rows;
mod writer;

use std::fmt;

use crate::encoding::{DecodeError, Encode, Input, decode_bytes, decode_text};

pub use difference::ByteDifference;
pub use hash::payload_hash;
pub use rewrite::{Replacement, replace_rows};
pub use rows::{Before, Change, RowRecord, Rows};
pub use writer::{LostRow, RecordWriter, WrittenRow, empty_record};

/// The version of records, both for writing and for reading.
pub const RECORD_VERSION: u8 = 1;

/// Why a record cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordError {
    /// The record has an unknown version.
    Version(u8),
    /// The record has an unknown field, which a reader must not ignore.
    UnknownField(u64),
    /// The checksum belongs to other bytes: the record was cut or changed.
    Checksum,
    /// The bytes are malformed, too few or too many.
    Malformed,
    /// A difference does not fit the bytes to which it is applied.
    Mismatch,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "unknown version {version} of the change record"),
            Self::UnknownField(field) => write!(f, "unknown field {field} of the change record"),
            Self::Checksum => f.write_str("the checksum of the change record differs"),
            Self::Malformed => f.write_str("the change record is malformed"),
            Self::Mismatch => f.write_str("the difference belongs to other bytes"),
        }
    }
}

impl std::error::Error for RecordError {}

impl From<DecodeError> for RecordError {
    fn from(_: DecodeError) -> Self {
        Self::Malformed
    }
}

/// The record of one committed transaction, or a part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeRecord<'a> {
    /// The transaction.
    pub head: RecordHead<'a>,
    /// The changed tables. An [empty record](empty_record) has none.
    pub tables: Vec<TableRecord<'a>>,
}

/// The origin of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordHead<'a> {
    /// The transaction's place in its commit group, from 0.
    pub place: u32,
    /// A random number of the engine that made the transaction.
    pub engine: u64,
    /// The time of the commit, in milliseconds since the beginning of 1970 in UTC.
    pub time: u64,
    /// The id of the file.
    pub file: Option<u128>,
    /// The id of the workspace; stable across restarts if the program names the workspace.
    pub workspace: Option<u128>,
    /// The author, as the program names it.
    pub author: Option<&'a str>,
    /// The transaction's label.
    pub label: Option<&'a str>,
    /// The group of transactions that are undone together.
    pub undo_group: Option<u64>,
    /// The part of the transaction that this record holds.
    pub part: Part,
}

/// The part of a transaction that a record holds.
///
/// A large transaction is recorded in several parts, which follow one another. The parts without
/// their final part have no meaning, because the transaction did not commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// The record holds the whole transaction.
    #[default]
    Whole,
    /// One of the parts before the final part.
    Early {
        /// The part's number, from 0.
        number: u32,
    },
    /// The last part. Its [tables](ChangeRecord::tables) are all tables of the transaction, with
    /// the rows that are in no earlier part. It has the transaction's label.
    Final {
        /// The number of parts before this part.
        early: u32,
        /// The number of rows in all parts. A row that is in several parts counts in each.
        rows: u64,
    },
}

/// The changes of a transaction to one table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableRecord<'a> {
    /// The table.
    pub table: TableHead<'a>,
    /// The rows as bytes.
    rows: &'a [u8],
}

/// The table whose rows a record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableHead<'a> {
    /// The storage table's name.
    pub name: &'a str,
    /// The [hash](crate::TableDescriptor::content_hash) of the writer's descriptor.
    pub descriptor: u64,
    /// The number of columns in the primary key.
    pub key_columns: u32,
    /// Whether any row of the table may have been changed by a program that writes no records, and
    /// the transaction has noticed that.
    pub is_foreign: bool,
}

impl<'a> TableRecord<'a> {
    /// The rows, by ascending row id, each once. The iterator ends after an error.
    #[must_use]
    pub const fn rows(&self) -> Rows<'a> {
        Rows::new(self.rows, self.table.key_columns)
    }

    /// Whether the record lists no row of the table.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The number of bytes that the rows take in the record.
    #[must_use]
    pub const fn len_bytes(&self) -> usize {
        self.rows.len()
    }

    fn decode(body: &'a [u8]) -> Result<Self, RecordError> {
        let mut input = Input::new(body);
        let name = decode_text(&mut input)?;
        let descriptor = hash_from(&mut input)?;
        let flags = u64::decode(&mut input)?;
        if flags & !TABLE_FOREIGN != 0 {
            return Err(RecordError::UnknownField(field::TABLE));
        }
        let table = TableHead {
            name,
            descriptor,
            key_columns: u32::decode(&mut input)?,
            is_foreign: flags & TABLE_FOREIGN != 0,
        };
        let rows = input.rest;
        Ok(Self { table, rows })
    }
}

impl<'a> ChangeRecord<'a> {
    /// Whether the transaction changed no object: it has no tables, or has only
    /// [mended](Change::Mended) foreign rows.
    #[must_use]
    pub fn changes_nothing(&self) -> bool {
        let is_mended = |row: Result<RowRecord<'_>, _>| row.is_ok_and(|row| row.is_mended());
        let mut tables = self.tables.iter();
        self.head.part == Part::Whole
            && tables.all(|table| !table.is_empty() && table.rows().all(is_mended))
    }

    /// Decodes a record, but not the rows of its tables.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub fn decode(bytes: &'a [u8]) -> Result<Self, RecordError> {
        let mut input = Input::new(bytes);
        let version = input.byte()?;
        if version != RECORD_VERSION {
            return Err(RecordError::Version(version));
        }
        input = Input::new(checked(bytes)?);
        input.byte()?;
        let mut head = RecordHead {
            place: u32::decode(&mut input)?,
            engine: hash_from(&mut input)?,
            time: u64::decode(&mut input)?,
            ..RecordHead::default()
        };
        let (mut tables, mut last) = (Vec::new(), 0);
        while !input.rest.is_empty() {
            let tag = u64::decode(&mut input)?;
            let body = decode_bytes(&mut input)?;
            let (number, is_required) = (tag >> 1, tag & 1 == 1);
            if number < last || (number == last && (number < field::TABLE)) {
                return Err(RecordError::Malformed);
            }
            last = number;
            match number {
                field::TABLE if is_required => tables.push(TableRecord::decode(body)?),
                field::FILE..=field::FINAL => head.decode_field(tag, body)?,
                _ if is_required => return Err(RecordError::UnknownField(number)),
                _ => {}
            }
        }
        Ok(Self { head, tables })
    }
}

/// A record without one of its tables, and whether changes of other tables are left; `None` if the
/// record does not name the table.
///
/// # Errors
/// See [`RecordError`].
pub fn without_table(record: &[u8], name: &str) -> Result<Option<(Vec<u8>, bool)>, RecordError> {
    ChangeRecord::decode(record)?;
    let mut input = Input::new(checked(record)?);
    input.byte()?;
    u32::decode(&mut input)?;
    input.bytes(8)?;
    u64::decode(&mut input)?;
    let fields = record.len() - CHECKSUM_BYTES - input.rest.len();
    let mut kept = record.get(..fields).unwrap_or_default().to_vec();
    let (mut is_named, mut has_rows) = (false, false);
    while !input.rest.is_empty() {
        let whole = input.rest;
        let tag = u64::decode(&mut input)?;
        let body = decode_bytes(&mut input)?;
        if tag == field::TABLE << 1 | 1 {
            let table = TableRecord::decode(body)?;
            if table.table.name == name {
                is_named = true;
                continue;
            }
            has_rows |= !table.is_empty() || table.table.is_foreign;
        }
        let length = whole.len() - input.rest.len();
        kept.extend(whole.get(..length).unwrap_or_default());
    }
    kept.extend(checksum(&kept));
    Ok(is_named.then_some((kept, has_rows)))
}

impl<'a> RecordHead<'a> {
    fn decode_field(&mut self, tag: u64, body: &'a [u8]) -> Result<(), RecordError> {
        let mut input = Input::new(body);
        let text = || str::from_utf8(body).map_err(|_| RecordError::Malformed);
        match (tag >> 1, tag & 1 == 1) {
            (field::FILE, false) => self.file = Some(id_from(&mut input)?),
            (field::WORKSPACE, false) => self.workspace = Some(id_from(&mut input)?),
            (field::AUTHOR, false) => {
                (self.author, input.rest) = (Some(text()?), &[]);
            }
            (field::LABEL, false) => {
                (self.label, input.rest) = (Some(text()?), &[]);
            }
            (field::UNDO_GROUP, false) => self.undo_group = Some(u64::decode(&mut input)?),
            (field::EARLY, true) => {
                let number = u32::decode(&mut input)?;
                self.part = Part::Early { number };
            }
            (field::FINAL, true) if self.part == Part::Whole => {
                let (early, rows) = (u32::decode(&mut input)?, u64::decode(&mut input)?);
                self.part = Part::Final { early, rows };
            }
            _ => return Err(RecordError::Malformed),
        }
        match input.rest {
            [] => Ok(()),
            _ => Err(RecordError::Malformed),
        }
    }
}

/// The numbers of the fields of a record, in their order. The tag of a field is twice its number,
/// and one more if a reader that does not know the field must refuse the record.
mod field {
    pub(super) const FILE: u64 = 1;
    pub(super) const WORKSPACE: u64 = 2;
    pub(super) const AUTHOR: u64 = 3;
    pub(super) const LABEL: u64 = 4;
    pub(super) const UNDO_GROUP: u64 = 5;
    pub(super) const EARLY: u64 = 6;
    pub(super) const FINAL: u64 = 7;
    pub(super) const TABLE: u64 = 8;
}

/// The flag of a table of which any row may be foreign.
const TABLE_FOREIGN: u64 = 1;

/// The number of bytes at the end of a record that are its checksum.
const CHECKSUM_BYTES: usize = 4;

/// The checksum of a record, from its bytes before the checksum.
fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    (payload_hash(bytes) as u32).to_le_bytes()
}

/// The bytes before the checksum of a record.
fn checked(record: &[u8]) -> Result<&[u8], RecordError> {
    match record.split_last_chunk() {
        Some((bytes, found)) if *found == checksum(bytes) => Ok(bytes),
        _ => Err(RecordError::Checksum),
    }
}

fn hash_from(input: &mut Input<'_>) -> Result<u64, RecordError> {
    let bytes = input.bytes(8)?.first_chunk();
    bytes.map_or(Err(RecordError::Malformed), |bytes| {
        Ok(u64::from_le_bytes(*bytes))
    })
}

fn id_from(input: &mut Input<'_>) -> Result<u128, RecordError> {
    let bytes = input.bytes(16)?.first_chunk();
    bytes.map_or(Err(RecordError::Malformed), |bytes| {
        Ok(u128::from_le_bytes(*bytes))
    })
}

#[cfg(test)]
mod tests;
