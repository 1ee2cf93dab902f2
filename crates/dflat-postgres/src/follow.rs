//! Looks for commits of other engines, on a thread of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use dflat_engine::storage::Looked;

use crate::database::Database;

/// The time between two questions whether another engine has committed.
const INTERVAL: Duration = Duration::from_millis(20);

/// The time until the next question after another engine has committed: it may commit again soon.
const INTERVAL_BUSY: Duration = Duration::from_millis(5);

/// The time after which a look is made in any case.
const LOOK_AFTER: Duration = Duration::from_secs(1);

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
    pub(crate) fn start(
        database: Arc<Database>,
        look: Arc<dyn Fn() -> Looked + Send + Sync>,
    ) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let (wake, woken) = mpsc::channel::<()>();
        let is_ended = Arc::clone(&ended);
        let run = move || {
            let mut looked: Option<((u16, i64), Instant)> = None;
            while !is_ended.load(Ordering::Acquire) {
                // Order: asked before the look, so that a commit in between is asked for again.
                let others = database
                    .state()
                    .map(|state| (state.generation, database.last_of_others(&state)));
                let is_known = others.as_ref().is_ok_and(|others| {
                    looked.is_some_and(|(seen, at)| seen == *others && at.elapsed() < LOOK_AFTER)
                });
                let mut interval = INTERVAL;
                if !is_known {
                    let found = look();
                    let failed = found == Looked::Failed;
                    if found == Looked::New {
                        interval = INTERVAL_BUSY;
                    }
                    looked = others
                        .ok()
                        .filter(|_| !failed)
                        .map(|seen| (seen, Instant::now()));
                    if looked.is_none() {
                        interval = INTERVAL_FAILED;
                    }
                }
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
