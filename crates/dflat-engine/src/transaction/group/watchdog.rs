//! The thread that commits the finished members of a commit group while another member runs for
//! long.

use std::time::{Duration, Instant};

use crate::sync::{self, Arc, Condvar, JoinHandle, Mutex, MutexGuard, PoisonError, Weak, thread};

/// How long a commit group stays open while transactions join. Its first member waits that long at
/// most, which is the goal for a commit under load; 256 queued updates take about one millisecond.
pub(super) const AGE_MAX: Duration = Duration::from_millis(5);

/// How long finished members wait for a member that still runs. Shorter than [`AGE_MAX`], because
/// its rows must be undone and written again; longer than a handler that only writes some rows.
const PATIENCE: Duration = Duration::from_millis(2);

/// The open commit group, as its watchdog sees it.
pub(super) trait WatchedGroup: Send + Sync + 'static {
    /// The watchdog.
    fn watchdog(&self) -> &Watchdog;

    /// Commits the finished members if `is_late` returns true for the times when the first and the
    /// latest of them finished. If no member is left, lets the watchdog [rest](Watchdog::rest).
    fn commit_late(&self, is_late: fn(Option<Instant>, Option<Instant>) -> bool);
}

/// Watches open commit groups. Its thread starts with the first group.
#[derive(Default)]
pub(super) struct Watchdog {
    state: Mutex<WatchdogState>,
    changed: Condvar,
}

#[derive(Default)]
struct WatchdogState {
    /// Whether a group is open.
    watching: bool,
    stopped: bool,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    fn lock(&self) -> MutexGuard<'_, WatchdogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the thread commit the open commit group in time, however long its next member runs.
    /// Returns whether the group is watched now.
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

    /// Ends the watch: no group is open. Called with the lock of the open commit group, so that the
    /// next group is watched again.
    pub(super) fn rest(&self) {
        self.lock().watching = false;
    }

    /// Ends the thread. With `wait`, returns after the thread has ended.
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
            // The thread does not panic: a panic of user code is caught where that code runs.
            let _ = thread.join();
        }
    }

    /// Waits for a group to watch, and then as long as its finished members wait. Returns false if
    /// the thread is to end.
    fn wait(&self) -> bool {
        let state = self.lock();
        let idle = |state: &mut WatchdogState| !state.watching && !state.stopped;
        let state = self
            .changed
            .wait_while(state, idle)
            .unwrap_or_else(PoisonError::into_inner);
        let running = |state: &mut WatchdogState| !state.stopped;
        let state = sync::wait_for_while(&self.changed, state, PATIENCE, running);
        !state.stopped
    }
}

fn run(shared: &Weak<impl WatchedGroup>) {
    // `upgrade` fails once the engine's commit groups are dropped.
    while let Some(shared) = shared.upgrade() {
        if !shared.watchdog().wait() {
            return;
        }
        shared.commit_late(is_late);
    }
}

/// Whether a group is late, given the times when its first and its latest member finished.
fn is_late(first: Option<Instant>, latest: Option<Instant>) -> bool {
    latest.is_some_and(|latest| sync::have_passed(PATIENCE, latest))
        || first.is_some_and(|first| sync::have_passed(AGE_MAX + PATIENCE, first))
}
