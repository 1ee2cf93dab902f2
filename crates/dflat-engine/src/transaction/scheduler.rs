//! Decides which job runs when: conservative two-phase locking of tables, in order of call.
//!
//! A job names its tables. It runs when it is first in the queue of each of them, and leaves all
//! queues when it has ended. Jobs enter all their queues in one step, so that they stand in the
//! same order in each, and no set of jobs can wait in a circle. Jobs of disjoint tables run at the
//! same time, each on a thread of its own: they may wait for one another. A guest is a job that
//! runs on the thread of its caller.
//!
//! This file does no I/O and calls no user code but the jobs.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Arc, Condvar, JoinHandle, Mutex, MutexGuard, PoisonError, thread};

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
    /// The position of each table's queue.
    tables: HashMap<String, usize>,
    /// The jobs that wait for or hold a table's turn, the holder first, by table.
    queues: Vec<VecDeque<Place>>,
    /// The jobs that have not started.
    waiting: Places,
    /// The jobs whose turn has come on all their tables.
    ready: VecDeque<Place>,
    /// The guests whose turn has come, and who have not started.
    summoned: usize,
    running: usize,
    threads: usize,
    idle: usize,
    handles: Vec<JoinHandle<()>>,
    closed: bool,
}

/// What a job is known by from its call to its end.
type Place = usize;

/// The jobs that have not started, each at its place. A job that runs keeps its place.
#[derive(Default)]
struct Places {
    jobs: Vec<Option<Waiting>>,
    free: Vec<Place>,
    count: usize,
}

struct Waiting {
    work: Work,
    /// The positions of its tables' queues.
    tables: Vec<usize>,
    /// The tables on which another job is first.
    blocked: usize,
}

enum Work {
    /// For a thread of the scheduler.
    Job(Job),
    /// For the thread that waits here for its turn.
    Guest(Arc<Condvar>),
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
        let mut state = self.shared.lock();
        let tables = self.queues_of(&mut state, tables);
        let id = state.queue(tables, Work::Job(job))?;
        self.shared.start(&mut state, id)
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
        let tables = self.queues_of(&mut state, tables);
        let id = state.queue(tables, Work::Guest(Arc::clone(&turn)))?;
        let is_blocked = |state: &mut State| state.waiting.get(id).is_some_and(|w| w.blocked > 0);
        let waited = turn.wait_while(state, is_blocked);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        let Some(Waiting { tables, .. }) = state.waiting.remove(id) else {
            return Ok(());
        };
        state.summoned -= 1;
        let mut state = self.shared.run(state, id, &tables, job, 0);
        // Without a thread to take it, this one does what it has made ready.
        while state.threads == 0 && !state.ready.is_empty() {
            state = self.shared.run_next(state);
        }
        Ok(())
    }

    /// The queues that a job on these tables enters.
    fn queues_of<'t>(
        &self,
        state: &mut State,
        tables: impl IntoIterator<Item = &'t str>,
    ) -> Vec<usize> {
        let mut tables: Vec<usize> = match self.concurrency {
            Concurrency::MultiWriter => tables.into_iter().map(|t| state.queue_of(t)).collect(),
            Concurrency::SingleWriter => vec![state.queue_of("")],
        };
        tables.sort_unstable();
        tables.dedup();
        tables
    }

    /// Queues a job that runs when all jobs queued so far have ended.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    pub fn enqueue_last(&self, job: Job) -> Result<()> {
        let mut state = self.shared.lock();
        let tables = (0..state.queues.len()).collect();
        let id = state.queue(tables, Work::Job(job))?;
        self.shared.start(&mut state, id)
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
        let busy = |state: &mut State| state.running > 0 || state.waiting.count > 0;
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

    /// Starts a job that was queued, if its turn has come.
    fn start(self: &Arc<Self>, state: &mut State, id: Place) -> Result<()> {
        if state.ready.back() != Some(&id) {
            return Ok(());
        }
        self.provide_thread(state).inspect_err(|_| {
            state.ready.pop_back();
            if let Some(waiting) = state.waiting.remove(id) {
                state.leave(id, &waiting.tables);
            }
        })
    }

    /// Sees to it that a thread takes a job that has become ready.
    fn provide_thread(self: &Arc<Self>, state: &mut State) -> Result<()> {
        if state.idle >= state.ready.len() || state.threads >= self.threads_max {
            self.ready.notify_one();
            return Ok(());
        }
        let shared = Arc::clone(self);
        let name = format!("dflat-{}", state.threads);
        match thread::Builder::new()
            .name(name)
            .spawn(move || shared.work())
        {
            Ok(handle) => {
                state.threads += 1;
                state.handles.push(handle);
                Ok(())
            }
            // Those that run will take it.
            Err(_) if state.threads > 0 => Ok(()),
            Err(error) => Err(Error::with_source(
                ErrorKind::Io,
                "no thread can be started",
                error,
            )),
        }
    }

    /// Runs jobs until there have been none for a while.
    fn work(self: &Arc<Self>) {
        let mut state = self.lock();
        loop {
            if !state.ready.is_empty() {
                state = self.run_next(state);
                continue;
            }
            if state.closed && state.waiting.count == 0 {
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
        }
        state.threads -= 1;
        if !state.closed {
            // Nobody will join it.
            let this = thread::current().id();
            state.handles.retain(|handle| handle.thread().id() != this);
        }
    }

    /// Runs the next job that is ready. This thread can take one that becomes ready by it.
    fn run_next<'s>(
        self: &'s Arc<Self>,
        mut state: MutexGuard<'s, State>,
    ) -> MutexGuard<'s, State> {
        let id = state.ready.pop_front();
        match id.and_then(|id| Some((id, state.waiting.remove(id)?))) {
            Some((
                id,
                Waiting {
                    work: Work::Job(job),
                    tables,
                    ..
                },
            )) => self.run(state, id, &tables, job, 1),
            _ => state,
        }
    }

    /// Runs a job whose turn it is, passes the turn on, and does what follows each job. This thread
    /// will take so many of the jobs that become ready.
    fn run<'s>(
        self: &'s Arc<Self>,
        mut state: MutexGuard<'s, State>,
        id: Place,
        tables: &[usize],
        job: impl FnOnce(),
        takes: usize,
    ) -> MutexGuard<'s, State> {
        state.running += 1;
        drop(state);
        // User code is caught where it runs; nothing else may take the turn along either.
        let _ = catch_unwind(AssertUnwindSafe(job));
        state = self.lock();
        let readied = state.leave(id, tables);
        for _ in takes..readied {
            // This thread will take it at the latest.
            let _ = self.provide_thread(&mut state);
        }
        let more = !state.ready.is_empty() || state.summoned > 0;
        drop(state);
        let _ = catch_unwind(AssertUnwindSafe(|| (self.after_job)(more)));
        state = self.lock();
        state.running -= 1;
        if state.closed && state.running == 0 && state.waiting.count == 0 {
            self.ended.notify_all();
        }
        state
    }
}

