//! Small values by key, kept in memory and written in the background.
//!
//! Values are rows of one table of the engine, [`TABLE`], whose layout is in `item.rs`. Values that
//! are not in memory are read through the engine, by `reading.rs`, and all are written through it,
//! as other objects are. A change is made in memory, under the lock of the key's shard, and its key
//! is put into the queue of `write_behind.rs`.

mod batch;
mod foreign;
mod item;
mod key_subscribers;
mod reading;
mod space;
mod transactional;
mod write_behind;
mod write_queue;
mod writing;

use std::collections::HashMap;
use std::sync::Weak;

use crate::callback;
use crate::engine::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Arc, Mutex, MutexGuard, PoisonError};
pub use foreign::Overwrite;
pub use item::{TABLE, Value};
use key_subscribers::PendingNotifications;
pub use key_subscribers::{Event, KeySubscription, Pattern};
pub use reading::{Item, item_of};
use space::{Key, Shard, Space};
pub use transactional::{HeldKeys, TransactionKeys};
use write_behind::WriteBehind;
pub use write_behind::{FailureCallback, OverwriteCallback};

/// A namespace of the dictionary, with a handle on its engine. Clones share both.
#[derive(Clone)]
pub struct Dictionary {
    state: Arc<WorkspaceState>,
    space: Arc<Space>,
}

/// The state that the handles of one workspace share.
struct WorkspaceState {
    engine: Engine,
    core: Arc<Core>,
    /// Whether setting values is refused.
    is_closed: AtomicBool,
}

/// The state that all workspaces on one engine share.
struct Core {
    writer: Arc<WriteBehind>,
    spaces: Mutex<HashMap<String, Arc<Space>>>,
    keys_max: usize,
    is_read_only: bool,
    /// Whether commits of other processes reach the values in memory.
    is_following: AtomicBool,
    /// The number of notices of other processes up to which the values in memory are known.
    caught_up: AtomicU64,
    /// Held while values that other processes have changed are dropped.
    catching_up: Mutex<()>,
}

/// A weak reference to the dictionary of an engine.
pub struct WeakDictionary(Weak<Core>);

impl WeakDictionary {
    /// The dictionary for another handle on its engine; `None` if it has ended.
    #[must_use]
    pub fn share(&self, engine: Engine) -> Option<Dictionary> {
        self.0.upgrade().map(|core| Dictionary::with(engine, core))
    }
}

impl Dictionary {
    /// Makes the dictionary of an engine, which must have no other. About `keys_max` keys of each
    /// namespace are kept in memory, and in addition those that are not written yet.
    #[must_use]
    pub fn new(engine: Engine, keys_max: usize) -> Self {
        Self::make(engine, keys_max, false)
    }

    /// As [`new`](Self::new), for an engine whose storage is only read: changes are refused.
    #[must_use]
    pub fn read_only(engine: Engine, keys_max: usize) -> Self {
        Self::make(engine, keys_max, true)
    }

    fn make(engine: Engine, keys_max: usize, is_read_only: bool) -> Self {
        let core = Core {
            writer: Arc::default(),
            spaces: Mutex::default(),
            keys_max,
            is_read_only,
            is_following: AtomicBool::new(false),
            caught_up: AtomicU64::new(0),
            catching_up: Mutex::default(),
        };
        Self::with(engine, Arc::new(core))
    }

    fn with(engine: Engine, core: Arc<Core>) -> Self {
        let space = core.space("");
        let state = WorkspaceState {
            engine,
            core,
            is_closed: AtomicBool::new(false),
        };
        Self {
            state: Arc::new(state),
            space,
        }
    }

    /// A weak reference, for other handles on the engine.
    #[must_use]
    pub fn downgrade(&self) -> WeakDictionary {
        WeakDictionary(Arc::downgrade(&self.state.core))
    }

    /// The namespace with a name. Dflat for Swift uses the namespace with an empty name.
    #[must_use]
    pub fn namespace(&self, name: &str) -> Self {
        Self {
            state: Arc::clone(&self.state),
            space: self.state.core.space(name),
        }
    }

    fn writer(&self) -> &Arc<WriteBehind> {
        &self.state.core.writer
    }

