//! Values read off the rows of a query, without making objects of them.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use dflat_model::{Expression, Order, Query, RowId, Table, Value, ValueRef};

use super::scan::scan;
use super::{Control, Plan, planned};
use crate::error::Result;
use crate::object::Malformed;
use crate::query::{compare_keys, compute};
use crate::storage::{Row, Snapshot};

/// Counts the objects of a query. An order does not matter, a window does.
///
/// # Errors
/// As [`fetch`](super::fetch), save that objects are not verified.
pub fn count(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    query: &Query,
    control: &Control,
) -> Result<usize> {
    let limit = query.limit.unwrap_or(usize::MAX);
    let enough = query.offset.saturating_add(limit);
    if limit == 0 {
        return Ok(0);
    }
    let mut found = 0;
    let needs = |plan: &Plan| plan.residual.is_some();
    visit_unordered(snapshot, table, query, control, needs, &mut |_| {
        found += 1;
        Ok(if found == enough {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    })?;
    Ok(found.saturating_sub(query.offset))
}

/// Calls `fold` with an expression's value for each object of a query, in no order.
///
/// # Errors
/// As [`count`].
pub fn aggregate(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    query: &Query,
    expression: &Expression,
    control: &Control,
    fold: &mut dyn FnMut(ValueRef<'_>),
) -> Result<()> {
    if query.is_whole() {
        return visit_unordered(snapshot, table, query, control, |_| true, &mut |row| {
            fold(compute(expression, row.payload)?);
            Ok(ControlFlow::Continue(()))
        });
    }
    let of_row = &mut |row: Row<'_>| Ok(compute(expression, row.payload)?.to_value());
    let values = select(snapshot, table, query, control, of_row)?;
    values.iter().for_each(|value| fold(value.as_ref()));
    Ok(())
}

/// Visits the rows that qualify, whatever the order and the window; without their payloads, if
/// neither the plan nor the query needs them.
fn visit_unordered(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    query: &Query,
    control: &Control,
    needs_payload: impl FnOnce(&Plan) -> bool,
    visit: &mut super::scan::Visit<'_>,
) -> Result<()> {
    let order = match query.after {
        Some(_) => query.order.clone(),
        None => Vec::new(),
    };
    let query = Query {
        predicate: query.predicate.clone(),
        order,
        after: query.after.clone(),
        ..Query::default()
    };
    let plan = planned(snapshot, table, &query, control)?;
    let payload = query.after.is_some() || needs_payload(&plan);
    scan(snapshot, table, (&query, &plan), control, payload, visit)
}

/// Reads something off each row of a query's result, in its order. `read` must not call user code.
///
/// # Errors
/// As [`count`].
///
/// # Memory
/// What is read; and the values that the order goes by, unless rows come in it. With a limit, no
/// more than offset and limit ask for.
pub fn select<T>(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    query: &Query,
    control: &Control,
    read: &mut dyn FnMut(Row<'_>) -> Result<T, Malformed>,
) -> Result<Vec<T>> {
    if query.limit == Some(0) {
        return Ok(Vec::new());
    }
    let plan = planned(snapshot, table, query, control)?;
    let limit = query.limit.unwrap_or(usize::MAX);
    let mut items = Vec::new();
    if plan.sorted {
        let mut skipped = 0;
        scan(snapshot, table, (query, &plan), control, true, &mut |row| {
            if skipped < query.offset {
                skipped += 1;
                return Ok(ControlFlow::Continue(()));
            }
            items.push(read(row)?);
            Ok(if items.len() == limit {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        })?;
        return Ok(items);
    }
    let enough = query.offset.saturating_add(limit);
    let mut best: BinaryHeap<Ranked<'_, T>> = BinaryHeap::new();
    scan(snapshot, table, (query, &plan), control, true, &mut |row| {
        let keys = query.order.iter().map(|key| compute(&key.key, row.payload));
        let keys: Result<Vec<ValueRef<'_>>, _> = keys.collect();
        let (keys, order) = (keys?, query.order.as_slice());
        if best.len() == enough {
            if best
                .peek()
                .is_some_and(|worst| worst.precedes(&keys, row.row_id))
            {
                return Ok(ControlFlow::Continue(()));
            }
            best.pop();
        }
        let keys = keys.into_iter().map(ValueRef::to_value).collect();
        let (row_id, item) = (row.row_id, read(row)?);
        best.push(Ranked {
            order,
            keys,
            row_id,
            item,
        });
        Ok(ControlFlow::Continue(()))
    })?;
    let sorted = best.into_sorted_vec().into_iter().skip(query.offset);
    Ok(sorted.map(|ranked| ranked.item).collect())
}

/// Something of a row, with its place in the order.
struct Ranked<'q, T> {
    order: &'q [Order],
    keys: Vec<Value>,
    row_id: RowId,
    item: T,
}

impl<T> Ranked<'_, T> {
    /// Whether it comes before a row with these keys.
    fn precedes(&self, keys: &[ValueRef<'_>], row_id: RowId) -> bool {
        let keys = self
            .keys
            .iter()
            .map(Value::as_ref)
            .zip(keys.iter().copied());
        self.compare(keys, row_id).is_lt()
    }

    fn compare<'v>(
        &self,
        mut keys: impl Iterator<Item = (ValueRef<'v>, ValueRef<'v>)>,
        row_id: RowId,
    ) -> Ordering {
        let unequal = self.order.iter().find_map(|order| {
            let (a, b) = keys.next()?;
            Some(compare_keys(order, a, b)).filter(|ordering| ordering.is_ne())
        });
        unequal.unwrap_or_else(|| self.row_id.cmp(&row_id))
    }
}

impl<T> Ord for Ranked<'_, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        let keys = self.keys.iter().map(Value::as_ref);
        self.compare(keys.zip(other.keys.iter().map(Value::as_ref)), other.row_id)
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
