//! The ranges of one key in which conditions hold.

use std::borrow::Cow;
use std::ops::Bound;

use dflat_model::{Field, IndexDescriptor, Predicate, Value};
use smallvec::{SmallVec, smallvec};

use super::conjuncts::{set_of, values_of};
use super::implied::guaranteed;
use super::planner::Planner;
use super::{KeyAccess, KeyRange, VALUES_MIN, Values};
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
    /// The ranges of a key in which conditions hold: values for each of its first parts, then a set
    /// of values for the next. There is no range if the conditions contradict each other. `None` if
    /// no condition is on the key.
    pub(super) fn ranges_of(&self, key: Key, parts: &[Predicate]) -> Option<Ranges> {
        let fields = self.fields(key);
        let index = self.index(key);
        let condition = index.and_then(|index| index.condition.as_ref());
        let is_plain = index.is_some_and(IndexDescriptor::is_plain);
        let Product {
            prefixes,
            fixed,
            open,
            mut used,
        } = Product::new(fields, parts, is_plain);
        if used.is_empty() && condition.is_none() {
            return None;
        }
        // An index with a condition narrows the rows even if all of it is scanned.
        let has_prefix = prefixes.first().is_none_or(|prefix| !prefix.is_empty());
        let wide =
            condition.is_none() && !has_prefix && open.as_ref().is_some_and(ValueSet::is_wide);
        if let Some(condition) = condition {
            used.extend(guaranteed(condition, parts));
        }
        used.sort_unstable();
        used.dedup();
        let ranges = match open {
            None => prefixes.into_iter().map(KeyRange::of).collect(),
            Some(set) => prefixes
                .iter()
                .flat_map(|prefix| set.0.iter().map(|part| range(prefix, part)))
                .collect(),
        };
        let mut access = KeyAccess::new(key, ranges);
        let unique = key == Key::Primary || index.is_some_and(|index| index.unique);
        let single = |range: &KeyRange| {
            range.prefix.len() == fields.len() && !range.prefix.contains(&Value::Null)
        };
        let rows_max = (unique && access.ranges.iter().all(single)).then_some(access.ranges.len());
        self.arrange(&mut access, fixed);
        Some(Ranges {
            access,
            used,
            rows_max,
            wide,
        })
    }
}

/// The values of the first parts of a key: each combination of those that the conditions leave.
struct Product<'q> {
    /// In the order of the key.
    prefixes: SmallVec<[Values; 1]>,
    /// The number of first parts that have one value.
    fixed: usize,
    /// The values of the part behind the prefixes, if not all of them are single values.
    open: Option<ValueSet<'q>>,
    /// The positions of the conditions that this guarantees.
    used: ConjunctPositions,
}

impl<'q> Product<'q> {
    fn new(fields: &[Field], parts: &'q [Predicate], is_plain: bool) -> Self {
        let mut product = Self {
            prefixes: smallvec![Values::new()],
            fixed: 0,
            open: None,
            used: ConjunctPositions::new(),
        };
        for (at, field) in fields.iter().enumerate() {
            let values = match is_plain {
                true => set_of(parts, field),
                false => values_of(parts, field),
            };
            let Some((set, by)) = values else {
                break;
            };
            let known = product.prefixes.len();
            let is_first = product.fixed == at;
            // A single list may have more values, if the table has enough rows.
            let is_bounded = known == 1 || set.0.len() <= 1;
            if !is_bounded && known.saturating_mul(set.0.len()) > VALUES_MIN {
                break;
            }
            product.used.extend(by);
            if !product.multiply(&set) {
                product.open = Some(set);
                break;
            }
            product.fixed += usize::from(is_first && set.0.len() == 1);
        }
        product
    }

    /// Adds a part to the prefixes. False if not all its values are single ones.
    fn multiply(&mut self, set: &ValueSet<'_>) -> bool {
        let values = set.0.iter().map(Interval::only);
        let Some(values) = values.collect::<Option<SmallVec<[_; 4]>>>() else {
            return false;
        };
        if let ([only], [prefix]) = (values.as_slice(), self.prefixes.as_mut_slice()) {
            prefix.push(Value::clone(only));
            return true;
        }
        let with = |prefix: &Values, value: &Value| {
            let mut prefix = prefix.clone();
            prefix.push(value.clone());
            prefix
        };
        let prefixes = self.prefixes.iter();
        let prefixes = prefixes.flat_map(|prefix| values.iter().map(|value| with(prefix, value)));
        self.prefixes = prefixes.collect();
        true
    }
}

/// The range of a key with a prefix in which the next part lies in an interval.
pub(super) fn range(prefix: &[Value], interval: &Interval<'_>) -> KeyRange {
    let mut range = KeyRange::of(prefix.into());
    match interval.only() {
        Some(only) => range.prefix.push(Value::clone(only)),
        None => {
            range.lower = owned(&interval.lower);
            range.upper = owned(&interval.upper);
        }
    }
    range
}

fn owned(limit: &Bound<Cow<'_, Value>>) -> Bound<Value> {
    limit.as_ref().map(|value| Value::clone(value))
}
