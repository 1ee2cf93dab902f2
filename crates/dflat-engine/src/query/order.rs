//! The order of a query's result.

use std::cmp::Ordering;

use dflat_model::{Direction, Order, RowId};

use crate::object::{Malformed, field_value};

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
        let ordering = field_value(a, &key.field)?.order(field_value(b, &key.field)?);
        let ordering = match key.direction {
            Direction::Ascending => ordering,
            Direction::Descending => ordering.reverse(),
        };
        if ordering.is_ne() {
            return Ok(ordering);
        }
    }
    Ok(a_id.cmp(&b_id))
}
