//! The thread that commits finished members while another runs for long.

use std::time::{Duration, Instant};

use crate::sync::{self, Arc, Condvar, JoinHandle, Mutex, MutexGuard, PoisonError, Weak, thread};

/// How long a group stays open while others join.
pub(super) const AGE_MAX: Duration = Duration::from_millis(5);

/// How long finished members wait for one that runs.
const PATIENCE: Duration = Duration::from_millis(2);

/// The open group, as its watchdog sees it.
pub(super) trait WatchedGroup: Send + Sync + 'static {
    /// The watchdog.
    fn watchdog(&self) -> &Watchdog;

    /// Commits the finished members if `is_late` of the times when the first and the latest of them
    /// finished. If none is left, lets the watchdog [rest](Watchdog::rest).
    fn commit_late(&self, is_late: fn(Option<Instant>, Option<Instant>) -> bool);
}

/// Watches open groups; its thread starts with the first.
#[derive(Default)]
pub(super) struct Watchdog {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// A group is open.
    watching: bool,
    stopped: bool,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees to it that the open group is committed in time, whatever its next member does; whether
    /// somebody watches it now.
    pub(super) fn watch(&self, shared: &Arc<impl WatchedGroup>) -> bool {
        let mut state = self.lock();
        if state.watching || state.stopped {
            return state.watching;
        }
        state.watching = true;
        if state.thread.is_some() {
            drop(state);
            self.changed.notify_one();
            return true;
        }
        let shared = Arc::downgrade(shared);
        let thread = thread::Builder::new().name("dflat-commit".to_owned());
        // Without the thread, groups are committed when their last member ends.
        state.thread = thread.spawn(move || run(&shared)).ok();
        state.watching = state.thread.is_some();
        state.watching
    }

    /// Ends the watch: no group is open. Called with the lock of the open group, so that the next
    /// group is watched again.
    pub(super) fn rest(&self) {
        self.lock().watching = false;
    }

    /// Ends the thread; with `wait`, it has ended then.
    pub(super) fn stop(&self, wait: bool) {
        let mut state = self.lock();
        state.stopped = true;
        let thread = state.thread.take();
        drop(state);
        self.changed.notify_all();
        if let Some(thread) = thread
            && wait
            && thread.thread().id() != thread::current().id()
        {
            // Its work does not panic: user code is caught where it runs.
            let _ = thread.join();
        }
    }

    /// Waits for a group to watch, and then for its members' patience; false to end.
    fn wait(&self) -> bool {
        let state = self.lock();
        let idle = |state: &mut State| !state.watching && !state.stopped;
        let state = self
            .changed
            .wait_while(state, idle)
            .unwrap_or_else(PoisonError::into_inner);
        let running = |state: &mut State| !state.stopped;
        let state = sync::wait_for_while(&self.changed, state, PATIENCE, running);
        !state.stopped
    }
}

fn run(shared: &Weak<impl WatchedGroup>) {
    // The engine may go while its last group waits for nobody.
    while let Some(shared) = shared.upgrade() {
        if !shared.watchdog().wait() {
            return;
        }
        shared.commit_late(is_late);
    }
}

/// Whether a group is late whose members finished first and latest at these times.
fn is_late(first: Option<Instant>, latest: Option<Instant>) -> bool {
    latest.is_some_and(|latest| sync::have_passed(PATIENCE, latest))
        || first.is_some_and(|first| sync::have_passed(AGE_MAX + PATIENCE, first))
}
