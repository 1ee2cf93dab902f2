//! Bytes to a descriptor.

use std::borrow::Cow;

use super::VERSION;
use super::check::is_sound;
use crate::{
    Element, EnumLayout, EnumValueLayout, Field, FieldKind, FieldLayout, IndexDescriptor,
    MemberLayout, Scalar, Shape, Step, StructFieldLayout, StructLayout, TableDescriptor,
    TableLayout, TypeDescriptor, TypeId, UnionLayout, Value,
};

/// The descriptor that [`encode`](super::encode) wrote; `None` for any other bytes, and for those
/// of a later version. Takes memory in proportion to the bytes, whatever they are.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<TableDescriptor> {
    let (version, rest) = bytes.split_first()?;
    if *version != VERSION {
        return None;
    }
    let mut input = Decoder(rest);
    let table = TableDescriptor {
        name: input.text()?,
        type_name: input.text()?,
        primary_key: input.list(Decoder::field)?,
        indexes: input.list(|input| {
            Some(IndexDescriptor {
                field: input.field()?,
                unique: input.flag()?,
            })
        })?,
        types: input.list(Decoder::ty)?,
    };
    (input.0.is_empty() && is_sound(&table)).then_some(table)
}

/// Whether the bytes are of a later version than [`decode`] knows.
#[must_use]
pub fn is_later(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|version| *version > VERSION)
}

struct Decoder<'a>(&'a [u8]);

impl Decoder<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn number<T: TryFrom<u64>>(&mut self) -> Option<T> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                return None;
            }
            number |= part << shift;
            if byte & 0x80 == 0 {
                return T::try_from(number).ok();
            }
        }
        None
    }

    fn text(&mut self) -> Option<Cow<'static, str>> {
        let len = self.number()?;
        let (text, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(Cow::Owned(std::str::from_utf8(text).ok()?.to_owned()))
    }

    fn list<T: Clone>(
        &mut self,
        each: impl Fn(&mut Self) -> Option<T>,
    ) -> Option<Cow<'static, [T]>> {
        let len: usize = self.number()?;
        // Each takes a byte at least. What it takes in memory grows as it is read.
        if len > self.0.len() {
            return None;
        }
        let mut items = Vec::new();
        for _ in 0..len {
            items.push(each(self)?);
        }
        Some(Cow::Owned(items))
    }

    fn field(&mut self) -> Option<Field> {
        Some(Field {
            name: self.text()?,
            steps: self.list(|input| {
                Some(match input.byte()? {
                    0 => Step::Field(input.number()?),
                    1 => Step::Offset(input.number()?),
                    2 => Step::Member(input.number()?),
                    3 if input.number::<u8>()? == 0 => Step::Tag,
                    _ => return None,
                })
            })?,
            kind: match self.byte()? {
                0 => FieldKind::Text,
                1 => FieldKind::Scalar(self.scalar()?),
                _ => return None,
            },
            default: self.value()?,
        })
    }

    fn scalar(&mut self) -> Option<Scalar> {
        Some(match self.byte()? {
            0 => Scalar::Bool,
            1 => Scalar::I8,
            2 => Scalar::U8,
            3 => Scalar::I16,
            4 => Scalar::U16,
            5 => Scalar::I32,
            6 => Scalar::U32,
            7 => Scalar::I64,
            8 => Scalar::U64,
            9 => Scalar::F32,
            10 => Scalar::F64,
            _ => return None,
        })
    }

    fn value(&mut self) -> Option<Value> {
        Some(match self.byte()? {
            0 => Value::Null,
            1 => Value::Int(self.eight_bytes()?.cast_signed()),
            2 => Value::UInt(self.eight_bytes()?),
            3 => Value::Float(f64::from_bits(self.eight_bytes()?)),
            4 => Value::Text(self.text()?),
            _ => return None,
        })
    }

    fn eight_bytes(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    fn element(&mut self) -> Option<Element> {
        Some(match self.byte()? {
            0 => Element::Scalar(self.scalar()?),
            1 => Element::Text,
            2 => Element::Enum(TypeId(self.number()?)),
            3 => Element::Struct(TypeId(self.number()?)),
            4 => Element::Table(TypeId(self.number()?)),
            5 => Element::Union(TypeId(self.number()?)),
            _ => return None,
        })
    }

    fn ty(&mut self) -> Option<TypeDescriptor> {
        Some(match self.byte()? {
            0 => TypeDescriptor::Table(TableLayout {
                name: self.text()?,
                end: self.number()?,
                fields: self.list(Self::table_field)?,
            }),
            1 => TypeDescriptor::Struct(StructLayout {
                name: self.text()?,
                size: self.number()?,
                align: self.number()?,
                fields: self.list(Self::struct_field)?,
            }),
            2 => TypeDescriptor::Union(UnionLayout {
                name: self.text()?,
                members: self.list(|input| {
                    Some(MemberLayout {
                        name: input.text()?,
                        code: input.byte()?,
                        element: input.element()?,
                    })
                })?,
            }),
            3 => TypeDescriptor::Enum(EnumLayout {
                name: self.text()?,
                base: self.scalar()?,
                bit_flags: self.flag()?,
                values: self.list(|input| {
                    Some(EnumValueLayout {
                        name: input.text()?,
                        value: input.value()?,
                    })
                })?,
            }),
            _ => return None,
        })
    }

    fn table_field(&mut self) -> Option<FieldLayout> {
        Some(FieldLayout {
            name: self.text()?,
            voffset: self.number()?,
            shape: match self.flag()? {
                false => Shape::Single(self.element()?),
                true => Shape::Vector(self.element()?),
            },
            default: self.value()?,
            required: self.flag()?,
        })
    }

    fn struct_field(&mut self) -> Option<StructFieldLayout> {
        Some(StructFieldLayout {
            name: self.text()?,
            offset: self.number()?,
            element: self.element()?,
            array: Some(self.number()?).filter(|length| *length > 0),
        })
    }
}
