//! Decides which job runs when: conservative two-phase locking of tables, in order of call.
//!
//! A job names its tables. It runs when it is first in the queue of each of them, and leaves all
//! queues when it has ended. Jobs enter all their queues in one step, so that they stand in the
//! same order in each, and no set of jobs can wait in a circle. Jobs of disjoint tables run at the
//! same time, each on a thread of its own: they may wait for one another.
//!
//! This file does no I/O and calls no user code but the jobs.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};

/// How long a thread without work stays.
const IDLE: Duration = Duration::from_secs(5);

/// Work on some tables.
pub type Job = Box<dyn FnOnce() + Send>;

/// What is called after each job, on its thread, when its turn has been passed on; it is told
/// whether another job is about to run.
pub type AfterJob = Box<dyn Fn(bool) + Send + Sync>;

/// Whether jobs of disjoint tables run at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Concurrency {
    /// They do, up to the first change each makes.
    #[default]
    MultiWriter,
    /// One job runs at a time, in order of call.
    SingleWriter,
}

/// Runs jobs on threads of its own.
pub struct Scheduler {
    shared: Arc<Shared>,
    concurrency: Concurrency,
}

struct Shared {
    state: Mutex<State>,
    /// Signalled when a job is ready for an idle thread.
    ready: Condvar,
    /// Signalled when the last job of a closed scheduler has ended.
    ended: Condvar,
    threads_max: usize,
    after_job: AfterJob,
}

#[derive(Default)]
struct State {
    /// The jobs that wait for or hold a table's turn, the holder first, by table.
    queues: HashMap<String, VecDeque<u64>>,
    /// The jobs that have not started.
    waiting: HashMap<u64, Waiting>,
    /// The jobs whose turn has come on all their tables.
    ready: VecDeque<u64>,
    next_id: u64,
    running: usize,
    threads: usize,
    idle: usize,
    handles: Vec<JoinHandle<()>>,
    closed: bool,
}

struct Waiting {
    job: Job,
    tables: Vec<String>,
    /// The tables on which another job is first.
    blocked: usize,
}

impl Scheduler {
    /// A scheduler without jobs, that runs at most `threads_max` at a time.
    #[must_use]
    pub fn new(concurrency: Concurrency, threads_max: usize, after_job: AfterJob) -> Self {
        let shared = Shared {
            state: Mutex::default(),
            ready: Condvar::new(),
            ended: Condvar::new(),
            threads_max: threads_max.max(1),
            after_job,
        };
        Self {
            shared: Arc::new(shared),
            concurrency,
        }
    }