    /// Queues keys for writing; they must be marked as queued.
    fn enqueue(&self, keys: impl IntoIterator<Item = Key>) {
        self.writer().enqueue(&self.state.engine, keys);
    }

    /// Refuses to work after shutdown.
    fn admit(&self, operation: std::fmt::Arguments<'_>) -> Result<()> {
        self.state.engine.admit_read(operation)
    }

    /// Refuses to change values after shutdown, and if they can't be written.
    fn admit_change(&self, operation: std::fmt::Arguments<'_>) -> Result<()> {
        let (kind, reason) = if self.state.is_closed.load(Ordering::Acquire) {
            (ErrorKind::ShutDown, "the workspace is shut down")
        } else if self.state.core.is_read_only {
            (ErrorKind::ReadOnly, "the file was opened read-only")
        } else {
            return Ok(());
        };
        let message = format!("cannot {operation}: {reason}");
        Err(Error::new(kind, message))
    }

    /// Sets or removes a value: in memory at once, in the file soon. Waits for a transaction that
    /// uses the key.
    ///
    /// # Errors
    /// [`ErrorKind::WouldDeadlock`] inside a handler or callback, if a transaction uses the key;
    /// [`ErrorKind::InvalidArgument`] if the value is larger than 1 GB; [`ErrorKind::ReadOnly`] if
    /// the storage is only read; [`ErrorKind::ShutDown`] after shutdown.
    pub fn set(&self, key: &str, value: Option<Value>) -> Result<()> {
        self.change(key, None, value).map(drop)
    }

    /// Sets or removes a value if the present value is `expected`; returns whether it was. If the
    /// value is the expected one, nothing is written.
    ///
    /// # Errors
    /// As [`Self::set`], and as [`Self::get`].
    pub fn replace(
        &self,
        key: &str,
        expected: Option<&Value>,
        value: Option<Value>,
    ) -> Result<bool> {
        self.change(key, Some(expected), value)
    }

    /// Replaces a value by the result of `change`. The replacement is atomic: if another thread or
    /// a transaction has changed the value meanwhile, `change` is called again with the new value.
    ///
    /// # Errors
    /// As [`Self::get`] and [`Self::set`], and those of `change`, after which nothing is changed.
    pub fn update(
        &self,
        key: &str,
        mut change: impl FnMut(Option<&Value>) -> Result<Option<Value>>,
    ) -> Result<()> {
        loop {
            let before = self.get(key)?;
            let after = change(before.as_ref())?;
            if self.replace(key, before.as_ref(), after)? {
                return Ok(());
            }
        }
    }

    fn change(
        &self,
        key: &str,
        expected: Option<Option<&Value>>,
        value: Option<Value>,
    ) -> Result<bool> {
        if let Some(value) = &value {
            item::check_size(key, value)?;
        }
        let mut shard = self.shard_to_change(key)?;
        let entry = shard.get(key);
        let known = entry.map(|entry| entry.value.as_ref());
        if expected.is_some_and(|expected| known != Some(expected)) {
            return Ok(false);
        }
        // The value in memory may be out of date, because another process has changed the key. So a
        // value that is set again is compared with the file when it would be written, unless it
        // waits to be written anyway, or is only kept.
        let is_repeated = known == Some(value.as_ref());
        if is_repeated && (expected.is_some() || entry.is_some_and(|entry| entry.queued)) {
            return Ok(true);
        }
        let number = self.writer().next_change();
        let caught_up = self.state.core.caught_up.load(Ordering::Acquire);
        let is_known = known.is_some();
        let (shared_key, entry) = shard.change(key);
        let before = std::mem::replace(&mut entry.value, value);
        if entry.unwritten() == 0 {
            entry.base = is_known.then_some((before, caught_up));
        }
        entry.note_change(number);
        entry.is_repeated = is_repeated;
        let is_queued = std::mem::replace(&mut entry.queued, true);
        let pending = self
            .space
            .subscribers
            .queue(&shared_key, entry.value.as_ref(), false);
        drop(shard);
        if !is_queued {
            let space = Arc::clone(&self.space);
            self.enqueue([Key {
                space,
                key: shared_key,
            }]);
        }
        pending.notify();
        Ok(true)
    }

