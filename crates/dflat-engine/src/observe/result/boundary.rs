//! The first or the last object of a list, to compare many objects with.

use std::cmp::Ordering;

use dflat_model::{Order, ValueRef};

use super::super::matching::compare;
use crate::object::Object;
use crate::query::{compare_keys, compute};

/// An object with its first key in an order. The key decides most comparisons, and is read once.
pub(super) struct BoundaryObject<'o> {
    order: &'o [Order],
    object: &'o Object,
    first: Option<(&'o Order, ValueRef<'o>)>,
}

impl<'o> BoundaryObject<'o> {
    pub(super) fn new(order: &'o [Order], object: &'o Object) -> Self {
        let first = order.first().and_then(|key| {
            let value = compute(&key.key, object.payload()).ok()?;
            Some((key, value))
        });
        Self {
            order,
            object,
            first,
        }
    }

    /// Whether an object comes before this one.
    pub(super) fn is_above(&self, object: &Object) -> bool {
        self.place(object).is_lt()
    }

    /// Whether an object comes after this one.
    pub(super) fn is_below(&self, object: &Object) -> bool {
        self.place(object).is_gt()
    }

    /// The order of an object relative to this one.
    fn place(&self, object: &Object) -> Ordering {
        if let Some((key, value)) = self.first
            && let Ok(other) = compute(&key.key, object.payload())
        {
            let ordering = compare_keys(key, other, value);
            if ordering.is_ne() {
                return ordering;
            }
        }
        compare(self.order, object, self.object)
    }
}
