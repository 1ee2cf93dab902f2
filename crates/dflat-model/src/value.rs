//! Values, which are compared, ordered, bound to statements and stored in key and index columns.
//!
//! Comparison and order equal those of SQLite for the values that Dflat stores: NULL is below
//! numbers, numbers compare by exact value, and text by bytes. An unsigned integer above `i64::MAX`
//! is stored as an 8-byte big-endian blob, and so sorts after all other integers. NaN is NULL.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// An owned value.
///
/// Equality compares representations: integers that fit `i64` are always [`Value::Int`].
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// A boolean (0 or 1), an enum's value, a union's type code, or an integer that fits.
    Int(i64),
    /// An unsigned integer above `i64::MAX`.
    UInt(u64),
    /// A floating-point number; a `float` is widened. [`ValueRef::from_f64`] never makes a NaN.
    Float(f64),
    /// A string.
    Text(Cow<'static, str>),
}

impl Value {
    /// A string value.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(Cow::Owned(text.to_owned()))
    }

    /// Borrows the value.
    #[inline]
    #[must_use]
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Self::Null => ValueRef::Null,
            Self::Int(value) => ValueRef::Int(*value),
            Self::UInt(value) => ValueRef::UInt(*value),
            Self::Float(value) => ValueRef::Float(*value),
            Self::Text(value) => ValueRef::Text(value),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

/// A borrowed value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    /// No value.
    Null,
    /// See [`Value::Int`].
    Int(i64),
    /// See [`Value::UInt`].
    UInt(u64),
    /// See [`Value::Float`].
    Float(f64),
    /// See [`Value::Text`].
    Text(&'a str),
}

impl<'a> ValueRef<'a> {
    /// Creates the value of an unsigned integer.
    #[inline]
    #[must_use]
    pub fn from_u64(value: u64) -> Self {
        i64::try_from(value).map_or(Self::UInt(value), Self::Int)
    }

    /// Creates the value of a floating-point number: NULL for NaN.
    #[inline]
    #[must_use]
    pub const fn from_f64(value: f64) -> Self {
        if value.is_nan() {
            Self::Null
        } else {
            Self::Float(value)
        }
    }

    /// Makes an owned copy.
    #[inline]
    #[must_use]
    pub fn to_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Int(value) => Value::Int(value),
            Self::UInt(value) => Value::UInt(value),
            Self::Float(value) => Value::Float(value),
            Self::Text(value) => Value::text(value),
        }
    }

    /// Whether the value is NULL.
    #[inline]
    #[must_use]
    pub const fn is_null(self) -> bool {
        matches!(self, Self::Null)
    }

    /// Compares two values as an operator does. The result is `None`, which means UNKNOWN, if
    /// either value is NULL.
    #[inline]
    #[must_use]
    pub fn compare(self, other: ValueRef<'_>) -> Option<Ordering> {
        if self.is_null() || other.is_null() {
            None
        } else {
            Some(self.order(other))
        }
    }

    /// Compares two values in the total order, in which NULL is below all other values.
    #[inline]
    #[must_use]
    pub fn order(self, other: ValueRef<'_>) -> Ordering {
        match (self, other) {
            (Self::Int(a), ValueRef::Int(b)) => a.cmp(&b),
            (Self::Text(a), ValueRef::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Self::Float(a), ValueRef::Float(b)) => order_floats(a, b),
            (Self::UInt(a), ValueRef::UInt(b)) => a.cmp(&b),
            (Self::Int(a), ValueRef::Float(b)) => order_int_float(a, b),
            (Self::Float(a), ValueRef::Int(b)) => order_int_float(b, a).reverse(),
            (a, b) => a.class().cmp(&b.class()),
        }
    }

    /// The position of the value's class in the total order.
    const fn class(self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Int(_) | Self::Float(_) => 1,
            Self::Text(_) => 2,
            Self::UInt(_) => 3,
        }
    }
}

impl<'a> From<&'a Value> for ValueRef<'a> {
    fn from(value: &'a Value) -> Self {
        value.as_ref()
    }
}

impl fmt::Display for ValueRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Int(value) => value.fmt(f),
            Self::UInt(value) => value.fmt(f),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Text(value) => write!(f, "{value:?}"),
        }
    }
}

/// Orders two floats. NaN, which is NULL, is below all others.
fn order_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b)
        .unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
}

/// Orders an integer and a float by exact value, without rounding the integer.
fn order_int_float(a: i64, b: f64) -> Ordering {
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    if b.is_nan() {
        return Ordering::Greater;
    }
    if b >= TWO_TO_63 {
        return Ordering::Less;
    }
    if b < -TWO_TO_63 {
        return Ordering::Greater;
    }
    let whole = b.trunc();
    a.cmp(&(whole as i64))
        .then_with(|| 0.0_f64.total_cmp(&(b - whole + 0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floats_compare_exactly() {
        let cases = [
            (
                9_007_199_254_740_993,
                9_007_199_254_740_992.0,
                Ordering::Greater,
            ),
            (i64::MAX, 9_223_372_036_854_775_808.0, Ordering::Less),
            (i64::MIN, -9_223_372_036_854_775_808.0, Ordering::Equal),
            (i64::MIN, f64::NEG_INFINITY, Ordering::Greater),
            (2, 2.5, Ordering::Less),
            (-2, -2.5, Ordering::Greater),
            (0, -0.0, Ordering::Equal),
        ];
        for (int, float, expected) in cases {
            assert_eq!(
                ValueRef::Int(int).order(ValueRef::Float(float)),
                expected,
                "{int} {float}"
            );
            assert_eq!(
                ValueRef::Float(float).order(ValueRef::Int(int)),
                expected.reverse()
            );
        }
    }

    #[test]
    fn the_total_order_puts_null_first_and_large_unsigned_last() {
        let sorted = [
            ValueRef::Null,
            ValueRef::Int(-1),
            ValueRef::Float(0.5),
            ValueRef::Int(1),
            ValueRef::Text(""),
            ValueRef::Text("a\0"),
            ValueRef::Text("a\0b"),
            ValueRef::Text("b"),
            ValueRef::from_u64(i64::MAX as u64 + 1),
            ValueRef::from_u64(u64::MAX),
        ];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(a.order(*b), i.cmp(&j), "{a} {b}");
            }
        }
        assert_eq!(ValueRef::from_u64(7), ValueRef::Int(7));
        assert_eq!(ValueRef::Null.compare(ValueRef::Null), None);
    }
}
