//! Calling a subscriber's function: one call at a time, in order, and none after its end.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::mailbox::{Absorb, Mailbox};
use crate::callback;
use crate::error::Error;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, thread};

type Function<E> = Box<dyn FnMut(E) + Send>;

/// A piece of work for an executor.
pub type Job = Box<dyn FnOnce() + Send>;

/// How many calls a job of an executor makes, before another is asked for.
const JOB_CALLS_MAX: usize = 16;

/// Runs jobs, on a thread of its choice.
pub type Executor = dyn Fn(Job) + Send + Sync;

/// A subscriber's function, what waits for it, and whether it may still be called; and where it is
/// registered, because both are asked for together.
pub struct Notifier<E, R> {
    /// Where it is registered.
    pub registration: R,
    /// Who calls; whoever delivers, if there is none. Most have none.
    executor: Option<Box<Arc<Executor>>>,
    cancelled: AtomicBool,
    state: Mutex<State<E>>,
    /// Signalled, while somebody waits, when a call has ended.
    returned: Condvar,
}

struct State<E> {
    /// `None` while it is called, and at the end.
    function: Option<Function<E>>,
    /// How many deliveries wait at most.
    capacity: u32,
    /// Somebody is about to call for all that waits.
    served: bool,
    /// A call is running.
    calling: bool,
    /// Somebody waits for it to end.
    awaited: bool,
    /// What a subscriber who is quick has none of: most wait for long, and there may be many.
    backlog: Option<Box<Backlog<E>>>,
}

/// What waits for a subscriber, and what is noted of it.
struct Backlog<E> {
    mailbox: Mailbox<E>,
    /// A call took too long: nobody waits for one, until one took less than this and nothing
    /// waits any more.
    slow: Option<Duration>,
    error: Option<Error>,
}

impl<E: Absorb> State<E> {
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

    /// Nothing waits any more: `quick` if the last call was.
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

    /// Takes out the function and what waits for it.
    fn end(&mut self) -> Option<Ended<E>> {
        let function = self.function.take()?;
        let waiting = self.mailbox().map(Mailbox::take);
        Some((function, waiting))
    }
}

/// A function that is not called again, and what waited for it.
type Ended<E> = (Function<E>, Option<VecDeque<E>>);

impl<E: Absorb + Send + 'static, R: Send + Sync + 'static> Notifier<E, R> {
    /// A function that is called by the executor, or where deliveries are made, and for which so
    /// many deliveries wait at most.
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
            state: Mutex::new(State {
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

    fn lock(&self) -> MutexGuard<'_, State<E>> {
        // No user code runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Delivers something: calls the function, or has it called, for it and what waits before it.
    /// If somebody is at it, it waits for them.
    pub fn deliver(self: &Arc<Self>, event: E) {
        let mut state = self.lock();
        if self.is_cancelled() {
            drop(state);
            return;
        }
        let served = std::mem::replace(&mut state.served, true);
        let slow = state.slow().is_some();
        let idle = state.mailbox().is_none_or(|mailbox| mailbox.is_empty());
        // The common case: it is called here and now, so that nothing has to wait.
        if !served && !slow && idle && self.executor.is_none() {
            self.serve(state, Some(event), usize::MAX);
            return;
        }
        state.backlog().mailbox.push(event);
        drop(state);
        if served {
            return;
        }
        let service = Service(Some(Arc::clone(self)));
        match &self.executor {
            Some(executor) => service.submit(executor),
            None if slow => {
                let thread = thread::Builder::new().name("dflat-slow".to_owned());
                // Without a thread the job is dropped, and the next delivery tries again.
                let _ = thread.spawn(move || service.run());
            }
            None => service.run(),
        }
    }

    /// Calls the function for an event, if there is one, and for what waits, without the lock;
    /// false if that was so much that more waits.
    fn serve<'t>(
        &'t self,
        mut state: MutexGuard<'t, State<E>>,
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
            // Order: what it holds is gone before anybody hears that no call is running.
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

    /// Lets nobody wait for a call: they are made on a thread of their own, and what comes
    /// meanwhile is made one; until one took less than `quick`, and all that waited is told.
    pub fn give_up(&self, quick: Duration) {
        self.lock().backlog().slow = Some(quick);
    }

    /// Whether nobody waits for it, because it was too slow.
    pub fn is_slow(&self) -> bool {
        self.lock().slow().is_some()
    }

    /// Whether the function will not be called again.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Why it has ended, if not because it was cancelled.
    pub fn error(&self) -> Option<Error> {
        self.lock().backlog.as_ref()?.error.clone()
    }

    /// Ends it with an error.
    pub fn fail(&self, error: Error) {
        self.lock().backlog().error = Some(error);
        self.cancel(false);
    }

    /// How many deliveries were made one with the one before.
    pub fn coalesced(&self) -> u64 {
        let mut state = self.lock();
        state.mailbox().map_or(0, |mailbox| mailbox.coalesced())
    }

    /// Stops calling the function. With `wait`, a call that is running has ended when this returns.
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

/// Drops what belongs to a user: it may be the last workspace, whose end must not be waited for.
fn release<D>(dropped: D) {
    let _ = callback::run("the end of a subscription", || drop(dropped));
}

/// Somebody who is to call for all that waits; if they are dropped instead, the next delivery finds
/// somebody else.
struct Service<E: Absorb + Send + 'static, R: Send + Sync + 'static>(Option<Arc<Notifier<E, R>>>);

impl<E: Absorb + Send + 'static, R: Send + Sync + 'static> Service<E, R> {
    fn run(mut self) {
        if let Some(notifier) = self.0.take() {
            notifier.serve(notifier.lock(), None, usize::MAX);
        }
    }

    /// Has the function called by jobs of the executor, which end however much comes meanwhile.
    fn submit(self, executor: &Arc<Executor>) {
        let next = Arc::clone(executor);
        let job = Box::new(move || {
            // An executor that runs its jobs at once would run them inside each other.
            if callback::is_running() {
                self.run();
            } else {
                self.run_some(&next);
            }
        });
        // An executor that panics has dropped the job.
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

    /// It is served no more: whoever delivers next finds somebody else.
    fn finish(mut self) {
        self.0 = None;
    }
}

impl<E: Absorb + Send + 'static, R: Send + Sync + 'static> Drop for Service<E, R> {
    fn drop(&mut self) {
        if let Some(notifier) = &self.0 {
            notifier.lock().served = false;
        }
    }
}
