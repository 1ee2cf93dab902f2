//! Looks for commits of other engines, on a thread of its own.
//!
//! The thread learns of commits from [a session](watch) on the server. While there is none, it asks
//! by itself.

mod watch;

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use dflat_engine::Result;
use dflat_engine::storage::Looked;
use tokio::task::AbortHandle;

use crate::database::Database;
use crate::layout::State;
use watch::News;

/// The time between two questions whether another engine has committed.
const INTERVAL: Duration = Duration::from_millis(20);

/// The time until the next question after another engine has committed: it may commit again soon.
const INTERVAL_BUSY: Duration = Duration::from_millis(5);

/// The time after which a look is made in any case: by a thread that asks by itself, and by one
/// that is told.
const LOOK_AFTER: Duration = Duration::from_secs(1);
const LOOK_AFTER_TOLD: Duration = Duration::from_secs(10);

/// The time until the next look after one that has failed.
const INTERVAL_FAILED: Duration = Duration::from_millis(500);

type Look = Arc<dyn Fn() -> Looked + Send + Sync>;

/// The thread that looks. Dropping it ends the thread, and waits for a look that is under way.
pub(crate) struct Follower {
    news: Sender<News>,
    watch: Option<AbortHandle>,
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    /// Starts to look.
    pub(crate) fn start(database: Arc<Database>, look: Look) -> Self {
        let (news, incoming) = mpsc::channel();
        let watch = database.options().is_notified.then(|| {
            let watch = watch::watch(Arc::clone(&database), news.clone());
            database.spawn(watch)
        });
        let mut looks = Looks {
            database,
            look,
            looked: None,
            interval: INTERVAL,
        };
        let thread = thread::Builder::new()
            .name("dflat-follower".to_owned())
            .spawn(move || looks.run(&incoming));
        if let Err(error) = &thread {
            tracing::warn!(target: "dflat", %error, "commits of other engines are not followed");
        }
        Self {
            news,
            watch: watch.flatten(),
            thread: thread.ok(),
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.take() {
            watch.abort();
        }
        // A thread that has panicked has no receiver any more.
        let _ = self.news.send(News::End);
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            // A thread that panicked has ended.
            let _ = thread.join();
        }
    }
}

/// The last record of another engine, with the generation of its server.
type Seen = (u16, i64);

struct Looks {
    database: Arc<Database>,
    look: Look,
    /// The state on which the last look was made, and when; `None` if it has failed.
    looked: Option<(Seen, Instant)>,
    /// The time until the next question, while no session sends notices of commits.
    interval: Duration,
}

impl Looks {
    fn run(&mut self, incoming: &Receiver<News>) {
        // The state of the last notice, while the session sends notices.
        let mut told: Option<Seen> = None;
        loop {
            // Order: the state comes before the look, so that a commit in between is found again.
            match told {
                Some(seen) => self.look_at(Ok(seen), LOOK_AFTER_TOLD),
                None => {
                    let state = self.database.state();
                    let seen = state.map(|state| self.seen(&state));
                    self.look_at(seen, LOOK_AFTER);
                }
            }
            let pause = match (&self.looked, told) {
                (Some((_, at)), Some(_)) => LOOK_AFTER_TOLD.saturating_sub(at.elapsed()),
                (Some(_), None) => self.interval,
                (None, _) => INTERVAL_FAILED,
            };
            let mut news = incoming.recv_timeout(pause);
            loop {
                match news {
                    Ok(News::State(state)) => told = Some(self.seen(&state)),
                    Ok(News::Lost) => told = None,
                    Ok(News::End) | Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => break,
                }
                news = incoming.recv_timeout(Duration::ZERO);
            }
        }
    }

    fn seen(&self, state: &State) -> Seen {
        (state.generation, self.database.last_of_others(state))
    }

    /// Looks, unless this state was looked at and the last look is not old.
    fn look_at(&mut self, seen: Result<Seen>, look_after: Duration) {
        self.interval = INTERVAL;
        let is_known = seen.as_ref().is_ok_and(|seen| {
            let mut looked = self.looked.iter();
            looked.any(|(at, when)| at == seen && when.elapsed() < look_after)
        });
        if is_known {
            return;
        }
        let found = (self.look)();
        if found == Looked::New {
            self.interval = INTERVAL_BUSY;
        }
        let seen = seen.ok().filter(|_| found != Looked::Failed);
        self.looked = seen.map(|seen| (seen, Instant::now()));
    }
}
