//! An index of intervals: which of them contain a value.

use std::cmp::Ordering;

use dflat_model::ValueRef;

use crate::query::{Interval, lower_order, upper_order};

/// Intervals with the slots of their live queries.
///
/// The first part of the list is sorted by lower bounds and is a binary tree whose root is its
/// middle. Intervals added since the last sort are behind it, unsorted.
#[derive(Default)]
pub(super) struct Intervals {
    items: Vec<Item>,
    /// For each interval of the tree: the position of the interval of its subtree that ends last.
    last: Vec<u32>,
    gone: usize,
}

struct Item {
    interval: Interval<'static>,
    slot: u32,
    /// Whether the interval was removed.
    gone: bool,
}

impl Intervals {
    pub(super) fn is_empty(&self) -> bool {
        self.items.len() == self.gone
    }

    pub(super) fn insert(&mut self, interval: Interval<'static>, slot: u32) {
        if self.items.len() == self.items.capacity() {
            // Items are large and many, so the list grows by an eighth and not to twice its size.
            self.items.reserve_exact(self.items.len() / 8 + 1);
        }
        self.items.push(Item {
            interval,
            slot,
            gone: false,
        });
    }

    /// Removes an interval of a slot, or another of the slot with the same lower bound. All
    /// intervals of a slot are removed together, so it makes no difference which comes first.
    pub(super) fn remove(&mut self, interval: &Interval<'static>, slot: u32) {
        self.tidy();
        let (ordered, loose) = self.items.split_at_mut(self.last.len());
        // Of the intervals that are equal in this order, the first ones are removed already.
        let at = ordered.partition_point(|item| match item.order((interval, slot)) {
            Ordering::Less => true,
            Ordering::Equal => item.gone,
            Ordering::Greater => false,
        });
        let ordered = ordered.get_mut(at).into_iter();
        // From the end: an interval that was added last is often removed first.
        let mut found = ordered.chain(loose.iter_mut().rev());
        let found = found.find(|item| item.order((interval, slot)).is_eq() && !item.gone);
        debug_assert!(found.is_some(), "a removed interval was inserted before");
        if let Some(item) = found {
            item.gone = true;
            self.gone += 1;
        }
        if self.gone > self.items.len() / 2 {
            self.arrange();
        }
    }

    /// Sorts the intervals, if enough of them are unsorted.
    pub(super) fn tidy(&mut self) {
        // With more unsorted intervals than the square root of the number of sorted ones, searches
        // through them cost more than sorting does.
        let ordered = self.last.len();
        if self.items.len() - ordered > ordered.isqrt() {
            self.arrange();
        }
    }

    fn arrange(&mut self) {
        self.items.retain(|item| !item.gone);
        // The stable sort is fast on input that is mostly sorted.
        self.items.sort_by(|a, b| a.order((&b.interval, b.slot)));
        self.gone = 0;
        self.last = vec![0; self.items.len()];
        self.note_last(0, self.items.len());
    }

    /// Finds for each subtree the interval that ends last; returns that of this subtree.
    fn note_last(&mut self, start: usize, end: usize) -> Option<u32> {
        if start >= end {
            return None;
        }
        let middle = start + (end - start) / 2;
        let mut last = u32::try_from(middle).unwrap_or(u32::MAX);
        for (start, end) in [(start, middle), (middle + 1, end)] {
            if let Some(other) = self.note_last(start, end) {
                last = self.later(last, other);
            }
        }
        if let Some(noted) = self.last.get_mut(middle) {
            *noted = last;
        }
        Some(last)
    }

    /// The one of two intervals that ends later.
    fn later(&self, a: u32, b: u32) -> u32 {
        let of = |at: u32| Some(&self.items.get(at as usize)?.interval);
        match (of(a), of(b)) {
            (Some(x), Some(y)) if upper_order(&x.upper, &y.upper).is_lt() => b,
            _ => a,
        }
    }

    /// Visits the slots of the intervals that contain a value.
    ///
    /// # Cost
    /// A logarithm of the number of intervals for each visit.
    pub(super) fn stab(&self, value: ValueRef<'_>, visit: &mut impl FnMut(u32)) {
        self.stab_tree((0, self.last.len()), value, visit);
        for item in self.items.get(self.last.len()..).unwrap_or_default() {
            if !item.gone && item.interval.contains(value) {
                visit(item.slot);
            }
        }
    }

