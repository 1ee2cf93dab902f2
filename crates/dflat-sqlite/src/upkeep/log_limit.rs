//! When a checkpoint copies the log into the file, and which writers wait for it.
//!
//! When the log has grown by a quarter of its limit, a commit asks for a checkpoint. It is made in
//! the background, so that no transaction waits for the device. That alone does not bound the log:
//! the log starts again only when all of it is in the file and no connection reads from it, which
//! never happens while reads overlap. So if the log is longer than its limit, the checkpoint takes
//! write access, before all transactions that wait for it, and waits a moment for the readers.
//!
//! A checkpoint that copies pages with write access syncs the log and the file meanwhile, for which
//! transactions wait. So the first checkpoints of a log that is too long take write access only
//! while all of the log is in the file; with transactions in the way, they are tried again after a
//! pause. Only when the log has grown by a quarter of its limit meanwhile, pages are copied with
//! write access.
//!
//! If transactions write faster than the device, the log would still grow during a checkpoint. So a
//! transaction that begins when the log has grown by half of its limit since it exceeded the limit
//! waits for the checkpoint, unless the last one failed. One large transaction may make the log far
//! longer than that; the transaction after it does not wait, because the checkpoint is on its way.
//!
//! A snapshot that still sees an older state pins the log. A warning says so, and the checkpoint is
//! tried again when a snapshot ends, or when the log has grown by another quarter.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dflat_engine::telemetry::TARGET;

use crate::ffi::LogExtent;
use crate::upkeep::checkpoint::CheckpointOutcome;

/// The pause after a checkpoint that a reader or writer blocked: without it, each commit during a
/// long read would cause another checkpoint that can't end.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);

/// The longest time that a transaction is held back: a device that hangs makes the log grow, and
/// does not stop the program.
const HELD_MAX: Duration = Duration::from_secs(5);

/// The smallest limit of a log, in bytes: a few commits of some pages of 4 KiB each.
const BYTES_MIN: u64 = 64 << 10;

/// The limit of the log, and the state of its checkpoints.
pub(crate) struct LogLimit {
    bytes_max: u64,
    /// Whether a reader keeps the log from starting again.
    is_pinned: AtomicBool,
    /// The pages of the log when a reader or writer blocked a checkpoint; 0 if none did.
    tried: AtomicU32,
    /// The length of the log just after it exceeded its limit; the limit if the log is within it.
    start_bytes: AtomicU64,
    /// Whether the log had grown by half of its limit since then, after the last commit.
    is_over: AtomicBool,
    /// How often a transaction was held back.
    held_count: AtomicU64,
    /// Whether the log's file is to be cut when the log has started again.
    is_cut_due: AtomicBool,
    /// Whether transactions kept the last checkpoint from making the log start again.
    is_deferred: AtomicBool,
    state: Mutex<CheckpointState>,
    changed: Condvar,
}

#[derive(Default)]
struct CheckpointState {
    /// Whether a checkpoint is in the queue or being made.
    is_pending: bool,
    /// Whether the last checkpoint failed, or a reader pins the log.
    is_stuck: bool,
    /// The end of the pause.
    pause_end: Option<Instant>,
    /// The urgency of the next checkpoint.
    urgency: Urgency,
}

