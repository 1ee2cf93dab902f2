//! An object at an end of what is held, with which many are compared.

use std::cmp::Ordering;

use dflat_model::{Order, ValueRef};

use super::changed_rows::compare;
use crate::object::Object;
use crate::query::{compare_keys, compute};

/// An object in an order. Its first key, which mostly decides, is read once.
pub(super) struct Bound<'o> {
    order: &'o [Order],
    object: &'o Object,
    first: Option<(&'o Order, ValueRef<'o>)>,
}

impl<'o> Bound<'o> {
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

    /// Whether an object comes before it.
    pub(super) fn is_above(&self, object: &Object) -> bool {
        self.place(object).is_lt()
    }

    /// Whether an object comes after it.
    pub(super) fn is_below(&self, object: &Object) -> bool {
        self.place(object).is_gt()
    }

    /// Where an object stands beside it.
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
