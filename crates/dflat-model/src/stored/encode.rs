//! A descriptor to bytes.

use super::VERSION;
use crate::{
    Element, Field, FieldKind, Scalar, Shape, Step, StructFieldLayout, TableDescriptor,
    TypeDescriptor, TypeId, Value,
};

/// The bytes of a descriptor.
#[must_use]
pub fn encode(table: &TableDescriptor) -> Vec<u8> {
    let mut out = Encoder(vec![VERSION]);
    out.text(&table.name);
    out.text(&table.type_name);
    out.list(&table.primary_key, Encoder::field);
    out.list(&table.indexes, |out, index| {
        out.field(&index.field);
        out.flag(index.unique);
    });
    out.list(&table.types, Encoder::ty);
    out.0
}

struct Encoder(Vec<u8>);

impl Encoder {
    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn flag(&mut self, flag: bool) {
        self.byte(flag.into());
    }

    fn number(&mut self, mut number: u64) {
        while number > 0x7f {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    fn list<T>(&mut self, items: &[T], each: impl Fn(&mut Self, &T)) {
        self.number(items.len() as u64);
        for item in items {
            each(self, item);
        }
    }

    fn field(&mut self, field: &Field) {
        self.text(&field.name);
        self.list(&field.steps, |out, step| {
            let (tag, number) = match *step {
                Step::Field(voffset) => (0, u64::from(voffset)),
                Step::Offset(offset) => (1, offset.into()),
                Step::Member(code) => (2, code.into()),
                Step::Tag => (3, 0),
            };
            out.byte(tag);
            out.number(number);
        });
        match field.kind {
            FieldKind::Text => self.byte(0),
            FieldKind::Scalar(scalar) => {
                self.byte(1);
                self.scalar(scalar);
            }
        }
        self.value(&field.default);
    }

    fn scalar(&mut self, scalar: Scalar) {
        self.byte(match scalar {
            Scalar::Bool => 0,
            Scalar::I8 => 1,
            Scalar::U8 => 2,
            Scalar::I16 => 3,
            Scalar::U16 => 4,
            Scalar::I32 => 5,
            Scalar::U32 => 6,
            Scalar::I64 => 7,
            Scalar::U64 => 8,
            Scalar::F32 => 9,
            Scalar::F64 => 10,
        });
    }

    fn value(&mut self, value: &Value) {
        let (tag, bits) = match value {
            Value::Null => return self.byte(0),
            Value::Int(value) => (1, value.cast_unsigned()),
            Value::UInt(value) => (2, *value),
            Value::Float(value) => (3, value.to_bits()),
            Value::Text(text) => {
                self.byte(4);
                return self.text(text);
            }
        };
        self.byte(tag);
        self.0.extend_from_slice(&bits.to_le_bytes());
    }

    fn element(&mut self, element: Element) {
        let (tag, TypeId(id)) = match element {
            Element::Scalar(scalar) => {
                self.byte(0);
                return self.scalar(scalar);
            }
            Element::Text => return self.byte(1),
            Element::Enum(id) => (2, id),
            Element::Struct(id) => (3, id),
            Element::Table(id) => (4, id),
            Element::Union(id) => (5, id),
        };
        self.byte(tag);
        self.number(id.into());
    }

    fn ty(&mut self, ty: &TypeDescriptor) {
        match ty {
            TypeDescriptor::Table(table) => {
                self.byte(0);
                self.text(&table.name);
                self.number(table.end.into());
                self.list(&table.fields, |out, field| {
                    out.text(&field.name);
                    out.number(field.voffset.into());
                    let (is_vector, element) = match field.shape {
                        Shape::Single(element) => (false, element),
                        Shape::Vector(element) => (true, element),
                    };
                    out.flag(is_vector);
                    out.element(element);
                    out.value(&field.default);
                    out.flag(field.required);
                });
            }
            TypeDescriptor::Struct(found) => {
                self.byte(1);
                self.text(&found.name);
                self.number(found.size.into());
                self.number(found.align.into());
                self.list(&found.fields, Self::struct_field);
            }
            TypeDescriptor::Union(union) => {
                self.byte(2);
                self.text(&union.name);
                self.list(&union.members, |out, member| {
                    out.text(&member.name);
                    out.byte(member.code);
                    out.element(member.element);
                });
            }
            TypeDescriptor::Enum(found) => {
                self.byte(3);
                self.text(&found.name);
                self.scalar(found.base);
                self.flag(found.bit_flags);
                self.list(&found.values, |out, named| {
                    out.text(&named.name);
                    out.value(&named.value);
                });
            }
        }
    }

    fn struct_field(&mut self, field: &StructFieldLayout) {
        self.text(&field.name);
        self.number(field.offset.into());
        self.element(field.element);
        // An array has at least one value, so that 0 is free to mean none.
        self.number(field.array.unwrap_or(0).into());
    }
}
