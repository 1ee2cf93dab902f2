//! Starts a scan after a cursor position, so that the pages before it are not read.

use std::borrow::Cow;
use std::ops::Bound;

use dflat_model::{Direction, Value};
use smallvec::{SmallVec, smallvec};

use super::planner::Planner;
use super::ranges::range;
use super::{AccessPath, KeyAccess, KeyRange};
use crate::query::Interval;

impl Planner<'_> {
    /// The part of an access that can lie after the query's cursor position. It may contain rows
    /// before that.
    pub(super) fn behind_cursor(&self, access: AccessPath, sorted: bool) -> AccessPath {
        let Some(cursor) = &self.query.after else {
            return access;
        };
        match access {
            AccessPath::Rows(_) if self.query.order.is_empty() => {
                AccessPath::Rows(Some(cursor.row_id))
            }
            AccessPath::Key(access) if sorted && self.cursor_has_fixed_values() => {
                let keys = self
                    .order()
                    .map(|(position, _)| cursor.keys.get(position).cloned());
                match keys.collect::<Option<Vec<Value>>>() {
                    Some(keys) => AccessPath::Key(self.ranges_behind(access, &keys)),
                    None => AccessPath::Key(access),
                }
            }
            access => access,
        }
    }

    /// Whether the cursor position has the values that the condition fixes keys of the order to.
    /// With other values it lies before or after all rows that meet the condition.
    fn cursor_has_fixed_values(&self) -> bool {
        let keys = self.query.after.iter().flat_map(|cursor| &cursor.keys);
        self.fixed().zip(keys).all(|(fixed, key)| {
            fixed.is_none_or(|value| value.as_ref().order(key.as_ref()).is_eq())
        })
    }

    /// The part of a single range that lies after `keys`: the rows with equal keys, then those that
    /// are greater in the last key only, then in the one before it, and so on.
    fn ranges_behind(&self, mut access: KeyAccess, keys: &[Value]) -> KeyAccess {
        let [whole] = access.ranges.as_slice() else {
            return access;
        };
        let row_id = self.query.after.as_ref().map(|cursor| cursor.row_id);
        let mut ranges = SmallVec::new();
        let interval = Interval {
            lower: whole.lower.as_ref().map(Cow::Borrowed),
            upper: whole.upper.as_ref().map(Cow::Borrowed),
        };
        let Some(first) = keys.first() else {
            // All rows of the range have the same keys, and come by row id.
            access.ranges = smallvec![KeyRange {
                after: row_id,
                ..whole.clone()
            }];
            return access;
        };
        let at = |parts: usize| {
            [
                whole.prefix.as_slice(),
                keys.get(..parts).unwrap_or_default(),
            ]
        };
        if interval.intersection(&Interval::point(first)).is_some() {
            // Also for a unique key: another object may have the cursor's keys by now.
            ranges.push(KeyRange {
                after: row_id,
                ..KeyRange::of(at(keys.len()).concat().into())
            });
            for part in (1..keys.len()).rev() {
                let behind = keys.get(part).and_then(|key| behind(key, access.direction));
                ranges.extend(behind.map(|interval| range(&at(part).concat(), interval)));
            }
        }
        let rest = behind(first, access.direction).and_then(|rest| rest.intersection(&interval));
        ranges.extend(rest.map(|interval| range(&whole.prefix, interval)));
        access.ranges = ranges;
        access
    }
}

/// The values after one in a direction; `None` if there are none.
fn behind(value: &Value, direction: Direction) -> Option<Interval<'_>> {
    let excluded = Bound::Excluded(Cow::Borrowed(value));
    match direction {
        Direction::Ascending => Some(Interval {
            lower: excluded,
            upper: Bound::Unbounded,
        }),
        Direction::Descending if *value == Value::Null => None,
        Direction::Descending => Some(Interval {
            lower: Bound::Unbounded,
            upper: excluded,
        }),
    }
}
