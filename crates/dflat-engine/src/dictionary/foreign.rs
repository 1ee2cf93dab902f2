//! Commits of other processes that change keys.
//!
//! A value in memory that another process may have changed is dropped, and is read again from the
//! file; subscribers get the value that the file has then. Change records name the changed keys;
//! without them, any key may have changed. A direct change that still waits to be written is the
//! later one: it stays. When it is written, the file is read again. If the file has the value that
//! was written, the change has overwritten that of the other process, and this is reported;
//! otherwise the other process was later.

use std::collections::BTreeSet;

use dflat_model::Value as Cell;

use super::item::TABLE;
use super::key_subscribers::{Pattern, PendingNotifications};
use super::reading::read;
use super::space::{Key, Overtaken, Space};
use super::{Core, Dictionary, lock};
use crate::change_set::ChangedKeys;
use crate::engine::Engine;
use crate::sync::Arc;
use crate::sync::atomic::Ordering;

/// A change of another process that a direct change has overwritten.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overwrite {
    /// The namespace of the key.
    pub namespace: Arc<str>,
    /// The key.
    pub key: Arc<str>,
}

impl Dictionary {
    /// Lets commits of other processes reach the values in memory. Called before the first value is
    /// read or set.
    pub(super) fn follow(&self) {
        let core = &self.state.core;
        if core.is_following.load(Ordering::Acquire) {
            return;
        }
        let weak = Arc::downgrade(core);
        let listener = move |engine: &Engine, changed: &ChangedKeys| {
            if let Some(core) = weak.upgrade() {
                Self::with(engine.clone(), core).catch_up(changed);
            }
        };
        // An error is one of reading: the next read returns it, and the next call tries again.
        if self.state.engine.listen(&TABLE, listener).is_ok() {
            core.is_following.store(true, Ordering::Release);
        }
    }

    /// Takes over the changes of other processes.
    fn catch_up(&self, changed: &ChangedKeys) {
        let (engine, core) = (&self.state.engine, &self.state.core);
        // Order: a stuck subscriber may hold an earlier call, so a later call can run on another
        // thread. With this lock, the later call counts the notice of the earlier call only after
        // the earlier call has dropped its keys.
        let dropping = lock(&core.catching_up);
        // Order: before the keys are collected; later notices are caught up with later.
        let noticed = engine.renewals();
        let (keys, noticed) = match changed {
            ChangedKeys::These { keys, notice } => match core.known_keys(keys) {
                Some(keys) => (keys, *notice),
                None => (self.all_keys(), noticed),
            },
            ChangedKeys::Any => (self.all_keys(), noticed),
        };
        let dropped: Vec<Key> = keys.into_iter().filter(drop_value).collect();
        core.caught_up.fetch_max(noticed, Ordering::AcqRel);
        drop(dropping);
        let mut pending = PendingNotifications::default();
        for key in &dropped {
            pending.extend(read_again(engine, key));
        }
        // Order: last, because a subscriber may be stuck.
        pending.notify();
    }

    /// The keys that are in memory or that subscribers follow.
    fn all_keys(&self) -> Vec<Key> {
        let mut all = Vec::new();
        let spaces: Vec<Arc<Space>> = lock(&self.state.core.spaces).values().cloned().collect();
        for space in spaces {
            let dictionary = Self {
                state: Arc::clone(&self.state),
                space: Arc::clone(&space),
            };
            let known = dictionary.in_memory("", |_| true);
            let mut keys: BTreeSet<_> = known.into_iter().map(|(key, _)| key).collect();
            for pattern in space.subscribers.patterns() {
                match pattern {
                    Pattern::Key(key) => drop(keys.insert(key)),
                    // The error is met again by the next read.
                    Pattern::Prefix(prefix) => {
                        keys.extend(dictionary.entries(&prefix).unwrap_or_default().into_keys());
                    }
                }
            }
            keys.extend(space.subscribers.delivered_keys());
            all.extend(keys.into_iter().map(|key| Key {
                space: Arc::clone(&space),
                key,
            }));
        }
        all
    }
}

impl Core {
    /// The keys of rows in the namespaces of this process; `None` for rows that this code would not
    /// write. A namespace that was never used has no values in memory and no subscribers.
    fn known_keys(&self, rows: &[Vec<Cell>]) -> Option<Vec<Key>> {
        let spaces = lock(&self.spaces);
        let mut keys = Vec::new();
        for row in rows {
            let [Cell::Text(key), Cell::Text(name)] = &row[..] else {
                return None;
            };
            if let Some(space) = spaces.get(&**name) {
                keys.push(Key {
                    space: Arc::clone(space),
                    key: Arc::from(&**key),
                });
            }
        }
        Some(keys)
    }
}

/// Takes over the value of a key from the file. A key that is in use is compared with the file when
/// it is free again.
fn refresh(engine: &Engine, key: &Key) {
    if drop_value(key) {
        read_again(engine, key).notify();
    }
}

/// Drops the value of a key; false if the key is in use.
fn drop_value(key: &Key) -> bool {
    key.space.shard(&key.key).forget(&key.key)
}

/// The value of a key for its subscribers, which are to be notified; read from the file if it is
/// not in memory.
fn read_again(engine: &Engine, key: &Key) -> PendingNotifications {
    let subscribers = &key.space.subscribers;
    if !subscribers.follow(&key.key) {
        return PendingNotifications::default();
    }
    loop {
        let shard = key.space.shard(&key.key);
        // The key has a value again: a later change, whose delivery is already queued, or a value
        // that was read meanwhile.
        if let Some(entry) = shard.get(&key.key) {
            return subscribers.queue(&key.key, entry.value.as_ref(), false);
        }
        let version = shard.version();
        drop(shard);
        // A value that cannot be read is not delivered: the next read returns the error.
        let Ok(value) = read(engine, &key.space, &key.key) else {
            return PendingNotifications::default();
        };
        let shard = key.space.shard(&key.key);
        // If this check fails, this key or another key with the same lock has changed.
        if shard.version() == version && shard.get(&key.key).is_none() {
            return subscribers.queue(&key.key, value.as_ref(), false);
        }
    }
}

/// Compares a key that was overtaken, and that is free now, with the file. Returns the change that
/// it has overwritten, if that is to be reported.
#[must_use]
pub(super) fn settle(engine: &Engine, key: &Key, overtaken: Overtaken) -> Option<Overwrite> {
    let shard = key.space.shard(&key.key);
    let written = shard.get(&key.key).map(|entry| entry.value.clone());
    drop(shard);
    match (read(engine, &key.space, &key.key), written) {
        (Ok(stored), Some(written)) if stored == written => {
            // The value may have come into memory by a read, of which no subscriber was notified.
            read_again(engine, key).notify();
            (overtaken == Overtaken::Yes).then(|| Overwrite {
                namespace: Arc::from(&*key.space.name),
                key: Arc::clone(&key.key),
            })
        }
        _ => {
            refresh(engine, key);
            None
        }
    }
}
