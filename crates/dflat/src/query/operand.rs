//! Operands of comparisons and computations.

use std::borrow::Cow;

use dflat_model::Value;

use super::{Field, FieldType};

/// An operand that a field of type `T` of an object `R` is compared and computed with: a value,
/// owned or a reference, a string in any of its forms, or another field of the same object; or an
/// `Option` of a value, of which `None` stands for a missing value. For strings it is an
/// `Option<&str>`; `as_deref` makes one of an `Option<String>`.
#[diagnostic::on_unimplemented(
    message = "a field of type `{T}` of `{R}` can't be compared or computed with `{Self}`",
    label = "expected a value of type `{T}`, or such a field of `{R}`"
)]
pub trait Operand<R, T: ?Sized> {
    /// The operand as a field.
    #[doc(hidden)]
    fn into_field(self) -> Field<R, T>;

    /// The operand as a field; `None` if it is the `None` of an `Option`.
    #[doc(hidden)]
    fn into_present(self) -> Option<Field<R, T>>
    where
        Self: Sized,
    {
        Some(self.into_field())
    }
}

/// A value that may be missing.
macro_rules! options {
    ($(($($parameters:tt)*) $type:ty => $value:ty;)*) => {$(
        impl<R, $($parameters)*> Operand<R, $type> for Option<$value> {
            fn into_field(self) -> Field<R, $type> {
                self.into_present().unwrap_or_else(|| Field::literal(Value::Null))
            }

            fn into_present(self) -> Option<Field<R, $type>> {
                self.map(Operand::into_field)
            }
        }
    )*};
}

options! {
    (T: FieldType + Copy) T => T;
    () str => &str;
}

impl<R, T: ?Sized, P> Operand<R, T> for Field<R, T, P> {
    fn into_field(self) -> Field<R, T> {
        self.retyped()
    }
}

impl<R, T: ?Sized, P> Operand<R, T> for &Field<R, T, P> {
    fn into_field(self) -> Field<R, T> {
        self.clone().retyped()
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
