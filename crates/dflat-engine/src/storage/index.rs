//! What indexes have of rows, and how far they are to be believed.

use dflat_model::{RowId, Table, Value, ValueRef};
use smallvec::SmallVec;

/// An entry of an index.
#[derive(Clone, Debug)]
pub struct IndexEntry<'a> {
    /// Position of the index in the table's `indexes`.
    pub index: usize,
    /// What it has of the row.
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

/// What an index has of a row: the values of its fields, NULL included.
#[derive(Clone, Debug, PartialEq)]
pub enum EntryValues<'a> {
    /// Nothing, because its condition is not true: the row has no entry.
    Absent,
    /// That of its only field.
    One(ValueRef<'a>),
    /// Those of its fields.
    Several(Vec<ValueRef<'a>>),
}

impl<'a> EntryValues<'a> {
    /// The values, if there is an entry.
    #[must_use]
    pub const fn get(&self) -> Option<&[ValueRef<'a>]> {
        match self {
            Self::Absent => None,
            Self::One(value) => Some(std::slice::from_ref(value)),
            Self::Several(values) => Some(values.as_slice()),
        }
    }

    /// Whether a unique index admits them once only: there are some, and none is NULL.
    #[must_use]
    pub fn can_conflict(&self) -> bool {
        self.get()
            .is_some_and(|values| !values.iter().any(|value| value.is_null()))
    }

    /// The same, owned.
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

/// The states of a table's indexes, of which few have many: they are asked for with each query.
pub type IndexStates = SmallVec<[IndexState; 4]>;

/// How far the indexes of a table are to be believed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Indexes {
    /// The state of each, in their order, as if there were no rows that are apart.
    pub states: IndexStates,
    /// Rows that somebody else has written past the indexes, by ascending id: what an index says of
    /// these is not to be believed, whether they exist or not.
    pub apart: Vec<RowId>,
}

impl Indexes {
    /// Those of a table without rows.
    #[must_use]
    pub fn ready(table: &Table) -> Self {
        Self {
            states: IndexStates::from_elem(IndexState::Ready, table.indexes.len()),
            apart: Vec::new(),
        }
    }

    /// Whether the index at a position is ready, and no rows are apart.
    #[must_use]
    pub fn is_whole(&self, position: usize) -> bool {
        self.states.get(position) == Some(&IndexState::Ready) && self.apart.is_empty()
    }
}

/// How far an index is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexState {
    /// It has an entry for each row that it is to have one for.
    Ready,
    /// It has an entry for each of these up to this row id, and none beyond.
    Incomplete(RowId),
    /// It does not exist, while its table does.
    Missing,
}
