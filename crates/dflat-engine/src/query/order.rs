//! The order of a query's result.

use std::cmp::Ordering;

use dflat_model::{Cursor, Direction, Nulls, Order, RowId, ValueRef};

use super::compute;
use crate::object::Malformed;

/// Compares two rows by an order's keys, then by ascending row id.
///
/// # Errors
/// If a key cannot be read.
pub fn compare_rows(
    order: &[Order],
    (a_id, a): (RowId, &[u8]),
    (b_id, b): (RowId, &[u8]),
) -> Result<Ordering, Malformed> {
    for key in order {
        let ordering = compare_keys(key, compute(&key.key, a)?, compute(&key.key, b)?);
        if ordering.is_ne() {
            return Ok(ordering);
        }
    }
    Ok(a_id.cmp(&b_id))
}

/// Whether a row comes after a cursor position in an order.
///
/// # Errors
/// If a key cannot be read.
pub fn is_after(
    order: &[Order],
    cursor: &Cursor,
    (row_id, payload): (RowId, &[u8]),
) -> Result<bool, Malformed> {
    for (key, before) in order.iter().zip(&cursor.keys) {
        let ordering = compare_keys(key, compute(&key.key, payload)?, before.as_ref());
        if ordering.is_ne() {
            return Ok(ordering.is_gt());
        }
    }
    Ok(row_id > cursor.row_id)
}

/// Compares two values of a key in the direction of the order, with NULL where the order puts it.
#[must_use]
pub fn compare_keys(key: &Order, a: ValueRef<'_>, b: ValueRef<'_>) -> Ordering {
    let ordering = match (key.nulls, a.is_null(), b.is_null()) {
        (Nulls::Largest, true, false) => Ordering::Greater,
        (Nulls::Largest, false, true) => Ordering::Less,
        _ => a.order(b),
    };
    match key.direction {
        Direction::Ascending => ordering,
        Direction::Descending => ordering.reverse(),
    }
}
