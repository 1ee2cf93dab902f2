//! Looks for commits of other engines, on a thread of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dflat_engine::storage::Looked;

/// The time between two looks.
const INTERVAL: Duration = Duration::from_millis(20);

/// The time until the next look after one that has failed.
const INTERVAL_FAILED: Duration = Duration::from_millis(500);

/// The thread that looks. Dropping it ends the thread, and waits for a look that is under way.
pub(crate) struct Follower {
    ended: Arc<AtomicBool>,
    /// Dropping the sender wakes the thread.
    wake: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    /// Starts to look.
    pub(crate) fn start(look: Arc<dyn Fn() -> Looked + Send + Sync>) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let (wake, woken) = mpsc::channel::<()>();
        let is_ended = Arc::clone(&ended);
        let run = move || {
            while !is_ended.load(Ordering::Acquire) {
                let interval = match look() {
                    Looked::Failed => INTERVAL_FAILED,
                    Looked::New | Looked::Known => INTERVAL,
                };
                let waited = woken.recv_timeout(interval);
                if waited != Err(mpsc::RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        let thread = thread::Builder::new()
            .name("dflat-follower".to_owned())
            .spawn(run);
        if let Err(error) = &thread {
            tracing::warn!(target: "dflat", %error, "commits of other engines are not followed");
        }
        Self {
            ended,
            wake: Some(wake),
            thread: thread.ok(),
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        self.wake = None;
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            // A thread that panicked has ended.
            let _ = thread.join();
        }
    }
}
