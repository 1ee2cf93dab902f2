//! Values of keys, as C has them.

use dflat_condition::Parameter;
use dflat_engine::Result;
use dflat_engine::fetch::KeyParts;
use dflat_model::{Value, ValueRef};

use crate::boundary::{Given, List, Text, invalid};
use crate::number;

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
    /// The value.
    pub(crate) fn get(&self) -> Result<ValueRef<'a>> {
        Ok(match self.kind {
            number::NULL => ValueRef::Null,
            number::INTEGER => ValueRef::Int(self.integer),
            number::UNSIGNED => ValueRef::from_u64(self.integer.cast_unsigned()),
            number::FLOAT if self.number.is_nan() => ValueRef::Null,
            number::FLOAT => ValueRef::Float(self.number),
            number::TEXT => ValueRef::Text(self.text.get("dflat_value")?),
            kind => return Err(invalid(format!("dflat_value: {kind} is no kind of value"))),
        })
    }
}

/// A value or a list of values for a placeholder: `dflat_parameter`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RawParameter<'a> {
    name: Text<'a>,
    values: List<'a, RawValue<'a>>,
    count: usize,
    is_list: i32,
}

impl<'a> RawParameter<'a> {
    /// The name; empty for a numbered placeholder.
    pub(crate) fn name(&self) -> Result<&'a str> {
        Ok(self.name.get("name")?)
    }

    /// The value or the values.
    pub(crate) fn get(&self) -> Result<Parameter> {
        let values = self.values.get(self.count, "values")?.iter();
        let values = values.map(|value| Ok(value.get()?.to_value()));
        let mut values = values.collect::<Result<Vec<Value>>>()?;
        match (self.is_list, values.len()) {
            (1, _) => Ok(Parameter::List(values)),
            (0, 1) => Ok(Parameter::Value(values.remove(0))),
            (0, count) => Err(invalid(format!(
                "dflat_parameter: it has {count} values and is no list"
            ))),
            (other, _) => Err(invalid(format!("is_list: {other} is neither 0 nor 1"))),
        }
    }
}

/// A value for the caller, with the same members. A text is in a buffer.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct GivenValue {
    kind: i32,
    integer: i64,
    number: f64,
    text: Given,
}

impl GivenValue {
    /// No value.
    pub(crate) const NULL: Self = Self {
        kind: number::NULL,
        integer: 0,
        number: 0.0,
        text: Given::text(""),
    };

    /// A value; the content of a text is left out.
    pub(crate) fn of(value: &Value) -> Self {
        let (kind, integer, number) = match value {
            Value::Null => (number::NULL, 0, 0.0),
            Value::Int(value) => (number::INTEGER, *value, 0.0),
            Value::UInt(value) => (number::UNSIGNED, value.cast_signed(), 0.0),
            Value::Float(value) => (number::FLOAT, 0, *value),
            Value::Text(_) => (number::TEXT, 0, 0.0),
        };
        Self {
            kind,
            integer,
            number,
            ..Self::NULL
        }
    }
}

/// The values of a key.
pub(crate) fn key<'a>(first: List<'a, RawValue<'a>>, count: usize) -> Result<KeyParts<'a>> {
    let mut parts = KeyParts::new();
    for value in first.get(count, "key")? {
        parts.push(value.get()?);
    }
    Ok(parts)
}
