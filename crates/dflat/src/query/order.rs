//! Typed orders.

use std::fmt;
use std::marker::PhantomData;

use dflat_model::{Direction, Nulls};

/// A key of an order, made by [`Field::ascending`](super::Field::ascending) and
/// [`Field::descending`](super::Field::descending).
pub struct Order<R> {
    inner: dflat_model::Order,
    too_deep: bool,
    object: PhantomData<fn() -> R>,
}

impl<R> Order<R> {
    /// An order, and whether its value is too deep.
    pub(super) fn of((inner, too_deep): (dflat_model::Order, bool)) -> Self {
        Self {
            inner,
            too_deep,
            object: PhantomData,
        }
    }

    /// Puts objects without a value first, in both directions.
    #[must_use]
    pub fn nulls_first(mut self) -> Self {
        self.inner.nulls = match self.inner.direction {
            Direction::Ascending => Nulls::Smallest,
            Direction::Descending => Nulls::Largest,
        };
        self
    }

    /// Puts objects without a value last, in both directions.
    #[must_use]
    pub fn nulls_last(mut self) -> Self {
        self.inner.nulls = match self.inner.direction {
            Direction::Ascending => Nulls::Largest,
            Direction::Descending => Nulls::Smallest,
        };
        self
    }

    /// The order as plain data, and whether it computes too deeply to be kept.
    pub(crate) fn into_data(self) -> (dflat_model::Order, bool) {
        (self.inner, self.too_deep)
    }
}

impl<R> Clone for Order<R> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            too_deep: self.too_deep,
            object: PhantomData,
        }
    }
}

impl<R> fmt::Debug for Order<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Order({})", self.inner)
    }
}
