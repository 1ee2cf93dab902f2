//! The rows of a record, decoded one by one.

use super::{ByteDifference, RecordError};
use crate::encoding::{Encode, Input, decode_bytes, decode_value};
use crate::{RowId, ValueRef};

/// A changed row.
#[derive(Clone, Debug, PartialEq)]
pub struct RowRecord<'a> {
    /// The row id.
    pub row_id: RowId,
    /// The primary key after the transaction; of a deleted row, before it. A row that was only
    /// [mended](Change::Mended) has none.
    pub key: Vec<ValueRef<'a>>,
    /// Whether a program that writes no records had changed the row before this transaction. The
    /// state before is then not the state after the previous record of the row.
    pub is_foreign: bool,
    /// The change.
    pub change: Change<'a>,
    /// The hash of the object before, if the record has the hash in place of the object. It is the
    /// one that the trees of versions have.
    pub before_hash: Option<[u8; 32]>,
}

impl RowRecord<'_> {
    /// Whether the transaction has only mended the index entries of the row.
    #[must_use]
    pub fn is_mended(&self) -> bool {
        self.change == Change::Mended
    }
}

/// A change of one row, with its state before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// The row was inserted.
    Inserted,
    /// The object was replaced.
    Updated(Before<'a>),
    /// The row was deleted. Its object is absent in a record of keys only, and if it is not known.
    Deleted(Option<&'a [u8]>),
    /// The transaction has mended the index entries of a foreign row, and did not change it.
    Mended,
}

/// The object before an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before<'a> {
    /// The difference from the object after the update.
    Difference(ByteDifference<'a>),
    /// The object.
    Object(&'a [u8]),
    /// Nothing, in a record of keys only; or the object before is not known.
    Unknown,
}

/// The numbers of the kinds of changes.
pub(super) mod kind {
    pub(in super::super) const INSERTED: u8 = 0;
    pub(in super::super) const DIFFERENCE: u8 = 1;
    pub(in super::super) const UPDATED: u8 = 2;
    pub(in super::super) const DELETED: u8 = 3;
    pub(in super::super) const UPDATED_KEY: u8 = 4;
    pub(in super::super) const DELETED_KEY: u8 = 5;
    pub(in super::super) const MENDED: u8 = 6;
    pub(in super::super) const UPDATED_HASH: u8 = 16;
    pub(in super::super) const DELETED_HASH: u8 = 17;
    /// Added to the kind of a foreign row.
    pub(in super::super) const FOREIGN: u8 = 8;
}

/// The rows of a table in a record.
pub struct Rows<'a> {
    input: Input<'a>,
    key_columns: u32,
    previous: u64,
}

impl<'a> Rows<'a> {
    pub(super) const fn new(bytes: &'a [u8], key_columns: u32) -> Self {
        Self {
            input: Input::new(bytes),
            key_columns,
            previous: 0,
        }
    }

    /// The next row, and its bytes after the row id.
    pub(super) fn next_with_bytes(
        &mut self,
    ) -> Option<(Result<RowRecord<'a>, RecordError>, &'a [u8])> {
        let mut after_id = Input::new(self.input.rest);
        let row = self.next()?;
        // The row has a row id, or it could not be read.
        let _ = u64::decode(&mut after_id);
        let length = after_id.rest.len() - self.input.rest.len();
        Some((row, after_id.rest.get(..length).unwrap_or_default()))
    }

    fn decode(&mut self) -> Result<RowRecord<'a>, RecordError> {
        let input = &mut self.input;
        let row_id = match u64::decode(input)? {
            0 => None,
            distance => self.previous.checked_add(distance),
        };
        let row_id = row_id.ok_or(RecordError::Malformed)?;
        self.previous = row_id;
        let row_id = i64::try_from(row_id).map_err(|_| RecordError::Malformed)?;
        let kind = input.byte()?;
        let is_foreign = kind & kind::FOREIGN != 0;
        let kind = kind & !kind::FOREIGN;
        let mut key = Vec::new();
        if kind != kind::MENDED {
            for _ in 0..self.key_columns {
                key.push(decode_value(input)?);
            }
        }
        let change = match kind {
            kind::INSERTED => Change::Inserted,
            kind::DIFFERENCE => {
                let difference = ByteDifference::decode(decode_bytes(input)?)?;
                Change::Updated(Before::Difference(difference))
            }
            kind::UPDATED => Change::Updated(Before::Object(decode_bytes(input)?)),
            kind::DELETED => Change::Deleted(Some(decode_bytes(input)?)),
            kind::UPDATED_KEY | kind::UPDATED_HASH => Change::Updated(Before::Unknown),
            kind::DELETED_KEY | kind::DELETED_HASH => Change::Deleted(None),
            kind::MENDED => Change::Mended,
            _ => return Err(RecordError::Malformed),
        };
        let before_hash = match kind {
            kind::UPDATED_HASH | kind::DELETED_HASH => {
                let hash = input.bytes(32)?.first_chunk();
                Some(*hash.ok_or(RecordError::Malformed)?)
            }
            _ => None,
        };
        Ok(RowRecord {
            row_id: RowId(row_id),
            key,
            is_foreign,
            change,
            before_hash,
        })
    }
}

impl<'a> Iterator for Rows<'a> {
    type Item = Result<RowRecord<'a>, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.input.rest.is_empty() {
            return None;
        }
        let row = self.decode();
        if row.is_err() {
            self.input.rest = &[];
        }
        Some(row)
    }
}
