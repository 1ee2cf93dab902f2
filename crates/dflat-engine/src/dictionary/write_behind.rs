//! Writes what was set, in the background, in batches.
//!
//! A change of a key puts the key into a queue, once. A transaction takes all keys that wait, and
//! writes the value that each has then: so a key's values are written in order, perhaps not all.
//! There is one such transaction at a time. One that fails puts its keys back; the next change,
//! `synchronize` and the shutdown try again. If it fails because of one key, such as one whose row
//! is damaged, that key is set aside until `synchronize`, and the others are written at once.
//!
//! A key that a transaction uses is left to that one: its end clears or queues it.

use super::item;
use super::space::Space;
use crate::callback;
use crate::engine::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::object::Writer;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use crate::transaction::{Change, Transaction};

/// Who is told of writes that failed.
pub type FailureCallback = Box<dyn FnMut(Error) + Send>;

/// The queue of keys, and the transactions that empty it.
#[derive(Default)]
pub(super) struct WriteBehind {
    /// The number of the last change.
    changes: AtomicU64,
    state: Mutex<State>,
    finished: Condvar,
    on_failure: Mutex<Option<FailureCallback>>,
}

#[derive(Default)]
struct State {
    waiting: Vec<Key>,
    /// Who has started a transaction last, until it has ended.
    engine: Option<Engine>,
    /// How many transactions were queued, have taken their keys, and have ended: each step in the
    /// order of the one before.
    started: u64,
    taken: u64,
    finished: u64,
    failures: u64,
    /// The last that failed.
    failed: Option<(u64, Error)>,
    /// The last that failed because of one key.
    refused: Option<(u64, Error)>,
    /// The keys that can't be written.
    aside: Vec<Key>,
    /// The keys that were left to transactions that use them.
    left: Vec<Key>,
    /// Who waits until all is written waits for this transaction, too: it writes keys that an
    /// earlier one should have.
    again: u64,
}

impl State {
    /// The transaction that writes what waits now: one that is queued takes all that waits then.
    fn next(&self) -> u64 {
        self.started + u64::from(self.taken == self.started)
    }
}

/// A key that waits to be written.
#[derive(Clone)]
pub(super) struct Key {
    pub(super) space: Arc<Space>,
    pub(super) key: Arc<str>,
}

impl Key {
    fn is(&self, other: &Self) -> bool {
        self.key == other.key && Arc::ptr_eq(&self.space, &other.space)
    }

    /// Whether a change up to this one is not written yet.
    fn waits_since(&self, last: u64) -> bool {
        let shard = self.space.shard(&self.key);
        let slot = shard.get(&self.key);
        slot.is_some_and(|slot| (1..=last).contains(&slot.unwritten))
    }
}

