//! Indexes of some objects: whether a query asks for no others, and what it need not ask of those.
//!
//! Sound and simple: values of one field at a time. Where this says no, the index is not used.

use dflat_model::{IndexCondition, Predicate};

use super::conjuncts::values_of;
use crate::query::{Positions, ValueSet};

/// Whether objects for which all conjuncts of some lists are true are ones that an index has. Each
/// part of its condition is to follow from one list.
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
        // Invariant: a comparison is on one field.
        _ => false,
    }
}

/// The positions of conjuncts that are true of all objects that an index has.
pub(super) fn guaranteed(condition: &IndexCondition, parts: &[Predicate]) -> Positions {
    let mut positions = Positions::new();
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
