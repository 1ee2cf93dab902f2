//! Keys as bytes whose order is the order of the keys.
//!
//! A key is the list of its values. The bytes of a key are the bytes of its values, one after the
//! other. Two keys with as many values compare as their bytes do: byte by byte, a beginning of
//! another being below it. The order of values is that of [`ValueRef::order`], which is SQLite's.
//!
//! The bytes depend on the values alone and not on the type of the field. `5` has the same bytes
//! in a `byte` and in a `long`, so a key keeps its bytes if its field becomes wider. Values that
//! compare as equal have equal bytes: `2` and `2.0`, `0.0` and `-0.0`. NaN is NULL.
//!
//! ```
//! use dflat_model::{ColumnType, Value, ValueRef, key};
//!
//! let monday = key::encode([ValueRef::Text("mon"), ValueRef::Int(-7)]);
//! let later = key::encode([ValueRef::Text("mon"), ValueRef::Int(300)]);
//! assert!(monday < later);
//!
//! let columns = [ColumnType::Text, ColumnType::Integer];
//! let read = key::decode(&later, &columns).expect("these bytes were just written");
//! assert_eq!(read, [Value::text("mon"), Value::Int(300)]);
//! ```

mod number;
mod text;

#[cfg(test)]
mod tests;

pub use number::IntegerKey;

use crate::{ColumnType, DecodeError, Value, ValueRef};

/// The first byte of a value.
mod tag {
    /// NULL.
    pub(super) const NULL: u8 = 0x01;
    /// A floating-point number below -2^63.
    pub(super) const BELOW: u8 = 0x02;
    /// Zero; the tag of an integer of `n` bytes is `n` more if it is positive, and `n` less if it
    /// is negative.
    pub(super) const ZERO: u8 = 0x0b;
    /// A floating-point number from 2^63 on.
    pub(super) const ABOVE: u8 = 0x14;
    /// A text.
    pub(super) const TEXT: u8 = 0x20;
    /// An unsigned integer above 2^63 - 1.
    pub(super) const UNSIGNED: u8 = 0x30;
    /// No first byte: it follows an integer, to which a fraction is added. It is above all first
    /// bytes, so a number with a fraction is above its integer, whatever follows the integer.
    pub(super) const FRACTION: u8 = 0xf0;
}

/// A byte above the first byte of every value. The bytes of some values, followed by this byte, are
/// above all keys that begin with these values, and not above any key that begins with other values
/// and is above these.
pub const BEHIND: u8 = tag::FRACTION;

/// The bytes of a key, which may have any length.
#[must_use]
pub fn encode<'a>(values: impl IntoIterator<Item = ValueRef<'a>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    append_all(values, &mut bytes);
    bytes
}

/// Appends the bytes of some values of a key.
pub fn append_all<'a>(values: impl IntoIterator<Item = ValueRef<'a>>, bytes: &mut Vec<u8>) {
    values.into_iter().for_each(|value| append(value, bytes));
}

/// Appends the bytes of one value of a key.
pub fn append(value: ValueRef<'_>, bytes: &mut Vec<u8>) {
    match value {
        ValueRef::Null => bytes.push(tag::NULL),
        ValueRef::Int(value) => number::append_integer(value, bytes),
        ValueRef::UInt(value) => number::append_unsigned(value, bytes),
        ValueRef::Float(value) => number::append_float(value, bytes),
        ValueRef::Text(value) => text::append(value, bytes),
    }
}

/// The values of a key whose fields have these types.
///
/// A number of a [`ColumnType::Real`] is a [`Value::Float`]. Decoding takes any bytes, and
/// allocates memory in proportion to them. It accepts the bytes that [`encode`] makes and no
/// others, so two different sequences of bytes never are one key.
///
/// # Errors
/// [`DecodeError::Malformed`] if the bytes are not those of such a key.
pub fn decode(bytes: &[u8], columns: &[ColumnType]) -> Result<Vec<Value>, DecodeError> {
    let mut rest = bytes;
    let mut values = Vec::with_capacity(columns.len().min(bytes.len()));
    for column in columns {
        values.push(take(&mut rest, *column).ok_or(DecodeError::Malformed)?);
    }
    match rest {
        [] => Ok(values),
        _ => Err(DecodeError::Malformed),
    }
}

/// Takes the first value off the bytes.
fn take(rest: &mut &[u8], column: ColumnType) -> Option<Value> {
    let first = take_bytes(rest, 1)?.first().copied()?;
    match (first, column) {
        (tag::NULL, _) => Some(Value::Null),
        (tag::TEXT, ColumnType::Text) => text::take(rest).map(Value::Text),
        (tag::UNSIGNED, ColumnType::Integer) => number::take_unsigned(rest).map(Value::UInt),
        (_, ColumnType::Integer) => number::take_integer(first, rest).map(Value::Int),
        (_, ColumnType::Real) => number::take_float(first, rest).map(Value::Float),
        _ => None,
    }
}

fn take_bytes<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(count)?;
    *rest = after;
    Some(taken)
}
