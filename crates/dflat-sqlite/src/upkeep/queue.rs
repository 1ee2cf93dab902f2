//! The steps of upkeep that are to be made, and the thread that makes them one after the other.
//!
//! Each step has the time at which it is due, and is in the queue once. The thread starts with the
//! first step, and ends when there is none left.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A short piece of upkeep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Ends the read transactions that idle connections keep.
    EndKeptReads,
    /// Copies the log into the file.
    Checkpoint,
    /// Cuts a part of the log's file.
    CutLog,
    /// Gives some unused pages back.
    Reclaim,
    /// Copies the log into the file, which shortens the file by the pages that were given back.
    CheckpointReclaimed,
    /// Deletes old change records.
    PruneChangeLog,
}

impl Step {
    const ALL: [Self; 6] = [
        Self::EndKeptReads,
        Self::Checkpoint,
        Self::CutLog,
        Self::Reclaim,
        Self::CheckpointReclaimed,
        Self::PruneChangeLog,
    ];
}

/// The longest time that the thread waits for a step before it checks the queue again.
const WAIT_MAX: Duration = Duration::from_secs(3600);

/// The steps to be made.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    /// When each step is due, if it is in the queue.
    due: [Option<Instant>; Step::ALL.len()],
    running: Option<Step>,
    is_closing: bool,
    has_thread: bool,
    thread: Option<JoinHandle<()>>,
    /// The steps that were made since a test asked last.
    #[cfg(test)]
    made: [bool; Step::ALL.len()],
}

impl QueueState {
    fn is_pending(&self, step: Step) -> bool {
        self.due[step as usize].is_some() || self.running == Some(step)
    }

    /// The step that is due first.
    fn first(&self) -> Option<(Instant, Step)> {
        let queued = Step::ALL.into_iter();
        let queued = queued.filter_map(|step| Some((self.due[step as usize]?, step)));
        queued.min_by_key(|(due, _)| *due)
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a step. If the step is in the queue, the earlier due time counts. If there is no
    /// thread, a new one calls `run`. Returns false if no thread can be started; then the step is
    /// not made.
    pub(crate) fn add(&self, step: Step, at: Instant, run: impl FnOnce() + Send + 'static) -> bool {
        let mut state = self.lock();
        if state.is_closing {
            return true;
        }
        let first = state.first();
        let due = &mut state.due[step as usize];
        *due = Some(due.map_or(at, |due| due.min(at)));
        if state.has_thread {
            // The thread is woken only if it waits for something later.
            if state.first() != first {
                drop(state);
                self.changed.notify_all();
            }
            return true;
        }
        match thread::Builder::new()
            .name("dflat-upkeep".to_owned())
            .spawn(run)
        {
            Ok(thread) => {
                state.has_thread = true;
                state.thread = Some(thread);
                true
            }
            Err(_) => {
                state.due = Default::default();
                false
            }
        }
    }

    /// Adds a step; on the thread itself.
    pub(crate) fn add_again(&self, step: Step, at: Instant) {
        let mut state = self.lock();
        if !state.is_closing {
            let due = &mut state.due[step as usize];
            *due = Some(due.map_or(at, |due| due.min(at)));
        }
    }

    /// Takes a step out of the queue.
    pub(crate) fn remove(&self, step: Step) {
        self.lock().due[step as usize] = None;
    }

    /// Whether a step is in the queue.
    pub(crate) fn is_queued(&self, step: Step) -> bool {
        self.lock().due[step as usize].is_some()
    }

    /// Whether a step is in the queue or being made.
    pub(crate) fn is_pending(&self, step: Step) -> bool {
        self.lock().is_pending(step)
    }

    /// Waits for the next step, on the thread; `None` if the thread is to end.
    pub(crate) fn next(&self) -> Option<Step> {
        let mut state = self.lock();
        state.running = None;
        self.changed.notify_all();
        loop {
            let Some((due, step)) = state.first().filter(|_| !state.is_closing) else {
                state.has_thread = false;
                return None;
            };
            let wait = due.saturating_duration_since(Instant::now());
            if wait.is_zero() {
                state.due[step as usize] = None;
                state.running = Some(step);
                #[cfg(test)]
                {
                    state.made[step as usize] = true;
                }
                return Some(step);
            }
            let waited = self.changed.wait_timeout(state, wait.min(WAIT_MAX));
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends the thread without a further step, because the connections are gone.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        (state.running, state.has_thread) = (None, false);
        state.due = Default::default();
    }

    /// Lets no further step begin.
    pub(crate) fn begin_closing(&self) {
        let mut state = self.lock();
        state.is_closing = true;
        state.due = Default::default();
        drop(state);
        self.changed.notify_all();
    }

    /// Waits for the step that is being made, after [`Self::begin_closing`].
    pub(crate) fn join(&self) {
        let thread = self.lock().thread.take();
        if let Some(thread) = thread
            // The thread itself may be the last to hold the database.
            && thread.thread().id() != thread::current().id()
        {
            // It has no result, and does not panic.
            let _ = thread.join();
        }
    }

    /// Waits until none of these steps is pending, for tests. Returns whether one was made since
    /// the last call.
    #[cfg(test)]
    pub(crate) fn settle(&self, steps: &[Step]) -> bool {
        let pending = |state: &mut QueueState| steps.iter().any(|step| state.is_pending(*step));
        let settled = self.changed.wait_while(self.lock(), pending);
        let mut state = settled.unwrap_or_else(PoisonError::into_inner);
        steps.iter().fold(false, |made, step| {
            made | std::mem::take(&mut state.made[*step as usize])
        })
    }
}
