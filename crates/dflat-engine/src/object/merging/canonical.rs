//! The canonical form of an object: equal values give equal bytes, whichever encoder wrote them.

use std::cmp::Reverse;

use dflat_model::{
    Element, Field, FieldLayout, ROOT_TYPE, Scalar, Shape, Step, TableDescriptor, TableLayout,
    TypeId, Value,
};

use super::super::{Malformed, Slot, TableView, Writer};
use super::copy::{Child, Copier};
use super::knowledge::Types;

/// Copies a payload into the form that generated code writes: the inline values of a table by
/// descending alignment and then by their vtable offsets, the values behind it by their vtable
/// offsets, nothing shared but vtables, no padding but zeros, and no value that equals its default
/// unless it is required or a part of the primary key. Copying a copy changes nothing.
///
/// Generated code writes values in the order in which the schema declares them; if the schema
/// assigns other offsets than in this order, its payloads differ from their canonical forms.
///
/// The payload must be verified, and the types must [know](super::Knowledge::covers) all its
/// values: values that they do not know are left out.
///
/// # Errors
/// If the payload does not fit the types, or the copy would be too large.
pub fn canonical(table: &TableDescriptor, payload: &[u8]) -> Result<Vec<u8>, Malformed> {
    let copier = Copier {
        types: Types(&table.types),
        as_seen: false,
        canonical: Some(&table.primary_key),
    };
    Writer::with_kept(|writer| {
        let root = writer.begin();
        copier.table(writer, root, ROOT_TYPE, TableView::root(payload)?)?;
        Ok(writer.finish().map_err(|_| Malformed)?.to_vec())
    })
}

/// An inline value to copy: its alignment, its vtable offset, and the number of its field. A union
/// has two.
type Part = (Reverse<usize>, u16, usize);

/// The places that were left for the values behind a table: of a value, and of type codes.
type Slots = (Option<Slot>, Option<Slot>);

/// Copies the fields of a table that was begun.
pub(super) fn copy_table(
    copier: Copier<'_>,
    writer: &mut Writer,
    (id, layout): (TypeId, &TableLayout),
    from: TableView<'_>,
) -> Result<(), Malformed> {
    let mut parts = inline_parts(copier, id, layout, from)?;
    parts.sort_unstable();
    let mut slots: Vec<Slots> = vec![(None, None); layout.fields.len()];
    for (_, voffset, number) in parts {
        let field = layout.fields.get(number).ok_or(Malformed)?;
        let slots = slots.get_mut(number).ok_or(Malformed)?;
        match field.shape {
            Shape::Single(
                element @ (Element::Scalar(_) | Element::Enum(_) | Element::Struct(_)),
            ) => {
                let (size, align) = copier.types.inline(element)?;
                let bytes = from.structure(voffset, size)?.ok_or(Malformed)?;
                copier.inline(element, bytes, writer.structure(voffset, size, align))?;
            }
            Shape::Single(Element::Union(_)) if voffset != field.voffset => {
                let union = from.union(field.voffset)?.ok_or(Malformed)?;
                writer.scalar(voffset, union.code);
            }
            _ if voffset != field.voffset => slots.1 = Some(writer.slot(voffset)),
            _ => slots.0 = Some(writer.slot(voffset)),
        }
    }
    writer.end_table();
    for (field, slots) in layout.fields.iter().zip(slots) {
        let child = match slots {
            (Some(value), None) => Child::Value(value),
            (Some(values), Some(codes)) => Child::Unions(codes, values),
            (None, _) => continue,
        };
        copier.child(writer, field, child, from)?;
    }
    Ok(())
}

