//! The queue of ended transactions, which are delivered one after the other in the order of the
//! commits: subscribers are notified, then the completion is called.
//!
//! The queue's own thread notifies subscribers, so that no committing thread waits for them. If a
//! call takes too long, it is left to that thread, and another thread goes on with the queue.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use dflat_model::{CommitSeq, Table};

use super::call_limits::CallLimits;
use super::queue::{Deliver, Item, Pushed, Queue, RunningItem, alone};
use crate::change_set::{ChangeSet, Completion, Ended};
use crate::error::Result;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The longest time that a transaction waits at its end, for each `unmatched_max` rows that wait to
/// be matched. The time grows with the number of these rows, so this number stays within a multiple
/// of the bound, however slow matching is.
const HELD_MAX: Duration = Duration::from_secs(1);

/// How often a waiting transaction checks whether it still has to wait. It is woken when it has
/// not; the check bounds the wait by time, to one hundredth of [`HELD_MAX`].
const HELD_TICK: Duration = Duration::from_millis(10);

/// A queue that one thread at a time empties.
pub struct Deliveries {
    deliver: Box<dyn Deliver>,
    /// How long items may wait for calls before the running call is left to its thread.
    pub(super) call_limits: CallLimits,
    /// Limit of the changed rows that wait to be matched with subscriptions.
    unmatched_max: usize,
    queue: Mutex<Queue>,
    /// Number of changed rows that wait to be matched.
    pub(super) unmatched: AtomicUsize,
    /// Number of registrations that were pushed and not yet made.
    pub(super) registering: AtomicUsize,
    /// Number of threads that wait for a delivery.
    waiters: AtomicUsize,
    /// Signalled, while a thread waits, after each item and when the queue is empty.
    done: Condvar,
    /// Signalled when the queue's own thread is needed.
    pub(super) needed: Condvar,
    /// Signalled when the thread that watches the calls is needed.
    pub(super) begun: Condvar,
}

