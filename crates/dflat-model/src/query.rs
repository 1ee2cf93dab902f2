//! A query as plain data: a condition, an order, and a window of the result.

use std::fmt;

use crate::predicate::write_joined;
use crate::{Expression, Predicate, RowId, Value};

/// A query: the objects of a table that meet a condition, in an order, and a window of these.
///
/// Objects that are equal under `order` are in ascending order of row id, for any directions in
/// `order`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// The condition; `None` for all objects.
    pub predicate: Option<Predicate>,
    /// The keys of the order, the most significant first.
    pub order: Vec<Order>,
    /// The result starts after this position in the order, or at the beginning if it is `None`.
    pub after: Option<Cursor>,
    /// The number of objects to skip from there.
    pub offset: usize,
    /// The largest number of objects; `None` for no limit.
    pub limit: Option<usize>,
}

impl Query {
    /// Whether the result has all objects that meet the condition, and not a window of these.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.offset == 0 && self.limit.is_none()
    }
}

/// A position in an order: after an object, which may have been deleted since.
#[derive(Clone, Debug, PartialEq)]
pub struct Cursor {
    /// The [fingerprint](Query::order_fingerprint) of the order.
    pub order: u64,
    /// The object's value for each key of the order.
    pub keys: Vec<Value>,
    /// The object's row id.
    pub row_id: RowId,
}

/// A key of an order.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// The expression to compare.
    pub key: Expression,
    /// The direction.
    pub direction: Direction,
    /// The position of objects without a value.
    pub nulls: Nulls,
}

/// The position of objects without a value in an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Nulls {
    /// Below every value: first in an ascending order, last in a descending one.
    #[default]
    Smallest,
    /// Above every value: last in an ascending order, first in a descending one.
    Largest,
}

/// The direction of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.predicate {
            Some(predicate) => predicate.fmt(f)?,
            None => f.write_str("all")?,
        }
        for (position, order) in self.order.iter().enumerate() {
            f.write_str(if position == 0 { " order by " } else { ", " })?;
            order.fmt(f)?;
        }
        if let Some(cursor) = &self.after {
            write!(f, " after {cursor}")?;
        }
        if self.offset > 0 {
            write!(f, " offset {}", self.offset)?;
        }
        if let Some(limit) = self.limit {
            write!(f, " limit {limit}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        write_joined(f, &self.keys, ", ")?;
        write!(f, "; row {})", self.row_id)
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)?;
        if self.direction == Direction::Descending {
            f.write_str(" descending")?;
        }
        match self.nulls {
            Nulls::Smallest => Ok(()),
            Nulls::Largest => f.write_str(" with nulls largest"),
        }
    }
}
