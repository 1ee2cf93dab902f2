//! The entries of an object in the indexes of its table.

use dflat_model::{Field, IndexDescriptor, Table, ValueRef};
use smallvec::SmallVec;

use super::key::read;
use crate::error::Result;
use crate::query::admits;
use crate::storage::{EntryValues, IndexEntry};

/// The entries of an object. Most tables have few indexes: their entries need no allocation.
pub(in super::super) type Entries<'a> = SmallVec<[IndexEntry<'a>; 4]>;

/// The entries of an object in all indexes, absent entries included.
pub(in super::super) fn index_entries<'a>(
    table: &'a Table,
    payload: &'a [u8],
) -> impl Iterator<Item = Result<IndexEntry<'a>>> {
    let indexes = table.indexes.iter().enumerate();
    indexes.map(move |(index, descriptor)| {
        let values = entry_values(table, descriptor, payload)?;
        Ok(IndexEntry { index, values })
    })
}

/// The entries to write for a row that has no entries yet; absent entries are left out.
#[inline]
pub(in super::super) fn present_entries<'a>(
    table: &'a Table,
    payload: &'a [u8],
) -> Result<Entries<'a>> {
    let mut entries = Entries::new();
    for entry in index_entries(table, payload) {
        let entry = entry?;
        if entry.values != EntryValues::Absent {
            entries.push(entry);
        }
    }
    Ok(entries)
}

/// The entries to write for a row whose payload was `before`; entries that stay are left out.
#[inline]
pub(in super::super) fn changed_entries<'a>(
    table: &'a Table,
    before: &'a [u8],
    payload: &'a [u8],
) -> Result<Entries<'a>> {
    let mut entries = Entries::new();
    for (old, new) in index_entries(table, before).zip(index_entries(table, payload)) {
        let (old, new) = (old?, new?);
        if old.values != new.values {
            entries.push(new);
        }
    }
    Ok(entries)
}

/// The entry of an object in an index.
pub(in super::super) fn entry_values<'a>(
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

/// A value as it is stored in an index of one field.
///
/// # Compatibility
/// Dflat for Swift stores NULL for an empty union, whose type code is 0.
fn stored<'a>(field: &Field, value: ValueRef<'a>) -> ValueRef<'a> {
    match value {
        ValueRef::Int(0) if field.is_tag() => ValueRef::Null,
        value => value,
    }
}
