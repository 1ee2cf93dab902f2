//! Acknowledgements, delivered one after the other in the order of the commits.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::change_set::ChangeSet;
use crate::error::Result;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, Condvar, JoinHandle, Mutex, MutexGuard, PoisonError, thread};

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
    /// The threads that wait for a delivery.
    waiters: AtomicUsize,
    /// Signalled, while somebody waits, after each item and when the queue is empty.
    done: Condvar,
    /// Signalled when the queue's own thread is needed.
    needed: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Acknowledgement>,
    /// A thread empties the queue.
    active: bool,
    pushed: u64,
    delivered: u64,
    /// The queue's own thread is asked to empty it.
    handed_over: bool,
    stopped: bool,
    thread: Option<JoinHandle<()>>,
}

impl Deliveries {
    pub(super) fn new(deliver: Box<Deliver>) -> Self {
        Self {
            deliver,
            queue: Mutex::default(),
            waiters: AtomicUsize::new(0),
            done: Condvar::new(),
            needed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No user code runs under the lock.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues transactions that have ended, in this order.
    pub(super) fn push(&self, ended: impl IntoIterator<Item = Acknowledgement>) {
        let mut queue = self.lock();
        let before = queue.waiting.len();
        queue.waiting.extend(ended);
        queue.pushed += (queue.waiting.len() - before) as u64;
    }

    /// Delivers what waits, unless another thread is at it.
    pub(super) fn drain(&self) {
        let mut queue = self.lock();
        if queue.active {
            return;
        }
        queue.active = true;
        while !queue.waiting.is_empty() {
            // Order: all at once, so that whoever commits meanwhile need not wait for the lock.
            let mut ended = std::mem::take(&mut queue.waiting);
            drop(queue);
            let mut uncounted = 0;
            for acknowledgement in ended.drain(..) {
                // What is delivered to is the user's; a panic is caught there, and would end here.
                let _ = catch_unwind(AssertUnwindSafe(|| (self.deliver)(acknowledgement)));
                uncounted += 1;
                if self.waiters.load(Ordering::Acquire) > 0 {
                    self.lock().delivered += std::mem::take(&mut uncounted);
                    self.done.notify_all();
                }
            }
            queue = self.lock();
            queue.delivered += uncounted;
            if queue.waiting.is_empty() {
                // Its memory serves the next batch.
                queue.waiting = ended;
            }
        }
        queue.active = false;
        drop(queue);
        if self.waiters.load(Ordering::Acquire) > 0 {
            self.done.notify_all();
        }
    }

    /// Has what waits delivered by a thread of the queue's own, so that this one need not wait for
    /// user code.
    pub(super) fn hand_over(self: &Arc<Self>) {
        let mut queue = self.lock();
        if queue.active || queue.handed_over || queue.waiting.is_empty() {
            return;
        }
        if queue.thread.is_some() {
            queue.handed_over = true;
            drop(queue);
            self.needed.notify_one();
            return;
        }
        let deliveries = Arc::clone(self);
        let thread = thread::Builder::new().name("dflat-deliver".to_owned());
        if !queue.stopped
            && let Ok(thread) = thread.spawn(move || deliveries.serve())
        {
            (queue.thread, queue.handed_over) = (Some(thread), true);
            return;
        }
        drop(queue);
        self.drain();
    }

    /// The thread of the queue's own.
    fn serve(&self) {
        loop {
            let idle = |queue: &mut Queue| !queue.handed_over && !queue.stopped;
            let waited = self.needed.wait_while(self.lock(), idle);
            let mut queue = waited.unwrap_or_else(PoisonError::into_inner);
            let stopped = queue.stopped;
            queue.handed_over = false;
            drop(queue);
            self.drain();
            if stopped {
                return;
            }
        }
    }

    /// Ends the queue's own thread when it has nothing to do; with `wait`, it has ended then.
    pub(super) fn stop(&self, wait: bool) {
        let mut queue = self.lock();
        queue.stopped = true;
        let thread = queue.thread.take();
        drop(queue);
        self.needed.notify_all();
        if let Some(thread) = thread
            && wait
            && thread.thread().id() != thread::current().id()
        {
            // Its work does not panic.
            let _ = thread.join();
        }
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
            // Under the lock: who delivers counts what is done before it looks for waiters again.
            self.waiters.fetch_add(1, Ordering::AcqRel);
            let busy = |queue: &mut Queue| queue.active && queue.delivered < target;
            let waited = self.done.wait_while(queue, busy);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
            self.waiters.fetch_sub(1, Ordering::AcqRel);
        }
    }
}
