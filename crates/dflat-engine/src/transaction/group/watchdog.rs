//! The thread that commits finished members while another runs for long.

use super::commit::Shared;
use super::{AGE_MAX, PATIENCE};
use crate::sync::{self, Arc, Condvar, JoinHandle, Mutex, MutexGuard, PoisonError, Weak, thread};

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
    pub(super) fn watch(&self, shared: &Arc<Shared>) -> bool {
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

fn run(shared: &Weak<Shared>) {
    // The engine may go while its last group waits for nobody.
    while let Some(shared) = shared.upgrade() {
        if !shared.watchdog.wait() {
            return;
        }
        let mut open = shared.lock();
        let impatient = open
            .latest
            .is_some_and(|latest| sync::have_passed(PATIENCE, latest));
        let old = open
            .first
            .is_some_and(|first| sync::have_passed(AGE_MAX + PATIENCE, first));
        if impatient || old {
            shared.commit_finished(&mut open);
        }
        if open.members.is_empty() {
            shared.watchdog.lock().watching = false;
            open.watched = false;
        }
        drop(open);
        // Not here: user code must not keep the next group waiting.
        shared.outlet.hand_over();
    }
}
