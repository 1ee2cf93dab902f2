//! Writes changed values in the background, in batches.
//!
//! A change of a key puts the key into a queue, unless the key is queued already. A transaction
//! takes all queued keys and writes the value that each has at that time. So the values of a key
//! are written in order, and some may be skipped. One such transaction runs at a time.
//!
//! A value that is set again is queued, too: the value in memory may be out of date, because
//! another process has changed the key. The transaction compares such a value with the file, and
//! writes it only if the file has another one.
//!
//! If the transaction fails because another process has committed meanwhile, its keys are written
//! again at once, up to the busy timeout.
//!
//! If it fails otherwise, its keys return to the queue. The next change, `synchronize` and the
//! shutdown try again, and so does a thread after some time. If the transaction fails because of a
//! single key, such as one whose row is damaged, the library does not write that key again until
//! `synchronize` is called, and writes the other keys at once.
//!
//! A key that a transaction of the caller uses is left to that transaction; when it ends, the key
//! is either written or queued.

use std::time::Duration;

use super::batch::Batch;
use super::foreign::{self, Overwrite};
use super::item;
use super::space::{Key, Overtaken};
use super::write_queue::QueueState;
use crate::callback;
use crate::engine::{Engine, PerformOptions};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{self, Arc, Condvar, Mutex, MutexGuard, PoisonError};
use crate::transaction::Transaction;

/// The time from a failure to the first retry by a thread. It doubles after each further failure. A
/// lock that another process holds for a moment is gone by then.
const RETRY_FIRST: Duration = Duration::from_millis(250);
/// The longest time to a retry, so that values are written within half a minute after a full disk
/// has space again.
const RETRY_MAX: Duration = Duration::from_secs(30);

/// Called with the error of each write that fails.
pub type FailureCallback = Box<dyn FnMut(Error) + Send>;

/// Called with each change of another process that a direct change has overwritten.
pub type OverwriteCallback = Box<dyn FnMut(Overwrite) + Send>;

/// The queue of keys, and the transactions that empty it.
#[derive(Default)]
pub(super) struct WriteBehind {
    /// The number of the last change.
    changes: AtomicU64,
    state: Mutex<QueueState>,
    finished: Condvar,
    /// Signalled when a retry should not wait any longer.
    hurried: Condvar,
    on_failure: Mutex<Option<FailureCallback>>,
    overwrites: AtomicU64,
    on_overwrite: Mutex<Option<OverwriteCallback>>,
}

