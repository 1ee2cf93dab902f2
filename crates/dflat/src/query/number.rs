//! Fields of numbers: comparisons with numbers of other sizes, and arithmetic.

use std::ops::{Add, Div, Mul, Rem, Sub};

use dflat_model::{Arithmetic, Domain, Expression};

use super::nested::Nested;
use super::{Field, FieldType, Operand};

/// A type of numbers in which queries compute.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a type that queries compute with")]
pub trait Number: FieldType + Copy {
    /// The type in which it is computed: `i64`, `u64` or `f64`.
    type Wide: Number;

    /// The type's domain as plain data.
    #[doc(hidden)]
    const DOMAIN: Domain;
}

macro_rules! numbers {
    ($($wide:ident $domain:ident { $($type:ident)* })*) => {$(
        $(
            impl Number for $type {
                type Wide = $wide;
                const DOMAIN: Domain = Domain::$domain;
            }
        )*
    )*};
}

numbers! {
    i64 Signed { i8 i16 i32 i64 }
    u64 Unsigned { u8 u16 u32 u64 }
    f64 Float { f32 f64 }
}

/// Fields of one size are operands for fields of another.
macro_rules! sizes {
    ($($type:ident: $($other:ident)*;)*) => {$($(
        #[diagnostic::do_not_recommend]
        impl<R, P> Operand<R, $type> for Field<R, $other, P> {
            fn into_field(self) -> Field<R, $type> {
                self.retyped()
            }
        }

        #[diagnostic::do_not_recommend]
        impl<R, P> Operand<R, $type> for &Field<R, $other, P> {
            fn into_field(self) -> Field<R, $type> {
                self.clone().retyped()
            }
        }
    )*)*};
}

sizes! {
    i8: i16 i32 i64;
    i16: i8 i32 i64;
    i32: i8 i16 i64;
    i64: i8 i16 i32;
    u8: u16 u32 u64;
    u16: u8 u32 u64;
    u32: u8 u16 u64;
    u64: u8 u16 u32;
    f32: f64;
    f64: f32;
}

pub(super) fn arithmetic(
    operator: Arithmetic,
    domain: Domain,
    left: Nested<Expression>,
    right: Nested<Expression>,
) -> Nested<Expression> {
    let depth = 1 + left.depth.max(right.depth);
    let inner = Expression::Arithmetic {
        operator,
        domain,
        left: Box::new(left.inner),
        right: Box::new(right.inner),
    };
    // A value that is built on one that is too deep is too deep as well.
    Nested::new(inner, depth)
}

macro_rules! operators {
    ($($operator:ident $method:ident $arithmetic:ident)*) => {$(
        impl<R, T: Number, P, O: Operand<R, T::Wide>> $operator<O> for Field<R, T, P> {
            type Output = Field<R, T::Wide>;

            fn $method(self, other: O) -> Self::Output {
                let (left, right) = (self.into_nested(), other.into_field().into_nested());
                Field::of(arithmetic(Arithmetic::$arithmetic, T::DOMAIN, left, right))
            }
        }

        operators!(@left $operator $method $arithmetic i64 Signed i8 i16 i32 i64);
        operators!(@left $operator $method $arithmetic u64 Unsigned u8 u16 u32 u64);
        operators!(@left $operator $method $arithmetic f64 Float f32 f64);
    )*};
    (
        @left $operator:ident $method:ident $arithmetic:ident
        $wide:ident $domain:ident $($type:ident)*
    ) => {$(
        #[diagnostic::do_not_recommend]
        impl<R, P> $operator<Field<R, $type, P>> for $wide {
            type Output = Field<R, $wide>;

            fn $method(self, other: Field<R, $type, P>) -> Self::Output {
                let (left, right) = (Nested::literal(self.to_value()), other.into_nested());
                Field::of(arithmetic(Arithmetic::$arithmetic, Domain::$domain, left, right))
            }
        }
    )*};
}

operators! {
    Add add Add
    Sub sub Subtract
    Mul mul Multiply
    Div div Divide
    Rem rem Remainder
}
