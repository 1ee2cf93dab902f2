//! Indexes in descriptors as bytes. In the first version, each index is over one field of all
//! objects.

use std::borrow::Cow;

use super::plain::{decode_list, encode_list};
use super::{DecodeError, Decoded, ENCODING_VERSION, Encode, Input};
use crate::{Comparison, Field, IndexCondition, IndexDescriptor, Value};

pub(super) fn encode(indexes: &[IndexDescriptor], out: &mut Vec<u8>) {
    if !indexes.iter().all(IndexDescriptor::is_plain) {
        return encode_list(indexes, out);
    }
    indexes.len().encode(out);
    for index in indexes {
        index.fields.iter().for_each(|field| field.encode(out));
        index.unique.encode(out);
    }
}

pub(super) fn decode(input: &mut Input<'_>) -> Decoded<Vec<IndexDescriptor>> {
    if input.version != ENCODING_VERSION {
        return decode_list(input);
    }
    let plain: Vec<Plain> = decode_list(input)?;
    let plain = plain.into_iter();
    Ok(plain
        .map(|Plain(field, unique)| IndexDescriptor::plain(field, unique))
        .collect())
}

impl IndexDescriptor {
    /// Encodes the index as in descriptors of the second version.
    pub(crate) fn encoded(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(&mut out);
        out
    }
}

/// An index of the first version.
struct Plain(Field, bool);

impl Encode for Plain {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
        self.1.encode(out);
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        Ok(Self(Field::decode(input)?, bool::decode(input)?))
    }
}

impl Encode for IndexDescriptor {
    fn encode(&self, out: &mut Vec<u8>) {
        self.fields.encode(out);
        self.unique.encode(out);
        self.condition.encode(out);
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        Ok(Self {
            fields: Encode::decode(input)?,
            unique: Encode::decode(input)?,
            condition: Encode::decode(input)?,
        })
    }
}

impl Encode for IndexCondition {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Compare {
                field,
                operator,
                value,
            } => {
                out.push(0);
                field.encode(out);
                operator.encode(out);
                value.encode(out);
            }
            Self::IsNull(field) => {
                out.push(1);
                field.encode(out);
            }
            Self::IsNotNull(field) => {
                out.push(2);
                field.encode(out);
            }
            Self::And(parts) => {
                out.push(3);
                encode_list(parts, out);
            }
            Self::Or(parts) => {
                out.push(4);
                encode_list(parts, out);
            }
        }
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        Ok(match input.byte()? {
            0 => Self::Compare {
                field: Field::decode(input)?,
                operator: Comparison::decode(input)?,
                value: Value::decode(input)?,
            },
            1 => Self::IsNull(Field::decode(input)?),
            2 => Self::IsNotNull(Field::decode(input)?),
            3 => Self::And(Cow::Owned(decode_list(input)?)),
            4 => Self::Or(Cow::Owned(decode_list(input)?)),
            _ => return Err(DecodeError::Malformed),
        })
    }
}
