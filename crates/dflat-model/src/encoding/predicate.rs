//! Conditions as bytes.

use std::borrow::Cow;

use super::expression::codes;
use super::plain::{decode_list, encode_list};
use super::{DecodeError, Decoded, Encode, Input};
use crate::{Comparison, Predicate, TextTest, Value, VectorField};

codes! {
    Comparison { Equal NotEqual Less LessOrEqual Greater GreaterOrEqual }
    TextTest { Equal StartsWith EndsWith Contains Like }
}

impl Encode for Predicate {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Constant(value) => {
                out.push(0);
                value.encode(out);
            }
            Self::Compare {
                left,
                operator,
                right,
            } => {
                out.push(1);
                left.encode(out);
                operator.encode(out);
                right.encode(out);
            }
            Self::In { operand, values } => {
                out.push(2);
                operand.encode(out);
                encode_list(values, out);
            }
            Self::IsNull(operand) => {
                out.push(3);
                operand.encode(out);
            }
            Self::Text {
                operand,
                test,
                pattern,
                ignore_case,
            } => {
                out.push(4);
                operand.encode(out);
                test.encode(out);
                pattern.encode(out);
                ignore_case.encode(out);
            }
            Self::Any { vector, condition } => {
                out.push(5);
                vector.encode(out);
                condition.encode(out);
            }
            Self::And(parts) => {
                out.push(6);
                encode_list(parts, out);
            }
            Self::Or(parts) => {
                out.push(7);
                encode_list(parts, out);
            }
            Self::Not(inner) => {
                out.push(8);
                inner.encode(out);
            }
        }
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        Ok(match input.byte()? {
            0 => Self::Constant(bool::decode(input)?),
            1 => Self::Compare {
                left: input.nested()?,
                operator: Comparison::decode(input)?,
                right: input.nested()?,
            },
            2 => Self::In {
                operand: input.nested()?,
                values: decode_list::<Value>(input)?.into(),
            },
            3 => Self::IsNull(input.nested()?),
            4 => Self::Text {
                operand: input.nested()?,
                test: TextTest::decode(input)?,
                pattern: Cow::decode(input)?,
                ignore_case: bool::decode(input)?,
            },
            5 => Self::Any {
                vector: VectorField::decode(input)?,
                condition: Box::new(input.nested()?),
            },
            6 => Self::And(decode_list(input)?),
            7 => Self::Or(decode_list(input)?),
            8 => Self::Not(Box::new(input.nested()?)),
            _ => return Err(DecodeError::Malformed),
        })
    }
}
