//! What the backend stores of an object: its key, its index entries, and the storage they need.

use std::ops::ControlFlow;

use dflat_model::{Field, Table, ValueRef};

use crate::error::{Error, ErrorKind, Result};
use crate::fetch;
use crate::object::{field_value, same_value};
use crate::storage::{IndexEntry, IndexState, ScanPlan, Source, WriteError, WriteTransaction};

/// Parts of a key that need no allocation.
const KEY_PARTS: usize = 4;

/// The parts of a primary key, in line for the usual few.
pub(super) struct KeyParts<'a> {
    few: [ValueRef<'a>; KEY_PARTS],
    many: Vec<ValueRef<'a>>,
    len: usize,
}

impl<'a> KeyParts<'a> {
    pub(super) fn read(table: &'a Table, payload: &'a [u8]) -> Result<Self> {
        let fields = &table.primary_key;
        let mut parts = Self {
            few: [ValueRef::Null; KEY_PARTS],
            many: Vec::new(),
            len: fields.len(),
        };
        if fields.len() > KEY_PARTS {
            parts.many = fields
                .iter()
                .map(|f| read(table, payload, f))
                .collect::<Result<_>>()?;
        } else {
            for (part, field) in parts.few.iter_mut().zip(fields.iter()) {
                *part = read(table, payload, field)?;
            }
        }
        Ok(parts)
    }

    pub(super) fn as_slice(&self) -> &[ValueRef<'a>] {
        if self.many.is_empty() {
            self.few.get(..self.len).unwrap_or_default()
        } else {
            &self.many
        }
    }
}

/// The new primary key, if an update changes it.
pub(super) fn changed_key<'a>(
    table: &'a Table,
    before: &'a [u8],
    after: &'a [u8],
) -> Result<Option<KeyParts<'a>>> {
    let mut changed = false;
    for field in table.primary_key.iter() {
        let same = same_value(before, after, field).map_err(|_| unreadable(table, field))?;
        changed = changed || !same;
    }
    changed.then(|| KeyParts::read(table, after)).transpose()
}

/// The entries of all indexes.
pub(super) fn index_entries<'a>(
    table: &'a Table,
    payload: &'a [u8],
) -> Result<Vec<IndexEntry<'a>>> {
    let indexes = table.indexes.iter().enumerate();
    indexes
        .map(|(index, descriptor)| {
            let field = &descriptor.field;
            read(table, payload, field).map(|value| IndexEntry {
                index,
                value: stored(field, value),
            })
        })
        .collect()
}

/// A value as it stands in an index.
///
/// # Compatibility
/// Dflat for Swift stores NULL for an empty union, whose type code is 0.
fn stored<'a>(field: &Field, value: ValueRef<'a>) -> ValueRef<'a> {
    match value {
        ValueRef::Int(0) if field.is_tag() => ValueRef::Null,
        value => value,
    }
}

fn read<'a>(table: &Table, payload: &'a [u8], field: &'a Field) -> Result<ValueRef<'a>> {
    field_value(payload, field).map_err(|_| unreadable(table, field))
}

fn unreadable(table: &Table, field: &Field) -> Error {
    let message = format!(
        "cannot read {field} of {}: its bytes are damaged",
        table.type_name
    );
    Error::new(ErrorKind::Corrupt, message)
}

/// Makes a table's storage what its descriptor says: creates what is missing, fills its indexes, so
/// that each write maintains all, and removes those that it would not maintain; once for each
/// transaction of the backend.
pub(super) fn prepare(
    writer: &mut dyn WriteTransaction,
    prepared: &mut Vec<Table>,
    table: &Table,
) -> Result<()> {
    if prepared.iter().any(|ready| ready.is_same(table)) {
        return Ok(());
    }
    // Another descriptor of the same table has other indexes.
    prepared.retain(|other| other.name != table.name);
    // Order: noted first, so that a failure that leaves half of it is undone with the storage.
    prepared.push(table.clone());
    writer.create(table)?;
    let states = writer.index_states(table)?;
    for (position, state) in states.iter().enumerate() {
        if *state != IndexState::Ready {
            fill_index(writer, table, position)?;
        }
    }
    Ok(())
}

fn fill_index(writer: &mut dyn WriteTransaction, table: &Table, position: usize) -> Result<()> {
    let Some(index) = table.indexes.get(position) else {
        return Ok(());
    };
    // Values are read first and written afterwards: a scan must not meet its own writes.
    let mut values = Vec::new();
    let mut failure = None;
    writer.scan(
        &ScanPlan {
            table,
            source: Source::Rows,
            payload: true,
        },
        &mut |row| {
            match field_value(row.payload, &index.field) {
                Ok(value) => values.push((row.row_id, stored(&index.field, value).to_value())),
                Err(_) => failure = Some(fetch::corrupt(table, row.row_id)),
            }
            if failure.is_some() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        },
    )?;
    if let Some(error) = failure {
        return Err(error);
    }
    for (row_id, value) in &values {
        let entry = IndexEntry {
            index: position,
            value: value.as_ref(),
        };
        writer
            .put_index_entry(table, *row_id, &entry)
            .map_err(|error| match error {
                WriteError::Failed(error) => error,
                WriteError::Conflict(_) => {
                    let message = format!(
                        "cannot build the unique index on {} of {}: {value} occurs more than once",
                        index.field, table.type_name
                    );
                    Error::new(ErrorKind::Backend, message)
                }
            })?;
    }
    Ok(())
}
