//! Typed conditions.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{BitAnd, BitOr, Not};

/// A condition on objects of type `R`.
///
/// Conditions combine with `&`, `|` and `!`. Logic is three-valued, as in SQL: a comparison with a
/// missing value is unknown, and an object qualifies only if its condition is true.
pub struct Predicate<R> {
    inner: dflat_model::Predicate,
    object: PhantomData<fn() -> R>,
}

impl<R> Predicate<R> {
    pub(crate) fn new(inner: dflat_model::Predicate) -> Self {
        Self {
            inner,
            object: PhantomData,
        }
    }

    /// The condition that all objects meet, or none.
    #[must_use]
    pub fn constant(value: bool) -> Self {
        Self::new(dflat_model::Predicate::Constant(value))
    }

    /// The condition as plain data.
    #[must_use]
    pub fn into_data(self) -> dflat_model::Predicate {
        self.inner
    }
}

impl<R> BitAnd for Predicate<R> {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self::new(self.inner.and(other.inner))
    }
}

impl<R> BitOr for Predicate<R> {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self::new(self.inner.or(other.inner))
    }
}

impl<R> Not for Predicate<R> {
    type Output = Self;

    fn not(self) -> Self {
        Self::new(self.inner.negate())
    }
}

impl<R> Clone for Predicate<R> {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone())
    }
}

impl<R> fmt::Debug for Predicate<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Predicate({})", self.inner)
    }
}

impl<R> fmt::Display for Predicate<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