    /// Queues a job for its turn on these tables. Returns at once.
    ///
    /// # Errors
    /// [`ErrorKind::ShutDown`] if the scheduler is closed, [`ErrorKind::Io`] if there is no thread
    /// and none can be started. The job is dropped then.
    pub fn enqueue<'t>(&self, tables: impl IntoIterator<Item = &'t str>, job: Job) -> Result<()> {
        let mut tables: Vec<String> = match self.concurrency {
            Concurrency::MultiWriter => tables.into_iter().map(str::to_owned).collect(),
            Concurrency::SingleWriter => vec![String::new()],
        };
        tables.sort_unstable();
        tables.dedup();
        self.queue(self.shared.lock(), tables, job)
    }

    /// Queues a job that runs when all jobs queued so far have ended.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    pub fn enqueue_last(&self, job: Job) -> Result<()> {
        let state = self.shared.lock();
        let tables = state.queues.keys().cloned().collect();
        self.queue(state, tables, job)
    }

    fn queue(&self, mut state: MutexGuard<'_, State>, tables: Vec<String>, job: Job) -> Result<()> {
        if state.closed {
            return Err(Error::new(
                ErrorKind::ShutDown,
                "the workspace is shut down",
            ));
        }
        let id = state.next_id;
        state.next_id += 1;
        let mut blocked = 0;
        for table in &tables {
            // Looked up first: the table is nearly always known, and a key need not be cloned then.
            if !state.queues.contains_key(table) {
                state.queues.insert(table.clone(), VecDeque::new());
            }
            if let Some(queue) = state.queues.get_mut(table) {
                blocked += usize::from(!queue.is_empty());
                queue.push_back(id);
            }
        }
        state.waiting.insert(
            id,
            Waiting {
                job,
                tables,
                blocked,
            },
        );
        if blocked == 0 {
            state.ready.push_back(id);
            return self.shared.provide_thread(&mut state);
        }
        Ok(())
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
        let busy = |state: &mut State| state.running > 0 || !state.waiting.is_empty();
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
    fn lock(&self) -> MutexGuard<'_, State> {
        // Jobs run without the lock, so that no panic can leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees to it that a thread takes a job that has become ready.
    fn provide_thread(self: &Arc<Self>, state: &mut State) -> Result<()> {
        if state.idle >= state.ready.len() || state.threads >= self.threads_max {
            self.ready.notify_one();
            return Ok(());
        }
        let shared = Arc::clone(self);
        let name = format!("dflat-{}", state.threads);
        match std::thread::Builder::new()
            .name(name)
            .spawn(move || shared.work())
        {
            Ok(handle) => {
                state.threads += 1;
                state.handles.retain(|handle| !handle.is_finished());
                state.handles.push(handle);
                Ok(())
            }
            // Those that run will take it.
            Err(_) if state.threads > 0 => Ok(()),
            Err(error) => {
                if let Some(id) = state.ready.pop_back()
                    && let Some(waiting) = state.waiting.remove(&id)
                {
                    state.leave(id, &waiting.tables);
                }
                Err(Error::with_source(
                    ErrorKind::Io,
                    "no thread can be started",
                    error,
                ))
            }
        }
    }

    /// Runs jobs until there have been none for a while.
    fn work(self: &Arc<Self>) {
        let mut state = self.lock();
        loop {
            let Some(id) = state.ready.pop_front() else {
                if state.closed && state.waiting.is_empty() {
                    break;
                }
                state.idle += 1;
                let waited = self.ready.wait_timeout(state, IDLE);
                let (woken, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                state = woken;
                state.idle -= 1;
                if timeout.timed_out() && state.ready.is_empty() {
                    break;
                }
                continue;
            };
            let Some(Waiting { job, tables, .. }) = state.waiting.remove(&id) else {
                continue;
            };
            state.running += 1;
            drop(state);
            // User code is caught where it runs; nothing else may take the turn along either.
            let _ = catch_unwind(AssertUnwindSafe(job));
            state = self.lock();
            let readied = state.leave(id, &tables);
            // This thread takes one; others are needed for the rest.
            for _ in 1..readied {
                // This thread will take it at the latest.
                let _ = self.provide_thread(&mut state);
            }
            let more = !state.ready.is_empty();
            drop(state);
            let _ = catch_unwind(AssertUnwindSafe(|| (self.after_job)(more)));
            state = self.lock();
            state.running -= 1;
            if state.closed && state.running == 0 && state.waiting.is_empty() {
                self.ended.notify_all();
            }
        }
        state.threads -= 1;
    }
}

impl State {
    /// Takes a job whose turn it was out of its queues; the number of jobs that are ready because
    /// of it.
    fn leave(&mut self, id: u64, tables: &[String]) -> usize {
        let mut readied = 0;
        for table in tables {
            let Some(queue) = self.queues.get_mut(table) else {
                continue;
            };
            let left = queue.pop_front();
            debug_assert_eq!(left, Some(id), "a job runs only while it is first");
            let Some(next) = queue.front() else { continue };
            if let Some(waiting) = self.waiting.get_mut(next) {
                waiting.blocked -= 1;
                if waiting.blocked == 0 {
                    self.ready.push_back(*next);
                    readied += 1;
                }
            }
        }
        readied
    }
}
