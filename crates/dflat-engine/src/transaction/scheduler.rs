//! Decides which job runs when: conservative two-phase locking of tables, in order of call.
//!
//! A job declares its tables. It runs when it is first in the queue of each of them, and leaves all
//! queues when it has ended. Jobs enter all their queues in one step, so that they have the same
//! order in each queue, and no set of jobs can wait in a circle. Jobs of disjoint tables run at the
//! same time, each on a thread of its own: they may wait for one another. A guest is a job that
//! runs on the thread of its caller. An executor may provide the threads.
//!
//! This file does no I/O and calls no user code except the jobs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::turns::{Job, Queues, Refused, Turn, Turns, Work};
use crate::callback::{self, Executor};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Arc, Condvar, JoinHandle, Mutex, MutexGuard, PoisonError, thread};

/// How long a thread without work waits before it ends: far longer than it takes to start one, and
/// short enough that a program that pauses keeps no thread.
const IDLE: Duration = Duration::from_secs(5);

/// Called after each job, on the job's thread, when its turn has been passed on. The argument says
/// whether another job is about to run.
pub type AfterJob = Box<dyn Fn(bool) + Send + Sync>;

/// Whether jobs of disjoint tables run at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Concurrency {
    /// Jobs of disjoint tables run at the same time, until each of them makes its first change.
    #[default]
    MultiWriter,
    /// One job runs at a time, in order of call.
    SingleWriter,
}

/// Runs jobs on threads of its own, or on those of an executor.
pub struct Scheduler {
    shared: Arc<Shared>,
    concurrency: Concurrency,
}

struct Shared {
    state: Mutex<SchedulerState>,
    /// Signalled when a job is ready for an idle thread.
    ready: Condvar,
    /// Signalled when the last job of a closed scheduler has ended.
    ended: Condvar,
    threads_max: usize,
    after_job: AfterJob,
    /// Provides the threads; without it, the scheduler starts them.
    executor: Option<Arc<Executor>>,
}

#[derive(Default)]
struct SchedulerState {
    turns: Turns,
    running: usize,
    /// The threads that take jobs, those included that the executor has been asked for.
    threads: usize,
    /// How many of them the executor is yet to be asked for.
    unrequested: usize,
    idle: usize,
    /// How many idle threads are yet to be woken.
    unwoken: usize,
    handles: Vec<JoinHandle<()>>,
    closed: bool,
}

impl Scheduler {
    /// A scheduler without jobs, that runs at most `threads_max` at a time.
    #[must_use]
    pub fn new(concurrency: Concurrency, threads_max: usize, after_job: AfterJob) -> Self {
        Self::on(None, concurrency, threads_max, after_job)
    }

    /// As [`new`](Self::new), with an executor that provides the threads. Each job that the
    /// executor gets runs all jobs of the scheduler that are ready. If the executor drops its job,
    /// or runs it before it returns, a thread of the scheduler takes the place of that job.
    #[must_use]
    pub fn on(
        executor: Option<Arc<Executor>>,
        concurrency: Concurrency,
        threads_max: usize,
        after_job: AfterJob,
    ) -> Self {
        let shared = Shared {
            state: Mutex::default(),
            ready: Condvar::new(),
            ended: Condvar::new(),
            threads_max: threads_max.max(1),
            after_job,
            executor,
        };
        Self {
            shared: Arc::new(shared),
            concurrency,
        }
    }

