//! Numbers as Rust writes them.

use std::fmt::Display;

use dflat_model::Scalar;

use crate::rust::scalar_type;

/// The digits from which on a number is written in groups of three.
const GROUPED_MIN: usize = 6;

/// An integer, with a separator between groups of three digits if it is long.
pub(in crate::rust) fn integer(value: impl Display) -> String {
    grouped(&value.to_string())
}

/// The shortest literal that parses to the number.
pub(in crate::rust) fn float(scalar: Scalar, value: f64) -> String {
    let ty = scalar_type(scalar);
    if value.is_nan() {
        format!("{ty}::NAN")
    } else if value.is_infinite() {
        let sign = if value > 0.0 { "" } else { "NEG_" };
        format!("{ty}::{sign}INFINITY")
    } else if scalar == Scalar::F32 {
        grouped(&format!("{:?}", value as f32))
    } else {
        grouped(&format!("{value:?}"))
    }
}

/// A decimal number with separators, as clippy asks for them.
fn grouped(number: &str) -> String {
    let (mantissa, exponent) = match number.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (number, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let (sign, digits) = match whole.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", whole),
    };
    // If one of the two parts is long, both are grouped, because clippy asks for the same style.
    let long = |digits: &str| digits.len() >= GROUPED_MIN;
    let groups = long(digits) || fraction.is_some_and(long);
    let mut out = sign.to_owned();
    for (position, digit) in digits.chars().enumerate() {
        if groups && position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push('_');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        for (position, digit) in fraction.chars().enumerate() {
            if groups && position > 0 && position.is_multiple_of(3) {
                out.push('_');
            }
            out.push(digit);
        }
    }
    if let Some(exponent) = exponent {
        out.push('e');
        out.push_str(exponent);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_have_separators() {
        for (number, expected) in [
            ("0", "0"),
            ("-1", "-1"),
            ("65535", "65535"),
            ("100000", "100_000"),
            ("-9223372036854775808", "-9_223_372_036_854_775_808"),
            ("3.14159", "3.14159"),
            ("1234.5", "1234.5"),
            ("2.718281828459045", "2.718_281_828_459_045"),
            ("1234.567891", "1_234.567_891"),
            ("-1.2345678e-7", "-1.234_567_8e-7"),
            ("1e16", "1e16"),
        ] {
            assert_eq!(grouped(number), expected);
        }
    }
}
