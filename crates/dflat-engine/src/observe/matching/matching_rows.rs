//! Finds the rows of a commit that met or meet the condition of a live query.

use std::cmp::Ordering;

use dflat_model::ValueRef;

use super::changed_rows::{ChangedRows, Row, RowList, Rows, after, before};
use super::index_key::{FieldInterval, index_key};
use super::matcher::{Hit, Matcher, all, value};
use super::shape::ShapedQuery;
use crate::object::{Object, root_text};
use crate::query::{Condition, is_after};

/// Rows in the order of a field's values. Values and rows are separate lists, because mostly only
/// the rows are read.
struct RowsByValue<'c> {
    values: Vec<ValueRef<'c>>,
    rows: Vec<Row>,
}

/// The rows of a commit, sorted by the values of a field when a query first needs this order.
pub(in super::super) struct SortedRows<'c> {
    matcher: &'c Matcher,
    rows: Rows<'c>,
    /// By the position of the field in the matcher: the rows before the commit, and after it.
    fields: Vec<Option<[RowsByValue<'c>; 2]>>,
    bits: Vec<u64>,
}

impl<'c> SortedRows<'c> {
    pub(in super::super) fn new(matcher: &'c Matcher, rows: Rows<'c>) -> Self {
        Self {
            matcher,
            rows,
            fields: Vec::new(),
            bits: Vec::new(),
        }
    }

    /// The rows in any of some intervals, before and after the commit, ascending.
    fn within(&mut self, intervals: &[FieldInterval]) -> ChangedRows {
        let mut changed = ChangedRows::default();
        self.bits.resize(self.rows.len().div_ceil(64), 0);
        for (side, list) in [&mut changed.before, &mut changed.after]
            .into_iter()
            .enumerate()
        {
            if let [field_interval] = intervals {
                self.sort(field_interval);
                let found = self.found(field_interval, side);
                // This is so if the values grow with the row ids.
                if found.is_sorted() {
                    list.extend_from_slice(found);
                    continue;
                }
            }
            for field_interval in intervals {
                self.mark(field_interval, side);
            }
            drain(&mut self.bits, list);
        }
        changed
    }

    /// Adds the rows of an interval to the bit set.
    fn mark(&mut self, field_interval: &FieldInterval, side: usize) {
        self.sort(field_interval);
        let mut bits = std::mem::take(&mut self.bits);
        for row in self.found(field_interval, side) {
            if let Some(word) = bits.get_mut(*row as usize / 64) {
                *word |= 1 << (row % 64);
            }
        }
        self.bits = bits;
    }

    /// The rows of an interval, in the order of their values. They must be sorted by its field.
    fn found(&self, field_interval: &FieldInterval, side: usize) -> &[Row] {
        let sorted = self
            .place(field_interval)
            .and_then(|place| self.fields.get(place)?.as_ref());
        let Some(RowsByValue { values, rows }) = sorted.and_then(|sides| sides.get(side)) else {
            return &[];
        };
        let interval = &field_interval.interval;
        let start = values.partition_point(|value| !interval.starts_before(*value));
        let rest = values.get(start..).unwrap_or_default();
        let count = rest.partition_point(|value| interval.ends_after(*value));
        rows.get(start..start + count).unwrap_or_default()
    }

    /// The position of an interval's field in the matcher.
    fn place(&self, field_interval: &FieldInterval) -> Option<usize> {
        let mut fields = self.matcher.fields.iter();
        fields.position(|index| index.field == field_interval.field)
    }

