//! The values of a field that the conjuncts of a condition leave.

use std::ops::Bound;

use dflat_model::{Field, Predicate, Value};

use crate::query::{Interval, Positions, ValueSet};

/// The values of a field for which conditions on it hold, and the conditions' positions, in order.
pub(super) fn values_of<'q>(
    parts: &'q [Predicate],
    field: &Field,
) -> Option<(ValueSet<'q>, Positions)> {
    let sets = parts.iter().enumerate();
    let sets = sets.filter_map(|(position, part)| Some((position, ValueSet::of(part, field)?)));
    ValueSet::common(sets.collect())
}

/// The same of a field in an index of its own, which has NULL for an empty union, whose type code
/// is 0 to a query.
pub(super) fn set_of<'q>(
    parts: &'q [Predicate],
    field: &Field,
) -> Option<(ValueSet<'q>, Positions)> {
    if !field.is_tag() {
        return values_of(parts, field);
    }
    let sets = parts.iter().enumerate();
    let sets = sets.filter_map(|(position, part)| {
        let set = ValueSet::of(part, field)?;
        let in_index = set.0.iter().all(admits_members_only);
        in_index.then_some((position, set))
    });
    ValueSet::common(sets.collect())
}

fn admits_members_only(interval: &Interval<'_>) -> bool {
    let (least, included) = match &interval.lower {
        Bound::Included(least) => (least, true),
        Bound::Excluded(least) => (least, false),
        Bound::Unbounded => return false,
    };
    matches!(**least, Value::Int(code) if code > 0 || (code == 0 && !included))
}
