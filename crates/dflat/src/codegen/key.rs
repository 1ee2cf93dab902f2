//! Keys and values of objects, as generated code needs them.

use dflat_engine::fetch::KeyParts;
use dflat_engine::object::equal;
use dflat_model::{Value, ValueRef};

use crate::{FieldType, Object};

/// A primary key of these parts, as plain data.
#[inline]
#[must_use]
pub fn key<const N: usize>(parts: [ValueRef<'_>; N]) -> KeyParts<'_> {
    match parts.as_slice() {
        [one] => KeyParts::from_buf_and_len([*one, ValueRef::Null], 1),
        [one, two] => KeyParts::from_buf([*one, *two]),
        _ => KeyParts::from_slice(&parts),
    }
}

/// A string of a key as plain data.
#[inline]
#[must_use]
pub const fn text(text: &str) -> ValueRef<'_> {
    ValueRef::Text(text)
}

/// A number or an enum of a key as plain data.
#[inline]
#[must_use]
pub fn number<T: FieldType + Copy>(number: T) -> ValueRef<'static> {
    match number.to_value() {
        Value::Int(number) => ValueRef::Int(number),
        Value::UInt(number) => ValueRef::UInt(number),
        Value::Float(number) => ValueRef::Float(number),
        Value::Null | Value::Text(_) => ValueRef::Null,
    }
}

/// Whether two objects hold the same values; floats by their bits.
#[must_use]
pub fn same<T: Object>(a: &T, b: &T) -> bool {
    equal(&T::TABLE.types, a.handle().payload(), b.handle().payload())
}
