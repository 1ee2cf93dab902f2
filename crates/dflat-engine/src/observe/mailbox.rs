//! Deliveries that wait: so many at most, then they are made one.

use std::collections::VecDeque;

/// What can be made one with what follows it.
pub trait Absorb: Sized {
    /// Becomes what tells both, or gives the later one back if nothing can.
    fn absorb(&mut self, later: Self) -> Option<Self>;
}

/// Deliveries in order. It holds no more than its capacity, save for one that can't be made one
/// with the last.
pub struct Mailbox<E> {
    waiting: VecDeque<E>,
    capacity: usize,
    coalesced: u64,
}

impl<E: Absorb> Mailbox<E> {
    /// An empty mailbox for so many deliveries, at least one.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            capacity: capacity.max(1),
            coalesced: 0,
        }
    }

    /// Puts a delivery behind the others; if it is full, into the last of them.
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

    /// Makes the last ones one, if they now can be, while there is no room for them.
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

    /// The next delivery.
    pub fn pop(&mut self) -> Option<E> {
        let next = self.waiting.pop_front();
        if self.waiting.is_empty() {
            // Most subscribers wait for long, and there may be many.
            self.waiting = VecDeque::new();
        }
        next
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How many deliveries were made one with the one before.
    #[must_use]
    pub const fn coalesced(&self) -> u64 {
        self.coalesced
    }

    /// What waits, which is taken out.
    pub fn take(&mut self) -> VecDeque<E> {
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers are added; what is no number takes a place of its own, until a number follows.
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
    fn what_alternates_is_kept_within_the_bound() {
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
