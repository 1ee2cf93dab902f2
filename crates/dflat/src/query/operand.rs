//! What a field can be compared with.

use std::borrow::Cow;

use dflat_model::Value;

use super::FieldType;

/// A value for a field of type `T`: owned or a reference; a string in any of its forms.
#[diagnostic::on_unimplemented(
    message = "a field of type `{T}` can't be compared with `{Self}`",
    label = "expected a value of type `{T}`"
)]
pub trait Operand<T: ?Sized> {
    /// The value as plain data.
    #[doc(hidden)]
    fn into_value(self) -> Value;
}

impl<T: FieldType + Copy> Operand<T> for T {
    fn into_value(self) -> Value {
        self.to_value()
    }
}

impl<T: FieldType + Copy> Operand<T> for &T {
    fn into_value(self) -> Value {
        self.to_value()
    }
}

impl Operand<str> for &str {
    fn into_value(self) -> Value {
        Value::text(self)
    }
}

impl Operand<str> for String {
    fn into_value(self) -> Value {
        Value::Text(Cow::Owned(self))
    }
}

impl Operand<str> for &String {
    fn into_value(self) -> Value {
        Value::text(self)
    }
}

impl Operand<str> for Cow<'_, str> {
    fn into_value(self) -> Value {
        Value::Text(Cow::Owned(self.into_owned()))
    }
}
