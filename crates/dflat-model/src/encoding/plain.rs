//! Numbers, strings, lists and values as bytes.

use std::borrow::Cow;

use super::{DecodeError, Decoded, Encode, Input};
use crate::{Value, ValueRef};

/// Seven bits a byte, the lowest first; all bytes but the last have the highest bit.
impl Encode for u64 {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        let mut rest = *self;
        while rest >= 0x80 {
            out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        out.push(rest as u8);
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = input.byte()?;
            let bits = Self::from(byte & 0x7F);
            // Each number has one encoding: no bits beyond the last, and no byte that adds nothing.
            if bits << shift >> shift != bits || (byte == 0 && shift > 0) {
                return Err(DecodeError::Malformed);
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DecodeError::Malformed)
    }
}

/// `2 n`, or `-2 n - 1` below zero, so that numbers near zero are short.
impl Encode for i64 {
    fn encode(&self, out: &mut Vec<u8>) {
        (((self << 1) ^ (self >> 63)) as u64).encode(out);
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        let bits = u64::decode(input)?;
        Ok((bits >> 1) as Self ^ -((bits & 1) as Self))
    }
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Encode for $type {
            #[inline]
            fn encode(&self, out: &mut Vec<u8>) {
                (*self as u64).encode(out);
            }

            fn decode(input: &mut Input<'_>) -> Decoded<Self> {
                Self::try_from(u64::decode(input)?).map_err(|_| DecodeError::Malformed)
            }
        }
    )*};
}

integers!(u8 u16 u32 usize);

impl Encode for bool {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push((*self).into());
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        match input.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(DecodeError::Malformed),
        }
    }
}

impl Encode for f64 {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.to_le_bytes());
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        let bytes = input
            .bytes(8)?
            .first_chunk()
            .ok_or(DecodeError::Malformed)?;
        Ok(Self::from_le_bytes(*bytes))
    }
}

impl Encode for Cow<'static, str> {
    fn encode(&self, out: &mut Vec<u8>) {
        encode_bytes(self.as_bytes(), out);
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        decode_text(input).map(|text| Cow::Owned(text.to_owned()))
    }
}

pub(super) fn encode_list<T: Encode>(list: &[T], out: &mut Vec<u8>) {
    list.len().encode(out);
    list.iter().for_each(|item| item.encode(out));
}

/// Decodes a list. Each item takes at least one byte, so the list cannot have more items than there
/// are bytes.
pub(super) fn decode_list<T: Encode>(input: &mut Input<'_>) -> Decoded<Vec<T>> {
    let count = usize::decode(input)?;
    let mut list = Vec::new();
    for _ in 0..count {
        list.push(input.nested()?);
    }
    Ok(list)
}

impl<T: Encode> Encode for Option<T> {
    fn encode(&self, out: &mut Vec<u8>) {
        self.is_some().encode(out);
        if let Some(inner) = self {
            inner.encode(out);
        }
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        match bool::decode(input)? {
            true => input.nested().map(Some),
            false => Ok(None),
        }
    }
}

impl Encode for Value {
    fn encode(&self, out: &mut Vec<u8>) {
        encode_value(self.as_ref(), out);
    }

    fn decode(input: &mut Input<'_>) -> Decoded<Self> {
        decode_value(input).map(ValueRef::to_value)
    }
}

pub(crate) fn encode_value(value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value {
        ValueRef::Null => out.push(0),
        ValueRef::Int(value) => {
            out.push(1);
            value.encode(out);
        }
        ValueRef::UInt(value) => {
            out.push(2);
            value.encode(out);
        }
        ValueRef::Float(value) => {
            out.push(3);
            value.encode(out);
        }
        ValueRef::Text(value) => {
            out.push(4);
            encode_bytes(value.as_bytes(), out);
        }
    }
}

pub(crate) fn decode_value<'a>(input: &mut Input<'a>) -> Decoded<ValueRef<'a>> {
    Ok(match input.byte()? {
        0 => ValueRef::Null,
        1 => ValueRef::Int(i64::decode(input)?),
        2 => match u64::decode(input)? {
            value if i64::try_from(value).is_err() => ValueRef::UInt(value),
            _ => return Err(DecodeError::Malformed),
        },
        3 => match f64::decode(input)? {
            value if value.is_nan() => return Err(DecodeError::Malformed),
            value => ValueRef::Float(value),
        },
        4 => ValueRef::Text(decode_text(input)?),
        _ => return Err(DecodeError::Malformed),
    })
}

/// The length, and the bytes.
pub(crate) fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    bytes.len().encode(out);
    out.extend_from_slice(bytes);
}

pub(crate) fn decode_bytes<'a>(input: &mut Input<'a>) -> Decoded<&'a [u8]> {
    let count = usize::decode(input)?;
    input.bytes(count)
}

pub(crate) fn decode_text<'a>(input: &mut Input<'a>) -> Decoded<&'a str> {
    str::from_utf8(decode_bytes(input)?).map_err(|_| DecodeError::Malformed)
}