    /// Queues a job for its turn on these tables. Returns at once. The executor is asked when the
    /// returned value is dropped.
    ///
    /// # Errors
    /// The job is given back.
    pub fn enqueue<'t>(
        &self,
        tables: impl IntoIterator<Item = &'t str>,
        job: Box<dyn Job>,
    ) -> Result<ThreadRequests, Refused> {
        let mut state = self.shared.lock();
        let tables = self.queues_of(&mut state, tables);
        self.shared.queue(state, tables, job)
    }

    /// Runs a job on this thread when its turn on these tables comes; it needs none of the
    /// scheduler's threads. Must not be called by a job.
    ///
    /// # Errors
    /// [`ErrorKind::ShutDown`] if the scheduler is closed. The job is dropped then.
    pub fn run_here<'t>(
        &self,
        tables: impl IntoIterator<Item = &'t str>,
        job: impl FnOnce(),
    ) -> Result<()> {
        let turn = Arc::new(Condvar::new());
        let mut state = self.shared.lock();
        state.refuse_if_closed()?;
        let tables = self.queues_of(&mut state, tables);
        let id = state.turns.queue(tables, Work::Guest(Arc::clone(&turn)));
        let is_blocked = |state: &mut SchedulerState| state.turns.is_blocked(id);
        let waited = turn.wait_while(state, is_blocked);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        let Some(tables) = state.turns.admit(id) else {
            return Ok(());
        };
        let goes_on = false;
        let turn = Turn { id, tables };
        let mut state = self.shared.run(state, &turn, job, goes_on);
        // If the scheduler has no thread, this thread runs the jobs that it has made ready.
        while state.threads == 0
            && let Some((turn, job)) = state.turns.next()
        {
            state = self.shared.run(state, &turn, || job.run(), goes_on);
        }
        Ok(())
    }

    /// The queues that a job on these tables enters.
    fn queues_of<'t>(
        &self,
        state: &mut SchedulerState,
        tables: impl IntoIterator<Item = &'t str>,
    ) -> Queues {
        let mut tables: Queues = match self.concurrency {
            Concurrency::MultiWriter => tables
                .into_iter()
                .map(|t| state.turns.queue_of(t))
                .collect(),
            Concurrency::SingleWriter => [state.turns.queue_of("")].into_iter().collect(),
        };
        tables.sort_unstable();
        tables.dedup();
        tables
    }

    /// Queues a job that runs when all jobs queued so far have ended.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    pub fn enqueue_last(&self, job: Box<dyn Job>) -> Result<ThreadRequests, Refused> {
        let state = self.shared.lock();
        let tables = state.turns.all();
        self.shared.queue(state, tables, job)
    }

    /// Refuses further jobs. Those queued run.
    pub fn refuse(&self) {
        self.shared.lock().closed = true;
    }

    /// Refuses further jobs, waits for those queued, and ends the threads. Must not be called by a
    /// job.
    pub fn close(&self) {
        let mut state = self.shared.lock();
        state.closed = true;
        let busy = |state: &mut SchedulerState| state.running > 0 || !state.turns.is_empty();
        let waited = self.shared.ended.wait_while(state, busy);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        let handles = std::mem::take(&mut state.handles);
        drop(state);
        self.shared.ready.notify_all();
        for handle in handles {
            // A job's panic was caught where it ran.
            let _ = handle.join();
        }
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        // The threads end by themselves when all is done.
        self.shared.lock().closed = true;
        self.shared.ready.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, SchedulerState> {
        // Jobs run without the lock, so that no panic can leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a job, and starts it if its turn has come.
    fn queue(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, SchedulerState>,
        tables: Queues,
        job: Box<dyn Job>,
    ) -> Result<ThreadRequests, Refused> {
        if let Err(error) = state.refuse_if_closed() {
            return Err(Refused { job, error });
        }
        let id = state.turns.queue(tables, Work::Job(job));
        if !state.turns.is_ready(id) {
            return Ok(ThreadRequests::NONE);
        }
        let Err(error) = self.provide_thread(&mut state) else {
            return Ok(self.request_threads(state));
        };
        match state.turns.withdraw(id) {
            Some(job) => Err(Refused { job, error }),
            None => Ok(ThreadRequests::NONE),
        }
    }

    /// Has a thread take a job that has become ready.
    fn provide_thread(self: &Arc<Self>, state: &mut SchedulerState) -> Result<()> {
        if state.idle >= state.turns.ready() || state.threads >= self.threads_max {
            state.unwoken += 1;
            return Ok(());
        }
        if self.executor.is_some() {
            state.threads += 1;
            state.unrequested += 1;
            return Ok(());
        }
        self.start_thread(state)
    }

    /// Starts a thread of the scheduler.
    fn start_thread(self: &Arc<Self>, state: &mut SchedulerState) -> Result<()> {
        let shared = Arc::clone(self);
        let name = format!("dflat-{}", state.threads);
        match thread::Builder::new()
            .name(name)
            .spawn(move || shared.work(Some(IDLE)))
        {
            Ok(handle) => {
                state.threads += 1;
                state.handles.push(handle);
                Ok(())
            }
            // A running thread will take the job.
            Err(_) if state.threads > 0 => Ok(()),
            Err(error) => Err(Error::with_source(
                ErrorKind::Io,
                "no thread can be started",
                error,
            )),
        }
    }

    /// Wakes the idle threads that were provided for, and returns the requests for the others. The
    /// threads are woken without the lock, for which they would wait.
    fn request_threads(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, SchedulerState>,
    ) -> ThreadRequests {
        let count = std::mem::take(&mut state.unrequested);
        let unwoken = std::mem::take(&mut state.unwoken);
        drop(state);
        (0..unwoken).for_each(|_| self.ready.notify_one());
        let shared = (count > 0).then(|| Arc::clone(self));
        ThreadRequests { shared, count }
    }

    /// Runs jobs until there have been none for this time; without a time, until there is none.
    fn work(self: &Arc<Self>, patience: Option<Duration>) {
        let mut state = self.lock();
        loop {
            if let Some((turn, job)) = state.turns.next() {
                state = self.run(state, &turn, || job.run(), true);
                continue;
            }
            if state.closed && state.turns.is_empty() {
                break;
            }
            let Some(patience) = patience else { break };
            state.idle += 1;
            let waited = self.ready.wait_timeout(state, patience);
            let (woken, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if timeout.timed_out() && state.turns.ready() == 0 {
                break;
            }
        }
        state.threads -= 1;
        if !state.closed {
            // No other thread will join this one.
            let this = thread::current().id();
            state.handles.retain(|handle| handle.thread().id() != this);
        }
    }

    /// Runs a job whose turn has come and, if this thread `goes_on`, the jobs that are ready when
    /// it ends.
    fn run<'s>(
        self: &'s Arc<Self>,
        mut state: MutexGuard<'s, SchedulerState>,
        turn: &Turn,
        job: impl FnOnce(),
        goes_on: bool,
    ) -> MutexGuard<'s, SchedulerState> {
        state.running += 1;
        drop(state);
        let mut next = self.run_one(turn, job, goes_on);
        while let Some((turn, job)) = next {
            next = self.run_one(&turn, || job.run(), goes_on);
        }
        let mut state = self.lock();
        state.running -= 1;
        if state.closed && state.running == 0 && state.turns.is_empty() {
            self.ended.notify_all();
        }
        state
    }

    /// Runs a job whose turn has come, passes the turn on, and calls `after_job`. If this thread
    /// `goes_on`, returns the next job for it. That job is chosen at once, so that the lock is
    /// taken once for each of many jobs.
    fn run_one(
        self: &Arc<Self>,
        turn: &Turn,
        job: impl FnOnce(),
        goes_on: bool,
    ) -> Option<(Turn, Box<dyn Job>)> {
        // A panic of user code is caught where that code runs. No other panic may keep the turn
        // from being passed on.
        let _ = catch_unwind(AssertUnwindSafe(job));
        let mut state = self.lock();
        let readied = state.turns.leave(turn);
        let next = if goes_on { state.turns.next() } else { None };
        for _ in usize::from(goes_on)..readied {
            // If no thread can be started, a thread that goes on takes the job.
            let _ = self.provide_thread(&mut state);
        }
        let more = next.is_some() || state.turns.ready() > 0 || state.turns.summoned() > 0;
        drop(self.request_threads(state));
        let _ = catch_unwind(AssertUnwindSafe(|| (self.after_job)(more)));
        next
    }
}

