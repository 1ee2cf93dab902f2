//! Missing values where an order puts them: keys have NULL as the smallest value, so an order with
//! missing values as the largest reads the range of NULL last, or first if it is descending.

use std::ops::Bound;

use dflat_model::{Direction, Field, FieldKind, Nulls, Order, Step, Value};

use super::conjuncts::set_of;
use super::planner::{Planner, is_field};
use super::{KeyAccess, KeyRange};
use crate::query::Interval;

impl Planner<'_> {
    /// Arranges the ranges of a key, which are in ascending order, as the query's order needs them:
    /// in its direction, and with the range of NULL where the order puts missing values. `fixed` is
    /// the number of first parts that have one value in all ranges.
    pub(super) fn arrange(&self, access: &mut KeyAccess, fixed: usize) {
        let field = self.fields(access.key).get(fixed);
        let Some(((_, order), field)) = self.order().next().zip(field) else {
            return;
        };
        if !is_field(&order.key, field) {
            return;
        }
        if order.nulls == Nulls::Largest && !self.is_present(field) {
            put_nulls_last(access, fixed);
        }
        if order.direction == Direction::Descending {
            access.direction = Direction::Descending;
            access.ranges.reverse();
        }
    }

    /// Whether the rows of an access have missing values of a part of its key where an order puts
    /// them. `at` is the position of the part behind the `fixed` ones.
    pub(super) fn has_nulls_in_place(
        &self,
        access: &KeyAccess,
        (fixed, at): (usize, usize),
        field: &Field,
        order: &Order,
    ) -> bool {
        match order.nulls {
            Nulls::Smallest => true,
            Nulls::Largest if self.is_present(field) => true,
            Nulls::Largest => at == 0 && !field.is_tag() && are_nulls_last(access, fixed),
        }
    }

    /// Whether a field has a value in every object that meets the query's condition.
    fn is_present(&self, field: &Field) -> bool {
        // An index stores NULL for an empty union, where a query sees a value.
        !field.is_tag()
            && (is_never_missing(field)
                || set_of(self.parts, field)
                    .is_some_and(|(set, _)| set.0.iter().all(excludes_null)))
    }
}

/// Whether a field has a value in every object of its table.
fn is_never_missing(field: &Field) -> bool {
    let is_of_root = matches!(&*field.steps, [Step::Field(_)]);
    let is_number = matches!(field.kind, FieldKind::Scalar(scalar) if !scalar.is_float());
    is_of_root && is_number && field.default != Value::Null
}

fn excludes_null(interval: &Interval<'_>) -> bool {
    !interval.contains(Value::Null.as_ref())
}

/// Puts the rows with NULL in the next part into ranges of their own, behind the other ranges.
fn put_nulls_last(access: &mut KeyAccess, fixed: usize) {
    let Some(first) = access.ranges.first_mut() else {
        return;
    };
    match first.prefix.get(fixed) {
        Some(Value::Null) => {
            let nulls = access.ranges.iter().take_while(|r| is_null(r, fixed));
            let nulls = nulls.count();
            access.ranges.rotate_left(nulls);
        }
        Some(_) => {}
        None if has_null(first, fixed) => {
            let mut nulls = KeyRange::of(first.prefix.clone());
            nulls.prefix.push(Value::Null);
            first.lower = Bound::Excluded(Value::Null);
            access.ranges.push(nulls);
        }
        None => {}
    }
}

/// Whether only the ranges of NULL itself, which are the last in ascending order, have rows with
/// NULL in the next part.
fn are_nulls_last(access: &KeyAccess, fixed: usize) -> bool {
    let is_other = |range: &&KeyRange| !is_null(range, fixed);
    let has_null = |range: &KeyRange| has_null(range, fixed);
    let ranges = access.ranges.iter();
    match access.direction {
        Direction::Ascending => !ranges.rev().skip_while(|r| !is_other(r)).any(has_null),
        Direction::Descending => !ranges.skip_while(|r| !is_other(r)).any(has_null),
    }
}

/// Whether a range has only rows with NULL in a part of the key.
fn is_null(range: &KeyRange, part: usize) -> bool {
    range.prefix.get(part) == Some(&Value::Null)
}

/// Whether a range may have rows with NULL in the part behind its `fixed` first parts.
fn has_null(range: &KeyRange, fixed: usize) -> bool {
    match range.prefix.get(fixed) {
        Some(value) => *value == Value::Null,
        None => match &range.lower {
            Bound::Unbounded => true,
            Bound::Included(lower) => *lower == Value::Null,
            Bound::Excluded(_) => false,
        },
    }
}
