//! The first rows of an order, found in rows that come in any order, or sorted by some keys only.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use dflat_model::{Order, RowId, Value, ValueRef};
use smallvec::SmallVec;

use super::value_of;
use crate::object::Malformed;
use crate::query::compare_keys;
use crate::storage::Row;

/// Keeps an item of each of the first `max` rows of an order, and no other.
pub(super) struct FirstRows<'q, T> {
    order: &'q [Order],
    max: usize,
    /// The number of first keys of the order by which the rows come sorted; 0 if they come in any
    /// order.
    presorted: usize,
    /// The row that is last in the order is on top.
    heap: BinaryHeap<Ranked<'q, T>>,
}

impl<'q, T> FirstRows<'q, T> {
    /// Keeps `max` rows of those that come sorted by the first `presorted` keys of the order.
    pub(super) const fn new(order: &'q [Order], presorted: usize, max: usize) -> Self {
        Self {
            order,
            max,
            presorted,
            heap: BinaryHeap::new(),
        }
    }

    /// From now on, rows come in any order.
    pub(super) const fn go_on_unsorted(&mut self) {
        self.presorted = 0;
    }

    /// Adds a row, in place of the last one if there are `max`. Breaks if neither this row nor any
    /// further row can be among the first. `read` is called only if the row is among the first so
    /// far.
    ///
    /// # Errors
    /// If a key of the order, or what `read` reads, is damaged.
    pub(super) fn push(
        &mut self,
        row: Row<'_>,
        read: impl FnOnce(Row<'_>) -> Result<T, Malformed>,
    ) -> Result<ControlFlow<()>, Malformed> {
        let order = self.order;
        let mut keys: SmallVec<[ValueRef<'_>; 2]> = SmallVec::new();
        for key in order {
            keys.push(value_of(&row, &key.key)?);
        }
        if self.heap.len() == self.max {
            match self.heap.peek() {
                Some(last) if last.compare(keys.iter().copied(), row.row_id).is_gt() => {}
                Some(last) if last.is_before(&keys, self.presorted) => {
                    return Ok(ControlFlow::Break(()));
                }
                _ => return Ok(ControlFlow::Continue(())),
            }
            self.heap.pop();
        }
        let keys = keys.into_iter().map(ValueRef::to_value).collect();
        let (row_id, item) = (row.row_id, read(row)?);
        self.heap.push(Ranked {
            order,
            keys,
            row_id,
            item,
        });
        Ok(ControlFlow::Continue(()))
    }

    /// The items with their row ids, in order.
    pub(super) fn into_items(self) -> impl Iterator<Item = (RowId, T)> {
        let sorted = self.heap.into_sorted_vec().into_iter();
        sorted.map(|ranked| (ranked.row_id, ranked.item))
    }
}

/// An item of a row, compared by the row's keys in an order, then by its row id.
struct Ranked<'q, T> {
    order: &'q [Order],
    keys: SmallVec<[Value; 1]>,
    row_id: RowId,
    item: T,
}

impl<T> Ranked<'_, T> {
    fn compare<'v>(&self, keys: impl Iterator<Item = ValueRef<'v>>, row_id: RowId) -> Ordering {
        self.compare_values(keys)
            .then_with(|| self.row_id.cmp(&row_id))
    }

    /// Compares its first values with as many others.
    fn compare_values<'v>(&self, keys: impl Iterator<Item = ValueRef<'v>>) -> Ordering {
        let own = self.keys.iter().map(Value::as_ref);
        for (order, (own, other)) in self.order.iter().zip(own.zip(keys)) {
            let ordering = compare_keys(order, own, other);
            if ordering.is_ne() {
                return ordering;
            }
        }
        Ordering::Equal
    }

    /// Whether it is before all rows with some values of the first `presorted` keys.
    fn is_before(&self, keys: &[ValueRef<'_>], presorted: usize) -> bool {
        let first = keys.iter().take(presorted).copied();
        self.compare_values(first).is_lt()
    }
}

impl<T> Ord for Ranked<'_, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.compare(other.keys.iter().map(Value::as_ref), other.row_id)
    }
}

impl<T> PartialOrd for Ranked<'_, T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Ranked<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Ranked<'_, T> {}
