//! The fields of an object that the write path reads: its primary key, and values for messages.

use dflat_model::{Field, Table, ValueRef};
use smallvec::SmallVec;

use crate::error::{Error, ErrorKind, Result};
use crate::object::{field_value, root_text, same_value, text};

/// The parts of a primary key, stored inline if they are as few as usual.
pub(in super::super) type KeyParts<'a> = SmallVec<[ValueRef<'a>; 2]>;

/// The primary key of an object.
#[inline]
pub(in super::super) fn key_parts<'a>(table: &'a Table, payload: &'a [u8]) -> Result<KeyParts<'a>> {
    let mut parts = KeyParts::new();
    for field in table.primary_key.iter() {
        parts.push(read(table, payload, field)?);
    }
    Ok(parts)
}

/// The new primary key, if an update changes it.
pub(in super::super) fn changed_key<'a>(
    table: &'a Table,
    before: &'a [u8],
    after: &'a [u8],
) -> Result<Option<KeyParts<'a>>> {
    let mut changed = false;
    for field in table.primary_key.iter() {
        let same = same_value(before, after, field).map_err(|_| unreadable(table, field))?;
        changed = changed || !same;
    }
    changed.then(|| key_parts(table, after)).transpose()
}

#[inline]
pub(in super::super) fn read<'a>(
    table: &Table,
    payload: &'a [u8],
    field: &'a Field,
) -> Result<ValueRef<'a>> {
    // Most keys are strings in the root table.
    if let Ok(Some(bytes)) = root_text(payload, field)
        && let Ok(text) = text(bytes)
    {
        return Ok(ValueRef::Text(text));
    }
    field_value(payload, field).map_err(|_| unreadable(table, field))
}

fn unreadable(table: &Table, field: &Field) -> Error {
    let message = format!(
        "cannot read {field} of {}: its bytes are damaged",
        table.type_name
    );
    Error::new(ErrorKind::Corrupt, message)
}

/// The values of some fields, for a message.
pub(in super::super) fn shown(fields: &[Field], payload: &[u8]) -> String {
    let values = fields.iter().map(|field| {
        let value = field_value(payload, field).unwrap_or(ValueRef::Null);
        format!("{field} = {value}")
    });
    values.collect::<Vec<_>>().join(", ")
}
