//! What is read of a backend: which rows, in which order.

use std::ops::Bound;

use dflat_model::{Direction, Field, RowId, Table, Value, ValueRef};

/// What to scan, and in which order.
#[derive(Clone, Debug)]
pub struct ScanPlan<'a> {
    /// The table.
    pub table: &'a Table,
    /// The rows.
    pub source: Source<'a>,
    /// Whether their payloads are wanted. Those of a range of an index come from the index alone,
    /// if not.
    pub payload: bool,
}

/// Which rows a scan visits.
#[derive(Clone, Debug)]
pub enum Source<'a> {
    /// All rows, by ascending row id.
    Rows,
    /// All rows with a larger row id, by ascending row id.
    RowsAfter(RowId),
    /// The rows of these ids that exist, in the order given.
    RowIds(&'a [RowId]),
    /// The rows whose primary key has these parts: one at most, unless a part is NULL.
    PrimaryKey(&'a [ValueRef<'a>]),
    /// Rows by the primary key or an index that is ready.
    Key(KeyScan<'a>),
    /// The same rows by an index, for the values that each has in it: [`Row::entry`].
    Entries(KeyScan<'a>),
}

/// A range of a key: its first parts equal `prefix`, and the next part, if there is one, lies
/// between `lower` and `upper` in the total order of [`ValueRef::order`], in which NULL is the
/// smallest value: `Excluded(Null)` as lower bound leaves NULLs out, `Included(Null)` on both sides
/// is `IS NULL`.
///
/// Rows come by the parts that `prefix` leaves open, all in `direction`, then by ascending row id.
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
    /// The direction of the parts that `prefix` leaves open.
    pub direction: Direction,
    /// The row id that all rows have a larger one than.
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

/// A row, lent for the time of a visit.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Its identity.
    pub row_id: RowId,
    /// The object's bytes, unverified; none if they are not wanted.
    pub payload: &'a [u8],
    /// Its values in the index of [`Source::Entries`]. A backend that has the payload at hand may
    /// give that instead.
    pub entry: Option<Entry<'a>>,
}

/// What a row has in an index.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The fields of the index.
    pub fields: &'a [Field],
    /// The value of each.
    pub values: &'a [ValueRef<'a>],
}

impl<'a> Entry<'a> {
    /// The value of a field, if the index has it.
    #[must_use]
    pub fn value(self, field: &Field) -> Option<ValueRef<'a>> {
        let position = position_of(self.fields, field)?;
        self.values.get(position).copied()
    }
}

/// Where a field stands among those of a key.
#[must_use]
pub fn position_of(fields: &[Field], field: &Field) -> Option<usize> {
    let is_it = |other: &Field| other.steps == field.steps && other.kind == field.kind;
    fields.iter().position(is_it)
}
