//! Paths and expressions as bytes.

use std::borrow::Cow;

use super::plain::{decode_list, encode_list};
use super::{DecodeError, Decoded, Encode, Input};
use crate::{
    Arithmetic, Domain, Expression, Field, FieldKind, Scalar, Step, Value, VectorField,
    VectorMember,
};

/// Implements `Encode` for enums without data, by their position in a list.
macro_rules! codes {
    ($($type:ident { $($variant:ident)* })*) => {$(
        impl Encode for $type {
            fn encode(&self, out: &mut Vec<u8>) {
                // Does not compile if the list lacks a variant, which would have no code.
                match self {
                    $(Self::$variant => {})*
                }
                let all = [$(Self::$variant),*];
                let code = all.iter().position(|variant| variant == self).unwrap_or_default();
                out.push(code as u8);
            }

            fn decode(input: &mut Input<'_>) -> Decoded<Self> {
                let all = [$(Self::$variant),*];
                let code = usize::from(input.byte()?);
                all.get(code).copied().ok_or(DecodeError::Malformed)
            }
        }
    )*};
}

pub(super) use codes;

codes! {
    Scalar { Bool I8 U8 I16 U16 I32 U32 I64 U64 F32 F64 }
    Arithmetic { Add Subtract Multiply Divide Remainder BitAnd }
    Domain { Signed Unsigned Float }
}

impl Encode for Step {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Field(offset) => {
                out.push(0);
                offset.encode(out);
            }
            Self::Offset(offset) => {
                out.push(1);
                offset.encode(out);
            }
            Self::Member(code) => {
                out.push(2);
                code.encode(out);
            }
            Self::Tag => out.push(3),
        }
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        Ok(match input.byte()? {
            0 => Self::Field(u16::decode(input)?),
            1 => Self::Offset(u16::decode(input)?),
            2 => Self::Member(u8::decode(input)?),
            3 => Self::Tag,
            _ => return Err(DecodeError::Malformed),
        })
    }
}

impl Encode for FieldKind {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Scalar(scalar) => {
                out.push(0);
                scalar.encode(out);
            }
            Self::Text => out.push(1),
        }
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        Ok(match input.byte()? {
            0 => Self::Scalar(Scalar::decode(input)?),
            1 => Self::Text,
            _ => return Err(DecodeError::Malformed),
        })
    }
}

impl Encode for VectorMember {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Scalar(scalar) => {
                out.push(0);
                scalar.encode(out);
            }
            Self::Text => out.push(1),
            Self::Struct(size) => {
                out.push(2);
                size.encode(out);
            }
            Self::Table => out.push(3),
            Self::Union => out.push(4),
        }
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        Ok(match input.byte()? {
            0 => Self::Scalar(Scalar::decode(input)?),
            1 => Self::Text,
            2 => Self::Struct(u32::decode(input)?),
            3 => Self::Table,
            4 => Self::Union,
            _ => return Err(DecodeError::Malformed),
        })
    }
}

impl Encode for Field {
    fn encode(&self, out: &mut Vec<u8>) {
        self.name.encode(out);
        encode_list(&self.steps, out);
        self.kind.encode(out);
        match &self.default {
            // In a query NaN is NULL, so it has no encoding.
            Value::Float(default) if default.is_nan() => Value::Null.encode(out),
            default => default.encode(out),
        }
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        Ok(Self {
            name: Cow::decode(input)?,
            steps: decode_list(input)?.into(),
            kind: FieldKind::decode(input)?,
            default: Value::decode(input)?,
        })
    }
}

impl Encode for VectorField {
    fn encode(&self, out: &mut Vec<u8>) {
        self.name.encode(out);
        encode_list(&self.steps, out);
        self.member.encode(out);
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        Ok(Self {
            name: Cow::decode(input)?,
            steps: decode_list(input)?.into(),
            member: VectorMember::decode(input)?,
        })
    }
}

impl Encode for Expression {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Field(field) => {
                out.push(0);
                field.encode(out);
            }
            Self::Literal(value) => {
                out.push(1);
                value.encode(out);
            }
            Self::Arithmetic {
                operator,
                domain,
                left,
                right,
            } => {
                out.push(2);
                operator.encode(out);
                domain.encode(out);
                left.encode(out);
                right.encode(out);
            }
            Self::Length(operand) => {
                out.push(3);
                operand.encode(out);
            }
            Self::Count(vector) => {
                out.push(4);
                vector.encode(out);
            }
            Self::Position { operand, values } => {
                out.push(5);
                operand.encode(out);
                encode_list(values, out);
            }
        }
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        Ok(match input.byte()? {
            0 => Self::Field(Field::decode(input)?),
            1 => Self::Literal(Value::decode(input)?),
            2 => Self::Arithmetic {
                operator: Arithmetic::decode(input)?,
                domain: Domain::decode(input)?,
                left: Box::new(input.nested()?),
                right: Box::new(input.nested()?),
            },
            3 => Self::Length(Box::new(input.nested()?)),
            4 => Self::Count(VectorField::decode(input)?),
            5 => Self::Position {
                operand: Box::new(input.nested()?),
                values: decode_list(input)?,
            },
            _ => return Err(DecodeError::Malformed),
        })
    }
}
