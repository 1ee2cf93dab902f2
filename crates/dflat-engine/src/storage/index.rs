//! Entries of indexes, and how far indexes are complete.

use dflat_model::{RowId, Table, Value, ValueRef};
use smallvec::SmallVec;

/// An entry of an index.
#[derive(Clone, Debug)]
pub struct IndexEntry<'a> {
    /// Position of the index in the table's `indexes`.
    pub index: usize,
    /// The values that the index stores for the row.
    pub values: EntryValues<'a>,
}

impl<'a> IndexEntry<'a> {
    /// An entry of an index over one field.
    #[must_use]
    pub const fn one(index: usize, value: ValueRef<'a>) -> Self {
        Self {
            index,
            values: EntryValues::One(value),
        }
    }
}

/// The values that an index stores for a row: those of its fields, NULL included.
#[derive(Clone, Debug, PartialEq)]
pub enum EntryValues<'a> {
    /// None, because the index's condition is not true of the row.
    Absent,
    /// The value of its only field.
    One(ValueRef<'a>),
    /// The values of its fields.
    Several(Vec<ValueRef<'a>>),
}

impl<'a> EntryValues<'a> {
    /// The values, or `None` if the row has no entry.
    #[must_use]
    pub const fn get(&self) -> Option<&[ValueRef<'a>]> {
        match self {
            Self::Absent => None,
            Self::One(value) => Some(std::slice::from_ref(value)),
            Self::Several(values) => Some(values.as_slice()),
        }
    }

    /// Whether a unique index admits these values only once: there is an entry, and no value is
    /// NULL.
    #[must_use]
    pub fn can_conflict(&self) -> bool {
        self.get()
            .is_some_and(|values| !values.iter().any(|value| value.is_null()))
    }

    /// The values, copied.
    #[must_use]
    pub fn to_values(&self) -> Option<Vec<Value>> {
        let values = self.get()?.iter();
        Some(values.map(|value| value.to_value()).collect())
    }
}

impl<'a> From<&'a [Value]> for EntryValues<'a> {
    fn from(values: &'a [Value]) -> Self {
        match values {
            [value] => Self::One(value.as_ref()),
            values => Self::Several(values.iter().map(Value::as_ref).collect()),
        }
    }
}

/// Index entries to write for rows that exist.
#[derive(Clone, Copy, Debug, Default)]
pub struct IndexRepair<'a> {
    /// The rows, in any order, each once.
    pub rows: &'a [RowRepair<'a>],
    /// How far indexes with a condition are built now: the position of each index, and the last row
    /// id that it covers, or `None` if it is ready. Only an index with a condition needs this note,
    /// because its last entry does not show it.
    pub filled: &'a [(usize, Option<RowId>)],
}

/// The index entries to write for one row.
#[derive(Clone, Debug)]
pub struct RowRepair<'a> {
    /// The row. It need not exist if it is foreign and has no entries.
    pub row_id: RowId,
    /// Whether another program wrote the row without its index entries, so that the old entries are
    /// wrong.
    pub is_foreign: bool,
    /// The entries to put, for some or all of the table's indexes.
    pub entries: Vec<IndexEntry<'a>>,
}

/// The states of a table's indexes. Few tables have more than four.
pub type IndexStates = SmallVec<[IndexState; 4]>;

/// How far the indexes of a table are complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Indexes {
    /// The state of each index, in the descriptor's order, without regard to foreign rows.
    pub states: IndexStates,
    /// Rows that another program has written without their index entries, by ascending row id. The
    /// entries of these rows are not valid, whether the rows exist or not.
    pub foreign: Vec<RowId>,
    /// Whether `foreign` has every row that another program has written, except those that were
    /// [repaired](super::WriteTransaction::repair_indexes) since. False if the backend can't tell.
    pub is_noted: bool,
}

impl Indexes {
    /// The indexes of a table without rows.
    #[must_use]
    pub fn ready(table: &Table) -> Self {
        Self {
            states: IndexStates::from_elem(IndexState::Ready, table.indexes.len()),
            foreign: Vec::new(),
            is_noted: false,
        }
    }

    /// Whether the index at a position is ready, and the table has no foreign rows.
    #[must_use]
    pub fn is_whole(&self, position: usize) -> bool {
        self.states.get(position) == Some(&IndexState::Ready) && self.foreign.is_empty()
    }
}

/// How far an index is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexState {
    /// It has every entry that it should have.
    Ready,
    /// It has every entry for the rows up to this row id, and none for later rows.
    Incomplete(RowId),
    /// It does not exist, while its table does.
    Missing,
}
