//! A query as plain data: a condition, an order and a limit.

use std::fmt;

use crate::{Field, Predicate};

/// Which objects of a table, in which order, and how many.
///
/// Objects that compare equal under `order` follow in ascending order of row id, whatever the
/// directions in `order`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// The condition; `None` for all objects.
    pub predicate: Option<Predicate>,
    /// The keys of the order, the most significant first.
    pub order: Vec<Order>,
    /// The largest number of objects; `None` for no limit.
    pub limit: Option<usize>,
}

/// A key of an order.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// The field.
    pub field: Field,
    /// The direction.
    pub direction: Direction,
}

/// The direction of an order. NULL sorts below every value: first ascending, last descending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the smallest.
    Ascending,
    /// From the largest.
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
        if let Some(limit) = self.limit {
            write!(f, " limit {limit}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.field.fmt(f)?;
        match self.direction {
            Direction::Ascending => Ok(()),
            Direction::Descending => f.write_str(" descending"),
        }
    }
}
