//! Operands of comparisons and computations.

use std::borrow::Cow;

use dflat_model::Value;

use super::{Field, FieldType};

/// An operand that a field of type `T` of an object `R` is compared and computed with: a value,
/// owned or a reference, a string in any of its forms, or another field of the same object.
#[diagnostic::on_unimplemented(
    message = "a field of type `{T}` of `{R}` can't be compared or computed with `{Self}`",
    label = "expected a value of type `{T}`, or such a field of `{R}`"
)]
pub trait Operand<R, T: ?Sized> {
    /// The operand as a field.
    #[doc(hidden)]
    fn into_field(self) -> Field<R, T>;
}

impl<R, T: ?Sized> Operand<R, T> for Field<R, T> {
    fn into_field(self) -> Self {
        self
    }
}

impl<R, T: ?Sized> Operand<R, T> for &Field<R, T> {
    fn into_field(self) -> Field<R, T> {
        self.clone()
    }
}

impl<R, T: FieldType + Copy> Operand<R, T> for T {
    fn into_field(self) -> Field<R, T> {
        Field::literal(self.to_value())
    }
}

impl<R, T: FieldType + Copy> Operand<R, T> for &T {
    fn into_field(self) -> Field<R, T> {
        Field::literal(self.to_value())
    }
}

impl<R> Operand<R, str> for &str {
    fn into_field(self) -> Field<R, str> {
        Field::literal(Value::text(self))
    }
}

impl<R> Operand<R, str> for String {
    fn into_field(self) -> Field<R, str> {
        Field::literal(Value::Text(Cow::Owned(self)))
    }
}

impl<R> Operand<R, str> for &String {
    fn into_field(self) -> Field<R, str> {
        Field::literal(Value::text(self))
    }
}

impl<R> Operand<R, str> for Cow<'_, str> {
    fn into_field(self) -> Field<R, str> {
        Field::literal(Value::Text(Cow::Owned(self.into_owned())))
    }
}
