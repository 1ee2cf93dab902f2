//! The values of placeholders.

use std::collections::HashMap;

use dflat_model::Value;

use crate::syntax::Placeholder;

/// The values of the placeholders in a text.
///
/// A number is checked against the range of the field that it is compared with. An enum takes the
/// name of a value as text, or its number. A boolean takes 0 and 1. [`Value::Null`] stands for a
/// missing value: `tag == ?1` then means `tag.is_null`, and `tag != ?1` means `tag.is_not_null`.
///
/// # Examples
/// ```
/// use dflat_condition::Parameters;
/// use dflat_model::Value;
///
/// let parameters = Parameters::new()
///     .with(1, Value::Int(100))
///     .with("colors", vec![Value::text("Red"), Value::text("Green")]);
/// assert_eq!(parameters.len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    numbered: HashMap<usize, Parameter>,
    named: HashMap<String, Parameter>,
}

/// The value of a placeholder.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter {
    /// One value.
    Value(Value),
    /// A list, for `in` and for methods that take a list.
    List(Vec<Value>),
}

/// The key of a placeholder: the number of `?1`, from 1, or the name of `:name` without the colon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParameterKey {
    /// The number, from 1.
    Number(usize),
    /// The name.
    Name(String),
}

impl Parameters {
    /// No values.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the value of a placeholder, in place of its value before.
    #[must_use]
    pub fn with(mut self, key: impl Into<ParameterKey>, value: impl Into<Parameter>) -> Self {
        self.set(key, value);
        self
    }

    /// Sets the value of a placeholder, in place of its value before.
    pub fn set(&mut self, key: impl Into<ParameterKey>, value: impl Into<Parameter>) {
        match key.into() {
            ParameterKey::Number(number) => self.numbered.insert(number, value.into()),
            ParameterKey::Name(name) => self.named.insert(name, value.into()),
        };
    }

    /// The number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.numbered.len() + self.named.len()
    }

    /// Whether there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn get(&self, placeholder: &Placeholder) -> Option<&Parameter> {
        match placeholder {
            Placeholder::Number(number) => self.numbered.get(number),
            Placeholder::Name(name) => self.named.get(name),
        }
    }
}

impl From<usize> for ParameterKey {
    fn from(number: usize) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for ParameterKey {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl From<Value> for Parameter {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<Vec<Value>> for Parameter {
    fn from(values: Vec<Value>) -> Self {
        Self::List(values)
    }
}