    /// Sorts the rows by the values of an interval's field, unless they are sorted.
    fn sort(&mut self, field_interval: &FieldInterval) {
        let Some(place) = self.place(field_interval) else {
            return;
        };
        if self.fields.len() <= place {
            self.fields.resize_with(place + 1, || None);
        }
        let Some(index) = self.matcher.fields.get(place) else {
            return;
        };
        let rows = self.rows;
        if let Some(field @ None) = self.fields.get_mut(place) {
            let side = |state: fn(Rows<'c>, Row) -> Option<&'c Object>| {
                let of = |row| Some((value(state(rows, row)?, &index.field), row));
                let mut sorted: Vec<_> = all(rows).filter_map(of).collect();
                sorted.sort_unstable_by(|(a, x), (b, y)| order(*a, *b).then(x.cmp(y)));
                let (values, rows) = sorted.into_iter().unzip();
                RowsByValue { values, rows }
            };
            *field = Some([side(before), side(after)]);
        }
    }
}

/// The order of two values, with a shortcut for integers, which most are.
#[inline]
fn order(a: ValueRef<'_>, b: ValueRef<'_>) -> Ordering {
    match (a, b) {
        (ValueRef::Int(a), ValueRef::Int(b)) => a.cmp(&b),
        _ => a.order(b),
    }
}

/// Moves the rows of a bit set into a list, ascending.
fn drain(bits: &mut [u64], rows: &mut RowList) {
    let count = bits.iter().map(|word| word.count_ones() as usize).sum();
    rows.resize(count, 0);
    let mut places = rows.iter_mut();
    for (index, word) in (0_u32..).zip(bits) {
        let mut left = std::mem::take(word);
        while left != 0 {
            if let Some(place) = places.next() {
                *place = index * 64 + left.trailing_zeros();
            }
            left &= left - 1;
        }
    }
}

/// The rows that may meet a query's condition.
pub(in super::super) enum Candidates {
    /// These rows. Different values may have the same hash, so not all of these rows need to meet
    /// the condition.
    Rows(ChangedRows),
    /// All rows.
    All,
    /// The rows in the intervals of the query's index key, or all rows if it has none.
    Sorted,
}

impl Candidates {
    /// The rows of the hits of a query.
    pub(in super::super) fn of(hits: &[Hit]) -> Self {
        let mut changed = ChangedRows::default();
        for hit in hits {
            let list = if hit.is() {
                &mut changed.after
            } else {
                &mut changed.before
            };
            list.push(hit.row());
        }
        Self::Rows(changed)
    }
}

/// The rows that met or meet a query's condition, ascending.
pub(in super::super) fn matching_rows(
    query: &ShapedQuery,
    mut candidates: Candidates,
    sorted: &mut SortedRows<'_>,
) -> ChangedRows {
    let rows = sorted.rows;
    if let (Candidates::Rows(changed), Some((field, key))) = (&mut candidates, query.key()) {
        let is_it = |object: &Object| match (root_text(object.payload(), field), key) {
            (Ok(Some(text)), ValueRef::Text(key)) => text == key.as_bytes(),
            _ => value(object, field).order(key).is_eq(),
        };
        changed.retain(rows, is_it);
        return std::mem::take(changed);
    }
    let (predicate, frame) = (query.predicate(), query.frame());
    let predicate = predicate.as_deref();
    let key = match &candidates {
        // Not stored with the query, because it is as large as the condition.
        Candidates::Sorted => predicate.and_then(index_key),
        Candidates::Rows(_) | Candidates::All => None,
    };
    let (mut changed, exact) = match (candidates, key) {
        (Candidates::Rows(changed), _) => (changed, false),
        (_, Some(key)) => (sorted.within(&key.intervals), key.exact),
        (_, None) => {
            let were = all(rows).filter(|row| before(rows, *row).is_some());
            let are = all(rows).filter(|row| after(rows, *row).is_some());
            let (before, after) = (were.collect(), are.collect());
            (ChangedRows { before, after }, predicate.is_none())
        }
    };
    if exact && frame.after.is_none() {
        return changed;
    }
    let condition = predicate.filter(|_| !exact).map(Condition::new);
    let matches = |object: &Object| {
        let payload = object.payload();
        // Objects are verified, so that every value can be read.
        let meets = condition
            .as_ref()
            .is_none_or(|c| c.holds(payload) == Ok(Some(true)));
        let row = (object.row_id(), payload);
        let is_behind = |cursor| is_after(&frame.order, cursor, row) == Ok(true);
        meets && frame.after.as_ref().is_none_or(is_behind)
    };
    changed.retain(rows, matches);
    changed
}
