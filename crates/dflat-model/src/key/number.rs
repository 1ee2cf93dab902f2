//! Numbers as bytes whose order is that of the numbers.
//!
//! An integer has a first byte that tells its sign and the number of its other bytes, as few as
//! possible, and then its absolute value, big-endian, inverted if the integer is negative. A
//! number with a fraction has the bytes of the greatest integer below it, and then its own bits. A
//! number beyond the integers of 64 bits has its bits alone. The sign of these bits is flipped,
//! and all bits are if the number is negative, so that they compare as the numbers do.

use super::{tag, take_bytes};
use crate::ValueRef;

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

pub(super) fn append_integer(value: i64, bytes: &mut Vec<u8>) {
    IntegerKey::signed(value).append_to(bytes);
}

pub(super) fn append_unsigned(value: u64, bytes: &mut Vec<u8>) {
    IntegerKey::unsigned(value).append_to(bytes);
}

/// The bytes of a key of one integer, which need no memory of their own.
#[derive(Clone, Copy, Debug)]
pub struct IntegerKey {
    bytes: [u8; 16],
    len: usize,
}

impl IntegerKey {
    /// The bytes of this value; `None` if it is no integer. They are those that [`append`] appends.
    ///
    /// [`append`]: super::append
    #[inline]
    #[must_use]
    pub const fn of(value: ValueRef<'_>) -> Option<Self> {
        match value {
            ValueRef::Int(value) => Some(Self::signed(value)),
            ValueRef::UInt(value) => Some(Self::unsigned(value)),
            _ => None,
        }
    }

    #[inline]
    const fn signed(value: i64) -> Self {
        let size = value.unsigned_abs();
        let count = 8 - size.leading_zeros() / 8;
        match value < 0 {
            true => Self::new(tag::ZERO - count as u8, !size, count),
            false => Self::new(tag::ZERO + count as u8, size, count),
        }
    }

    #[inline]
    const fn unsigned(value: u64) -> Self {
        match value > i64::MAX as u64 {
            true => Self::new(tag::UNSIGNED, value, 8),
            false => Self::signed(value as i64),
        }
    }

    /// A tag and the lowest `count` bytes of a number, the highest of them first.
    #[inline]
    const fn new(tag: u8, digits: u64, count: u32) -> Self {
        // The number 0 has no digits, and stays 0 however far it is moved.
        let digits = digits.wrapping_shl(64 - 8 * count);
        Self {
            bytes: ((tag as u128) << 120 | (digits as u128) << 56).to_be_bytes(),
            len: 1 + count as usize,
        }
    }

    fn append_to(self, bytes: &mut Vec<u8>) {
        let end = bytes.len() + self.len;
        // A constant number of bytes is copied faster.
        bytes.extend_from_slice(&self.bytes);
        bytes.truncate(end);
    }

    /// The encoded key as a number, whose highest byte is the first of the key, with zeros behind
    /// the key; and the number of bytes of the key, from 1 to 9.
    #[inline]
    #[must_use]
    pub const fn to_number(&self) -> (u128, usize) {
        (u128::from_be_bytes(self.bytes), self.len)
    }

    /// The encoded key.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

pub(super) fn append_float(value: f64, bytes: &mut Vec<u8>) {
    if value.is_nan() {
        bytes.push(tag::NULL);
    } else if value < -TWO_TO_63 {
        bytes.push(tag::BELOW);
        bytes.extend(ordered_bits(value));
    } else if value >= TWO_TO_63 {
        bytes.push(tag::ABOVE);
        bytes.extend(ordered_bits(value));
    } else {
        let floor = value.floor();
        append_integer(floor as i64, bytes);
        if floor != value {
            bytes.push(tag::FRACTION);
            bytes.extend(ordered_bits(value));
        }
    }
}

pub(super) fn take_unsigned(rest: &mut &[u8]) -> Option<u64> {
    let value = u64::from_be_bytes(*take_bytes(rest, 8)?.first_chunk()?);
    i64::try_from(value).is_err().then_some(value)
}

/// Takes an integer without a fraction, whose first byte has been taken.
pub(super) fn take_integer(first: u8, rest: &mut &[u8]) -> Option<i64> {
    if !(tag::ZERO - 8..=tag::ZERO + 8).contains(&first) {
        return None;
    }
    let count = usize::from(first.abs_diff(tag::ZERO));
    let digits = take_bytes(rest, count)?;
    let is_negative = first < tag::ZERO;
    let size = digits.iter().fold(0, |size: u64, digit| {
        size << 8 | u64::from(if is_negative { !digit } else { *digit })
    });
    if (u64::BITS - size.leading_zeros()).div_ceil(8) as usize != count {
        return None;
    }
    if is_negative {
        0_i64.checked_sub_unsigned(size)
    } else {
        i64::try_from(size).ok()
    }
}

/// Takes a number whose first byte has been taken.
pub(super) fn take_float(first: u8, rest: &mut &[u8]) -> Option<f64> {
    match first {
        tag::BELOW => take_bits(rest).filter(|value| *value < -TWO_TO_63),
        tag::ABOVE => take_bits(rest).filter(|value| *value >= TWO_TO_63),
        _ => {
            let floor = take_integer(first, rest)?;
            if rest.first() == Some(&tag::FRACTION) {
                take_bytes(rest, 1)?;
                let value = take_bits(rest)?;
                let has_floor = value.floor() as i64 == floor && value.floor() != value;
                (has_floor && value.abs() < TWO_TO_63).then_some(value)
            } else {
                let value = floor as f64;
                (value < TWO_TO_63 && value as i64 == floor).then_some(value)
            }
        }
    }
}

fn ordered_bits(value: f64) -> [u8; 8] {
    let bits = value.to_bits();
    let flipped = if value.is_sign_negative() {
        !bits
    } else {
        bits | 1 << 63
    };
    flipped.to_be_bytes()
}

fn take_bits(rest: &mut &[u8]) -> Option<f64> {
    let flipped = u64::from_be_bytes(*take_bytes(rest, 8)?.first_chunk()?);
    let bits = if flipped >> 63 == 0 {
        !flipped
    } else {
        flipped & !(1 << 63)
    };
    Some(f64::from_bits(bits)).filter(|value| !value.is_nan())
}
