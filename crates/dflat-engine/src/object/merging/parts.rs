//! The inline values that the canonical form of an object has.

use std::cmp::Reverse;

use dflat_model::{
    Element, Field, FieldLayout, ROOT_TYPE, Scalar, Shape, Step, TableLayout, TypeId, Value,
};

use super::super::{Malformed, TableView};
use super::knowledge::Types;

/// An inline value to copy: its alignment, its vtable offset, and the number of its field. A union
/// has two.
pub(super) type Part = (Reverse<usize>, u16, usize);

/// The inline values that the canonical form of a table has.
pub(super) fn inline_parts(
    (types, key): (Types<'_>, &[Field]),
    (id, layout): (TypeId, &TableLayout),
    from: TableView<'_>,
) -> Result<Vec<Part>, Malformed> {
    let mut parts = Vec::new();
    for (number, field) in layout.fields.iter().enumerate() {
        let voffset = field.voffset;
        let is_absent = match field.shape {
            Shape::Single(Element::Union(_)) => from.union(voffset)?.is_none(),
            _ => !from.has(voffset),
        };
        if is_absent || is_left_out(types, key, (id, field), from)? {
            continue;
        }
        let (align, code) = match field.shape {
            Shape::Single(Element::Union(_)) => (4, Some(1)),
            Shape::Vector(Element::Union(_)) => (4, Some(4)),
            Shape::Vector(_) => (4, None),
            Shape::Single(element) => (types.inline(element)?.1, None),
        };
        parts.push((Reverse(align), voffset, number));
        let code = code.map(|align| (Reverse(align), voffset - 2, number));
        parts.extend(code);
    }
    Ok(parts)
}

/// Whether the canonical form has no value for a field, because the value is the default.
fn is_left_out(
    types: Types<'_>,
    key: &[Field],
    (table, field): (TypeId, &FieldLayout),
    from: TableView<'_>,
) -> Result<bool, Malformed> {
    let scalar = match field.shape {
        Shape::Single(Element::Scalar(scalar)) => scalar,
        Shape::Single(Element::Enum(id)) => types.enumeration(id)?.base,
        Shape::Single(Element::Text) => {
            let is_kept = field.required || (table == ROOT_TYPE && is_key(key, field));
            let text = from.text(field.voffset)?;
            return Ok(match (&field.default, text) {
                (Value::Text(default), Some(text)) => !is_kept && text == default,
                _ => false,
            });
        }
        Shape::Vector(element) => {
            let (size, _) = types.inline(element)?;
            let vector = from.vector(field.voffset, size)?;
            return Ok(!field.required && vector.is_some_and(|vector| vector.is_empty()));
        }
        Shape::Single(_) => return Ok(false),
    };
    let size = scalar.size_bytes();
    let Some(bytes) = from.structure(field.voffset, size)? else {
        return Ok(false);
    };
    let mut plain = [0; 8];
    let plain = plain.get_mut(..size).ok_or(Malformed)?;
    copy_scalar(scalar, bytes, plain);
    let default = default_bytes(scalar, &field.default);
    Ok(default.is_some_and(|default| default.get(..size) == Some(&*plain)))
}

fn is_key(key: &[Field], field: &FieldLayout) -> bool {
    key.iter()
        .any(|part| *part.steps == [Step::Field(field.voffset)])
}

/// The bytes of a default, as many as the type has; `None` if the field has no default.
fn default_bytes(scalar: Scalar, default: &Value) -> Option<[u8; 8]> {
    let float = |value: f64| match scalar {
        Scalar::F32 => u64::from((value as f32).to_bits()),
        _ => value.to_bits(),
    };
    let bits = match *default {
        Value::Int(value) if scalar.is_float() => float(value as f64),
        Value::Int(value) => value as u64,
        Value::UInt(value) => value,
        Value::Float(value) => float(value),
        Value::Null | Value::Text(_) => return None,
    };
    Some(bits.to_le_bytes())
}

/// Copies an inline value without the padding of structs, into zeros.
pub(super) fn copy_members(
    types: Types<'_>,
    element: Element,
    bytes: &[u8],
    place: &mut [u8],
) -> Result<(), Malformed> {
    let Element::Struct(id) = element else {
        let place = place.get_mut(..bytes.len()).ok_or(Malformed)?;
        match element {
            Element::Scalar(scalar) => copy_scalar(scalar, bytes, place),
            _ => place.copy_from_slice(bytes),
        }
        return Ok(());
    };
    for field in types.structure(id)?.fields.as_ref() {
        let (size, _) = types.inline(field.element)?;
        for index in 0..usize::from(field.array.unwrap_or(1)) {
            let start = field.offset as usize + index * size;
            let bytes = bytes.get(start..start + size).ok_or(Malformed)?;
            let place = place.get_mut(start..start + size).ok_or(Malformed)?;
            copy_members(types, field.element, bytes, place)?;
        }
    }
    Ok(())
}

/// Copies a number, or a boolean as 0 or 1. Both slices have the size of the type.
fn copy_scalar(scalar: Scalar, bytes: &[u8], place: &mut [u8]) {
    match (scalar, bytes, &mut *place) {
        (Scalar::Bool, [byte], [place]) => *place = u8::from(*byte != 0),
        _ => place.copy_from_slice(bytes),
    }
}