    fn stab_tree(
        &self,
        (start, end): (usize, usize),
        value: ValueRef<'_>,
        visit: &mut impl FnMut(u32),
    ) {
        if start < end {
            let middle = start + (end - start) / 2;
            let (Some(item), Some(last)) = (self.items.get(middle), self.last.get(middle)) else {
                return;
            };
            let last = self.items.get(*last as usize);
            if last.is_some_and(|last| !last.interval.ends_after(value)) {
                return;
            }
            self.stab_tree((start, middle), value, visit);
            if !item.interval.starts_before(value) {
                return;
            }
            if !item.gone && item.interval.ends_after(value) {
                visit(item.slot);
            }
            self.stab_tree((middle + 1, end), value, visit);
        }
    }
}

impl Item {
    /// The order of the tree: by lower bounds, then by slots.
    fn order(&self, (interval, slot): (&Interval<'static>, u32)) -> Ordering {
        #[cfg(test)]
        tests::COMPARED.with(|compared| compared.set(compared.get() + 1));
        lower_order(&self.interval.lower, &interval.lower).then(self.slot.cmp(&slot))
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::cell::Cell;
    use std::ops::Bound;

    use dflat_model::Value;

    use super::*;

    thread_local! {
        /// The number of comparisons of two intervals.
        pub(super) static COMPARED: Cell<u64> = const { Cell::new(0) };
    }

    fn above(low: i64) -> Interval<'static> {
        Interval {
            lower: Bound::Excluded(Cow::Owned(Value::Int(low))),
            upper: Bound::Unbounded,
        }
    }

    /// The values above one, up to another.
    fn between(low: i64, high: i64) -> Interval<'static> {
        Interval {
            upper: Bound::Included(Cow::Owned(Value::Int(high))),
            ..above(low)
        }
    }

    #[test]
    fn intervals_are_found_by_their_values_after_insertions_and_removals() {
        let mut intervals = Intervals::default();
        let of = |n: i64| between(n % 37, n % 37 + n % 11);
        for n in 0..500 {
            intervals.insert(of(n), n as u32);
            if n % 3 == 0 {
                intervals.remove(&of(n / 2), (n / 2) as u32);
            }
            intervals.tidy();
        }
        let gone: Vec<i64> = (0..500).filter(|n| n % 3 == 0).map(|n| n / 2).collect();
        for value in -1..60 {
            let mut found = Vec::new();
            intervals.stab(ValueRef::Int(value), &mut |slot| {
                found.push(i64::from(slot))
            });
            found.sort_unstable();
            let left = (0..500).filter(|n| !gone.contains(n));
            let expected = left.filter(|n| of(*n).contains(ValueRef::Int(value)));
            assert_eq!(found, expected.collect::<Vec<_>>(), "{value}");
        }
    }

    #[test]
    fn removing_an_interval_takes_few_comparisons_in_any_order() {
        const COUNT: u64 = 100_000;
        let of = |n: u64| between((n % 1000) as i64, (n % 1000 + 10) as i64);
        let mut intervals = Intervals::default();
        for n in 0..COUNT {
            intervals.insert(of(n), n as u32);
        }
        COMPARED.set(0);
        // In a scattered order: the stride and the count have no common factor.
        for n in (0..COUNT).map(|n| n * 61_803 % COUNT) {
            intervals.remove(&of(n), n as u32);
        }
        assert!(intervals.is_empty());
        let each = COMPARED.get() / COUNT;
        assert!(each < 100, "{each} comparisons each");
    }

    #[test]
    fn all_intervals_of_a_query_are_removed_with_it() {
        // Two with the same lower bound, and one with another.
        let of = |n: i64| [between(0, n % 37), between(0, n % 11), above(n % 53)];
        for count in [1, 2, 3, 200] {
            let mut intervals = Intervals::default();
            for n in 0..count {
                for interval in of(n) {
                    intervals.insert(interval, n as u32);
                }
            }
            for n in (0..count).map(|n| (n * 7) % count) {
                for interval in of(n) {
                    intervals.remove(&interval, n as u32);
                }
                for value in [-1, 5, 30, 60] {
                    intervals.stab(ValueRef::Int(value), &mut |slot| {
                        assert_ne!(i64::from(slot), n, "of {count}");
                    });
                }
            }
            assert!(intervals.is_empty(), "of {count}");
        }
    }
}