impl State {
    /// The position of a table's queue.
    fn queue_of(&mut self, table: &str) -> usize {
        // Looked up first: the table is nearly always known, and its name need not be cloned then.
        if let Some(position) = self.tables.get(table) {
            return *position;
        }
        let position = self.queues.len();
        self.queues.push(VecDeque::new());
        self.tables.insert(table.to_owned(), position);
        position
    }

    /// Puts work into its queues; among what is ready, if its turn has come.
    fn queue(&mut self, tables: Vec<usize>, work: Work) -> Result<Place> {
        if self.closed {
            return Err(Error::new(
                ErrorKind::ShutDown,
                "the workspace is shut down",
            ));
        }
        let id = self.waiting.reserve();
        let mut blocked = 0;
        for table in &tables {
            if let Some(queue) = self.queues.get_mut(*table) {
                blocked += usize::from(!queue.is_empty());
                queue.push_back(id);
            }
        }
        let waiting = Waiting {
            work,
            tables,
            blocked,
        };
        if blocked == 0 {
            summon(&mut self.ready, &mut self.summoned, id, &waiting);
        }
        self.waiting.put(id, waiting);
        Ok(id)
    }

    /// Takes a job whose turn it was out of its queues; the number of jobs that are ready because
    /// of it.
    fn leave(&mut self, id: Place, tables: &[usize]) -> usize {
        let mut readied = 0;
        for table in tables {
            let Some(queue) = self.queues.get_mut(*table) else {
                continue;
            };
            let left = queue.pop_front();
            debug_assert_eq!(left, Some(id), "a job runs only while it is first");
            let Some(next) = queue.front() else { continue };
            let next = *next;
            if let Some(waiting) = self.waiting.get_mut(next) {
                waiting.blocked -= 1;
                if waiting.blocked == 0 {
                    readied +=
                        usize::from(summon(&mut self.ready, &mut self.summoned, next, waiting));
                }
            }
        }
        self.waiting.free.push(id);
        readied
    }
}

impl Places {
    /// A place of no job.
    fn reserve(&mut self) -> Place {
        self.free.pop().unwrap_or_else(|| {
            self.jobs.push(None);
            self.jobs.len() - 1
        })
    }

    fn put(&mut self, place: Place, waiting: Waiting) {
        if let Some(job) = self.jobs.get_mut(place) {
            *job = Some(waiting);
            self.count += 1;
        }
    }

    fn get(&self, place: Place) -> Option<&Waiting> {
        self.jobs.get(place)?.as_ref()
    }

    fn get_mut(&mut self, place: Place) -> Option<&mut Waiting> {
        self.jobs.get_mut(place)?.as_mut()
    }

    /// Takes a job that is about to run, and leaves its place reserved.
    fn remove(&mut self, place: Place) -> Option<Waiting> {
        let waiting = self.jobs.get_mut(place)?.take()?;
        self.count -= 1;
        Some(waiting)
    }
}

/// Calls work whose turn has come; whether a thread of the scheduler is needed.
fn summon(ready: &mut VecDeque<Place>, summoned: &mut usize, id: Place, waiting: &Waiting) -> bool {
    match &waiting.work {
        Work::Job(_) => ready.push_back(id),
        Work::Guest(turn) => {
            *summoned += 1;
            turn.notify_one();
        }
    }
    matches!(waiting.work, Work::Job(_))
}
