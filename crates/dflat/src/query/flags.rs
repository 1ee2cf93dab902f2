//! Tests of sets of bit flags.

use dflat_model::{Arithmetic, Domain};

use super::number::arithmetic;
use super::{Field, FieldType, Operand, Predicate};

/// A generated set of bit flags.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a set of bit flags")]
pub trait Flags: FieldType + Copy {}

impl<R, T: Flags, P> Field<R, T, P> {
    /// The field's value has all of these flags.
    #[must_use]
    pub fn has_all(self, flags: impl Operand<R, T>) -> Predicate<R> {
        let flags = flags.into_field();
        let common: Field<R, T> = common(self, flags.clone());
        common.eq(flags)
    }

    /// The field's value has one of these flags at least.
    #[must_use]
    pub fn has_any(self, flags: impl Operand<R, T>) -> Predicate<R> {
        let common: Field<R, u64> = common(self, flags.into_field());
        common.ne(0)
    }
}

fn common<R, T, P, U>(a: Field<R, T, P>, b: Field<R, T>) -> Field<R, U> {
    let (a, b) = (a.into_nested(), b.into_nested());
    Field::of(arithmetic(Arithmetic::BitAnd, Domain::Unsigned, a, b))
}
