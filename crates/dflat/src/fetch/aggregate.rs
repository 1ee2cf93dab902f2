//! Counts, extremes, sums and means of the objects of a query.

use dflat_model::{Direction, Expression};

use super::Fetch;
use crate::{Field, FieldType, Number, Object, Result};

/// The type that a field is summed in.
pub(super) type Sum<N> = <<N as Number>::Wide as FieldType>::Owned;

impl<T: Object> Fetch<'_, T> {
    /// The number of objects of the query, with its limit applied.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    ///
    /// # Cost
    /// As [`all`](Self::all) without the objects; an order costs nothing. If an index alone gives
    /// the answer, nothing else is read.
    pub fn count(self) -> Result<usize> {
        self.check()?;
        self.inner.fetch.count()
    }

    /// Whether the query has an object.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub fn exists(self) -> Result<bool> {
        self.check()?;
        self.inner.fetch.exists()
    }

    /// The smallest value of a field; `None` if no object has one.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    ///
    /// # Cost
    /// A look-up if an index begins with the fields that the condition fixes, if any, and has this
    /// field next; otherwise as [`count`](Self::count).
    pub fn min<V: FieldType + ?Sized, P>(self, field: Field<T, V, P>) -> Result<Option<V::Owned>> {
        self.extreme(field, Direction::Ascending)
    }

    /// The largest value of a field; `None` if no object has one.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    ///
    /// # Cost
    /// As [`min`](Self::min).
    pub fn max<V: FieldType + ?Sized, P>(self, field: Field<T, V, P>) -> Result<Option<V::Owned>> {
        self.extreme(field, Direction::Descending)
    }

    /// The sum of a field in `i64`, `u64` or `f64`; `None` if no object has a value, or if the
    /// values include both infinities. The sum is exact; a sum of floats is rounded once at the
    /// end, so it does not depend on the order of the objects.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the sum does not fit; otherwise as
    /// [`all`](Self::all).
    ///
    /// # Cost
    /// As [`count`](Self::count). No objects are read if an index that serves the condition has the
    /// field.
    pub fn sum<N: Number, P>(mut self, field: Field<T, N, P>) -> Result<Option<Sum<N>>> {
        let expression = self.keep(field)?;
        let sum = self.inner.fetch.sum(&expression, N::DOMAIN)?;
        Ok(N::Wide::from_value(sum.as_ref()))
    }

    /// The mean of a field; `None` as for [`sum`](Self::sum).
    ///
    /// # Errors
    /// As [`sum`](Self::sum), for floats only.
    pub fn avg<N: Number, P>(mut self, field: Field<T, N, P>) -> Result<Option<f64>> {
        let expression = self.keep(field)?;
        let mean = self.inner.fetch.mean(&expression, N::DOMAIN)?;
        Ok(f64::from_value(mean.as_ref()))
    }

    fn extreme<V: FieldType + ?Sized, P>(
        mut self,
        field: Field<T, V, P>,
        direction: Direction,
    ) -> Result<Option<V::Owned>> {
        let expression = self.keep(field)?;
        let extreme = self.inner.fetch.extreme(&expression, direction)?;
        Ok(extreme.and_then(|value| V::from_value(value.as_ref())))
    }

    /// A field as plain data, unless it or the query's condition is too deep.
    fn keep<V: ?Sized, P>(&mut self, field: Field<T, V, P>) -> Result<Expression> {
        self.inner.keep(field.into_data())
    }
}
