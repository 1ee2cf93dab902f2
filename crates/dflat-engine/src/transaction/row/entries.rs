//! What the indexes of a table have of an object.

use dflat_model::{Field, IndexDescriptor, Table, ValueRef};

use super::key::read;
use crate::error::Result;
use crate::query::admits;
use crate::storage::{EntryValues, IndexEntry};

/// The entries of all indexes; absent ones are among them.
#[inline]
pub(in crate::transaction) fn index_entries<'a>(
    table: &'a Table,
    payload: &'a [u8],
) -> Result<Vec<IndexEntry<'a>>> {
    // Most tables have none, and a list of results costs more than it looks.
    if table.indexes.is_empty() {
        return Ok(Vec::new());
    }
    let indexes = table.indexes.iter().enumerate();
    indexes
        .map(|(index, descriptor)| {
            let values = entry_values(table, descriptor, payload)?;
            Ok(IndexEntry { index, values })
        })
        .collect()
}

/// The entries of a row that has none yet.
#[inline]
pub(in crate::transaction) fn present_entries<'a>(
    table: &'a Table,
    payload: &'a [u8],
) -> Result<Vec<IndexEntry<'a>>> {
    let mut entries = index_entries(table, payload)?;
    entries.retain(|entry| entry.values != EntryValues::Absent);
    Ok(entries)
}

/// What an index has of an object.
pub(in crate::transaction) fn entry_values<'a>(
    table: &Table,
    index: &'a IndexDescriptor,
    payload: &'a [u8],
) -> Result<EntryValues<'a>> {
    if let Some(condition) = &index.condition
        && admits(condition, &|field| read(table, payload, field))? != Some(true)
    {
        return Ok(EntryValues::Absent);
    }
    if let [field] = &*index.fields {
        let value = read(table, payload, field)?;
        let is_plain = index.condition.is_none();
        return Ok(EntryValues::One(if is_plain {
            stored(field, value)
        } else {
            value
        }));
    }
    let values = index.fields.iter().map(|field| read(table, payload, field));
    Ok(EntryValues::Several(values.collect::<Result<_>>()?))
}

/// A value as it stands in an index of one field.
///
/// # Compatibility
/// Dflat for Swift stores NULL for an empty union, whose type code is 0.
fn stored<'a>(field: &Field, value: ValueRef<'a>) -> ValueRef<'a> {
    match value {
        ValueRef::Int(0) if field.is_tag() => ValueRef::Null,
        value => value,
    }
}
