//! Indexes with a condition: whether a query's objects all meet it, and which conjuncts it makes
//! redundant.
//!
//! The check considers one field at a time. If it misses an implication, the index is not used; it
//! never finds one that does not hold.

use dflat_model::{IndexCondition, Predicate};

use super::conjuncts::values_of;
use crate::query::{ConjunctPositions, ValueSet};

/// Whether every object that meets all conjuncts of all lists meets an index's condition. Each part
/// of the condition must follow from a single list.
pub(super) fn is_implied(condition: &IndexCondition, lists: &[&[Predicate]]) -> bool {
    if let Some((field, admitted)) = ValueSet::of_index(condition) {
        let admitted = admitted.of_kind(field.kind);
        return lists.iter().any(|parts| {
            values_of(parts, field)
                .is_some_and(|(asked, _)| asked.of_kind(field.kind).is_within(&admitted))
        });
    }
    match condition {
        IndexCondition::And(parts) => parts.iter().all(|part| is_implied(part, lists)),
        IndexCondition::Or(parts) => parts.iter().any(|part| is_implied(part, lists)),
        // Invariant: a comparison is on one field, and was handled above.
        _ => false,
    }
}

/// The positions of the conjuncts that every object with an entry in an index meets.
pub(super) fn guaranteed(condition: &IndexCondition, parts: &[Predicate]) -> ConjunctPositions {
    let mut positions = ConjunctPositions::new();
    let known = match condition {
        IndexCondition::And(known) if ValueSet::of_index(condition).is_none() => &**known,
        condition => std::slice::from_ref(condition),
    };
    for (field, has) in known.iter().filter_map(ValueSet::of_index) {
        let has = has.of_kind(field.kind);
        for (position, part) in parts.iter().enumerate() {
            let asked = ValueSet::of(part, field).map(|asked| asked.of_kind(field.kind));
            if asked.is_some_and(|asked| has.is_within(&asked)) {
                positions.push(position);
            }
        }
    }
    positions
}
