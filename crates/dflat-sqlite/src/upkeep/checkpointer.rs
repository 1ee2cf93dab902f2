//! Takes the write-ahead log into the file in the background, so that it stays short.
//!
//! A commit that leaves enough of the log to be taken starts a thread, which makes a checkpoint
//! with a connection of its own, and ends: nobody waits for the device. That alone does not bound
//! the log, which starts again only when it is all taken and nobody reads from it, and so never
//! while readers overlap. So when it is longer than it may be, the thread takes the place of the
//! writer, before all who wait for it, and waits a moment for those who read.
//!
//! Where writers are faster than the device, the log would go on growing while it is taken. So who
//! begins to write while it is longer than it may be by half waits for the checkpoint, as long as
//! that gets on.
//!
//! Whoever still reads an older state then pins the log. That is told, and tried again when a
//! snapshot ends, or when the log has grown by another part.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use dflat_engine::Result;
use dflat_engine::telemetry::TARGET;

use crate::connection::configure::integer;
use crate::connection::connections::Connections;
use crate::connection::session::Session;
use crate::ffi::{Fault, LogExtent};
use crate::upkeep::worker;

/// How long a writer waits at most for those who read from a log that is too long; twice as long if
/// that is twice as long as it may be, and so on.
const PATIENCE: Duration = Duration::from_millis(100);

/// The most times.
const TIMES_MAX: u64 = 20;

/// How long nothing is tried after a checkpoint in whose way somebody was.
const PAUSE: Duration = Duration::from_millis(100);

/// How long a writer is held back at most, whatever the device does.
const HELD_MAX: Duration = Duration::from_secs(5);

/// The least that a log may be bounded to.
const BYTES_MIN: u64 = 64 << 10;

/// Who makes checkpoints, and whether that is being done.
pub(crate) struct Checkpointer {
    bytes_max: u64,
    /// Whether somebody who reads keeps the log from starting again.
    is_pinned: AtomicBool,
    /// The pages of the log when somebody was in the way of a checkpoint.
    tried: AtomicU32,
    /// Whether the log was longer than it may be by half after the last commit.
    is_over: AtomicBool,
    /// How often a writer was held back.
    held_count: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_closing: bool,
    is_running: bool,
    /// Whether there is more to do than the thread has looked at.
    is_asked: bool,
    /// The last checkpoint failed, or somebody was in its way for good.
    is_stuck: bool,
    /// Nothing is tried before.
    pause_end: Option<Instant>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self {
            bytes_max: bytes_max.max(BYTES_MIN),
            is_pinned: AtomicBool::new(false),
            tried: AtomicU32::new(0),
            is_over: AtomicBool::new(false),
            held_count: AtomicU64::new(0),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody who reads kept the log from starting again when that was last tried.
    pub(crate) fn is_pinned(&self) -> bool {
        self.is_pinned.load(Ordering::Relaxed)
    }

    /// How often a writer was held back.
    pub(crate) fn held_count(&self) -> u64 {
        self.held_count.load(Ordering::Relaxed)
    }

    /// Holds a writer back that is about to begin, while the log is too long by half and a
    /// checkpoint is about to shorten it.
    pub(crate) fn hold_back(&self) {
        if !self.is_over.load(Ordering::Relaxed) {
            return;
        }
        let held = |state: &mut State| {
            let gets_on = state.is_running && !state.is_stuck && !state.is_closing;
            gets_on && self.is_over.load(Ordering::Relaxed)
        };
        let mut state = self.lock();
        if held(&mut state) {
            self.held_count.fetch_add(1, Ordering::Relaxed);
            drop(self.changed.wait_timeout_while(state, HELD_MAX, held));
        }
    }

    /// Notes how long the log is after a commit.
    pub(crate) fn note_commit(self: &Arc<Self>, connections: &Arc<Connections>, log: LogExtent) {
        let part = self.bytes_max / 4;
        let is_over = log.bytes() > self.bytes_max.saturating_add(self.bytes_max / 2);
        self.is_over.store(is_over, Ordering::Relaxed);
        // Nothing is to be taken of what could not be taken before.
        let tried = self.tried.load(Ordering::Relaxed);
        let taken = if log.pages < tried { 0 } else { tried };
        if log.bytes_of(log.pages.saturating_sub(log.taken.max(taken))) >= part
            || (log.bytes() > self.bytes_max && log.bytes_of(log.pages - taken) >= part)
        {
            self.start(connections, log.bytes() > self.bytes_max);
        }
    }

    /// Notes that a snapshot has ended.
    pub(crate) fn note_snapshot_end(self: &Arc<Self>, connections: &Arc<Connections>) {
        if self.is_pinned() {
            self.start(connections, false);
        }
    }

    /// Starts the thread, or tells it that there is more to do; in a hurry, nobody who was in the
    /// way for a moment is left time.
    fn start(self: &Arc<Self>, connections: &Arc<Connections>, hurry: bool) {
        let mut state = self.lock();
        if state.is_closing {
            return;
        }
        if hurry && !state.is_stuck {
            state.pause_end = None;
            self.changed.notify_all();
        }
        if state.is_running {
            state.is_asked = true;
            return;
        }
        let (checkpointer, connections) = (Arc::clone(self), Arc::downgrade(connections));
        let thread = thread::Builder::new().name("dflat-checkpoint".to_owned());
        // Without a thread the log is left to the next commit.
        if let Ok(thread) = thread.spawn(move || checkpointer.run(&connections)) {
            state.is_running = true;
            state.thread = Some(thread);
        }
    }

    fn run(&self, connections: &Weak<Connections>) {
        while self.wait_out_pause() {
            let Some(connections) = connections.upgrade() else {
                break;
            };
            // What fails is tried again after a later commit.
            let taken = checkpoint(&connections, self.bytes_max);
            self.note_outcome(connections.path(), taken.as_ref().ok());
            drop(connections);
            if taken.is_err() {
                break;
            }
            let mut state = self.lock();
            if !std::mem::take(&mut state.is_asked) {
                state.is_running = false;
                self.changed.notify_all();
                return;
            }
        }
        self.lock().is_running = false;
        self.changed.notify_all();
    }

    /// Waits until a checkpoint may be tried again; whether it may.
    fn wait_out_pause(&self) -> bool {
        let state = self.lock();
        let now = Instant::now();
        let pause = state
            .pause_end
            .map(|end| end.saturating_duration_since(now));
        let pausing = |state: &mut State| !state.is_closing && state.pause_end.is_some();
        let waited = self
            .changed
            .wait_timeout_while(state, pause.unwrap_or_default(), pausing);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.pause_end = None;
        !state.is_closing
    }

    fn note_outcome(&self, path: &Path, outcome: Option<&Outcome>) {
        let is_pinned = outcome.is_some_and(|outcome| outcome.is_pinned);
        let in_the_way = outcome.is_none_or(|outcome| !outcome.is_all);
        let pages = outcome.map_or(0, |outcome| outcome.pages);
        self.tried
            .store(if in_the_way { pages } else { 0 }, Ordering::Relaxed);
        if outcome.is_some_and(|outcome| outcome.is_restarted) {
            self.is_over.store(false, Ordering::Relaxed);
        }
        let mut state = self.lock();
        state.is_stuck = is_pinned || outcome.is_none();
        if in_the_way {
            state.pause_end = Some(Instant::now() + PAUSE);
        }
        drop(state);
        self.changed.notify_all();
        let was_pinned = self.is_pinned.swap(is_pinned, Ordering::Relaxed);
        if is_pinned && !was_pinned {
            let path = path.display();
            let bytes = outcome.map_or(0, |outcome| outcome.bytes);
            tracing::warn!(
                target: TARGET,
                %path,
                bytes,
                "log pinned: somebody reads an older state, and the log can only grow"
            );
        }
    }

    /// Ends what is being done, after its checkpoint, and lets nothing begin.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closing = true;
        let thread = state.thread.take();
        drop(state);
        self.changed.notify_all();
        worker::join(thread);
    }

