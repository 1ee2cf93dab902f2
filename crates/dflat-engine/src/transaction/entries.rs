//! What the indexes of a table have of an object.

use std::cmp::Ordering;

use dflat_model::{Field, IndexCondition, IndexDescriptor, Table, ValueRef};

use super::row::read;
use crate::error::Result;
use crate::storage::{EntryValues, IndexEntry};

/// The entries of all indexes; absent ones are among them.
#[inline]
pub(super) fn index_entries<'a>(
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
pub(super) fn present_entries<'a>(
    table: &'a Table,
    payload: &'a [u8],
) -> Result<Vec<IndexEntry<'a>>> {
    let mut entries = index_entries(table, payload)?;
    entries.retain(|entry| entry.values != EntryValues::Absent);
    Ok(entries)
}

/// What an index has of an object.
pub(super) fn entry_values<'a>(
    table: &Table,
    index: &'a IndexDescriptor,
    payload: &'a [u8],
) -> Result<EntryValues<'a>> {
    if let Some(condition) = &index.condition
        && holds(table, condition, payload)? != Some(true)
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

/// Whether an object is one that an index has an entry of: `None` is UNKNOWN.
fn holds(table: &Table, condition: &IndexCondition, payload: &[u8]) -> Result<Option<bool>> {
    Ok(match condition {
        IndexCondition::Compare {
            field,
            operator,
            value,
        } => {
            let found = read(table, payload, field)?;
            let ordering: Option<Ordering> = found.compare(value.as_ref());
            ordering.map(|ordering| operator.accepts(ordering))
        }
        IndexCondition::IsNull(field) => Some(read(table, payload, field)?.is_null()),
        IndexCondition::IsNotNull(field) => Some(!read(table, payload, field)?.is_null()),
        IndexCondition::And(parts) => decide(table, parts, payload, false)?,
        IndexCondition::Or(parts) => decide(table, parts, payload, true)?,
    })
}

/// The answer of several conditions, of which one that gives `deciding` is enough.
fn decide(
    table: &Table,
    parts: &[IndexCondition],
    payload: &[u8],
    deciding: bool,
) -> Result<Option<bool>> {
    let mut answer = Some(!deciding);
    for part in parts {
        match holds(table, part, payload)? {
            Some(found) if found == deciding => return Ok(Some(deciding)),
            Some(_) => {}
            None => answer = None,
        }
    }
    Ok(answer)
}
