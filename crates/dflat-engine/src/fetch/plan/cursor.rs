//! Starts a scan after a cursor position, so that the pages before it are not read.

use std::borrow::Cow;
use std::ops::Bound;

use dflat_model::{Direction, Nulls, RowId, Value};
use smallvec::SmallVec;

use super::planner::Planner;
use super::ranges::range;
use super::{AccessPath, KeyAccess, KeyRange, RowOrder};
use crate::query::Interval;

impl Planner<'_> {
    /// The part of an access, whose rows come in `order`, that can lie after the query's cursor
    /// position. It may contain rows before that.
    pub(super) fn behind_cursor(&self, access: AccessPath, order: RowOrder) -> AccessPath {
        let Some(cursor) = &self.query.after else {
            return access;
        };
        match access {
            AccessPath::Rows(_) if self.query.order.is_empty() => {
                AccessPath::Rows(Some(cursor.row_id))
            }
            AccessPath::Key(access) if self.cursor_has_fixed_values() => {
                let (sorted, row_id) = match order {
                    RowOrder::Sorted => (self.query.order.len(), Some(cursor.row_id)),
                    // Of the rows with the same first keys, any may be after the cursor position.
                    RowOrder::Presorted(keys) => (keys, None),
                    RowOrder::Any => return AccessPath::Key(access),
                };
                let keys = self.order().map(|(position, _)| position);
                let keys = keys.take_while(|position| *position < sorted);
                let keys = keys.map(|position| cursor.keys.get(position).cloned());
                match keys.collect::<Option<Vec<Value>>>() {
                    Some(keys) => AccessPath::Key(self.ranges_behind(access, (&keys, row_id))),
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

    /// The part of the ranges that lies after `keys` and the row id: the rest of the range that has
    /// the cursor position, and the ranges after that one. All ranges, if none of several has the
    /// position. Without a row id, the part includes the rows with
    /// exactly these keys.
    fn ranges_behind(
        &self,
        mut access: KeyAccess,
        (keys, row_id): (&[Value], Option<RowId>),
    ) -> KeyAccess {
        let fixed = access.fixed_parts();
        let holds = |range: &KeyRange| {
            let open = range.prefix.get(fixed..).unwrap_or_default();
            let mut equal = open.iter().zip(keys);
            equal.all(|(value, key)| value.as_ref().order(key.as_ref()).is_eq())
                && keys
                    .get(open.len())
                    .is_none_or(|key| interval_of(range).contains(key.as_ref()))
        };
        let at = match access.ranges.as_slice() {
            [_] => 0,
            several => match several.iter().position(holds) {
                Some(at) => at,
                None => return access,
            },
        };
        let Some(held) = access.ranges.get(at) else {
            return access;
        };
        let open = held.prefix.len() - fixed;
        let keys = (keys.get(open..).unwrap_or_default(), row_id);
        let behind = self.range_behind(held, (open, keys), access.direction);
        access.ranges.drain(..=at);
        access.ranges.insert_many(0, behind);
        access
    }

    /// The part of a range that lies after `keys` and the row id: the rows with equal keys, then
    /// those that are greater in the last key only, then in the one before it, and so on. `keys`
    /// are those of the order behind the first `equal`, which are the last values of the range's
    /// prefix.
    fn range_behind(
        &self,
        whole: &KeyRange,
        (equal, (keys, row_id)): (usize, (&[Value], Option<RowId>)),
        direction: Direction,
    ) -> SmallVec<[KeyRange; 1]> {
        let mut ranges = SmallVec::new();
        let interval = interval_of(whole);
        let Some(first) = keys.first() else {
            // All rows of the range have the same keys, and come by row id.
            ranges.push(KeyRange {
                after: row_id,
                ..whole.clone()
            });
            return ranges;
        };
        let mut order = self.order().skip(equal).zip(keys);
        if order.any(|((_, order), key)| order.nulls == Nulls::Largest && *key == Value::Null) {
            // The range has no such row, and its order of values says nothing of the position.
            ranges.push(whole.clone());
            return ranges;
        }
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
                let behind = keys.get(part).and_then(|key| behind(key, direction));
                ranges.extend(behind.map(|interval| range(&at(part).concat(), &interval)));
            }
        }
        let rest = behind(first, direction).and_then(|rest| rest.intersection(&interval));
        ranges.extend(rest.map(|interval| range(&whole.prefix, &interval)));
        ranges
    }
}

/// The values of the next part in a range.
fn interval_of(range: &KeyRange) -> Interval<'_> {
    Interval {
        lower: range.lower.as_ref().map(Cow::Borrowed),
        upper: range.upper.as_ref().map(Cow::Borrowed),
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