/// Requests for threads of the executor. The executor, which is code of the program, is asked when
/// they are dropped: without any lock.
pub struct ThreadRequests {
    shared: Option<Arc<Shared>>,
    count: usize,
}

impl ThreadRequests {
    const NONE: Self = Self {
        shared: None,
        count: 0,
    };
}

impl Drop for ThreadRequests {
    fn drop(&mut self) {
        let Some(shared) = self.shared.take() else {
            return;
        };
        let Some(executor) = &shared.executor else {
            return;
        };
        for _ in 0..self.count {
            let request = ThreadRequest(Some(Arc::clone(&shared)));
            let job = Box::new(move || request.work());
            // If the executor panics, the job is dropped.
            let _ = callback::run("an executor", || executor(job));
        }
    }
}

/// The request for a thread of the executor, until that thread has run all jobs that are ready.
struct ThreadRequest(Option<Arc<Shared>>);

impl ThreadRequest {
    fn work(mut self) {
        // An executor that runs its job before it returns is refused: the job would be nested in
        // the caller's code, which may be a handler with write access.
        if !callback::is_running()
            && let Some(shared) = self.0.take()
        {
            shared.work(None);
        }
    }
}

impl Drop for ThreadRequest {
    fn drop(&mut self) {
        let Some(shared) = self.0.take() else { return };
        let mut state = shared.lock();
        state.threads -= 1;
        if state.turns.ready() > 0 {
            // Without a thread, the next job that becomes ready asks again.
            let _ = shared.start_thread(&mut state);
        }
    }
}

impl SchedulerState {
    fn refuse_if_closed(&self) -> Result<()> {
        if self.closed {
            let message = "the workspace is shut down";
            return Err(Error::new(ErrorKind::ShutDown, message));
        }
        Ok(())
    }
}