impl Deliveries {
    /// An empty queue. `deliver` is called for each transaction that has ended, one at a time and
    /// in the order of the commits. When an item has waited for `patience`, or many wait, the call
    /// that is being made is left to its thread. Transactions wait in [`hold`](Self::hold) while
    /// more than `unmatched_max` changed rows wait to be matched.
    #[must_use]
    pub fn new(deliver: Box<dyn Deliver>, patience: Duration, unmatched_max: usize) -> Self {
        Self {
            deliver,
            call_limits: CallLimits(patience),
            unmatched_max,
            queue: Mutex::default(),
            unmatched: AtomicUsize::new(0),
            registering: AtomicUsize::new(0),
            waiters: AtomicUsize::new(0),
            done: Condvar::new(),
            needed: Condvar::new(),
            begun: Condvar::new(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Queue> {
        // No user code runs under the lock.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues transactions that have ended, in this order.
    pub fn push(&self, ended: impl IntoIterator<Item = Ended>) {
        let now = Instant::now();
        let mut rows = 0;
        let mut queue = self.lock();
        for ended in ended {
            if let Ok(Some(changes)) = &ended.outcome {
                queue.note(changes);
                rows += changes.unmatched_count();
            }
            queue.waiting.push_back((now, Item::Ended(ended)));
            queue.pushed += 1;
        }
        // Under the lock: the thread that takes these items out subtracts their rows.
        self.unmatched.fetch_add(rows, Ordering::Relaxed);
    }

    /// Whether a subscriber may keep objects of a table that it is notified of. It waits for no
    /// lock.
    #[must_use]
    pub fn is_observed(&self, table: &Table) -> bool {
        self.deliver.is_observed(table)
    }

    /// Whether a commit to a table that is made now may have a subscriber to notify: a subscriber
    /// that is registered, or whose registration waits in the queue.
    #[must_use]
    pub fn may_be_observed(&self, table: &Table) -> bool {
        // Order: a registration is counted until it is made.
        self.registering.load(Ordering::Acquire) > 0 || self.is_observed(table)
    }

    /// The latest commit that changed a table, delivered or not. After a foreign write, at least
    /// the commit that follows that write, even if it is not made yet.
    #[must_use]
    pub fn changed(&self, table: &Table) -> CommitSeq {
        let queue = self.lock();
        queue.latest_change(table).max(queue.overtaken)
    }

    /// Delivers the waiting items, unless another thread does so. If subscribers are to be
    /// notified, the queue's own thread goes on.
    pub fn drain(self: &Arc<Self>) {
        let mut queue = self.lock();
        if queue.active {
            return;
        }
        queue.active = true;
        while queue.current.is_none() && !queue.waiting.is_empty() {
            // Order: all items at once, so that threads that commit meanwhile need not wait for the
            // lock.
            let mut items = std::mem::take(&mut queue.waiting);
            drop(queue);
            let current = self.until_calls(&mut items);
            queue = self.lock();
            queue.current = current;
            // The remaining items go before those pushed meanwhile; their memory serves the next
            // batch.
            items.append(&mut queue.waiting);
            queue.waiting = items;
        }
        queue.active = false;
        let calls = queue.current.is_some();
        drop(queue);
        if calls {
            self.hand_over();
        }
        if self.waiters.load(Ordering::Acquire) > 0 {
            self.done.notify_all();
        }
    }

    /// Delivers items up to the first one with subscribers to notify, which it returns.
    fn until_calls(&self, items: &mut VecDeque<Pushed>) -> Option<RunningItem> {
        let mut uncounted = 0;
        let mut current = None;
        while let Some((since, item)) = items.pop_front() {
            current = self.begin(since, item);
            if current.is_some() {
                break;
            }
            uncounted += 1;
            if self.waiters.load(Ordering::Acquire) > 0 {
                self.lock().delivered += std::mem::take(&mut uncounted);
                self.done.notify_all();
            }
        }
        self.lock().delivered += uncounted;
        current
    }

    /// Waits while more than `unmatched_max` changed rows wait to be matched: commits that come
    /// faster than they can be matched would take ever more memory. It does not wait for a slow
    /// subscriber: the call of that subscriber is given up. Called without a lock or the write
    /// access, and with no turn except that of the transaction which this thread runs next.
    pub fn hold(&self) {
        // After most commits, matching is not behind: they take no lock.
        if !self.is_behind() {
            return;
        }
        let begun = Instant::now();
        let mut queue = self.lock();
        // Under the lock: the matching thread counts finished work before it looks for waiters
        // again.
        self.waiters.fetch_add(1, Ordering::AcqRel);
        while self.is_behind() && begun.elapsed() < self.held_max() {
            let waited = self.done.wait_timeout(queue, HELD_TICK);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        self.waiters.fetch_sub(1, Ordering::AcqRel);
    }

    pub(super) fn is_behind(&self) -> bool {
        self.unmatched.load(Ordering::Relaxed) > self.unmatched_max
    }

    fn held_max(&self) -> Duration {
        let times = self.unmatched.load(Ordering::Relaxed) / self.unmatched_max.max(1);
        HELD_MAX.saturating_mul(u32::try_from(times).unwrap_or(u32::MAX))
    }

    /// Begins an item; if there are no calls to make, ends it.
    fn begin(&self, since: Instant, item: Item) -> Option<RunningItem> {
        let (mut changes, completion) = match item {
            Item::Followed(changes) => (changes, None),
            Item::Registration(register) => {
                let calls = alone(since, register);
                self.registering.fetch_sub(1, Ordering::AcqRel);
                return calls;
            }
            Item::Foreign => return alone(since, || self.deliver.renew()),
            Item::Reread(rows) => return alone(since, || self.deliver.reread(&rows)),
            Item::Ended(Ended {
                outcome,
                completion,
            }) => match outcome {
                Ok(Some(changes)) => (changes, Some(completion)),
                Ok(None) => return self.complete(Ok(()), None, Some(completion)),
                Err(error) => return self.complete(Err(error), None, Some(completion)),
            },
        };
        let rows = changes.unmatched_count();
        // The completion is called even if publishing panics.
        let calls = catch_unwind(AssertUnwindSafe(|| self.deliver.publish(&changes)));
        // All rows are read by now.
        changes.state = None;
        // Order: before the completion is called, because these rows are matched by now.
        self.unmatched.fetch_sub(rows, Ordering::Relaxed);
        match calls.ok().flatten() {
            None => self.complete(Ok(()), Some(changes), completion),
            Some(calls) => Some(RunningItem {
                since,
                calls,
                turn: 0,
                ended: Some((changes, completion)),
            }),
        }
    }

    fn complete(
        &self,
        outcome: Result<()>,
        changes: Option<ChangeSet>,
        completion: Option<Completion>,
    ) -> Option<RunningItem> {
        if let Some(completion) = completion {
            // A completion is user code: its panic is caught where it runs. Any other panic ends
            // here.
            let _ = catch_unwind(AssertUnwindSafe(|| {
                self.deliver.complete(outcome, completion)
            }));
        }
        // Order: the change set is dropped last, so that no caller waits while many objects are
        // released.
        drop(changes);
        None
    }

    /// Makes the pending calls, as the queue's own thread. Returns false if another thread has
    /// taken its place.
    pub(super) fn call(self: &Arc<Self>, generation: u64) -> bool {
        loop {
            let mut queue = self.lock();
            if queue.generation != generation {
                return false;
            }
            if queue.active {
                return true;
            }
            let Some(current) = &queue.current else {
                return true;
            };
            let (calls, turn) = (Arc::clone(&current.calls), current.turn);
            queue.active = true;
            self.have_watched(queue);
            let made = AssertUnwindSafe(|| while calls.make_next(turn) {});
            // A panic of user code is caught where that code runs. Any other panic ends here.
            let _ = catch_unwind(made);
            let mut queue = self.lock();
            if queue.generation != generation {
                return false;
            }
            let current = queue.current.take();
            drop(queue);
            if let Some((changes, completion)) = current.and_then(|current| current.ended) {
                self.complete(Ok(()), Some(changes), completion);
            }
            let mut queue = self.lock();
            queue.delivered += 1;
            queue.active = false;
            drop(queue);
            if self.waiters.load(Ordering::Acquire) > 0 {
                self.done.notify_all();
            }
            // Order: the calls keep replaced objects. They are dropped after all subscribers were
            // notified, and before more items are matched.
            drop(calls);
            self.drain();
        }
    }

    /// Waits until everything pushed so far is delivered.
    pub fn wait(self: &Arc<Self>) {
        let target = self.lock().pushed;
        loop {
            self.drain();
            let queue = self.lock();
            if queue.delivered >= target {
                return;
            }
            // Under the lock: the delivering thread counts finished work before it looks for
            // waiters again.
            self.waiters.fetch_add(1, Ordering::AcqRel);
            let busy = |queue: &mut Queue| {
                queue.delivered < target && (queue.active || queue.current.is_some())
            };
            let waited = self.done.wait_while(queue, busy);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
            self.waiters.fetch_sub(1, Ordering::AcqRel);
        }
    }
}
