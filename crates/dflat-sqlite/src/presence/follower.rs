//! The presence of this process, and its thread that looks for commits of others.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use dflat_engine::storage::Looked;
use dflat_engine::telemetry::TARGET;

use crate::connection::polled_file::FileStamps;
use crate::io::names::beside;
use crate::presence::following::Following;
use crate::presence::presence_file::{PresenceFile, path_of};
use crate::presence::system::{Alarm, Events, Woken};
use crate::presence::waits::{Task, Waits};

/// The time between the checks of a follower that is notified of commits.
const SLOW_CHECK: Duration = Duration::from_secs(2);

/// The time between the checks of a follower that is not notified.
const INTERVAL: Duration = Duration::from_millis(500);

/// Looks for commits of other processes.
pub(crate) type Look = Arc<dyn Fn() -> Looked + Send + Sync>;

/// The presence of a backend among the processes that use its file.
pub(crate) struct Presence {
    shared: Arc<Shared>,
    state: Mutex<State>,
    /// Whether the system refused to start the thread.
    lacks_thread: AtomicBool,
    /// The process that opened the file. A child that it forks has none of its threads.
    process: u32,
}

/// The state that the thread shares with readers and writers.
struct Shared {
    database: PathBuf,
    path: PathBuf,
    /// Whether a presence file may be made.
    may_create: bool,
    /// Locked while a system call asks for other processes.
    file: Mutex<OpenFile>,
    /// A [`Following`].
    following: AtomicU8,
    /// How often this process took the lock.
    entries: AtomicU64,
    /// The number of the entry since which this process has held the lock; 0 while it has not.
    standing: AtomicU64,
}

/// The presence file, if it is open.
#[derive(Default)]
struct OpenFile {
    file: Option<PresenceFile>,
    /// Whether this process holds the lock.
    is_locked: bool,
}

#[derive(Default)]
struct State {
    /// Present once something is subscribed to.
    look: Option<Look>,
    thread: Option<Follower>,
    /// When the system last refused to start the thread.
    refused_at: Option<Instant>,
    is_suspended: bool,
    is_closed: bool,
}

/// The thread, and the alarm that ends it.
struct Follower {
    alarm: Alarm,
    thread: JoinHandle<()>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code that can panic runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Presence {
    /// The presence of a backend on a file. Without `may_create`, nothing is created beside the
    /// file.
    pub(crate) fn new(database: &Path, may_create: bool) -> Self {
        // The log is beside the file that a link names, and so is the presence file.
        let database = std::fs::canonicalize(database).unwrap_or_else(|_| database.to_owned());
        Self {
            shared: Arc::new(Shared {
                path: path_of(&database),
                database,
                may_create,
                file: Mutex::default(),
                following: AtomicU8::new(0),
                entries: AtomicU64::new(0),
                standing: AtomicU64::new(0),
            }),
            state: Mutex::default(),
            lacks_thread: AtomicBool::new(false),
            process: std::process::id(),
        }
    }

    /// Whether another process follows the file now.
    ///
    /// # Cost
    /// One system call if no process does, except after a process was killed.
    pub(crate) fn has_others(&self) -> bool {
        let mut open = lock(&self.shared.file);
        if let Some(file) = &open.file {
            if file.has_others() {
                return true;
            }
            if open.is_locked {
                return false;
            }
            // It may have been deleted since, and another one made.
            open.file = None;
        }
        // A look at a file that is not there costs half as much as opening it.
        if !self.shared.path.try_exists().unwrap_or(true) {
            return false;
        }
        let file = match PresenceFile::open(&self.shared.path) {
            Ok(Some(file)) => file,
            Ok(None) => return false,
            // A file that this process may not open can be the one of a process that follows.
            Err(_) => return true,
        };
        if file.has_others() {
            open.file = Some(file);
            return true;
        }
        file.leave();
        false
    }

    /// A number of the time since which this process has held the lock of the presence file; `None`
    /// while it has not. The number is another one each time.
    pub(crate) fn standing(&self) -> Option<u64> {
        let standing = self.shared.standing.load(Ordering::Acquire);
        (standing > 0).then_some(standing)
    }

    /// Whether this process has held the lock, and the file its name, since it stood with a number.
    /// Every other process of this library that commits has found the lock meanwhile.
    pub(crate) fn stands_since(&self, standing: u64) -> bool {
        let open = lock(&self.shared.file);
        self.standing() == Some(standing) && open.file.as_ref().is_some_and(PresenceFile::has_name)
    }

    /// Has the processes that follow read everything again, because this one is about to commit
    /// changes of objects without change records: deletes the presence file, so that they cannot
    /// have been noticed, and make another one. An error has no effect.
    pub(crate) fn send_away(&self) {
        if let Some(file) = &lock(&self.shared.file).file {
            file.remove();
        }
    }

    /// Notifies the other processes that follow; called after a commit, if there are any.
    pub(crate) fn notify_others(&self) {
        if let Some(file) = &lock(&self.shared.file).file {
            file.notify();
        }
    }

    /// How this process learns of commits.
    pub(crate) fn following(&self) -> Following {
        self.shared.following()
    }

    /// Calls `look` on a thread when another process may have committed, until the end. When this
    /// returns, processes that commit notify this one, if they can. Later calls do nothing.
    pub(crate) fn follow(&self, look: Look) {
        let mut state = lock(&self.state);
        if state.is_closed || state.look.is_some() {
            return;
        }
        state.look = Some(look);
        self.start(&mut state);
    }

    fn start(&self, state: &mut State) {
        let Some(look) = state.look.clone() else {
            return;
        };
        if state.thread.is_some() || state.is_suspended || state.is_closed {
            return;
        }
        let written = ["", "-wal", "-journal"].map(|suffix| beside(&self.shared.database, suffix));
        let (events, alarm) = Events::new(written, &self.shared.path);
        // Order: the process is present before it reads the state on which its subscribers stand.
        self.shared.enter(&events);
        let shared = Arc::clone(&self.shared);
        let follow = move || shared.follow(&events, &look);
        match thread::Builder::new()
            .name("dflat-follow".to_owned())
            .spawn(follow)
        {
            Ok(thread) => {
                state.thread = Some(Follower { alarm, thread });
                self.lacks_thread.store(false, Ordering::Relaxed);
            }
            Err(_) => self.note_no_thread(state),
        }
    }

    /// Starts the thread if the system refused to start it a while ago. Called with each read and
    /// write.
    pub(crate) fn start_again(&self) {
        if !self.lacks_thread.load(Ordering::Relaxed) {
            return;
        }
        let mut state = lock(&self.state);
        if state.refused_at.is_none_or(|at| at.elapsed() >= INTERVAL) {
            self.start(&mut state);
        }
    }

    /// Without a thread, commits of other processes are found by the next write, or by `refresh`.
    fn note_no_thread(&self, state: &mut State) {
        state.refused_at = Some(Instant::now());
        self.lacks_thread.store(true, Ordering::Relaxed);
        self.shared.leave();
        tracing::warn!(
            target: TARGET,
            path = %self.shared.database.display(),
            "commits of other processes are not followed: there is no thread"
        );
    }

    /// Ends the thread, and releases the lock, until [`Self::resume`].
    pub(crate) fn suspend(&self) {
        lock(&self.state).is_suspended = true;
        self.stop();
    }

    /// Follows again after [`Self::suspend`], if the process followed before.
    pub(crate) fn resume(&self) {
        let mut state = lock(&self.state);
        if std::mem::take(&mut state.is_suspended) {
            self.start(&mut state);
        }
    }

    /// Ends the thread, and waits for the look that it is making. No look begins afterwards.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        state.look = None;
        drop(state);
        self.stop();
    }

