//! A table and its indexes, as the library's own tables describe them.

use dflat_engine::storage::{IndexState, IndexStates};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{IndexDescriptor, RowId, Table};
use tokio_postgres::Row;

use super::Schema;

/// The table of a type.
#[derive(Clone, Debug)]
pub(crate) struct StoredTable {
    /// Its name, quoted. Empty if only a descriptor was stored, and the table is to be created.
    pub(crate) relation: String,
    /// The largest row id that was ever given.
    pub(crate) last_row_id: i64,
    /// The stored descriptor of the newest code that wrote to it.
    pub(crate) descriptor: Option<Vec<u8>>,
    pub(crate) indexes: Vec<StoredIndex>,
}

/// The table of an index.
#[derive(Clone, Debug)]
pub(crate) struct StoredIndex {
    /// Its name, without the schema.
    pub(crate) name: String,
    /// Its name, quoted.
    pub(crate) relation: String,
    key: String,
    definition: i64,
    pub(crate) is_unique: bool,
    /// Whether it has equal values although it is unique.
    pub(crate) admits_equal: bool,
    pub(crate) is_partial: bool,
    /// How far an index with a condition is built; `None` if it is ready.
    pub(crate) built_to: Option<i64>,
}

impl StoredTable {
    /// The table in the rows that the statement for it has read; `None` if there are none.
    pub(crate) fn read(schema: &Schema, rows: &[Row]) -> Result<Option<Self>> {
        let Some(first) = rows.first() else {
            return Ok(None);
        };
        let read = || -> std::result::Result<Self, tokio_postgres::Error> {
            let mut indexes = Vec::new();
            for row in rows {
                indexes.extend(StoredIndex::read(schema, row)?);
            }
            Ok(Self {
                relation: first
                    .try_get::<_, Option<&str>>(0)?
                    .map_or_else(String::new, |name| schema.relation(name)),
                last_row_id: first.try_get(1)?,
                descriptor: first.try_get(2)?,
                indexes,
            })
        };
        read().map(Some).map_err(|error| {
            let message = "cannot read the description of a table";
            Error::with_source(ErrorKind::Corrupt, message, error)
        })
    }

    /// Whether the table exists.
    pub(crate) const fn is_created(&self) -> bool {
        !self.relation.is_empty()
    }

    /// A table that is to be created.
    pub(crate) const fn new() -> Self {
        Self {
            relation: String::new(),
            last_row_id: 0,
            descriptor: None,
            indexes: Vec::new(),
        }
    }

    /// The stored index of a descriptor; `None` if it is missing, or has another definition.
    pub(crate) fn index(&self, index: &IndexDescriptor) -> Option<&StoredIndex> {
        let key = index.storage_key();
        let mut stored = self.indexes.iter();
        stored.find(|stored| stored.key == key && stored.is(index))
    }

    /// The states of a table's indexes, if these do not depend on rows: the index must be missing,
    /// have a condition, or be `ready`.
    pub(crate) fn states(
        &self,
        table: &Table,
        ready: impl Fn(&StoredIndex) -> bool,
    ) -> Option<IndexStates> {
        let states = table.indexes.iter().map(|index| match self.index(index) {
            None => Some(IndexState::Missing),
            Some(stored) if stored.is_partial => Some(stored.partial_state()),
            Some(stored) => ready(stored).then_some(IndexState::Ready),
        });
        states.collect()
    }
}

impl StoredIndex {
    fn read(
        schema: &Schema,
        row: &Row,
    ) -> std::result::Result<Option<Self>, tokio_postgres::Error> {
        let Some(name) = row.try_get::<_, Option<String>>(3)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            relation: schema.relation(&name),
            name,
            key: row.try_get(4)?,
            definition: row.try_get(5)?,
            is_unique: row.try_get(6)?,
            admits_equal: row.try_get(7)?,
            is_partial: row.try_get(8)?,
            built_to: row.try_get(9)?,
        }))
    }

    /// An index that was just created. If it has a condition and its table has rows, it is built
    /// up to no row.
    pub(crate) fn new(
        schema: &Schema,
        name: String,
        index: &IndexDescriptor,
        has_rows: bool,
    ) -> Self {
        let is_partial = index.condition.is_some();
        Self {
            relation: schema.relation(&name),
            name,
            key: index.storage_key(),
            definition: definition(index),
            is_unique: index.unique,
            admits_equal: false,
            is_partial,
            built_to: (is_partial && has_rows).then_some(0),
        }
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) const fn definition(&self) -> i64 {
        self.definition
    }

    /// Whether it has the definition of a descriptor.
    fn is(&self, index: &IndexDescriptor) -> bool {
        self.definition == definition(index)
    }

    /// Whether a writer can maintain it for a descriptor. An index that became unique is built
    /// anew, so that equal values are found.
    pub(crate) fn serves(&self, index: &IndexDescriptor) -> bool {
        self.key == index.storage_key() && self.is(index) && self.is_unique == index.unique
    }

    fn partial_state(&self) -> IndexState {
        self.built_to
            .map_or(IndexState::Ready, |to| IndexState::Incomplete(RowId(to)))
    }
}

/// The hash of a definition, as the server's integers have it.
fn definition(index: &IndexDescriptor) -> i64 {
    index.definition().cast_signed()
}
