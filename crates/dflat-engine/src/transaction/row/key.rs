//! The fields of an object that the write path reads: its primary key, and values for messages.

use dflat_model::{Field, FieldKind, Table, Value, ValueRef};
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

/// Refuses an object to write if a part of its primary key has no value: a float is NaN, or a
/// string is absent. Storage would keep NULL for that part, which equals no value, so that no
/// look-up could find the object and any number of objects could have the same key.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`], with the field; [`ErrorKind::Corrupt`] if the bytes of the key
/// are malformed.
#[inline]
pub(in super::super) fn refuse_missing_key(
    operation: &str,
    table: &Table,
    payload: &[u8],
) -> Result<()> {
    for field in table.primary_key.iter() {
        // Most keys are strings in the root table, or numbers that have a default.
        let is_present = match field.kind {
            FieldKind::Scalar(scalar) if !scalar.is_float() => field.default != Value::Null,
            FieldKind::Scalar(_) => false,
            FieldKind::Text => root_text(payload, field).is_ok_and(|bytes| bytes.is_some()),
        };
        if !is_present && read(table, payload, field)?.is_null() {
            return Err(missing_key(operation, table, field));
        }
    }
    Ok(())
}

#[cold]
fn missing_key(operation: &str, table: &Table, field: &Field) -> Error {
    let (value, type_name) = (missing_value(field), &table.type_name);
    let message = format!(
        "cannot {operation} {type_name}: field `{field}` of the primary key is {value}, so no \
         look-up could find the object"
    );
    Error::new(ErrorKind::InvalidArgument, message)
}

/// The state of a field without a value, for messages.
#[must_use]
pub const fn missing_value(field: &Field) -> &'static str {
    match field.kind {
        FieldKind::Scalar(scalar) if scalar.is_float() => "NaN",
        _ => "missing",
    }
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

/// The primary key of an object, for a message.
#[must_use]
pub fn shown_key(table: &Table, payload: &[u8]) -> String {
    shown(&table.primary_key, payload)
}

/// The values of some fields, for a message.
pub(in super::super) fn shown(fields: &[Field], payload: &[u8]) -> String {
    let values = fields.iter().map(|field| {
        let value = field_value(payload, field).unwrap_or(ValueRef::Null);
        format!("{field} = {value}")
    });
    values.collect::<Vec<_>>().join(", ")
}