impl WriteBehind {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a change about to be made.
    pub(super) fn next_change(&self) -> u64 {
        self.changes.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Has keys written, which are marked as queued.
    pub(super) fn enqueue(self: &Arc<Self>, engine: &Engine, keys: impl IntoIterator<Item = Key>) {
        let mut state = self.lock();
        state.waiting.extend(keys);
        if state.started == state.finished {
            self.start(state, engine);
        }
    }

    /// Notes that a key is left to a transaction that uses it. The key's shard is locked.
    fn leave(&self, key: &Key) {
        self.lock().left.push(key.clone());
    }

    /// Notes that no transaction uses a key any more that was left to one; if it must be written,
    /// it is marked as queued, and the caller has it written. The key's shard is locked.
    pub(super) fn take_back(&self, key: &Key, must_write: bool) {
        let mut state = self.lock();
        state.left.retain(|left| !left.is(key));
        if must_write {
            state.waiting.push(key.clone());
            state.again = state.next();
        }
    }

    /// Starts a transaction if there is something to write.
    fn start(self: &Arc<Self>, mut state: MutexGuard<'_, State>, engine: &Engine) {
        if state.waiting.is_empty() {
            return;
        }
        state.started += 1;
        state.engine = Some(engine.clone());
        drop(state);
        let batch = Arc::new(Mutex::new(Batch::default()));
        let (this, taken) = (Arc::clone(self), Arc::clone(&batch));
        let handler = Box::new(move |transaction: &std::rc::Rc<Transaction>| {
            let mut batch = taken.lock().unwrap_or_else(PoisonError::into_inner);
            *batch = this.take();
            batch.write(transaction, &this)
        });
        let this = Arc::clone(self);
        let completion = Box::new(move |outcome| {
            let mut batch = batch.lock().unwrap_or_else(PoisonError::into_inner);
            this.finish(std::mem::take(&mut *batch), outcome);
        });
        engine.perform(vec![item::TABLE], handler, completion);
    }

    fn take(&self) -> Batch {
        let mut state = self.lock();
        state.taken += 1;
        Batch {
            keys: std::mem::take(&mut state.waiting),
            ..Batch::default()
        }
    }

    /// Notes that a transaction has ended, and starts the next.
    fn finish(self: &Arc<Self>, mut batch: Batch, outcome: Result<()>) {
        let culprit = batch.culprit.take().filter(|_| outcome.is_err());
        let again = batch.settle(outcome.is_ok());
        let mut state = self.lock();
        // One that did not get as far as to take keys counts all the same.
        state.finished += 1;
        state.taken = state.taken.max(state.finished);
        state.waiting.splice(0..0, again);
        let failed = outcome.err();
        let goes_on = failed.is_none() || culprit.is_some();
        if let Some(error) = &failed {
            state.failures += 1;
            let failed = Some((state.finished, error.clone()));
            match culprit {
                Some(key) => {
                    state.refused = failed;
                    state.aside.retain(|aside| !aside.is(&key));
                    state.aside.push(key);
                    if !state.waiting.is_empty() {
                        state.again = state.next();
                    }
                }
                None => state.failed = failed,
            }
        }
        // Else the one that is queued takes all.
        let is_last = state.started == state.finished;
        let engine = is_last.then(|| state.engine.take()).flatten();
        match &engine {
            Some(engine) if goes_on => self.start(state, engine),
            _ => drop(state),
        }
        if let Some(error) = failed {
            self.tell(error);
        }
        self.finished.notify_all();
    }

    fn tell(&self, error: Error) {
        let taken = self.callback().take();
        if let Some(mut call) = taken {
            // A panic there has nobody to go to.
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

    pub(super) fn failures(&self) -> u64 {
        self.lock().failures
    }

    /// Waits until all that was set before is written.
    pub(super) fn synchronize(self: &Arc<Self>, engine: &Engine) -> Result<()> {
        callback::forbid_blocking("wait for the dictionary to be written")?;
        let last = self.changes.load(Ordering::Relaxed);
        let mut state = self.lock();
        let aside = std::mem::take(&mut state.aside);
        state.waiting.extend(aside);
        let first = if state.waiting.is_empty() {
            state.started
        } else {
            state.next()
        };
        let mut target = first;
        loop {
            state = self.wait_for(state, target, engine);
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

    /// Waits for a transaction, which is started if need be.
    fn wait_for<'s>(
        self: &'s Arc<Self>,
        mut state: MutexGuard<'s, State>,
        target: u64,
        engine: &Engine,
    ) -> MutexGuard<'s, State> {
        while state.finished < target {
            if state.started < target {
                self.start(state, engine);
                state = self.lock();
                if state.started < target {
                    // Others have written it.
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

    /// Has what was set written: the transaction is queued when this returns.
    pub(super) fn hurry(self: &Arc<Self>, engine: &Engine) {
        let state = self.lock();
        if state.taken == state.started {
            self.start(state, engine);
        }
    }
}

/// What a transaction writes.
#[derive(Default)]
struct Batch {
    keys: Vec<Key>,
    /// The keys that were written, the numbers of their changes, and whether they have a row now.
    written: Vec<(Key, u64, bool)>,
    /// The key that can't be written.
    culprit: Option<Key>,
}

impl Batch {
    fn write(&mut self, transaction: &Transaction, queue: &WriteBehind) -> Result<()> {
        // Nothing is read before: no other process can be in the way.
        transaction.write_first()?;
        let mut writer = Writer::new();
        self.keys.reverse();
        while let Some(key) = self.keys.pop() {
            let mut shard = key.space.shard(&key.key);
            let Some(slot) = shard.get_mut(&key.key) else {
                continue;
            };
            slot.queued = false;
            let (value, number, is_stored) = (slot.value.clone(), slot.unwritten, slot.is_stored);
            if number == 0 {
                continue;
            }
            // A transaction that uses the key queues it again at its end, if need be.
            if slot.holders > 0 {
                if !std::mem::replace(&mut slot.is_left, true) {
                    queue.leave(&key);
                }
                continue;
            }
            drop(shard);
            if let Err(error) = store(transaction, &mut writer, &key, value.as_ref(), is_stored) {
                // What is wrong with one key is no reason not to write the others.
                if matches!(
                    error.kind(),
                    ErrorKind::Corrupt | ErrorKind::InvalidArgument
                ) {
                    self.culprit = Some(key);
                } else {
                    self.written.push((key, number, is_stored));
                }
                return Err(error);
            }
            self.written.push((key, number, value.is_some()));
        }
        Ok(())
    }

    /// Notes what became of the keys; those to be written again.
    fn settle(self, is_written: bool) -> Vec<Key> {
        // Those that it did not come to.
        let mut again = self.keys;
        again.reverse();
        let mut spaces: Vec<Arc<Space>> = Vec::new();
        for (key, number, is_stored) in self.written {
            if !spaces.iter().any(|space| Arc::ptr_eq(space, &key.space)) {
                spaces.push(Arc::clone(&key.space));
            }
            let mut shard = key.space.shard(&key.key);
            let Some(slot) = shard.get_mut(&key.key) else {
                continue;
            };
            if !is_written && slot.unwritten != 0 && !slot.queued {
                slot.queued = true;
                drop(shard);
                again.push(key);
            } else if is_written {
                slot.is_stored = is_stored;
                if slot.unwritten == number {
                    slot.unwritten = 0;
                }
            }
        }
        spaces.iter().for_each(|space| space.shrink());
        again
    }
}

/// Writes a key, of which it is known whether it has a row.
fn store(
    transaction: &Transaction,
    writer: &mut Writer,
    key: &Key,
    value: Option<&item::Value>,
    is_stored: bool,
) -> Result<()> {
    match value {
        // Most likely it is new, which saves a look-up.
        Some(value) if !is_stored && insert(transaction, writer, key, value)? => Ok(()),
        value => put(transaction, writer, key, value),
    }
}

/// Writes a key in a transaction.
pub(super) fn put(
    transaction: &Transaction,
    writer: &mut Writer,
    Key { space, key }: &Key,
    value: Option<&item::Value>,
) -> Result<()> {
    match value {
        Some(value) => {
            let payload = item::encode(writer, key, &space.name, value)?;
            transaction.submit(&item::TABLE, &Change::Upsert { payload })?;
        }
        None => {
            let found = transaction.get(&item::TABLE, &item::key_of(key, &space.name))?;
            if let Some(object) = found
                && let Some(base) = transaction.latest(&item::TABLE, &object)?
            {
                transaction.submit(&item::TABLE, &Change::Delete { base: &base })?;
            }
        }
    }
    Ok(())
}

/// Writes a key that may be new; whether it was.
fn insert(
    transaction: &Transaction,
    writer: &mut Writer,
    Key { space, key }: &Key,
    value: &item::Value,
) -> Result<bool> {
    let payload = item::encode(writer, key, &space.name, value)?;
    match transaction.submit(&item::TABLE, &Change::Create { payload }) {
        Ok(_) => Ok(true),
        // Nothing was changed, and the transaction goes on.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}
