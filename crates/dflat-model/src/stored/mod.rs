//! Descriptors as bytes, so that a file can say what its newest code knows.
//!
//! The bytes begin with a version. Numbers are LEB128, texts are UTF-8 behind their length, lists
//! stand behind their count, and a choice is a byte. What comes from a file is checked before it is
//! trusted: a descriptor that was decoded is one that codecs can follow without meeting a cycle of
//! structs, an offset without room or a type of another kind.

mod check;
mod decode;
mod encode;

pub use decode::{decode, is_later};
pub use encode::encode;

/// The first byte of what [`encode`] writes.
const VERSION: u8 = 1;

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::{
        Element, EnumLayout, EnumValueLayout, Field, FieldKind, FieldLayout, IndexDescriptor,
        MemberLayout, Scalar, Shape, Step, StructFieldLayout, StructLayout, TableDescriptor,
        TableLayout, TypeDescriptor, TypeId, UnionLayout, Value,
    };

    fn key(kind: FieldKind, default: Value) -> Field {
        Field {
            name: Cow::Borrowed("a.B.c"),
            steps: Cow::Borrowed(&[Step::Field(6), Step::Member(1), Step::Offset(4), Step::Tag]),
            kind,
            default,
        }
    }

    fn field(voffset: u16, shape: Shape, default: Value) -> FieldLayout {
        FieldLayout {
            name: Cow::Borrowed("field"),
            voffset,
            shape,
            default,
            required: voffset == 8,
        }
    }

    pub(super) fn sample() -> TableDescriptor {
        let text = FieldKind::Text;
        let single = Shape::Single;
        TableDescriptor {
            name: Cow::Borrowed("ns__t_v1"),
            type_name: Cow::Borrowed("Ns.T"),
            primary_key: Cow::Owned(vec![key(text, Value::text("d"))]),
            indexes: Cow::Owned(vec![IndexDescriptor {
                field: key(FieldKind::Scalar(Scalar::F32), Value::Float(-0.5)),
                unique: true,
            }]),
            types: Cow::Owned(vec![
                TypeDescriptor::Table(TableLayout {
                    name: Cow::Borrowed("Ns.T"),
                    fields: Cow::Owned(vec![
                        field(
                            4,
                            single(Element::Scalar(Scalar::U64)),
                            Value::UInt(u64::MAX),
                        ),
                        field(8, single(Element::Union(TypeId(2))), Value::Null),
                        field(10, Shape::Vector(Element::Table(TypeId(0))), Value::Null),
                        field(12, single(Element::Struct(TypeId(1))), Value::Null),
                        field(14, single(Element::Enum(TypeId(3))), Value::Int(-1)),
                    ]),
                    end: 18,
                }),
                TypeDescriptor::Struct(StructLayout {
                    name: Cow::Borrowed("Ns.S"),
                    size: 8,
                    align: 4,
                    fields: Cow::Owned(vec![StructFieldLayout {
                        name: Cow::Borrowed("s"),
                        offset: 0,
                        element: Element::Enum(TypeId(3)),
                        array: Some(2),
                    }]),
                }),
                TypeDescriptor::Union(UnionLayout {
                    name: Cow::Borrowed("Ns.U"),
                    members: Cow::Owned(vec![
                        MemberLayout {
                            name: Cow::Borrowed("Text"),
                            code: 1,
                            element: Element::Text,
                        },
                        MemberLayout {
                            name: Cow::Borrowed("S"),
                            code: 255,
                            element: Element::Struct(TypeId(1)),
                        },
                    ]),
                }),
                TypeDescriptor::Enum(EnumLayout {
                    name: Cow::Borrowed("Ns.E"),
                    base: Scalar::I32,
                    bit_flags: false,
                    values: Cow::Owned(vec![EnumValueLayout {
                        name: Cow::Borrowed("Minus"),
                        value: Value::Int(-1),
                    }]),
                }),
            ]),
        }
    }

    #[test]
    fn what_was_encoded_is_decoded() {
        let sample = sample();
        assert_eq!(decode(&encode(&sample)), Some(sample));
    }

    #[test]
    fn bytes_that_are_cut_or_changed_are_refused_or_give_something_sound() {
        let bytes = encode(&sample());
        for len in 0..bytes.len() {
            assert_eq!(decode(&bytes[..len]), None, "{len} bytes");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert_eq!(decode(&longer), None);
        for position in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[position] ^= 1 << bit;
                // Whatever is accepted is encoded to something that is accepted.
                if let Some(read) = decode(&damaged) {
                    let again = decode(&encode(&read)).map(|read| encode(&read));
                    assert_eq!(again, Some(encode(&read)));
                }
            }
        }
    }

    #[test]
    fn structs_that_contain_themselves_are_refused() {
        let mut sample = sample();
        if let TypeDescriptor::Struct(layout) = &mut sample.types.to_mut()[1] {
            layout.fields.to_mut()[0].element = Element::Struct(TypeId(1));
            layout.fields.to_mut()[0].array = None;
        }
        assert_eq!(decode(&encode(&sample)), None);
    }
}
