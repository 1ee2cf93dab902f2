//! Values as bytes whose order is the order of the values.
//!
//! Two lists of values compare as their bytes do, and are equal exactly if their bytes are. No
//! encoded value is the beginning of another, so the bytes of the first values of a key are the
//! beginning of the bytes of the key. `docs/pack-format.md` describes the bytes.

use dflat_model::ValueRef;
use xxhash_rust::xxh3::xxh3_64;

const NULL: u8 = 0;
const NUMBER: u8 = 1;
const TEXT: u8 = 2;
const LARGE: u8 = 3;

/// Appends the bytes of values.
pub(crate) fn encode_all<'a>(values: impl IntoIterator<Item = ValueRef<'a>>, out: &mut Vec<u8>) {
    values.into_iter().for_each(|value| encode(value, out));
}

/// Appends the bytes of a value.
pub(crate) fn encode(value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value {
        ValueRef::Null => out.push(NULL),
        ValueRef::Int(value) => {
            let (below, rest) = split(value);
            number(below, rest, out);
        }
        ValueRef::Float(value) if value.is_nan() => out.push(NULL),
        ValueRef::Float(value) => number(value, 0, out),
        ValueRef::Text(text) => {
            out.push(TEXT);
            for part in text.as_bytes().split_inclusive(|byte| *byte == 0) {
                out.extend_from_slice(part);
                if part.ends_with(&[0]) {
                    out.push(0xff);
                }
            }
            out.extend_from_slice(&[0, 0]);
        }
        ValueRef::UInt(value) => {
            out.push(LARGE);
            out.extend_from_slice(&value.to_be_bytes());
        }
    }
}

/// An integer as the largest float that is not above it, and the rest. The rest is below 1,024,
/// because floats below 2^63 are at most so far apart.
fn split(value: i64) -> (f64, u16) {
    let near = value as f64;
    let below = match near as i128 > i128::from(value) {
        true => near.next_down(),
        false => near,
    };
    (below, (i128::from(value) - below as i128) as u16)
}

fn number(below: f64, rest: u16, out: &mut Vec<u8>) {
    const SIGN: u64 = 1 << 63;
    // The two zeros are equal.
    let bits = (below + 0.0).to_bits();
    let ordered = if bits & SIGN == 0 { bits | SIGN } else { !bits };
    out.push(NUMBER);
    out.extend_from_slice(&ordered.to_be_bytes());
    out.extend_from_slice(&rest.to_be_bytes());
}

/// Makes the smallest bytes that are above everything that begins with these bytes. False if there
/// are none; the bytes are then without meaning.
pub(crate) fn advance(bytes: &mut Vec<u8>) -> bool {
    while let Some(last) = bytes.last_mut() {
        if *last < u8::MAX {
            *last += 1;
            return true;
        }
        bytes.pop();
    }
    false
}

/// The hash of a key, by which it is looked up.
pub(crate) fn hash(key: &[u8]) -> u64 {
    xxh3_64(key)
}

#[cfg(test)]
mod tests {
    use dflat_model::Value;

    use super::*;

    fn encoded(values: &[Value]) -> Vec<u8> {
        let mut out = Vec::new();
        encode_all(values.iter().map(Value::as_ref), &mut out);
        out
    }

    fn samples() -> Vec<Value> {
        let floats = [
            0.0,
            -0.0,
            0.5,
            -0.5,
            1e300,
            -1e300,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MIN_POSITIVE,
            9_223_372_036_854_775_808.0,
            9_007_199_254_740_992.0,
        ];
        let mut values: Vec<Value> = floats.into_iter().map(Value::Float).collect();
        for bit in 0..63 {
            for near in [-1, 0, 1] {
                let value = (1_i64 << bit) + near;
                values.extend([Value::Int(value), Value::Int(-value)]);
            }
        }
        values.extend([Value::Null, Value::Int(i64::MIN), Value::Int(i64::MAX)]);
        values.extend([1 << 63, u64::MAX].map(Value::UInt));
        let texts = ["", "a", "a\0", "a\0b", "a\0\0", "a\u{1}", "b", "ä", "\0"];
        values.extend(texts.map(Value::text));
        values
    }

    #[test]
    fn bytes_are_ordered_as_values_are() {
        let samples = samples();
        for one in &samples {
            for other in &samples {
                let expected = one.as_ref().order(other.as_ref());
                let [a, b] = [one, other].map(|value| encoded(std::slice::from_ref(value)));
                assert_eq!(a.cmp(&b), expected, "{one} {other}");
                assert_eq!(b.starts_with(&a), expected.is_eq(), "{one} {other}");
            }
        }
    }

    #[test]
    fn lists_are_ordered_by_their_first_difference() {
        let texts = ["", "a", "a\0", "b"].map(Value::text);
        for a in &texts {
            for b in &texts {
                for number in [1, 2] {
                    let one = encoded(&[a.clone(), Value::Int(number)]);
                    let other = encoded(&[b.clone(), Value::Int(3 - number)]);
                    let expected = a.as_ref().order(b.as_ref()).then(number.cmp(&(3 - number)));
                    assert_eq!(one.cmp(&other), expected, "{a} {b}");
                }
            }
        }
    }

    #[test]
    fn advanced_bytes_are_above_all_that_they_begin() {
        let mut bytes = vec![1, 0xff, 0xff];
        assert!(advance(&mut bytes));
        assert_eq!(bytes, [2]);
        assert!(!advance(&mut vec![0xff, 0xff]));
        assert!(!advance(&mut Vec::new()));
    }
}
