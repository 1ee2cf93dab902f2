//! Deliveries that wait: so many at most, then they are made one.

use std::collections::VecDeque;

/// What can be made one with what follows it.
pub trait Absorb: Sized {
    /// Becomes what tells both, or gives the later one back if nothing can.
    fn absorb(&mut self, later: Self) -> Option<Self>;
}

/// Deliveries in order. It never holds more than one beyond its capacity.
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
            None => self.coalesced += 1,
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
