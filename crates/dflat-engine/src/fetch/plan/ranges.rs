//! The ranges of one key in which conditions hold.

use std::borrow::Cow;

use dflat_model::{IndexDescriptor, Predicate, Value};
use smallvec::smallvec;

use super::conjuncts::{set_of, values_of};
use super::implied::guaranteed;
use super::planner::Planner;
use super::{KeyAccess, KeyRange, Values};
use crate::query::{ConjunctPositions, Interval, ValueSet};
use crate::storage::Key;

/// The ranges of a key, and their properties.
pub(super) struct Ranges {
    pub(super) access: KeyAccess,
    pub(super) used: ConjunctPositions,
    pub(super) rows_max: Option<usize>,
    /// Whether the ranges leave out only a few values, so that they likely have most of the rows.
    pub(super) wide: bool,
}

impl Planner<'_> {
    /// The ranges of a key in which conditions hold: one value for each of its first parts, then a
    /// set of values for the next. There is no range if the conditions contradict each other.
    /// `None` if no condition is on the key.
    pub(super) fn ranges_of(&self, key: Key, parts: &[Predicate]) -> Option<Ranges> {
        let fields = self.fields(key);
        let index = self.index(key);
        let is_plain = index.is_some_and(IndexDescriptor::is_plain);
        let condition = index.and_then(|index| index.condition.as_ref());
        let mut prefix = Values::new();
        let mut used = ConjunctPositions::new();
        let mut open = None;
        for field in fields {
            let values = match is_plain {
                true => set_of(parts, field),
                false => values_of(parts, field),
            };
            let Some((of_field, by)) = values else {
                break;
            };
            used.extend(by);
            let only = match of_field.0.as_slice() {
                [one] => one.only(),
                _ => None,
            };
            match only {
                Some(only) => prefix.push(Value::clone(only)),
                None => {
                    open = Some(of_field);
                    break;
                }
            }
        }
        if used.is_empty() && condition.is_none() {
            return None;
        }
        // An index with a condition narrows the rows even if all of it is scanned.
        let wide = condition.is_none()
            && prefix.is_empty()
            && open.as_ref().is_some_and(ValueSet::is_wide);
        if let Some(condition) = condition {
            used.extend(guaranteed(condition, parts));
        }
        used.sort_unstable();
        used.dedup();
        let ranges = match open {
            None => smallvec![KeyRange::of(prefix.clone())],
            Some(set) => set.0.into_iter().map(|part| range(&prefix, part)).collect(),
        };
        let mut access = KeyAccess::new(key, ranges);
        let unique = key == Key::Primary || index.is_some_and(|index| index.unique);
        let single = |range: &KeyRange| {
            range.prefix.len() == fields.len() && !range.prefix.contains(&Value::Null)
        };
        let rows_max = (unique && access.ranges.iter().all(single)).then_some(access.ranges.len());
        self.arrange(&mut access, prefix.len());
        Some(Ranges {
            access,
            used,
            rows_max,
            wide,
        })
    }
}

/// The range of a key with a prefix in which the next part lies in an interval.
pub(super) fn range(prefix: &[Value], interval: Interval<'_>) -> KeyRange {
    let mut range = KeyRange::of(prefix.into());
    match interval.only() {
        Some(only) => range.prefix.push(Value::clone(only)),
        None => {
            range.lower = interval.lower.map(Cow::into_owned);
            range.upper = interval.upper.map(Cow::into_owned);
        }
    }
    range
}
