//! The queue of a subscriber's deliveries: beyond its capacity, deliveries are merged.

use std::collections::VecDeque;

/// A delivery that can be merged with the one that follows it.
pub trait Absorb: Sized {
    /// Merges the later delivery into this one, or returns it if the two can't be merged.
    fn absorb(&mut self, later: Self) -> Option<Self>;
}

/// Deliveries in order. There are at most as many as the capacity, and one more if that one can't
/// be merged with the delivery before it.
pub struct Mailbox<E> {
    waiting: VecDeque<E>,
    capacity: usize,
    coalesced: u64,
}

impl<E: Absorb> Mailbox<E> {
    /// An empty mailbox. The capacity is at least one.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            capacity: capacity.max(1),
            coalesced: 0,
        }
    }

    /// Adds a delivery at the end; if the mailbox is full, merges it with the last one.
    pub fn push(&mut self, event: E) {
        if self.waiting.len() < self.capacity {
            self.waiting.push_back(event);
            return;
        }
        let left = match self.waiting.back_mut() {
            Some(last) => last.absorb(event),
            None => Some(event),
        };
        match left {
            Some(event) => self.waiting.push_back(event),
            None => {
                self.coalesced += 1;
                self.shrink();
            }
        }
    }

    /// Merges the last deliveries, as far as they can be, while there are too many.
    fn shrink(&mut self) {
        while self.waiting.len() > self.capacity {
            let last = self.waiting.pop_back();
            let left = match (last, self.waiting.back_mut()) {
                (Some(last), Some(before)) => before.absorb(last),
                (last, _) => last,
            };
            if let Some(last) = left {
                self.waiting.push_back(last);
                return;
            }
            self.coalesced += 1;
        }
    }

    /// Takes the next delivery.
    pub fn pop(&mut self) -> Option<E> {
        let next = self.waiting.pop_front();
        if self.waiting.is_empty() {
            // Releases the memory: there may be many subscribers, and most are idle.
            self.waiting = VecDeque::new();
        }
        next
    }

    /// Whether no delivery waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The number of deliveries that were merged with the one before them.
    #[must_use]
    pub const fn coalesced(&self) -> u64 {
        self.coalesced
    }

    /// Takes all deliveries.
    pub fn take(&mut self) -> VecDeque<E> {
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers are added. A `None` is not merged with a number before it, and is replaced by one
    /// that follows.
    impl Absorb for Option<u32> {
        fn absorb(&mut self, later: Self) -> Option<Self> {
            match (*self, later) {
                (Some(_), None) => return Some(None),
                (Some(sum), Some(more)) => *self = Some(sum + more),
                (None, later) => *self = later,
            }
            None
        }
    }

    #[test]
    fn alternating_deliveries_stay_within_the_capacity() {
        for capacity in 1..4 {
            let mut mailbox = Mailbox::new(capacity);
            let pushed = 200;
            for n in 0..pushed {
                mailbox.push((n % 2 == 0).then_some(1));
                assert!(mailbox.waiting.len() <= capacity + 1);
            }
            let waiting = mailbox.waiting.len() as u64;
            let numbers: u32 = mailbox.take().into_iter().flatten().sum();
            assert_eq!(numbers, pushed / 2, "none is lost");
            assert_eq!(mailbox.coalesced() + waiting, u64::from(pushed));
        }
    }
}
