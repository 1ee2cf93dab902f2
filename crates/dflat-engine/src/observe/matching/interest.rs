//! The part of an object that a subscriber observes.

use std::sync::Arc;

use dflat_model::{Expression, Table, ValueRef};

use crate::change_set::TableChanges;
use crate::object::{Object, equal};
use crate::query::compute;

/// The values of an object that a subscriber observes. Other changes are not delivered.
#[derive(Clone, Debug, PartialEq)]
pub enum Interest {
    /// All values.
    Objects,
    /// The values of these expressions.
    Values(Arc<[Expression]>),
}

impl Interest {
    /// The observed expressions; empty if all values are observed.
    #[must_use]
    pub fn values(&self) -> &[Expression] {
        match self {
            Self::Objects => &[],
            Self::Values(expressions) => expressions,
        }
    }

    /// Whether two states of an object have the same observed values.
    #[must_use]
    pub fn is_same(&self, table: &Table, a: &Object, b: &Object) -> bool {
        if a.is(b) {
            return true;
        }
        match self {
            Self::Objects => equal(&table.types, a.payload(), b.payload()),
            Self::Values(expressions) => expressions.iter().all(|expression| {
                // Objects are verified, so that every value can be read.
                let values = (
                    compute(expression, a.payload()),
                    compute(expression, b.payload()),
                );
                match values {
                    // As objects are compared: 0.0 differs from -0.0.
                    (Ok(ValueRef::Float(a)), Ok(ValueRef::Float(b))) => a.to_bits() == b.to_bits(),
                    (Ok(a), Ok(b)) => a == b,
                    _ => false,
                }
            }),
        }
    }

    /// Whether the states of a row before and after a commit have the same observed values.
    pub(in super::super) fn is_unchanged(
        &self,
        changes: &TableChanges,
        was: &Object,
        is: &Object,
    ) -> bool {
        match self {
            Self::Objects if !changes.repeated => false,
            _ => self.is_same(&changes.table, was, is),
        }
    }
}
