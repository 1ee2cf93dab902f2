use std::cmp::Ordering;

use super::{BEHIND, IntegerKey, append, decode, encode};
use crate::{ColumnType, Value, ValueRef};

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }

    /// A number of few or many bits, near a power of two as often as not.
    fn size(&mut self) -> u64 {
        let number = self.number() >> self.below(64);
        match self.below(3) {
            0 => (1_u64 << self.below(64))
                .wrapping_add(self.below(3))
                .wrapping_sub(1),
            _ => number,
        }
    }

    fn integer(&mut self) -> Value {
        match self.below(8) {
            0 => Value::Int(i64::MIN),
            1 => ValueRef::from_u64(u64::MAX - self.below(3)).to_value(),
            2 => ValueRef::from_u64(self.size()).to_value(),
            3 => Value::Null,
            _ => Value::Int(self.size() as i64),
        }
    }

    fn float(&mut self) -> Value {
        let value = match self.below(8) {
            0 => f64::from_bits(self.number()),
            1 => f64::INFINITY,
            2 => -f64::INFINITY,
            3 => self.size() as i64 as f64,
            4 => self.size() as i64 as f64 / 256.0,
            5 => f64::from(f32::from_bits(self.number() as u32)),
            6 => f64::MIN_POSITIVE,
            _ => -0.0,
        };
        let value = if self.below(2) == 0 { value } else { -value };
        ValueRef::from_f64(value).to_value()
    }

    fn text(&mut self) -> Value {
        const PARTS: [&str; 7] = ["\0", "\0\0", "a", "b", "\u{1}", "\u{10ffff}", "\u{7f}"];
        let parts = self.below(5);
        let text: String = (0..parts)
            .map(|_| PARTS[self.below(PARTS.len() as u64) as usize])
            .collect();
        Value::text(&text)
    }

    fn of(&mut self, column: ColumnType) -> Value {
        match column {
            ColumnType::Integer => self.integer(),
            ColumnType::Real => self.float(),
            ColumnType::Text => self.text(),
        }
    }
}

fn bytes_of(values: &[Value]) -> Vec<u8> {
    encode(values.iter().map(Value::as_ref))
}

fn order(a: &[Value], b: &[Value]) -> Ordering {
    let pairs = a.iter().zip(b);
    let orders = pairs.map(|(a, b)| a.as_ref().order(b.as_ref()));
    orders.fold(Ordering::Equal, Ordering::then)
}

/// Any values may be in one place, also integers beside floats, which no column mixes.
#[test]
fn bytes_compare_as_the_values_of_composite_keys_do() {
    let mut random = Random(1);
    for round in 0..200_000 {
        let length = 1 + random.below(3);
        let key = |random: &mut Random| -> Vec<Value> {
            let mut value = || {
                let column = ColumnType::ALL[random.below(3) as usize];
                random.of(column)
            };
            (0..length).map(|_| value()).collect()
        };
        let (a, mut b) = (key(&mut random), key(&mut random));
        let shared = random.below(length + 1) as usize;
        b[..shared].clone_from_slice(&a[..shared]);
        let found = bytes_of(&a).cmp(&bytes_of(&b));
        assert_eq!(found, order(&a, &b), "round {round}: {a:?} {b:?}");
    }
}

#[test]
fn decoding_gives_the_values_of_each_column_type() {
    let mut random = Random(2);
    for round in 0..100_000 {
        let columns: Vec<_> = (0..1 + random.below(4))
            .map(|_| ColumnType::ALL[random.below(3) as usize])
            .collect();
        let values: Vec<_> = columns.iter().map(|column| random.of(*column)).collect();
        let bytes = bytes_of(&values);
        let read = decode(&bytes, &columns).unwrap();
        assert_eq!(order(&read, &values), Ordering::Equal, "round {round}");
        for (read, column) in read.iter().zip(&columns) {
            let matches = match read {
                Value::Null => true,
                Value::Int(_) | Value::UInt(_) => *column == ColumnType::Integer,
                Value::Float(_) => *column == ColumnType::Real,
                Value::Text(_) => *column == ColumnType::Text,
            };
            assert!(matches, "round {round}: {read:?} in {column:?}");
        }
        assert!(decode(&bytes, &columns[1..]).is_err(), "round {round}");
        let cut = &bytes[..bytes.len() - 1];
        assert!(decode(cut, &columns).is_err(), "round {round}");
    }
}