    /// Waits until no transaction uses a key, and locks its shard, so that the key can be changed.
    fn shard_to_change(&self, key: &str) -> Result<MutexGuard<'_, Shard>> {
        if self.state.engine.is_of_parent() {
            self.admit(format_args!("set {key:?}"))?;
        }
        self.follow();
        let shard = if callback::is_running() {
            let shard = self.space.shard(key);
            if shard.is_held(key) {
                let message = format!(
                    "cannot set {key:?}, which a transaction uses, inside a handler or a callback"
                );
                return Err(Error::new(ErrorKind::WouldDeadlock, message));
            }
            shard
        } else {
            self.space.unheld_shard(key)
        };
        self.admit_change(format_args!("set {key:?}"))?;
        Ok(shard)
    }

    /// Removes all values of the namespace. Every subscriber to a single key is notified that the
    /// key has no value, even if it had none before, unless another process has set it meanwhile.
    ///
    /// # Errors
    /// As [`Self::entries`] and [`Self::set`]; some values may be removed already.
    pub fn remove_all(&self) -> Result<()> {
        let what = "cannot remove all values of the dictionary";
        self.admit_change(format_args!("remove all values of the dictionary"))?;
        let known = self.entries("").map_err(|error| error.context(what))?;
        for key in known.keys() {
            self.set(key, None).map_err(|error| error.context(what))?;
        }
        // Order: after the removals. Another process may have set one of these keys meanwhile.
        for key in self.space.subscribers.keys() {
            // The removal of a value was delivered above.
            if known.contains_key(&*key) {
                continue;
            }
            let remind = |value: Option<&Value>| match value {
                Some(_) => PendingNotifications::default(),
                None => self.space.subscribers.remind(&key),
            };
            let pending = self.with_present(&key, remind);
            pending.map_err(|error| error.context(what))?.notify();
        }
        Ok(())
    }

    /// Waits until all values that any thread set before are as durable as a commit.
    ///
    /// # Errors
    /// The error of a write that began after this call and failed, which the next call or change
    /// tries again; [`ErrorKind::WouldDeadlock`] inside a handler or a callback;
    /// [`ErrorKind::ShutDown`] after shutdown.
    pub fn synchronize(&self) -> Result<()> {
        self.admit(format_args!("synchronize the dictionary"))?;
        self.writer().synchronize(&self.state.engine)
    }

    /// Sets the callback that is called with the error of each write that fails. It replaces the
    /// callback set before.
    pub fn on_failure(&self, callback: FailureCallback) {
        self.writer().on_failure(callback);
    }

    /// The number of writes that have failed.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.writer().failures()
    }

    /// Sets the callback that is called with each change of another process that a direct change
    /// has overwritten. It replaces the callback set before.
    pub fn on_overwrite(&self, callback: OverwriteCallback) {
        self.writer().on_overwrite(callback);
    }

    /// The number of such changes.
    #[must_use]
    pub fn overwrites(&self) -> u64 {
        self.writer().overwrites()
    }

    /// Refuses to set values through handles of this workspace from now on. Values set before are
    /// written by transactions that are queued when this returns.
    pub fn close(&self) {
        self.state.is_closed.store(true, Ordering::Release);
        self.writer().hurry(&self.state.engine);
    }

    /// As [`close`](Self::close), and waits until the values are as durable as a commit.
    ///
    /// # Errors
    /// As [`synchronize`](Self::synchronize), but a second call is no error.
    pub fn close_and_wait(&self) -> Result<()> {
        self.close();
        self.writer().synchronize(&self.state.engine)
    }
}

impl Core {
    fn space(&self, name: &str) -> Arc<Space> {
        let mut spaces = lock(&self.spaces);
        match spaces.get(name) {
            Some(space) => Arc::clone(space),
            None => {
                let space = Arc::new(Space::new(name, self.keys_max));
                spaces.insert(name.to_owned(), Arc::clone(&space));
                space
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code that can panic runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dictionary")
            .field("namespace", &self.space.name)
            .finish_non_exhaustive()
    }
}
