//! Acknowledgements, delivered one after the other in the order of the commits.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::change_set::ChangeSet;
use crate::error::Result;

/// What follows a transaction.
pub type Completion = Box<dyn FnOnce(Result<()>) + Send>;

/// What is called with each transaction that has ended.
pub type Deliver = dyn Fn(Acknowledgement) + Send + Sync;

/// A transaction that has ended, and what it changed.
pub struct Acknowledgement {
    /// What it changed, if anything; or why nothing of it is kept.
    pub outcome: Result<Option<ChangeSet>>,
    /// Who is told last.
    pub completion: Completion,
}

/// A queue that one thread at a time empties.
pub(super) struct Deliveries {
    deliver: Box<Deliver>,
    queue: Mutex<Queue>,
    /// Signalled when the queue is empty and its last item delivered.
    done: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Acknowledgement>,
    /// A thread empties the queue.
    active: bool,
    pushed: u64,
    delivered: u64,
}

impl Deliveries {
    pub(super) fn new(deliver: Box<Deliver>) -> Self {
        Self {
            deliver,
            queue: Mutex::default(),
            done: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No user code runs under the lock.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, outcome: Result<Option<ChangeSet>>, completion: Completion) {
        let mut queue = self.lock();
        queue.pushed += 1;
        queue.waiting.push_back(Acknowledgement {
            outcome,
            completion,
        });
    }

    /// Delivers what waits, unless another thread is at it.
    pub(super) fn drain(&self) {
        let mut queue = self.lock();
        if queue.active {
            return;
        }
        queue.active = true;
        while let Some(acknowledgement) = queue.waiting.pop_front() {
            drop(queue);
            (self.deliver)(acknowledgement);
            queue = self.lock();
            queue.delivered += 1;
        }
        queue.active = false;
        drop(queue);
        self.done.notify_all();
    }

    /// Waits until everything pushed so far is delivered.
    pub(super) fn wait(&self) {
        let target = self.lock().pushed;
        loop {
            self.drain();
            let queue = self.lock();
            if queue.delivered >= target {
                return;
            }
            let busy = |queue: &mut Queue| queue.active && queue.delivered < target;
            drop(
                self.done
                    .wait_while(queue, busy)
                    .unwrap_or_else(PoisonError::into_inner),
            );
        }
    }
}
