//! Queries and cursors as bytes.

use super::expression::codes;
use super::plain::{decode_list, encode_list};
use super::{DecodeError, Decoded, Encode, Input};
use crate::{Cursor, Direction, Expression, Nulls, Order, Query, RowId};

codes! {
    Direction { Ascending Descending }
    Nulls { Smallest Largest }
}

impl Encode for Order {
    fn encode(&self, out: &mut Vec<u8>) {
        self.key.encode(out);
        self.direction.encode(out);
        self.nulls.encode(out);
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        Ok(Self {
            key: Expression::decode(input)?,
            direction: Direction::decode(input)?,
            nulls: Nulls::decode(input)?,
        })
    }
}

impl Encode for Cursor {
    fn encode(&self, out: &mut Vec<u8>) {
        self.order.encode(out);
        encode_list(&self.keys, out);
        self.row_id.0.encode(out);
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        Ok(Self {
            order: u64::decode(input)?,
            keys: decode_list(input)?,
            row_id: RowId(i64::decode(input)?),
        })
    }
}

impl Query {
    /// A hash that identifies the order: 64-bit FNV-1a of the encoded order.
    #[must_use]
    pub fn order_fingerprint(&self) -> u64 {
        let mut bytes = Vec::new();
        encode_list(&self.order, &mut bytes);
        bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
        })
    }
}

impl Encode for Query {
    fn encode(&self, out: &mut Vec<u8>) {
        self.predicate.encode(out);
        encode_list(&self.order, out);
        self.after.encode(out);
        self.offset.encode(out);
        self.limit.encode(out);
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        Ok(Self {
            predicate: Option::decode(input)?,
            order: decode_list(input)?,
            after: Option::decode(input)?,
            offset: usize::decode(input)?,
            limit: Option::decode(input)?,
        })
    }
}
