//! Numbers in payloads.

use dflat_engine::object::{ScalarType, whole_value};
use dflat_model::{EnumLayout, Scalar, Value};
use serde::ser::{Serialize, Serializer};

/// A number or a boolean.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Bool(bool),
    Int(i128),
    F32(f32),
    F64(f64),
}

impl Number {
    /// Reads a number from the start of verified bytes.
    pub(super) fn read(scalar: Scalar, bytes: &[u8]) -> Self {
        fn at<T: ScalarType + Default>(bytes: &[u8]) -> T {
            T::read(bytes).unwrap_or_default()
        }
        match scalar {
            Scalar::Bool => Self::Bool(at(bytes)),
            Scalar::F32 => Self::F32(at(bytes)),
            Scalar::F64 => Self::F64(at(bytes)),
            _ => Self::Int(whole_value(scalar, bytes).unwrap_or_default()),
        }
    }

    /// Writes the number over the start of `out`. Returns false if it does not fit the type.
    pub(super) fn write(self, scalar: Scalar, out: &mut [u8]) -> bool {
        match (scalar, self) {
            (Scalar::Bool, Self::Bool(value)) => value.write(out),
            (Scalar::F32, Self::F32(value)) => value.write(out),
            (Scalar::F32, Self::F64(value)) => {
                let rounded = value as f32;
                if rounded.is_infinite() && value.is_finite() {
                    return false;
                }
                rounded.write(out);
            }
            (Scalar::F32, Self::Int(value)) => (value as f32).write(out),
            (Scalar::F64, Self::F32(value)) => f64::from(value).write(out),
            (Scalar::F64, Self::F64(value)) => value.write(out),
            (Scalar::F64, Self::Int(value)) => (value as f64).write(out),
            (_, Self::Int(value)) => return write_whole(scalar, value, out),
            // A boolean counts as the number 0 or 1, as in `flatc`.
            (_, Self::Bool(value)) => return Self::Int(value.into()).write(scalar, out),
            (_, Self::F32(_) | Self::F64(_)) => return false,
        }
        true
    }

    /// Whether the number has the same bits as a field's default.
    pub(super) fn is_default(self, default: &Value) -> bool {
        match (self, default) {
            (Self::Bool(value), Value::Int(default)) => i64::from(value) == *default,
            (Self::Int(value), Value::Int(default)) => value == i128::from(*default),
            (Self::Int(value), Value::UInt(default)) => value == i128::from(*default),
            (Self::F32(value), Value::Float(default)) => {
                value.to_bits() == (*default as f32).to_bits()
            }
            (Self::F64(value), Value::Float(default)) => value.to_bits() == default.to_bits(),
            _ => false,
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Bool(value) => serializer.serialize_bool(value),
            Self::Int(value) => match i64::try_from(value) {
                Ok(value) => serializer.serialize_i64(value),
                Err(_) => serializer.serialize_u64(value as u64),
            },
            Self::F32(value) if value.is_finite() => serializer.serialize_f32(value),
            Self::F64(value) if value.is_finite() => serializer.serialize_f64(value),
            Self::F32(value) => serializer.serialize_str(infinite(value.into())),
            Self::F64(value) => serializer.serialize_str(infinite(value)),
        }
    }
}

/// Writes an integer over the start of `out`. Returns false if it does not fit the type.
fn write_whole(scalar: Scalar, value: i128, out: &mut [u8]) -> bool {
    let (size, bytes) = (scalar.size_bytes(), value.to_le_bytes());
    let range = scalar.integer_range();
    let fits = range.is_some_and(|(min, max)| (min..=max).contains(&value));
    if let (true, Some(bytes), Some(out)) = (fits, bytes.get(..size), out.get_mut(..size)) {
        out.copy_from_slice(bytes);
    }
    fits
}

/// The name of an infinity or of NaN, which JSON can't express as a number.
fn infinite(value: f64) -> &'static str {
    if value.is_nan() {
        "nan"
    } else if value > 0.0 {
        "inf"
    } else {
        "-inf"
    }
}

/// The number in a string: a decimal number, or the name of an infinity or of NaN.
pub(super) fn named(text: &str) -> Option<Number> {
    let text = text.trim();
    let finite = text.parse().ok().map(Number::Int);
    let float = || {
        let float: f64 = text.parse().ok()?;
        // Digits that mean an infinity are those of a number that is too large.
        let has_digits = text.contains(|c: char| c.is_ascii_digit());
        (!has_digits || float.is_finite()).then_some(Number::F64(float))
    };
    finite.or_else(float)
}

/// The number of an enum's value.
pub(super) fn value_of(value: &Value) -> i128 {
    match value {
        Value::Int(value) => i128::from(*value),
        Value::UInt(value) => i128::from(*value),
        _ => 0,
    }
}

/// The names of an enum's number: several for flags; `None` if the number has no name.
pub(super) fn names(layout: &EnumLayout, number: i128) -> Option<String> {
    let values = || layout.values.iter();
    if let Some(found) = values().find(|value| value_of(&value.value) == number) {
        return Some(found.name.to_string());
    }
    let set: Vec<_> = values()
        .filter(|value| layout.bit_flags && value_of(&value.value) & number != 0)
        .collect();
    let known = set
        .iter()
        .fold(0, |known, value| known | value_of(&value.value));
    let names: Vec<&str> = set.iter().map(|value| value.name.as_ref()).collect();
    (known == number && !names.is_empty()).then(|| names.join(" "))
}

/// The number of an enum's names, each with or without the name of the enum before it.
pub(super) fn number_of(layout: &EnumLayout, text: &str) -> Option<i128> {
    let enum_name = layout.name.rsplit('.').next().unwrap_or_default();
    let mut number = None;
    for name in text.split_whitespace() {
        let name = match name.rsplit_once('.') {
            Some((before, name)) if before == layout.name || before == enum_name => name,
            Some(_) => return None,
            None => name,
        };
        let value = layout.values.iter().find(|value| value.name == name)?;
        match number {
            Some(before) if layout.bit_flags => number = Some(before | value_of(&value.value)),
            Some(_) => return None,
            None => number = Some(value_of(&value.value)),
        }
    }
    number
}
