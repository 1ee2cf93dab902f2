//! Counts, extremes, sums and means of the objects of a query.

use std::sync::Arc;

use dflat_engine::fetch::{self, Group, Grouping, Total, value_of};
use dflat_engine::storage::{Row, View};
use dflat_model::{
    Direction, Domain, Expression, FieldKind, Nulls, Order, Predicate, Scalar, Value, ValueRef,
};

use super::Fetch;
use crate::{Error, ErrorKind, Result};

/// The depth that the condition "has a value" adds to an expression: a negation of a test for NULL.
const HAS_VALUE_DEPTH: usize = 2;

/// The type of numbers in which the values of an expression are summed; `None` for texts.
#[must_use]
pub fn domain_of(expression: &Expression) -> Option<Domain> {
    match expression {
        Expression::Field(field) => match field.kind {
            FieldKind::Scalar(scalar) => Some(domain_of_scalar(scalar)),
            FieldKind::Text => None,
        },
        Expression::Literal(value) => match value {
            Value::Int(_) | Value::Null => Some(Domain::Signed),
            Value::UInt(_) => Some(Domain::Unsigned),
            Value::Float(_) => Some(Domain::Float),
            Value::Text(_) => None,
        },
        Expression::Arithmetic { domain, .. } => Some(*domain),
        Expression::Length(_) | Expression::Count(_) | Expression::Position { .. } => {
            Some(Domain::Unsigned)
        }
    }
}

const fn domain_of_scalar(scalar: Scalar) -> Domain {
    match scalar {
        Scalar::Bool | Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => Domain::Unsigned,
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => Domain::Signed,
        Scalar::F32 | Scalar::F64 => Domain::Float,
    }
}

impl Fetch<'_> {
    /// The number of objects of the query, its limit applied. An order adds no cost.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub fn count(&self) -> Result<usize> {
        self.read(|snapshot| fetch::count(snapshot, &self.table, &self.query, &self.control))
    }

    /// Whether the query has an object.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub fn exists(mut self) -> Result<bool> {
        self.query.limit = Some(self.query.limit.map_or(1, |limit| limit.min(1)));
        Ok(self.count()? > 0)
    }

    /// The smallest value of an expression for an ascending direction, the largest for a descending
    /// one. `None` if no object has a value.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    ///
    /// # Cost
    /// One look-up if the expression has an index and the query has no condition; otherwise the
    /// cost of [`count`](Self::count).
    pub fn extreme(self, expression: &Expression, direction: Direction) -> Result<Option<Value>> {
        let may_add = expression.depth() <= fetch::PREDICATE_DEPTH_MAX - HAS_VALUE_DEPTH;
        if self.query.is_whole() && self.query.after.is_none() && may_add {
            return self.first_value(expression, direction);
        }
        let mut extreme: Option<Value> = None;
        self.fold(expression, |value| {
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
        Ok(extreme)
    }

    /// The value of the first object in the order of an expression. If an index has that order, the
    /// cost is one look-up.
    fn first_value(
        mut self,
        expression: &Expression,
        direction: Direction,
    ) -> Result<Option<Value>> {
        let has_value = Predicate::IsNull(expression.clone()).negate();
        self.query.predicate = Some(match self.query.predicate.take() {
            None => has_value,
            Some(before) => before.and(has_value),
        });
        self.query.order = vec![Order {
            key: expression.clone(),
            direction,
            nulls: Nulls::Smallest,
        }];
        self.query.limit = Some(1);
        let read = &mut |row: Row<'_>| Ok(value_of(&row, expression)?.to_value());
        let first = self.select(std::slice::from_ref(expression), read)?.pop();
        Ok(first.filter(|value| !value.as_ref().is_null()))
    }

    /// The sum of an expression in a domain. The sum is exact; a sum of floats is rounded once at
    /// the end, so that it does not depend on the order in which the objects are read. NULL if no
    /// object has a value, or if the values include both infinities.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if the sum does not fit; otherwise as
    /// [`all`](Self::all).
    pub fn sum(&self, expression: &Expression, domain: Domain) -> Result<Value> {
        let sum = self.total(expression)?.sum(domain);
        sum.ok_or_else(|| self.too_large())
    }

    /// The mean of an expression. NULL in the same cases as [`sum`](Self::sum).
    ///
    /// # Errors
    /// As [`sum`](Self::sum), for floats only.
    pub fn mean(&self, expression: &Expression, domain: Domain) -> Result<Value> {
        let mean = self.total(expression)?.mean(domain);
        mean.ok_or_else(|| self.too_large())
    }

    /// The objects of the query in groups, in the order of the groups.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if the query has a limit, an offset or a
    /// cursor position; otherwise as [`all`](Self::all). A sum that does not fit is in its group.
    ///
    /// # Cost
    /// The cost of [`count`](Self::count), and memory for each group.
    pub fn groups(&self, grouping: &Arc<Grouping>) -> Result<Vec<Group>> {
        let (table, query, control) = (&self.table, &self.query, &self.control);
        self.source.read(table, View::Pinned, |snapshot, _| {
            let groups = fetch::groups(snapshot, table, query, grouping, control)?;
            Ok(groups.to_list())
        })
    }

    fn total(&self, expression: &Expression) -> Result<Total> {
        let mut total = Total::default();
        self.fold(expression, |value| total.add(value))?;
        Ok(total)
    }

    fn fold(&self, expression: &Expression, mut fold: impl FnMut(ValueRef<'_>)) -> Result<()> {
        let (table, query, control) = (&self.table, &self.query, &self.control);
        let view = fetch::view_to_aggregate(table, query, expression);
        self.source.read(table, view, |snapshot, _| {
            fetch::aggregate(snapshot, table, query, expression, control, &mut fold)
        })
    }

    fn too_large(&self) -> Error {
        let name = &self.table.type_name;
        let message = format!("cannot sum a field of {name}: the sum does not fit");
        Error::new(ErrorKind::InvalidArgument, message)
    }
}
