//! Index keys of conditions: values that a field must have, by which live queries are found.

use std::ops::Bound;

use dflat_model::{Field, Predicate, Value};

use crate::query::{Interval, ValueSet, tested_field};

/// A field and an interval of its values.
#[derive(Clone, Debug)]
pub(in super::super) struct FieldInterval {
    pub(in super::super) field: Field,
    pub(in super::super) interval: Interval<'static>,
}

/// Intervals such that every object that meets a condition is in at least one of them.
#[derive(Clone, Debug)]
pub(in super::super) struct IndexKey {
    pub(in super::super) intervals: Vec<FieldInterval>,
    /// Whether every object in one of the intervals meets the condition.
    pub(in super::super) exact: bool,
}

/// The largest number of intervals of an index key. A condition with more intervals is evaluated on
/// every changed row, because its key would take megabytes.
const INTERVALS_MAX: usize = 65_536;

/// The index key of a condition, if it has one.
pub(in super::super) fn index_key(predicate: &Predicate) -> Option<IndexKey> {
    match predicate {
        Predicate::Constant(false) => Some(IndexKey {
            intervals: Vec::new(),
            exact: true,
        }),
        Predicate::And(parts) => all_of(parts),
        Predicate::Or(parts) => {
            let mut union = IndexKey {
                intervals: Vec::new(),
                exact: true,
            };
            for part in parts {
                let part = index_key(part)?;
                union.exact &= part.exact;
                union.intervals.extend(part.intervals);
                if union.intervals.len() > INTERVALS_MAX {
                    return None;
                }
            }
            Some(union)
        }
        Predicate::In { values, .. } if values.len() > INTERVALS_MAX => None,
        test => {
            let field = tested_field(test)?;
            let set = ValueSet::of_test(test).filter(|set| !set.is_wide())?;
            let field_interval = |interval: &Interval<'_>| FieldInterval {
                field: field.clone(),
                interval: interval.to_owned(),
            };
            Some(IndexKey {
                intervals: set.0.iter().map(field_interval).collect(),
                exact: true,
            })
        }
    }
}

/// The index key of a conjunction: the narrowest key of its parts, intersected with the others on
/// the same field.
fn all_of(parts: &[Predicate]) -> Option<IndexKey> {
    let index_keys: Vec<Option<IndexKey>> = parts.iter().map(index_key).collect();
    let known = index_keys.iter().enumerate();
    let best = known.filter_map(|(at, key)| Some((at, key.as_ref()?)));
    let (at, best) = best.min_by_key(|(_, key)| width(key))?;
    let mut best = best.clone();
    for other in index_keys
        .iter()
        .enumerate()
        .filter_map(|(i, a)| (i != at).then_some(a))
    {
        let single = other
            .as_ref()
            .filter(|other| other.exact)
            .map(|other| other.intervals.as_slice());
        match (best.intervals.as_mut_slice(), single) {
            ([mine], Some([other])) if mine.field == other.field => {
                match mine.interval.intersection(&other.interval) {
                    Some(both) => mine.interval = both,
                    None => best.intervals.clear(),
                }
            }
            _ => best.exact = false,
        }
    }
    Some(best)
}

/// An estimate of the share of objects in an index key, to be compared with others.
fn width(key: &IndexKey) -> (u8, usize) {
    let of = |interval: &Interval<'_>| match (&interval.lower, &interval.upper) {
        _ if interval.only().is_some_and(|only| **only == Value::Null) => 2,
        _ if interval.only().is_some() => 0,
        (Bound::Excluded(lower), _) if **lower == Value::Null => 3,
        (_, Bound::Unbounded) => 3,
        _ => 1,
    };
    let widest = key
        .intervals
        .iter()
        .map(|field_interval| of(&field_interval.interval))
        .max();
    (widest.unwrap_or_default(), key.intervals.len())
}
