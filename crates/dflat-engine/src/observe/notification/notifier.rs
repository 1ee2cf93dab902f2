//! Calls a subscriber's callback: one call at a time, in order, and none after its end.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::mailbox::{Absorb, Mailbox};
use crate::callback::{self, Executor};
use crate::error::Error;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, thread};

type Function<E> = Box<dyn FnMut(E) + Send>;

/// The largest number of calls that a job makes. For further calls, the executor gets another job,
/// so that a busy subscriber does not keep a thread of the executor from other jobs.
const JOB_CALLS_MAX: usize = 16;

/// A subscriber's callback with its queue and state. It also has the subscriber's registration, so
/// that a subscriber is one allocation.
pub struct Notifier<E, R> {
    /// The registration of the subscriber.
    pub registration: R,
    /// Runs the calls; without an executor, the thread that delivers makes them. Most subscribers
    /// have none, so that it is boxed.
    executor: Option<Box<Arc<Executor>>>,
    cancelled: AtomicBool,
    state: Mutex<NotifierState<E>>,
    /// Signalled when a call has ended, if a thread waits for that.
    returned: Condvar,
}

struct NotifierState<E> {
    /// The callback; `None` while it is called, and after the end.
    function: Option<Function<E>>,
    /// The largest number of deliveries that wait.
    capacity: u32,
    /// Whether a thread or job is going to deliver everything that waits.
    served: bool,
    /// Whether a call is running.
    calling: bool,
    /// Whether a thread waits for the call to end.
    awaited: bool,
    /// Waiting deliveries and the like. Subscribers that keep up have none, which saves memory:
    /// there may be many, and most are idle.
    backlog: Option<Box<Backlog<E>>>,
}

/// The waiting deliveries of a subscriber, and its rarely used state.
struct Backlog<E> {
    mailbox: Mailbox<E>,
    /// Set when a call took too long: no thread waits for calls until one took less than this time
    /// and no delivery waits.
    slow: Option<Duration>,
    error: Option<Error>,
}

impl<E: Absorb> NotifierState<E> {
    fn backlog(&mut self) -> &mut Backlog<E> {
        let capacity = self.capacity;
        self.backlog.get_or_insert_with(|| {
            Box::new(Backlog {
                mailbox: Mailbox::new(capacity as usize),
                slow: None,
                error: None,
            })
        })
    }

    fn mailbox(&mut self) -> Option<&mut Mailbox<E>> {
        Some(&mut self.backlog.as_mut()?.mailbox)
    }

    fn slow(&self) -> Option<Duration> {
        self.backlog.as_ref()?.slow
    }

    /// Notes that no delivery waits; `quick` states whether the last call was quick.
    fn rest(&mut self, quick: bool) {
        self.served = false;
        let Some(backlog) = &mut self.backlog else {
            return;
        };
        if quick {
            backlog.slow = None;
        }
        let noted = backlog.slow.is_some() || backlog.error.is_some();
        if !noted && backlog.mailbox.is_empty() && backlog.mailbox.coalesced() == 0 {
            self.backlog = None;
        }
    }

    /// Takes the callback and its waiting deliveries.
    fn end(&mut self) -> Option<Ended<E>> {
        let function = self.function.take()?;
        let waiting = self.mailbox().map(Mailbox::take);
        Some((function, waiting))
    }
}

/// A callback that is not called again, and its waiting deliveries.
type Ended<E> = (Function<E>, Option<VecDeque<E>>);