    /// Waits for the thread, if there is one, for tests to look at what it has done.
    #[cfg(test)]
    pub(crate) fn settle(&self) -> bool {
        let thread = self.lock().thread.take();
        thread.map(|thread| thread.join().unwrap()).is_some()
    }
}

/// What a checkpoint has done.
pub(crate) struct Outcome {
    /// Whether all of the log is in the file.
    is_all: bool,
    /// Whether the log is too long, and could not start again.
    is_pinned: bool,
    /// Whether the log was too long, and starts again.
    is_restarted: bool,
    pages: u32,
    bytes: u64,
}

/// Takes the log into the file as far as nobody is in the way; if it is longer than it may be,
/// lets it start again.
pub(crate) fn checkpoint(connections: &Connections, bytes_max: u64) -> Result<Outcome> {
    let _alone = connections.lock_checkpoints();
    connections.pool().begin_upkeep()?;
    let outcome = checkpoint_alone(connections, bytes_max);
    connections.pool().end_upkeep();
    outcome
}

fn checkpoint_alone(connections: &Connections, bytes_max: u64) -> Result<Outcome> {
    let what = || {
        format!(
            "cannot make a checkpoint of {}",
            connections.path().display()
        )
    };
    // With a connection of its own: it waits for the device, and nobody else is to wait.
    let mut session = connections.open_writer()?;
    connections.pool().readers().end_kept();
    let taken = take(&mut session, "passive").map_err(|fault| fault.error(what()))?;
    let log = session.log_extent();
    if taken.bytes <= bytes_max {
        return Ok(taken);
    }
    let connection = connections.pool().take_writer_first()?;
    let forbidden = connections.pool().readers().forbid_keeping();
    let times = (taken.bytes / bytes_max).clamp(1, TIMES_MAX);
    let patience = PATIENCE * u32::try_from(times).unwrap_or(1);
    session.connection.set_busy_timeout(patience);
    let restarted = take(&mut session, "restart");
    drop(forbidden);
    connections.pool().return_writer(connection);
    let restarted = restarted.map_err(|fault| fault.error(what()))?;
    Ok(Outcome {
        bytes: log.map_or(0, LogExtent::bytes),
        is_pinned: !restarted.is_all,
        is_restarted: restarted.is_all,
        ..restarted
    })
}

fn take(session: &mut Session, mode: &str) -> Result<Outcome, Fault> {
    let span = tracing::debug_span!(target: TARGET, "checkpoint", mode);
    let _in = span.enter();
    // Without a transaction that has looked, it is not known whether there is a log.
    session.look_for_log()?;
    let busy = integer(
        &mut session.connection,
        &format!("PRAGMA wal_checkpoint({mode})"),
    )?;
    let Some(log) = session.log_extent() else {
        return Ok(Outcome {
            is_all: true,
            is_pinned: false,
            is_restarted: false,
            pages: 0,
            bytes: 0,
        });
    };
    tracing::debug!(target: TARGET, pages = log.taken, of = log.pages, "checkpoint made");
    Ok(Outcome {
        is_all: busy == 0 && log.taken >= log.pages,
        is_pinned: false,
        is_restarted: false,
        pages: log.pages,
        bytes: log.bytes(),
    })
}

#[cfg(test)]
mod tests;