    fn stop(&self) {
        // A forked child has no thread to wait for, and the lock is its parent's.
        if std::process::id() != self.process {
            return;
        }
        let follower = lock(&self.state).thread.take();
        if let Some(Follower { alarm, thread }) = follower {
            drop(alarm);
            // The thread itself may be the last to hold the database.
            if thread.thread().id() != thread::current().id() {
                // It has no result. A panic of a look was reported when it happened.
                let _ = thread.join();
            }
        }
        self.shared.leave();
    }
}

/// A database that was not closed leaves no thread behind.
impl Drop for Presence {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn following(&self) -> Following {
        let following = self.following.load(Ordering::Relaxed);
        Following::ALL[usize::from(following) % Following::ALL.len()]
    }

    fn set_following(&self, following: Following) {
        self.following.store(following as u8, Ordering::Relaxed);
    }

    /// Takes the lock of the presence file, if that is possible.
    fn enter(&self, events: &Events) {
        let mut open = lock(&self.file);
        let watch = |path: &Path| events.watch_presence(path);
        let entered = if self.may_create {
            PresenceFile::follow(&self.path, watch).ok()
        } else {
            None
        };
        open.is_locked = entered.is_some();
        let standing = match entered.is_some() {
            true => self.entries.fetch_add(1, Ordering::Relaxed) + 1,
            false => 0,
        };
        // Order: after the lock is taken, so that a state that is read later is read under it.
        self.standing.store(standing, Ordering::Release);
        if entered.is_some() {
            open.file = entered;
        }
        self.set_following(if open.is_locked {
            Following::Notified
        } else {
            Following::Intervals
        });
    }

    /// Enters again if the presence file was deleted, or could not be made before.
    fn enter_again(&self, events: &Events) {
        let open = lock(&self.file);
        let is_in = open.is_locked && open.file.as_ref().is_some_and(PresenceFile::has_name);
        drop(open);
        if !is_in {
            self.enter(events);
        }
    }

    /// Releases the lock.
    fn leave(&self) {
        self.standing.store(0, Ordering::Release);
        let open = std::mem::take(&mut *lock(&self.file));
        match open.file {
            Some(file) if open.is_locked => file.leave(),
            _ => {}
        }
        self.set_following(Following::Off);
    }

    /// The work of the thread.
    fn follow(&self, events: &Events, look: &Look) {
        let mut waits = Waits::new();
        let mut stamps = None;
        loop {
            let slow = match self.following() {
                Following::Notified => SLOW_CHECK,
                Following::Off | Following::Intervals => INTERVAL,
            };
            let (awaited, timeout) = waits.next(slow);
            let woken = events.wait(awaited, timeout);
            if woken.is_ending {
                return;
            }
            let task = waits.task(woken);
            if woken.by_presence || task == Task::Check {
                self.enter_again(events);
            }
            if task == Task::Check {
                // Order: before the look, so that a later change is found by the next check.
                let now = FileStamps::of(&self.database);
                if stamps.as_ref() == Some(&now) && now.are_settled() {
                    continue;
                }
                stamps = Some(now);
            } else {
                stamps = None;
            }
            let looked = look();
            if looked == Looked::Failed {
                // The next check looks again, also at files that have not changed since.
                stamps = None;
            }
            waits.note_look(woken, looked == Looked::New, || {
                let mut missed = Woken::default();
                events.take_changes(&mut missed);
                if missed.by_presence {
                    self.enter_again(events);
                }
                missed.is_change()
            });
        }
    }
}

#[cfg(test)]
mod tests;
