//! The values of a field that the conjuncts of a condition leave.

use std::ops::Bound;

use dflat_model::{Field, Predicate, Value};

use crate::query::{ConjunctPositions, Interval, ValueSet};

/// The values of a field that meet all conjuncts on it, and the positions of these conjuncts, in
/// order; `None` if no conjunct is on the field.
pub(super) fn values_of<'q>(
    parts: &'q [Predicate],
    field: &Field,
) -> Option<(ValueSet<'q>, ConjunctPositions)> {
    let sets = parts.iter().enumerate();
    let sets = sets.filter_map(|(position, part)| Some((position, ValueSet::of(part, field)?)));
    ValueSet::common(sets.collect())
}

/// The same for a field in a plain index. Such an index stores NULL for an empty union, where a
/// query sees the type code 0, so conditions that admit an empty union are left out.
pub(super) fn set_of<'q>(
    parts: &'q [Predicate],
    field: &Field,
) -> Option<(ValueSet<'q>, ConjunctPositions)> {
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
