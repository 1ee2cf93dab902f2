//! Numbers as bytes whose order is that of the numbers.
//!
//! An integer has a first byte that tells its sign and the number of its other bytes, as few as
//! possible, and then its absolute value, big-endian, inverted if the integer is negative. A
//! number with a fraction has the bytes of the greatest integer below it, and then its own bits. A
//! number beyond the integers of 64 bits has its bits alone. The sign of these bits is flipped,
//! and all bits are if the number is negative, so that they compare as the numbers do.

use super::{tag, take_bytes};

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

pub(super) fn append_integer(value: i64, bytes: &mut Vec<u8>) {
    let size = value.unsigned_abs();
    let big_endian = size.to_be_bytes();
    let skipped = (size.leading_zeros() / 8) as usize;
    let digits = big_endian.get(skipped..).unwrap_or_default();
    let count = digits.len() as u8;
    if value < 0 {
        bytes.push(tag::ZERO - count);
        bytes.extend(digits.iter().map(|digit| !digit));
    } else {
        bytes.push(tag::ZERO + count);
        bytes.extend_from_slice(digits);
    }
}

pub(super) fn append_unsigned(value: u64, bytes: &mut Vec<u8>) {
    match i64::try_from(value) {
        Ok(value) => append_integer(value, bytes),
        Err(_) => {
            bytes.push(tag::UNSIGNED);
            bytes.extend(value.to_be_bytes());
        }
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