impl LogLimit {
    pub(crate) fn new(bytes_max: u64) -> Self {
        let bytes_max = bytes_max.max(BYTES_MIN);
        Self {
            bytes_max,
            start_bytes: AtomicU64::new(bytes_max),
            is_pinned: AtomicBool::new(false),
            tried: AtomicU32::new(0),
            is_over: AtomicBool::new(false),
            held_count: AtomicU64::new(0),
            is_cut_due: AtomicBool::new(false),
            is_deferred: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, CheckpointState> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) const fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Whether a reader kept the log from starting again when that was last tried.
    pub(crate) fn is_pinned(&self) -> bool {
        self.is_pinned.load(Ordering::Relaxed)
    }

    /// How often a transaction was held back.
    pub(crate) fn held_count(&self) -> u64 {
        self.held_count.load(Ordering::Relaxed)
    }

    /// Holds a transaction back that is about to begin, while the log is far too long and a
    /// checkpoint is about to shorten it.
    pub(crate) fn hold_back(&self) {
        if !self.is_over.load(Ordering::Relaxed) {
            return;
        }
        let is_held = |state: &mut CheckpointState| {
            state.is_pending && !state.is_stuck && self.is_over.load(Ordering::Relaxed)
        };
        let mut state = self.lock();
        if is_held(&mut state) {
            self.held_count.fetch_add(1, Ordering::Relaxed);
            drop(self.changed.wait_timeout_while(state, HELD_MAX, is_held));
        }
    }

    /// Notes the length of the log after a commit. Returns a value if a checkpoint is due.
    pub(crate) fn note_commit(&self, log: LogExtent) -> Option<Urgency> {
        let part = self.bytes_max / 4;
        let is_long = log.bytes() > self.bytes_max;
        let mut start = self.start_bytes.load(Ordering::Relaxed);
        if !is_long || start == self.bytes_max {
            start = log.bytes().max(self.bytes_max);
            self.start_bytes.store(start, Ordering::Relaxed);
        }
        let is_over = log.bytes() > start.saturating_add(self.bytes_max / 2);
        self.is_over.store(is_over, Ordering::Relaxed);
        // Pages that a blocked checkpoint could not copy do not count.
        let tried = self.tried.load(Ordering::Relaxed);
        let copied = if log.pages < tried { 0 } else { tried };
        let has_grown = log.bytes_of(log.pages - copied) >= part;
        if is_long && (has_grown || is_over) && self.is_deferred.load(Ordering::Relaxed) {
            return Some(Urgency::Overdue);
        }
        let is_due = log.bytes_of(log.pages.saturating_sub(log.copied.max(copied))) >= part
            || (is_long && has_grown);
        is_due.then_some(match is_long {
            true => Urgency::Long,
            false => Urgency::Usual,
        })
    }

    /// Whether the log's file is to be cut after a commit that has left this log; true once for
    /// each log that started again.
    pub(crate) fn take_cut(&self, log: LogExtent) -> bool {
        self.is_cut_due.load(Ordering::Relaxed)
            && log.bytes() <= self.bytes_max
            && self.is_cut_due.swap(false, Ordering::Relaxed)
    }

    /// Asks for a checkpoint. `add` puts it into the queue, due at the given time, or returns
    /// false. The checkpoint of a log that exceeds its limit skips the pause.
    pub(crate) fn ask(&self, urgency: Urgency, add: impl FnOnce(Instant) -> bool) {
        let mut state = self.lock();
        if urgency >= Urgency::Long && !state.is_stuck {
            state.pause_end = None;
        }
        state.urgency = state.urgency.max(urgency);
        // Order: under the lock, so that a checkpoint that ends sees what is in the queue.
        let at = state.pause_end.unwrap_or_else(Instant::now);
        state.is_pending = add(at);
    }

    /// The urgency of the checkpoint that is about to be made.
    pub(crate) fn take_urgency(&self) -> Urgency {
        std::mem::take(&mut self.lock().urgency)
    }

    /// When a checkpoint that transactions kept from making the log start again is tried again.
    pub(crate) fn retry_of(&self, outcome: &CheckpointOutcome) -> Option<Instant> {
        if !outcome.is_deferred {
            return None;
        }
        if self.is_over.load(Ordering::Relaxed) {
            // Transactions are held back.
            self.lock().urgency = Urgency::Overdue;
            return Some(Instant::now());
        }
        Some(Instant::now() + PAUSE)
    }

    /// The end of the pause, if it lies in the future.
    pub(crate) fn pause_end(&self) -> Option<Instant> {
        let pause_end = self.lock().pause_end;
        pause_end.filter(|end| *end > Instant::now())
    }

    /// Notes the outcome of a checkpoint; `None` if it failed. `is_queued` returns whether another
    /// one is in the queue.
    pub(crate) fn note_outcome(
        &self,
        path: &Path,
        outcome: Option<&CheckpointOutcome>,
        is_queued: impl FnOnce() -> bool,
    ) {
        let is_pinned = outcome.is_some_and(|outcome| outcome.is_pinned);
        let in_the_way = outcome.is_none_or(|outcome| !outcome.is_all);
        let pages = outcome.map_or(0, |outcome| outcome.pages);
        self.tried
            .store(if in_the_way { pages } else { 0 }, Ordering::Relaxed);
        let is_deferred = outcome.is_some_and(|outcome| outcome.is_deferred);
        self.is_deferred.store(is_deferred, Ordering::Relaxed);
        if outcome.is_some_and(|outcome| outcome.is_restarted) {
            self.is_over.store(false, Ordering::Relaxed);
            self.is_cut_due.store(true, Ordering::Relaxed);
            self.start_bytes.store(self.bytes_max, Ordering::Relaxed);
        }
        let mut state = self.lock();
        state.is_stuck = is_pinned || outcome.is_none();
        // Transactions may be held back by the checkpoint that comes next.
        let may_pause = in_the_way && state.urgency < Urgency::Overdue;
        state.pause_end = may_pause.then(|| Instant::now() + PAUSE);
        state.is_pending = is_queued();
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
                "log pinned: a reader sees an older state, and the log can only grow"
            );
        }
    }

    /// Releases all transactions that are held back.
    pub(crate) fn close(&self) {
        self.lock().is_pending = false;
        self.changed.notify_all();
    }
}

/// How urgent a checkpoint is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Urgency {
    /// The log is within its limit.
    #[default]
    Usual,
    /// The log exceeds its limit.
    Long,
    /// The log exceeds its limit, and has grown since transactions kept a checkpoint from making it
    /// start again. Transactions wait while the next one copies pages.
    Overdue,
}

#[cfg(test)]
mod tests;