impl<E: Absorb + Send + 'static, R: Send + Sync + 'static> Notifier<E, R> {
    /// A notifier whose callback is called by the executor, or, without one, by the thread that
    /// delivers. At most `capacity` deliveries wait.
    pub fn new(
        executor: Option<Arc<Executor>>,
        capacity: usize,
        function: Function<E>,
        registration: R,
    ) -> Self {
        Self {
            registration,
            executor: executor.map(Box::new),
            cancelled: AtomicBool::new(false),
            state: Mutex::new(NotifierState {
                function: Some(function),
                capacity: u32::try_from(capacity).unwrap_or(u32::MAX),
                served: false,
                calling: false,
                awaited: false,
                backlog: None,
            }),
            returned: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, NotifierState<E>> {
        // No user code runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Delivers an event: calls the callback, or has the executor call it, for waiting events and
    /// then for this one. If another thread is delivering, the event waits for that thread.
    pub fn deliver(self: &Arc<Self>, event: E) {
        let mut state = self.lock();
        if self.is_cancelled() {
            drop(state);
            return;
        }
        let served = std::mem::replace(&mut state.served, true);
        let slow = state.slow().is_some();
        let idle = state.mailbox().is_none_or(|mailbox| mailbox.is_empty());
        // The common case: called on this thread, without the mailbox.
        if !served && !slow && idle && self.executor.is_none() {
            self.serve(state, Some(event), usize::MAX);
            return;
        }
        state.backlog().mailbox.push(event);
        drop(state);
        if served {
            return;
        }
        let duty = DeliveryDuty(Some(Arc::clone(self)));
        match &self.executor {
            Some(executor) => duty.submit(executor),
            None if slow => {
                let thread = thread::Builder::new().name("dflat-slow".to_owned());
                // If the thread can't be started, the next delivery tries again.
                let _ = thread.spawn(move || duty.run());
            }
            None => duty.run(),
        }
    }

    /// Calls the callback for an event, if there is one, and then for all that wait, without the
    /// lock. Returns false if events still wait after `calls_max` calls.
    fn serve<'t>(
        &'t self,
        mut state: MutexGuard<'t, NotifierState<E>>,
        mut first: Option<E>,
        calls_max: usize,
    ) -> bool {
        let (mut quick, mut calls) = (false, 0);
        loop {
            let more = state.mailbox().is_some_and(|mailbox| !mailbox.is_empty());
            if calls == calls_max && more {
                return false;
            }
            calls += 1;
            let next = first.take().or_else(|| state.mailbox()?.pop());
            let next = next.filter(|_| !self.is_cancelled());
            let Some((event, mut function)) = next.and_then(|e| Some((e, state.function.take()?)))
            else {
                state.rest(quick);
                drop(state);
                return true;
            };
            state.calling = true;
            let measured = state.slow().map(|quick| (Instant::now(), quick));
            drop(state);
            let called = callback::run("a subscription's callback", || function(event));
            quick = measured.is_some_and(|(begun, quick)| begun.elapsed() < quick);
            state = self.lock();
            if let Err(error) = called {
                state.backlog().error = Some(error);
                self.cancelled.store(true, Ordering::Release);
            }
            state.function = Some(function);
            // Order: the callback is dropped before any thread learns that no call is running.
            let ended = if self.is_cancelled() {
                state.end()
            } else {
                None
            };
            if ended.is_some() {
                drop(state);
                release(ended);
                state = self.lock();
            }
            state.calling = false;
            if std::mem::take(&mut state.awaited) {
                self.returned.notify_all();
            }
        }
    }

    /// From now on, no thread waits for calls: a thread of this subscriber makes them, and events
    /// that come meanwhile are merged. This ends when a call took less than `quick` and no event
    /// waits.
    pub fn give_up(&self, quick: Duration) {
        self.lock().backlog().slow = Some(quick);
    }

    /// Whether no thread waits for calls, because one was too slow.
    pub fn is_slow(&self) -> bool {
        self.lock().slow().is_some()
    }

    /// Whether the callback will not be called again.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// The error that ended the subscription, if any.
    pub fn error(&self) -> Option<Error> {
        self.lock().backlog.as_ref()?.error.clone()
    }

    /// Ends the subscription with an error.
    pub fn fail(&self, error: Error) {
        self.lock().backlog().error = Some(error);
        self.cancel(false);
    }

    /// The number of deliveries that were merged with the one before them.
    pub fn coalesced(&self) -> u64 {
        let mut state = self.lock();
        state.mailbox().map_or(0, |mailbox| mailbox.coalesced())
    }

    /// Cancels the callback. With `wait`, no call is running when this returns.
    pub fn cancel(&self, wait: bool) {
        self.cancelled.store(true, Ordering::Release);
        let mut state = self.lock();
        let mut ended = state.end();
        while wait && state.calling {
            state.awaited = true;
            state = self
                .returned
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            ended = ended.or_else(|| state.end());
        }
        drop(state);
        release(ended);
    }
}

/// Drops values of the user. This is marked as user code: the values may contain the last handle on
/// a workspace, and this thread must not wait for the end of that workspace.
fn release<D>(dropped: D) {
    let _ = callback::run("the end of a subscription", || drop(dropped));
}

/// The duty to deliver everything that waits. If it is dropped instead, the next delivery takes it
/// over.
struct DeliveryDuty<E: Absorb + Send + 'static, R: Send + Sync + 'static>(
    Option<Arc<Notifier<E, R>>>,
);

impl<E: Absorb + Send + 'static, R: Send + Sync + 'static> DeliveryDuty<E, R> {
    fn run(mut self) {
        if let Some(notifier) = self.0.take() {
            notifier.serve(notifier.lock(), None, usize::MAX);
        }
    }

    /// Delivers by jobs of the executor. Each job makes a bounded number of calls.
    fn submit(self, executor: &Arc<Executor>) {
        let next = Arc::clone(executor);
        let job = Box::new(move || {
            // If the executor runs jobs at once, they would be nested.
            if callback::is_running() {
                self.run();
            } else {
                self.run_some(&next);
            }
        });
        // If the executor panics, the job is dropped.
        let _ = callback::run("an executor", || executor(job));
    }

    fn run_some(self, executor: &Arc<Executor>) {
        let done = match &self.0 {
            Some(notifier) => notifier.serve(notifier.lock(), None, JOB_CALLS_MAX),
            None => true,
        };
        if done {
            self.finish();
        } else {
            self.submit(executor);
        }
    }

    /// Ends the duty after everything was delivered.
    fn finish(mut self) {
        self.0 = None;
    }
}

impl<E: Absorb + Send + 'static, R: Send + Sync + 'static> Drop for DeliveryDuty<E, R> {
    fn drop(&mut self) {
        if let Some(notifier) = &self.0 {
            notifier.lock().served = false;
        }
    }
}