/// The bound is above all keys that begin with the values, and below the keys above them.
#[test]
fn bound_behind_values_parts_the_keys_that_begin_with_them_from_those_above() {
    let mut random = Random(4);
    for round in 0..200_000 {
        let of = |random: &mut Random| {
            let column = ColumnType::ALL[random.below(3) as usize];
            random.of(column)
        };
        let (first, mut other) = (of(&mut random), of(&mut random));
        if random.below(4) == 0 {
            other = first.clone();
        }
        let mut bound = bytes_of(std::slice::from_ref(&first));
        bound.push(BEHIND);
        let mut key = bytes_of(std::slice::from_ref(&other));
        append(of(&mut random).as_ref(), &mut key);
        let is_above = other.as_ref().order(first.as_ref()).is_gt();
        assert_eq!(key > bound, is_above, "round {round}: {first:?} {other:?}");
    }
}

/// Bytes that no value has are refused, so that one key never has two forms.
#[test]
fn bytes_are_refused_or_are_those_of_the_decoded_values() {
    let mut random = Random(3);
    let mut accepted = 0;
    for round in 0..300_000 {
        let column = ColumnType::ALL[random.below(3) as usize];
        let mut bytes = bytes_of(&[random.of(column)]);
        let place = random.below(bytes.len() as u64) as usize;
        bytes[place] = match random.below(3) {
            0 => bytes[place] ^ 1 << random.below(8),
            1 => random.below(0x32) as u8,
            _ => random.number() as u8,
        };
        if let Ok(values) = decode(&bytes, &[column]) {
            assert_eq!(bytes_of(&values), bytes, "round {round}: {values:?}");
            accepted += 1;
        }
    }
    assert!(accepted > 10_000, "{accepted} accepted");
}

#[test]
fn integers_of_each_width_have_as_few_bytes_as_possible() {
    let check = |value: i64, expected: &[u8]| assert_eq!(encode([ValueRef::Int(value)]), expected);
    check(0, &[0x0b]);
    check(1, &[0x0c, 1]);
    check(255, &[0x0c, 255]);
    check(256, &[0x0d, 1, 0]);
    check(-1, &[0x0a, 254]);
    check(-256, &[0x09, 254, 255]);
    check(i64::MAX, &[0x13, 127, 255, 255, 255, 255, 255, 255, 255]);
    check(i64::MIN, &[0x03, 127, 255, 255, 255, 255, 255, 255, 255]);
    for value in [
        ValueRef::Int(i64::MIN),
        ValueRef::Int(0),
        ValueRef::UInt(u64::MAX),
    ] {
        let key = IntegerKey::of(value).expect("it is an integer");
        let (number, len) = key.to_number();
        assert_eq!(key.bytes(), encode([value]));
        assert_eq!(number.to_be_bytes()[..len], encode([value]));
        assert!(number.to_be_bytes()[len..].iter().all(|byte| *byte == 0));
    }
    assert!(IntegerKey::of(ValueRef::Float(1.0)).is_none());
    let unsigned = encode([ValueRef::from_u64(u64::MAX)]);
    assert_eq!(unsigned, [0x30, 255, 255, 255, 255, 255, 255, 255, 255]);
    assert_eq!(encode([ValueRef::from_u64(255)]), [0x0c, 255]);
}

#[test]
fn a_number_that_no_float_has_is_refused_in_a_column_of_floats() {
    let odd = encode([ValueRef::Int((1 << 53) + 1)]);
    assert!(decode(&odd, &[ColumnType::Real]).is_err());
    assert!(decode(&odd, &[ColumnType::Integer]).is_ok());
    let largest = encode([ValueRef::Int(i64::MAX)]);
    assert!(decode(&largest, &[ColumnType::Real]).is_err());
}
