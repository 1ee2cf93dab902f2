//! Ends the read transactions that readers at rest keep, every so often.
//!
//! A reader that keeps one starts a thread, which goes on for as long as any is kept.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::connection::connections::Connections;
use crate::upkeep::worker;

/// How long a transaction is kept at most while nobody reads.
const KEPT_MAX: Duration = Duration::from_millis(100);

/// How often in a row there must have been nothing to end for the thread to end itself.
const IDLE_MAX: u32 = 10;

/// Who ends what is kept, and whether that is being done.
#[derive(Default)]
pub(crate) struct Keeper {
    is_running: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_closing: bool,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a reader at rest keeps its transaction. If that can't be ended in time, which
    /// takes a thread, none must be kept: false.
    #[inline]
    pub(crate) fn note_kept(self: &Arc<Self>, connections: &Arc<Connections>) -> bool {
        // Order: the reader is at rest before this looks, and the thread says that it ends before
        // it looks for readers the last time. So one of them sees the other.
        self.is_running.load(Ordering::SeqCst) || self.start(connections)
    }

    #[cold]
    fn start(self: &Arc<Self>, connections: &Arc<Connections>) -> bool {
        let mut state = self.lock();
        if state.is_closing || self.is_running.swap(true, Ordering::SeqCst) {
            return true;
        }
        let (keeper, connections) = (Arc::clone(self), Arc::downgrade(connections));
        let thread = thread::Builder::new().name("dflat-readers".to_owned());
        match thread.spawn(move || keeper.run(&connections)) {
            Ok(thread) => {
                state.thread = Some(thread);
                true
            }
            Err(_) => {
                self.is_running.store(false, Ordering::SeqCst);
                false
            }
        }
    }

    fn run(&self, connections: &Weak<Connections>) {
        let mut idle = 0;
        while self.wait() {
            let Some(connections) = connections.upgrade() else {
                break;
            };
            let readers = connections.pool().readers();
            idle = if readers.end_kept() > 0 { 0 } else { idle + 1 };
            if idle >= IDLE_MAX {
                self.is_running.store(false, Ordering::SeqCst);
                if readers.end_kept() == 0 || self.is_running.swap(true, Ordering::SeqCst) {
                    return;
                }
                idle = 0;
            }
        }
        self.is_running.store(false, Ordering::SeqCst);
    }

    /// Waits until it is time again; false if it is over.
    fn wait(&self) -> bool {
        let going_on = |state: &mut State| !state.is_closing;
        let state = self.lock();
        let waited = self.changed.wait_timeout_while(state, KEPT_MAX, going_on);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !state.is_closing
    }

    /// Ends the thread, and lets none begin.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closing = true;
        let thread = state.thread.take();
        drop(state);
        self.changed.notify_all();
        worker::join(thread);
    }
}
