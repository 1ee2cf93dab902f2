//! Intervals, to be asked which of them a value is in.

use dflat_model::ValueRef;

use super::anchor::Interval;

/// The fewest intervals that are looked through one by one rather than put in order.
const LOOSE_MIN: usize = 32;

/// Intervals with what they belong to.
///
/// Most stand in the order of their low ends, as a tree whose root is the middle; what was added
/// since stands behind them.
#[derive(Default)]
pub(super) struct Intervals {
    items: Vec<Item>,
    /// How many are in order.
    ordered: usize,
    gone: usize,
}

struct Item {
    interval: Interval,
    /// `None` once it was taken out.
    slot: Option<u32>,
    /// Which of the subtree's intervals ends last.
    last: u32,
}

impl Intervals {
    pub(super) fn is_empty(&self) -> bool {
        self.items.len() == self.gone
    }

    pub(super) fn insert(&mut self, interval: Interval, slot: u32) {
        let last = 0;
        let slot = Some(slot);
        self.items.push(Item {
            interval,
            slot,
            last,
        });
    }

    pub(super) fn remove(&mut self, interval: &Interval, slot: u32) {
        let low = interval.low.as_ref();
        let (ordered, loose) = self.items.split_at_mut(self.ordered);
        let first = ordered.partition_point(|item| item.interval.low.as_ref().order(low).is_lt());
        let ordered = ordered.get_mut(first..).unwrap_or_default().iter_mut();
        let ordered = ordered.take_while(|item| item.interval.low.as_ref().order(low).is_eq());
        let found = ordered.chain(loose).find(|item| item.slot == Some(slot));
        if let Some(item) = found {
            item.slot = None;
            self.gone += 1;
        }
        if self.gone > self.items.len() / 2 {
            self.arrange();
        }
    }

    /// Puts all in order, if it pays.
    pub(super) fn tidy(&mut self) {
        if self.items.len() - self.ordered > LOOSE_MIN + self.ordered / 8 {
            self.arrange();
        }
    }

    fn arrange(&mut self) {
        self.items.retain(|item| item.slot.is_some());
        self.items.sort_by(|a, b| {
            let (a, b) = (&a.interval, &b.interval);
            let order = a.low.as_ref().order(b.low.as_ref());
            order.then(b.from_low.cmp(&a.from_low))
        });
        (self.ordered, self.gone) = (self.items.len(), 0);
        self.note_last(0, self.ordered);
    }

    /// Notes for each subtree which of its intervals ends last; that of this one.
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
        if let Some(item) = self.items.get_mut(middle) {
            item.last = last;
        }
        Some(last)
    }

    /// Which of two intervals ends later.
    fn later(&self, a: u32, b: u32) -> u32 {
        let of = |at: u32| Some(&self.items.get(at as usize)?.interval);
        match (of(a), of(b)) {
            (Some(x), Some(y)) if ends_before(x, y) => b,
            _ => a,
        }
    }

    /// Visits what the intervals belong to that a value is in.
    ///
    /// Costs a logarithm of the number of intervals for each visit.
    pub(super) fn stab(&self, value: ValueRef<'_>, visit: &mut impl FnMut(u32)) {
        self.stab_tree((0, self.ordered), value, visit);
        for item in self.items.get(self.ordered..).unwrap_or_default() {
            if item.interval.contains(value) {
                item.slot.into_iter().for_each(&mut *visit);
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
            let Some(item) = self.items.get(middle) else {
                return;
            };
            let last = self.items.get(item.last as usize);
            if last.is_some_and(|last| !last.interval.ends_after(value)) {
                return;
            }
            self.stab_tree((start, middle), value, visit);
            if !item.interval.starts_before(value) {
                return;
            }
            if item.interval.ends_after(value) {
                item.slot.into_iter().for_each(&mut *visit);
            }
            self.stab_tree((middle + 1, end), value, visit);
        }
    }
}

/// Whether an interval ends before another does.
fn ends_before(a: &Interval, b: &Interval) -> bool {
    match (&a.high, &b.high) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(x), Some(y)) => {
            let order = x.as_ref().order(y.as_ref());
            order.is_lt() || (order.is_eq() && !a.to_high && b.to_high)
        }
    }
}