/// The inline values that the canonical form of a table has.
fn inline_parts(
    copier: Copier<'_>,
    id: TypeId,
    layout: &TableLayout,
    from: TableView<'_>,
) -> Result<Vec<Part>, Malformed> {
    let key = copier.canonical.unwrap_or_default();
    let mut parts = Vec::new();
    for (number, field) in layout.fields.iter().enumerate() {
        let voffset = field.voffset;
        let is_absent = match field.shape {
            Shape::Single(Element::Union(_)) => from.union(voffset)?.is_none(),
            _ => !from.has(voffset),
        };
        if is_absent || is_left_out(copier.types, key, (id, field), from)? {
            continue;
        }
        let (align, code) = match field.shape {
            Shape::Single(Element::Union(_)) => (4, Some(1)),
            Shape::Vector(Element::Union(_)) => (4, Some(4)),
            Shape::Vector(_) => (4, None),
            Shape::Single(element) => (copier.types.inline(element)?.1, None),
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

#[cfg(test)]
mod tests {
    use dflat_model::Table;
    use dflat_schema::{MemoryLoader, Options, compile, describe};

    use super::*;
    use crate::object::{Slot, equal, verify};

    fn table() -> Table {
        let text = "struct Spot { on: bool; x: int; } enum Level: ubyte { Low = 1, High = 2 } \
                    table Post { id: string (primary); rank: int = 7; ratio: float = 0.5; \
                    level: Level = High; maybe: int = null; name: string; tags: [string]; \
                    spot: Spot; spots: [Spot]; } root_type Post;";
        let loader = MemoryLoader::new().with_file("post.fbs", text);
        let compiled = compile(&["post.fbs".to_owned()], &loader, &Options::default());
        let schema = compiled.schema.expect("the schema has no errors");
        Table::new(describe(
            &schema,
            schema.files[0].root.expect("it has a root"),
        ))
    }

    /// A payload whose key is empty, with what `inline` and `children` write.
    fn payload(
        inline: impl FnOnce(&mut Writer) -> Vec<Slot>,
        children: impl FnOnce(&mut Writer, &[Slot]),
    ) -> Vec<u8> {
        let mut writer = Writer::new();
        let root = writer.begin();
        assert!(writer.begin_table(root));
        let key = writer.slot(4);
        let slots = inline(&mut writer);
        writer.end_table();
        writer.text(key, "");
        children(&mut writer, &slots);
        writer.leave();
        writer.finish().expect("it is small").to_vec()
    }

    fn check(given: &[u8], expected: &[u8]) {
        let table = table();
        verify(&table.types, given).expect("it is well formed");
        let made = canonical(&table, given).expect("it fits the types");
        assert_eq!(made, expected);
        assert!(equal(&table.types, given, &made));
        assert_eq!(canonical(&table, &made).expect("it fits"), made);
    }

    #[test]
    fn values_that_equal_their_defaults_are_left_out() {
        let plain = payload(|_| Vec::new(), |_, _| ());
        let full = payload(
            |writer| {
                writer.scalar(6, 7_i32);
                writer.scalar(8, 0.5_f32);
                writer.scalar(10, 2_u8);
                vec![writer.slot(16), writer.slot(20)]
            },
            |writer, slots| {
                let _ = writer.slots(slots[0], 0);
                let _ = writer.structures(slots[1], 0, 8, 4);
            },
        );
        check(&plain, &plain);
        check(&full, &plain);
    }

    #[test]
    fn values_without_a_default_stay() {
        let given = payload(
            |writer| {
                writer.scalar(6, 0_i32);
                writer.scalar(8, 0.0_f32);
                writer.scalar(12, 0_i32);
                let name = writer.slot(14);
                writer.scalar(10, 1_u8);
                vec![name]
            },
            |writer, slots| writer.text(slots[0], ""),
        );
        check(&given, &given);
    }

    #[test]
    fn padding_and_booleans_become_plain() {
        let written = |spot: [u8; 8]| {
            payload(
                |writer| {
                    writer.structure(18, 8, 4).copy_from_slice(&spot);
                    vec![writer.slot(20)]
                },
                |writer, slots| {
                    let places = writer.structures(slots[0], 2, 8, 4);
                    places.copy_from_slice([spot, spot].as_flattened());
                },
            )
        };
        let plain = written([1, 0, 0, 0, 4, 5, 6, 7]);
        check(&written([1, 1, 2, 3, 4, 5, 6, 7]), &plain);
        let other_truth = written([9, 0, 0, 0, 4, 5, 6, 7]);
        assert_eq!(canonical(&table(), &other_truth).as_deref(), Ok(&*plain));
    }
}