impl WriteBehind {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the next change.
    pub(super) fn next_change(&self) -> u64 {
        self.changes.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Queues keys for writing; they must be marked as queued.
    pub(super) fn enqueue(self: &Arc<Self>, engine: &Engine, keys: impl IntoIterator<Item = Key>) {
        let mut state = self.lock();
        state.waiting.extend(keys);
        if state.started == state.finished {
            self.start(state, engine);
        }
    }

    /// Notes that a key is left to a transaction that uses it. The key's shard must be locked.
    fn leave(&self, key: &Key) {
        self.lock().left.push(key.clone());
    }

    /// Notes that no transaction uses a key that was left to one. With `must_write`, the key is
    /// queued; it must be marked so, and the caller must start a transaction. The key's shard must
    /// be locked.
    pub(super) fn take_back(&self, key: &Key, must_write: bool) {
        let mut state = self.lock();
        state.left.retain(|left| !left.is(key));
        if must_write {
            state.waiting.push(key.clone());
            state.again = state.next();
        }
    }

    /// Starts a transaction if keys are queued.
    fn start(self: &Arc<Self>, mut state: MutexGuard<'_, QueueState>, engine: &Engine) {
        if state.waiting.is_empty() {
            return;
        }
        state.started += 1;
        state.engine = Some(engine.clone());
        drop(state);
        let batch = Arc::new(Mutex::new(Batch::default()));
        let (this, taken) = (Arc::clone(self), Arc::clone(&batch));
        let noticing = engine.clone();
        let handler = move |transaction: &std::rc::Rc<Transaction>| {
            let mut batch = taken.lock().unwrap_or_else(PoisonError::into_inner);
            *batch = this.take();
            batch.write(&noticing, transaction, &|key| this.leave(key))
        };
        let (this, reading) = (Arc::clone(self), engine.clone());
        let completion = move |outcome| {
            let mut batch = batch.lock().unwrap_or_else(PoisonError::into_inner);
            let overtaken = this.finish(std::mem::take(&mut *batch), outcome);
            drop(batch);
            for (key, overtaken) in overtaken {
                if let Some(overwrite) = foreign::settle(&reading, &key, overtaken) {
                    this.report_overwrite(overwrite);
                }
            }
        };
        engine.perform(
            [item::TABLE],
            PerformOptions::default(),
            handler,
            completion,
        );
    }

    fn take(&self) -> Batch {
        let mut state = self.lock();
        state.taken += 1;
        Batch::of(std::mem::take(&mut state.waiting))
    }

    /// Notes that a transaction has ended, and starts the next one. Returns the written keys that
    /// another process has changed meanwhile.
    fn finish(self: &Arc<Self>, mut batch: Batch, outcome: Result<()>) -> Vec<(Key, Overtaken)> {
        let failed_key = batch.failed_key.take().filter(|_| outcome.is_err());
        let was_undone = outcome.is_err();
        // Order: before a waiting thread is woken, which then finds the keys written.
        let (overtaken, again) = if was_undone {
            (Vec::new(), batch.put_back())
        } else {
            (batch.note_written(), Vec::new())
        };
        let mut state = self.lock();
        // A transaction that ended before it took its keys counts as well.
        state.finished += 1;
        state.taken = state.taken.max(state.finished);
        state.waiting.splice(0..0, again);
        let runs_again = failed_key.is_none() && state.runs_again(&outcome);
        let failed = outcome.err().filter(|_| !runs_again);
        let goes_on = failed.is_none() || failed_key.is_some();
        state.fruitless = if goes_on { 0 } else { state.fruitless + 1 };
        if let Some(error) = &failed {
            state.note_failure(error, failed_key);
        }
        // Keys that this transaction should have written are among those in the queue.
        if was_undone && goes_on && !state.waiting.is_empty() {
            state.again = state.next();
        }
        // Otherwise the queued transaction takes all keys.
        let is_last = state.started == state.finished;
        let engine = is_last.then(|| state.engine.take()).flatten();
        match &engine {
            Some(engine) if goes_on => self.start(state, engine),
            Some(engine) if failed.as_ref().is_some_and(may_succeed_later) => {
                self.retry_later(state, engine);
            }
            _ => drop(state),
        }
        if let Some(error) = failed {
            self.report(error);
        }
        self.finished.notify_all();
        overtaken
    }

    /// Starts a thread that retries after some time, unless one is waiting already.
    fn retry_later(self: &Arc<Self>, mut state: MutexGuard<'_, QueueState>, engine: &Engine) {
        if !engine.is_open() || std::mem::replace(&mut state.is_retrying, true) {
            return;
        }
        let doublings = state.fruitless.saturating_sub(1).min(16);
        let slices = (1 << doublings).min(RETRY_MAX.as_millis() / RETRY_FIRST.as_millis());
        let seen = state.hurries;
        drop(state);
        let (this, engine) = (Arc::clone(self), engine.clone());
        let retry = move || {
            let waits = |state: &mut QueueState| state.hurries == seen && !state.waiting.is_empty();
            let mut state = this.lock();
            // In slices, because the end of the engine does not wake this thread.
            for _ in 0..slices {
                if engine.is_open() && waits(&mut state) {
                    state = sync::wait_for_while(&this.hurried, state, RETRY_FIRST, waits);
                }
            }
            state.is_retrying = false;
            if engine.is_open() && state.started == state.finished {
                this.start(state, &engine);
            }
        };
        if sync::spawn("dflat-retry", retry).is_err() {
            self.lock().is_retrying = false;
        }
    }

    fn report(&self, error: Error) {
        let taken = self.callback().take();
        if let Some(mut call) = taken {
            // A panic of the callback is dropped: no caller could receive it.
            let _ = callback::run("the dictionary's failure callback", || call(error));
            self.callback().get_or_insert(call);
        }
    }

    fn callback(&self) -> MutexGuard<'_, Option<FailureCallback>> {
        self.on_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn on_failure(&self, callback: FailureCallback) {
        *self.callback() = Some(callback);
    }

    pub(super) fn report_overwrite(&self, overwrite: Overwrite) {
        self.overwrites.fetch_add(1, Ordering::Relaxed);
        let lock = || {
            self.on_overwrite
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let taken = lock().take();
        if let Some(mut call) = taken {
            // A panic of the callback is dropped: no caller could receive it.
            let _ = callback::run("the dictionary's overwrite callback", || call(overwrite));
            lock().get_or_insert(call);
        }
    }

    pub(super) fn on_overwrite(&self, callback: OverwriteCallback) {
        *self
            .on_overwrite
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(callback);
    }

    pub(super) fn overwrites(&self) -> u64 {
        self.overwrites.load(Ordering::Relaxed)
    }

    pub(super) fn failures(&self) -> u64 {
        self.lock().failures
    }

    /// Waits until all values set before are written.
    pub(super) fn synchronize(self: &Arc<Self>, engine: &Engine) -> Result<()> {
        callback::forbid_blocking("wait for the dictionary to be written")?;
        let last = self.changes.load(Ordering::Relaxed);
        let mut state = self.lock();
        // A transaction that has taken its keys may have failed already, because of a cause that
        // has gone since. The keys of those that have ended are queued again by `last`.
        let (mut ended, begun) = (state.finished, state.taken);
        let mut first = state.last();
        let mut target = first;
        loop {
            state = self.wait_for(state, target, engine);
            let began_before = |failed: &Option<(u64, Error)>| {
                let number = failed.as_ref().map_or(0, |(number, _)| *number);
                (ended + 1..=begun).contains(&number)
            };
            if began_before(&state.failed) || began_before(&state.refused) {
                ended = begun;
                first = state.last().max(begun + 1);
                target = first;
                continue;
            }
            let failed = |failed: &Option<(u64, Error)>, since: u64| match failed {
                Some((number, error)) if *number >= since && since > 0 => {
                    Err(error.clone().context("cannot write the dictionary"))
                }
                _ => Ok(()),
            };
            failed(&state.failed, target)?;
            if state.again > target {
                target = state.again;
                continue;
            }
            let left = state.left.clone();
            let is_refused = failed(&state.refused, first);
            // Order: the lock of a shard is taken before that of the state.
            drop(state);
            let Some(key) = left.iter().find(|key| key.waits_since(last)) else {
                return is_refused;
            };
            drop(key.space.unheld_shard(&key.key));
            state = self.lock();
        }
    }

    /// Waits for the end of a transaction, which is started if necessary.
    fn wait_for<'s>(
        self: &'s Arc<Self>,
        mut state: MutexGuard<'s, QueueState>,
        target: u64,
        engine: &Engine,
    ) -> MutexGuard<'s, QueueState> {
        while state.finished < target {
            if state.started < target {
                self.start(state, engine);
                state = self.lock();
                if state.started < target {
                    // No keys are queued any more: another thread had them written.
                    break;
                }
                continue;
            }
            state = self
                .finished
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    /// Has all queued keys written: their transaction is queued when this returns.
    pub(super) fn hurry(self: &Arc<Self>, engine: &Engine) {
        let mut state = self.lock();
        state.hurries += 1;
        self.hurried.notify_all();
        if state.taken == state.started {
            self.start(state, engine);
        }
    }
}

/// Whether a retry may succeed after an error.
fn may_succeed_later(error: &Error) -> bool {
    !matches!(error.kind(), ErrorKind::ShutDown | ErrorKind::ReadOnly)
}
