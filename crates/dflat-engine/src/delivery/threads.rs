//! The queue's own threads: one delivers, and one watches the calls that the other one makes.

use std::time::Instant;

use super::call_limits::CallTimer;
use super::deliveries::Deliveries;
use super::queue::{Progress, Queue};
use crate::sync::{Arc, MutexGuard, PoisonError, thread};

impl Deliveries {
    /// Has the queue's own thread deliver the waiting items, so that this thread need not wait for
    /// user code.
    pub fn hand_over(self: &Arc<Self>) {
        let mut queue = self.lock();
        let idle = queue.waiting.is_empty() && queue.current.is_none();
        if queue.active || queue.handed_over || idle {
            return;
        }
        if queue.thread.is_some() {
            queue.handed_over = true;
            drop(queue);
            self.needed.notify_one();
            return;
        }
        let generation = queue.generation;
        if !queue.stopped && self.start(&mut queue) {
            return;
        }
        drop(queue);
        self.drain_here(generation);
    }

    /// Starts the queue's own thread, which begins to deliver at once.
    fn start(self: &Arc<Self>, queue: &mut Queue) -> bool {
        let (deliveries, generation) = (Arc::clone(self), queue.generation);
        let thread = thread::Builder::new().name("dflat-deliver".to_owned());
        let started = thread.spawn(move || deliveries.serve(generation)).ok();
        queue.handed_over = started.is_some();
        queue.thread = started;
        queue.handed_over
    }

    /// Delivers on this thread: the queue has no thread of its own any more, or it can't be
    /// started.
    fn drain_here(self: &Arc<Self>, generation: u64) {
        if self.lock().current.is_none() {
            self.drain();
        }
        self.call(generation);
    }

    /// The work of the queue's own thread.
    fn serve(self: &Arc<Self>, generation: u64) {
        loop {
            let idle = |queue: &mut Queue| {
                queue.generation == generation && !queue.handed_over && !queue.stopped
            };
            let waited = self.needed.wait_while(self.lock(), idle);
            let mut queue = waited.unwrap_or_else(PoisonError::into_inner);
            if queue.generation != generation {
                return;
            }
            let stopped = queue.stopped;
            queue.handed_over = false;
            drop(queue);
            self.drain();
            if !self.call(generation) {
                return;
            }
            if stopped {
                return;
            }
        }
    }

    /// Has the watching thread watch the calls that are about to be made.
    pub(super) fn have_watched(self: &Arc<Self>, mut queue: MutexGuard<'_, Queue>) {
        if std::mem::take(&mut queue.unwatched) {
            drop(queue);
            self.begun.notify_one();
        } else if queue.watcher.is_none() && !queue.stopped {
            let deliveries = Arc::clone(self);
            let thread = thread::Builder::new().name("dflat-watcher".to_owned());
            // Without the thread, the queue waits for a call for as long as it takes.
            queue.watcher = thread.spawn(move || deliveries.watch()).ok();
        }
    }

    /// Gives up calls that take too long.
    fn watch(self: &Arc<Self>) {
        let mut timer = CallTimer::new(self.call_limits);
        let mut queue = self.lock();
        while !queue.stopped {
            let Some(at) = queue.progress() else {
                timer.reset();
                queue.unwatched = true;
                let idle = |queue: &mut Queue| queue.unwatched && !queue.stopped;
                let waited = self.begun.wait_while(queue, idle);
                queue = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let crowded = queue.is_crowded() || self.is_behind();
            match timer.check(at, Instant::now(), (crowded, queue.age())) {
                Some(tick) => {
                    let waited = self.begun.wait_timeout(queue, tick);
                    queue = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                None => {
                    drop(queue);
                    self.give_up(Some(at));
                    queue = self.lock();
                }
            }
        }
    }

    /// Lets another thread make the remaining calls; the current thread is left to the call that it
    /// makes. With `at`, does so only if no call has begun or ended since that progress.
    pub(super) fn give_up(self: &Arc<Self>, at: Option<Progress>) {
        let mut queue = self.lock();
        let now = queue.progress();
        if now.is_none() || (at.is_some() && at != now) {
            return;
        }
        if let Some(current) = &mut queue.current {
            current.turn = current.calls.give_up(self.call_limits.quick());
        }
        queue.generation += 1;
        queue.active = false;
        // Not joined: its call may never return.
        queue.thread = None;
        if !queue.stopped {
            self.start(&mut queue);
        }
    }

    /// Ends the queue's own threads when they have nothing to do. With `wait`, returns after they
    /// have ended.
    pub fn stop(&self, wait: bool) {
        let mut queue = self.lock();
        queue.stopped = true;
        let threads = [queue.thread.take(), queue.watcher.take()];
        drop(queue);
        self.needed.notify_all();
        self.begun.notify_all();
        for thread in threads.into_iter().flatten() {
            if wait && thread.thread().id() != thread::current().id() {
                // The thread does not panic.
                let _ = thread.join();
            }
        }
    }
}
