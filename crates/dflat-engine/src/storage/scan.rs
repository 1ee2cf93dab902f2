//! Scans: the rows that a backend reads, and their order.

use std::ops::Bound;

use dflat_model::{Direction, Field, RowId, Table, Value, ValueRef};

use crate::object::Object;

/// The rows to scan; the source implies their order.
#[derive(Clone, Debug)]
pub struct ScanPlan<'a> {
    /// The table.
    pub table: &'a Table,
    /// The rows.
    pub source: Source<'a>,
    /// Whether the visitor needs the payloads. If it does not, a range of an index is read from the
    /// index alone.
    pub payload: bool,
}

/// The rows that a scan visits, and their order.
#[derive(Clone, Debug)]
pub enum Source<'a> {
    /// All rows, by ascending row id.
    Rows,
    /// All rows with a larger row id, by ascending row id.
    RowsAfter(RowId),
    /// The rows with these ids, as far as they exist, in the order given.
    RowIds(&'a [RowId]),
    /// The rows whose primary key has these parts: at most one, unless a part is NULL.
    PrimaryKey(&'a [ValueRef<'a>]),
    /// The rows of a range of the primary key, or of an index that is ready.
    Key(KeyScan<'a>),
    /// The rows of a range of the primary key or of an index, with the values that it stores, in
    /// [`Row::entry`], instead of their payloads.
    Entries(KeyScan<'a>),
}

/// A range of a key. The first parts of the key equal `prefix`. The next part, if the key has one,
/// lies between `lower` and `upper`.
///
/// Values are compared by [`ValueRef::order`], in which NULL is the smallest value. So
/// `Excluded(Null)` as lower bound leaves NULLs out, and `Included(Null)` on both sides means
/// `IS NULL`.
///
/// The rows are ordered by the parts after `prefix`, all in `direction`, then by ascending row id.
#[derive(Clone, Debug)]
pub struct KeyScan<'a> {
    /// The key.
    pub key: Key,
    /// Values of the first parts.
    pub prefix: &'a [Value],
    /// Lower bound of the next part.
    pub lower: Bound<&'a Value>,
    /// Upper bound of the next part.
    pub upper: Bound<&'a Value>,
    /// The direction of the parts after `prefix`.
    pub direction: Direction,
    /// If given, only rows with a larger row id are visited.
    pub after: Option<RowId>,
}

/// A key of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// The primary key.
    Primary,
    /// The secondary index at this position of the table's `indexes`.
    Index(usize),
}

/// A row, lent until the visitor returns.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The number that identifies the row in its table.
    pub row_id: RowId,
    /// The object's bytes, not verified; empty if the plan needs no payloads.
    pub payload: &'a [u8],
    /// The values that the index of [`Source::Entries`] stores for the row. A backend that reads
    /// the payload anyway may give the payload instead, and no entry.
    pub entry: Option<Entry<'a>>,
}

impl<'a> Row<'a> {
    /// The row of an object, with its payload.
    #[must_use]
    pub fn of(object: &'a Object) -> Self {
        Self {
            row_id: object.row_id(),
            payload: object.payload(),
            entry: None,
        }
    }
}

/// The values that an index stores for a row, lent until the visitor returns.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The fields of the index.
    pub fields: &'a [Field],
    /// The value of each.
    pub values: &'a [ValueRef<'a>],
}

impl<'a> Entry<'a> {
    /// The row of the entry, without its payload.
    #[must_use]
    pub const fn row(self, row_id: RowId) -> Row<'a> {
        Row {
            row_id,
            payload: &[],
            entry: Some(self),
        }
    }

    /// The value of a field, or `None` if the index does not store the field.
    #[must_use]
    pub fn value(self, field: &Field) -> Option<ValueRef<'a>> {
        let position = position_of(self.fields, field)?;
        self.values.get(position).copied()
    }
}

/// The position of a field among the fields of a key.
#[must_use]
pub fn position_of(fields: &[Field], field: &Field) -> Option<usize> {
    let is_same = |other: &Field| other.steps == field.steps && other.kind == field.kind;
    fields.iter().position(is_same)
}
