//! Descriptors as bytes. A file keeps the descriptor of the newest schema that wrote to each table.

use std::borrow::Cow;

use super::index;
use super::plain::{decode_list, encode_list};
use super::validity::is_valid;
use super::{
    DESCRIPTOR_VERSION, DecodeError, Decoded, ENCODING_VERSION, Encode, Input,
    VERSIONED_DESCRIPTOR, from_bytes, to_bytes,
};
use crate::{
    Element, EnumLayout, EnumValueLayout, FieldLayout, IndexDescriptor, MemberLayout, Scalar,
    Shape, StructFieldLayout, StructLayout, TableDescriptor, TableLayout, TypeDescriptor, TypeId,
    UnionLayout,
};

impl TableDescriptor {
    /// Encodes the descriptor. A default that is NaN is left out.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let plain = self.indexes.iter().all(IndexDescriptor::is_plain);
        let version = if plain {
            ENCODING_VERSION
        } else {
            DESCRIPTOR_VERSION
        };
        to_bytes(self, version)
    }

    /// Encodes the descriptor of a type whose changes are kept in a history. The bytes differ from
    /// those of [`to_bytes`](Self::to_bytes) in the version, and list the indexes as version 2
    /// does.
    #[must_use]
    pub fn to_versioned_bytes(&self) -> Vec<u8> {
        let mut out = vec![VERSIONED_DESCRIPTOR];
        self.name.encode(&mut out);
        self.type_name.encode(&mut out);
        self.primary_key.encode(&mut out);
        self.indexes.encode(&mut out);
        self.types.encode(&mut out);
        out
    }

    /// Whether these are the bytes of a descriptor whose type is kept in a history.
    #[must_use]
    pub fn is_versioned(bytes: &[u8]) -> bool {
        bytes.first() == Some(&VERSIONED_DESCRIPTOR)
    }

    /// Decodes the output of `to_bytes` and of `to_versioned_bytes`, and checks that codecs can use
    /// it: there is no cycle of structs, each field is inside its struct, and each type has the
    /// expected kind.
    ///
    /// # Errors
    /// See [`DecodeError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let table: Self = from_bytes(bytes, VERSIONED_DESCRIPTOR)?;
        if is_valid(&table) {
            Ok(table)
        } else {
            Err(DecodeError::Malformed)
        }
    }
}

impl Encode for TableDescriptor {
    fn encode(&self, out: &mut Vec<u8>) {
        self.name.encode(out);
        self.type_name.encode(out);
        self.primary_key.encode(out);
        index::encode(&self.indexes, out);
        self.types.encode(out);
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        Ok(Self {
            name: Encode::decode(input)?,
            type_name: Encode::decode(input)?,
            primary_key: Encode::decode(input)?,
            auto_key: None,
            indexes: Cow::Owned(index::decode(input)?),
            types: Encode::decode(input)?,
        })
    }
}

/// Implements `Encode` for structs, field by field.
macro_rules! fields {
    ($($type:ident { $($field:ident)* })*) => {$(
        impl Encode for $type {
            fn encode(&self, out: &mut Vec<u8>) {
                $(self.$field.encode(out);)*
            }

            fn decode(input: &mut Input<'_>) -> Decoded<Self> {
                $(let $field = Encode::decode(input)?;)*
                Ok(Self { $($field),* })
            }
        }
    )*};
}

fields! {
    TableLayout { name end fields }
    FieldLayout { name voffset shape default required }
    StructLayout { name size align fields }
    StructFieldLayout { name offset element array }
    UnionLayout { name members }
    MemberLayout { name code element }
    EnumLayout { name base bit_flags values }
    EnumValueLayout { name value }
}

/// Implements `Encode` for enums whose variants hold one value: a number, then the value.
macro_rules! choices {
    ($($type:ident { $($code:literal $variant:ident($inner:ty))* })*) => {$(
        impl Encode for $type {
            fn encode(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant(inner) => {
                        out.push($code);
                        inner.encode(out);
                    })*
                }
            }

            fn decode(input: &mut Input<'_>) -> Decoded<Self> {
                Ok(match input.byte()? {
                    $($code => Self::$variant(<$inner>::decode(input)?),)*
                    _ => return Err(DecodeError::Malformed),
                })
            }
        }
    )*};
}

choices! {
    TypeDescriptor {
        0 Table(TableLayout)
        1 Struct(StructLayout)
        2 Union(UnionLayout)
        3 Enum(EnumLayout)
    }
    Shape { 0 Single(Element) 1 Vector(Element) }
}

impl Encode for TypeId {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        u16::decode(input).map(Self)
    }
}

impl Encode for Element {
    fn encode(&self, out: &mut Vec<u8>) {
        let (code, id) = match self {
            Self::Scalar(scalar) => {
                out.push(0);
                return scalar.encode(out);
            }
            Self::Text => return out.push(1),
            Self::Enum(id) => (2, id),
            Self::Struct(id) => (3, id),
            Self::Table(id) => (4, id),
            Self::Union(id) => (5, id),
        };
        out.push(code);
        id.encode(out);
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        Ok(match input.byte()? {
            0 => Self::Scalar(Scalar::decode(input)?),
            1 => Self::Text,
            2 => Self::Enum(TypeId::decode(input)?),
            3 => Self::Struct(TypeId::decode(input)?),
            4 => Self::Table(TypeId::decode(input)?),
            5 => Self::Union(TypeId::decode(input)?),
            _ => return Err(DecodeError::Malformed),
        })
    }
}

impl<T: Encode + Clone> Encode for Cow<'static, [T]> {
    fn encode(&self, out: &mut Vec<u8>) {
        encode_list(self, out);
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        decode_list(input).map(Cow::Owned)
    }
}

#[cfg(test)]
mod tests;
