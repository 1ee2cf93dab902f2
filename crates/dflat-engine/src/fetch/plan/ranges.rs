//! The ranges of one key in which conditions hold.

use std::borrow::Cow;
use std::ops::Bound;

use dflat_model::{Direction, Field, IndexDescriptor, Predicate, Value};
use smallvec::smallvec;

use super::choose::{Planner, is_field};
use super::implied::guaranteed;
use super::{KeyAccess, KeyRange, Values};
use crate::query::{Interval, Positions, ValueSet};
use crate::storage::Key;

/// The ranges of a key, and what they stand for.
pub(super) struct Ranges {
    pub(super) access: KeyAccess,
    pub(super) used: Positions,
    pub(super) rows_max: Option<usize>,
    /// Whether they leave out a few values of all, so that they are likely most of the rows.
    pub(super) wide: bool,
}

impl Planner<'_> {
    /// The ranges of a key in which conditions hold: a value each for its first parts, then a set
    /// of values. No range if they contradict each other; `None` if the key does not help.
    pub(super) fn ranges_of(&self, key: Key, parts: &[Predicate]) -> Option<Ranges> {
        let fields = self.fields(key);
        let index = self.index(key);
        let is_plain = index.is_some_and(IndexDescriptor::is_plain);
        let condition = index.and_then(|index| index.condition.as_ref());
        let mut prefix = Values::new();
        let mut used = Positions::new();
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
        // All of an index of some objects is a range of all.
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
        let descending = self.order().next().is_some_and(|(_, order)| {
            order.direction == Direction::Descending
                && fields
                    .get(prefix.len())
                    .is_some_and(|field| is_field(&order.key, field))
        });
        if descending {
            access.direction = Direction::Descending;
            access.ranges.reverse();
        }
        Some(Ranges {
            access,
            used,
            rows_max,
            wide,
        })
    }
}

impl KeyAccess {
    /// The number of first parts that have one value in all ranges.
    pub(super) fn fixed_parts(&self) -> usize {
        match self.ranges.as_slice() {
            [] => 0,
            [one] => one.prefix.len(),
            [first, ..] => {
                let shared = |at: usize| {
                    let value = first.prefix.get(at);
                    self.ranges
                        .iter()
                        .all(|range| range.prefix.get(at) == value)
                };
                (0..first.prefix.len()).take_while(|at| shared(*at)).count()
            }
        }
    }
}

/// The part of a key in which the parts behind a prefix lie in an interval.
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
