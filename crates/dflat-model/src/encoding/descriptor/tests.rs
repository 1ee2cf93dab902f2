use std::borrow::Cow;

use crate::encoding::{DESCRIPTOR_VERSION, DecodeError, ENCODING_VERSION, VERSIONED_DESCRIPTOR};
use crate::{
    Comparison, Element, EnumLayout, EnumValueLayout, Field, FieldKind, FieldLayout,
    IndexCondition, IndexDescriptor, MemberLayout, Scalar, Shape, Step, StructFieldLayout,
    StructLayout, TableDescriptor, TableLayout, TypeDescriptor, TypeId, UnionLayout, Value,
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

fn sample() -> TableDescriptor {
    let text = FieldKind::Text;
    let single = Shape::Single;
    TableDescriptor {
        name: Cow::Borrowed("ns__t_v1"),
        type_name: Cow::Borrowed("Ns.T"),
        primary_key: Cow::Owned(vec![key(text, Value::text("d"))]),
        auto_key: None,
        indexes: Cow::Owned(vec![IndexDescriptor::plain(
            key(FieldKind::Scalar(Scalar::F32), Value::Float(-0.5)),
            true,
        )]),
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
fn encoded_values_are_decoded() {
    let sample = sample();
    assert_eq!(TableDescriptor::from_bytes(&sample.to_bytes()), Ok(sample));
}

#[test]
fn indexes_over_several_fields_and_of_some_objects_have_a_version_of_their_own() {
    let mut sample = sample();
    assert_eq!(sample.to_bytes()[0], ENCODING_VERSION);
    let number = key(FieldKind::Scalar(Scalar::Bool), Value::Int(0));
    let compared = IndexCondition::Compare {
        field: number.clone(),
        operator: Comparison::Less,
        value: Value::text("x"),
    };
    let others = [
        IndexCondition::IsNull(number.clone()),
        IndexCondition::IsNotNull(number.clone()),
    ];
    let text = Field {
        steps: Cow::Borrowed(&[Step::Field(4)]),
        ..key(FieldKind::Text, Value::Null)
    };
    sample.indexes.to_mut().push(IndexDescriptor {
        fields: Cow::Owned(vec![number, text]),
        unique: false,
        condition: Some(IndexCondition::And(Cow::Owned(vec![
            compared,
            IndexCondition::Or(Cow::Owned(others.to_vec())),
        ]))),
    });
    let bytes = sample.to_bytes();
    assert_eq!(bytes[0], DESCRIPTOR_VERSION);
    for len in 0..bytes.len() {
        assert!(TableDescriptor::from_bytes(&bytes[..len]).is_err());
    }
    assert_eq!(TableDescriptor::from_bytes(&bytes), Ok(sample));
    let mut newer = bytes;
    newer[0] = VERSIONED_DESCRIPTOR + 1;
    let refused = TableDescriptor::from_bytes(&newer);
    assert_eq!(refused, Err(DecodeError::Version(VERSIONED_DESCRIPTOR + 1)));
}

#[test]
fn descriptors_of_versioned_types_have_a_version_of_their_own() {
    let sample = sample();
    let bytes = sample.to_versioned_bytes();
    assert!(TableDescriptor::is_versioned(&bytes));
    assert!(!TableDescriptor::is_versioned(&sample.to_bytes()));
    assert_eq!(TableDescriptor::from_bytes(&bytes), Ok(sample));
    for len in 0..bytes.len() {
        assert!(TableDescriptor::from_bytes(&bytes[..len]).is_err());
    }
}

#[test]
fn truncated_or_changed_bytes_are_refused_or_decode_to_a_valid_value() {
    let bytes = sample().to_bytes();
    for len in 0..bytes.len() {
        assert!(
            TableDescriptor::from_bytes(&bytes[..len]).is_err(),
            "{len} bytes"
        );
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(TableDescriptor::from_bytes(&longer).is_err());
    for position in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[position] ^= 1 << bit;
            // An accepted descriptor is encoded to bytes that are accepted.
            if let Ok(read) = TableDescriptor::from_bytes(&damaged) {
                assert_eq!(TableDescriptor::from_bytes(&read.to_bytes()), Ok(read));
            }
        }
    }
}

#[test]
fn indexes_that_no_table_could_have_are_refused() {
    let field = |voffset| Field {
        steps: Cow::Owned(vec![Step::Field(voffset)]),
        ..key(FieldKind::Text, Value::Null)
    };
    let of = |voffsets: &[u16]| {
        let mut sample = sample();
        sample.indexes = Cow::Owned(vec![IndexDescriptor {
            fields: voffsets.iter().copied().map(field).collect(),
            unique: false,
            condition: None,
        }]);
        TableDescriptor::from_bytes(&sample.to_bytes()).is_ok()
    };
    let offsets: Vec<u16> = (4..).step_by(2).take(17).collect();
    assert!(of(&offsets[..16]) && of(&[4, 6]));
    assert!(!of(&offsets) && !of(&[4, 6, 4]) && !of(&[]));
}

#[test]
fn structs_that_contain_themselves_are_refused() {
    let mut sample = sample();
    if let TypeDescriptor::Struct(layout) = &mut sample.types.to_mut()[1] {
        layout.fields.to_mut()[0].element = Element::Struct(TypeId(1));
        layout.fields.to_mut()[0].array = None;
    }
    assert!(TableDescriptor::from_bytes(&sample.to_bytes()).is_err());
}
