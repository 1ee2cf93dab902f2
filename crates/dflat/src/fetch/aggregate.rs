//! Numbers about the objects of a query.

use dflat_engine::fetch::{self, Total};
use dflat_model::{Direction, Expression, Query, Value};

use super::Fetch;
use crate::{Error, ErrorKind, Field, FieldType, Number, Object, Result};

/// The type that a field is summed in.
type Sum<N> = <<N as Number>::Wide as FieldType>::Owned;

impl<T: Object> Fetch<'_, T> {
    /// How many objects the query has, its limit counted.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    ///
    /// # Cost
    /// As [`all`](Self::all) without the objects; an order costs nothing. Where an index alone
    /// tells, nothing else is read.
    pub fn count(self) -> Result<usize> {
        self.check()?;
        let (table, query) = (T::TABLE, &self.query);
        self.source
            .read::<T, _>(fetch::view_for(&table, query), |snapshot, _| {
                fetch::count(snapshot, &table, query, &self.control)
            })
    }

    /// Whether the query has an object.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub fn exists(self) -> Result<bool> {
        let limit = self.query.limit.map_or(1, |limit| limit.min(1));
        Ok(self.limit(limit).count()? > 0)
    }

    /// The smallest value of a field; `None` if no object has one.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    ///
    /// # Cost
    /// A look-up if the field has an index and the query has no condition; else as
    /// [`count`](Self::count).
    pub fn min<V: FieldType + ?Sized>(self, field: Field<T, V>) -> Result<Option<V::Owned>> {
        self.extreme(field, Direction::Ascending)
    }

    /// The largest value of a field; `None` if no object has one.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    ///
    /// # Cost
    /// As [`min`](Self::min).
    pub fn max<V: FieldType + ?Sized>(self, field: Field<T, V>) -> Result<Option<V::Owned>> {
        self.extreme(field, Direction::Descending)
    }

    /// The sum of a field in `i64`, `u64` or `f64`; `None` if no object has a value, and of both
    /// infinities. It is exact, and of floats rounded once at the end, so that it is the same in
    /// whatever order the objects are read.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the sum does not fit; else as
    /// [`all`](Self::all).
    ///
    /// # Cost
    /// As [`count`](Self::count), of the field's index alone if it has one and the query has no
    /// condition, or one on this field that the index serves.
    pub fn sum<N: Number>(self, field: Field<T, N>) -> Result<Option<Sum<N>>> {
        let total = self.total(field)?;
        let sum = total.sum(N::DOMAIN).ok_or_else(too_large::<T>)?;
        Ok(N::Wide::from_value(sum.as_ref()))
    }

    /// The mean of a field; `None` as for [`sum`](Self::sum).
    ///
    /// # Errors
    /// As [`sum`](Self::sum), for floats only.
    pub fn avg<N: Number>(self, field: Field<T, N>) -> Result<Option<f64>> {
        let total = self.total(field)?;
        let mean = total.mean(N::DOMAIN).ok_or_else(too_large::<T>)?;
        Ok(f64::from_value(mean.as_ref()))
    }

    fn total<N: Number>(self, field: Field<T, N>) -> Result<Total> {
        let mut total = Total::default();
        self.fold(field, |value| total.add(value))?;
        Ok(total)
    }

    fn extreme<V: FieldType + ?Sized>(
        mut self,
        field: Field<T, V>,
        direction: Direction,
    ) -> Result<Option<V::Owned>> {
        if self.query.is_whole() && self.query.after.is_none() {
            // The first of its order, which an index may know.
            self.query.order.clear();
            let order = match direction {
                Direction::Ascending => field.clone().ascending(),
                Direction::Descending => field.clone().descending(),
            };
            let first = self.filter(field.clone().is_not_null()).order_by(order);
            return Ok(first.limit(1).select(field)?.pop().flatten());
        }
        let mut extreme: Option<Value> = None;
        self.fold(field, |value| {
            let further = extreme.as_ref().is_none_or(|extreme| {
                let ordering = value.order(extreme.as_ref());
                match direction {
                    Direction::Ascending => ordering.is_lt(),
                    Direction::Descending => ordering.is_gt(),
                }
            });
            if further && !value.is_null() {
                extreme = Some(value.to_value());
            }
        })?;
        Ok(extreme.and_then(|value| V::from_value(value.as_ref())))
    }

    fn fold<V: ?Sized>(
        mut self,
        field: Field<T, V>,
        mut fold: impl FnMut(dflat_model::ValueRef<'_>),
    ) -> Result<()> {
        let expression = self.keep(field);
        self.check()?;
        let (table, query): (_, &Query) = (T::TABLE, &self.query);
        let view = fetch::view_to_aggregate(&table, query, &expression);
        self.source.read::<T, _>(view, |snapshot, _| {
            fetch::aggregate(
                snapshot,
                &table,
                query,
                &expression,
                &self.control,
                &mut fold,
            )
        })
    }

    /// A field as plain data, once it is known not to be too deep.
    fn keep<V: ?Sized>(&mut self, field: Field<T, V>) -> Expression {
        let (expression, depth) = field.into_data();
        self.too_deep |= depth > fetch::PREDICATE_DEPTH_MAX;
        expression
    }
}

fn too_large<T: Object>() -> Error {
    let message = format!(
        "cannot sum a field of {}: it does not fit",
        T::TABLE.type_name
    );
    Error::new(ErrorKind::InvalidArgument, message)
}
