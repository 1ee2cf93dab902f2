//! Values of keys, as C has them.

use dflat_engine::Result;
use dflat_engine::fetch::KeyParts;
use dflat_model::ValueRef;

use crate::boundary::{List, Text, invalid};

/// A value: `dflat_value`. Which member counts depends on the kind.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RawValue<'a> {
    kind: i32,
    integer: i64,
    number: f64,
    text: Text<'a>,
}

impl<'a> RawValue<'a> {
    fn get(&self) -> Result<ValueRef<'a>> {
        Ok(match self.kind {
            0 => ValueRef::Null,
            1 => ValueRef::Int(self.integer),
            2 => ValueRef::from_u64(self.integer.cast_unsigned()),
            3 if self.number.is_nan() => ValueRef::Null,
            3 => ValueRef::Float(self.number),
            4 => ValueRef::Text(self.text.get("dflat_value")?),
            kind => return Err(invalid(format!("dflat_value: {kind} is no kind of value"))),
        })
    }
}

/// The values of a key.
pub(crate) fn key<'a>(first: List<'a, RawValue<'a>>, count: usize) -> Result<KeyParts<'a>> {
    first.get(count, "key")?.iter().map(RawValue::get).collect()
}
