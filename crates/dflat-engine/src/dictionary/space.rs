//! The values of a namespace in memory.

use super::item::Value;
use super::key_subscribers::KeySubscribers;
use super::writing::Writing;
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::collections::HashMap;

/// The number of locks of a namespace, so that threads that use different keys seldom wait for one
/// another.
const SHARDS: usize = 16;

/// A namespace: the values that were read or set, those not written yet among them.
pub(super) struct Space {
    pub(super) name: Box<str>,
    pub(super) subscribers: KeySubscribers,
    shards: [LockedShard; SHARDS],
    /// The largest number of keys of a shard.
    keys_max: usize,
}

#[derive(Default)]
struct LockedShard {
    shard: Mutex<Shard>,
    /// Signalled when a transaction releases keys.
    released: Condvar,
}

/// A part of the keys of a namespace.
#[derive(Default)]
pub(super) struct Shard {
    entries: HashMap<Arc<str>, Entry>,
    /// Increased by each change of a value: values read from the file before are out of date.
    version: u64,
}

/// The state of a key.
#[derive(Default)]
pub(super) struct Entry {
    /// The value; `None` if the key is known to have none.
    pub(super) value: Option<Value>,
    /// The number of the latest change; 0 if that change was noted as written.
    change: u64,
    /// The batch that writes the latest change, once it has taken the key.
    writing: Option<Arc<Writing>>,
    /// Whether the latest change set the value that the key had already.
    pub(super) is_repeated: bool,
    /// Whether the key is in the queue of keys to be written.
    pub(super) queued: bool,
    /// The number of transactions that use the key.
    pub(super) holders: usize,
    /// Whether writing the key is left to these transactions.
    pub(super) is_left: bool,
    /// The values that these transactions left in the table, as far as their handlers have
    /// returned.
    pub(super) sealed: Vec<Option<Value>>,
    /// Whether the key has a row in the file, as far as is known. If this is wrong, the next write
    /// takes longer.
    pub(super) is_stored: bool,
    /// The value in the file before the changes that are not written yet, if it is known, and how
    /// many notices of other processes it is as new as.
    pub(super) base: Option<(Option<Value>, u64)>,
    /// Whether another process has changed the key while the entry could not be dropped.
    overtaken: Overtaken,
}

/// Whether another process has changed a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Overtaken {
    #[default]
    No,
    /// It has committed while the key was in use.
    Maybe,
    /// The change that is being written replaces its value.
    Yes,
}

impl Entry {
    /// The number of the latest change if that change is not known to be written; otherwise 0.
    pub(super) fn unwritten(&self) -> u64 {
        let is_written = |writing: &Arc<Writing>| writing.is_written();
        match self.writing.as_ref().is_some_and(is_written) {
            true => 0,
            false => self.change,
        }
    }

    /// Notes the number of a change.
    pub(super) fn note_change(&mut self, number: u64) {
        (self.change, self.writing) = (number, None);
    }

    /// Notes that the latest change is written.
    pub(super) fn note_written(&mut self) {
        (self.change, self.writing) = (0, None);
    }

    /// Notes the batch that writes the latest change, and whether the key has a row then. Returns
    /// whether the key was known to have a row before.
    pub(super) fn write_in(&mut self, batch: &Arc<Writing>) -> bool {
        if self.overtaken != Overtaken::No {
            batch.note_overtaken();
        }
        self.writing = Some(Arc::clone(batch));
        std::mem::replace(&mut self.is_stored, self.value.is_some())
    }

    /// Whether the file, of which `noticed` notices are known, may have another value than the one
    /// before the changes that are not written yet.
    pub(super) fn may_be_overtaken(&self, noticed: u64) -> bool {
        matches!(self.base, Some((_, since)) if since != noticed)
    }

    /// Notes the value that the file has when this key is about to be written.
    pub(super) fn note_replaced(&mut self, stored: &Option<Value>) {
        let is_base = self.base.as_ref().is_some_and(|(base, _)| base == stored);
        if self.base.is_some() && !is_base && *stored != self.value {
            self.note_overtaken(Overtaken::Yes);
        }
    }

    /// Notes that another process has changed the key. The batch that writes the key looks at it
    /// when it has ended.
    fn note_overtaken(&mut self, overtaken: Overtaken) {
        self.overtaken = self.overtaken.max(overtaken);
        if let Some(writing) = &self.writing {
            writing.note_overtaken();
        }
    }

    /// Whether another process has changed the key, once the key is free and so can be compared
    /// with the file. It is not marked any more then.
    pub(super) fn take_overtaken(&mut self) -> Overtaken {
        let is_free = self.unwritten() == 0 && self.holders == 0;
        if is_free {
            std::mem::take(&mut self.overtaken)
        } else {
            Overtaken::No
        }
    }

    /// Whether the entry can be dropped, because the file has the same value.
    fn is_clean(&self) -> bool {
        self.unwritten() == 0 && !self.queued && self.holders == 0
    }
}

impl Space {
    pub(super) fn new(name: &str, keys_max: usize) -> Self {
        Self {
            name: name.into(),
            subscribers: KeySubscribers::default(),
            shards: Default::default(),
            keys_max: keys_max.div_ceil(SHARDS),
        }
    }

    fn cell(&self, key: &str) -> &LockedShard {
        &self.shards[shard_of(key)]
    }

    /// The shard of a key.
    pub(super) fn shard(&self, key: &str) -> MutexGuard<'_, Shard> {
        lock(&self.cell(key).shard)
    }

    /// All shards, one after the other.
    pub(super) fn shards(&self) -> impl Iterator<Item = MutexGuard<'_, Shard>> {
        self.shards.iter().map(|cell| lock(&cell.shard))
    }

    /// Waits until no transaction uses a key, and locks its shard.
    pub(super) fn unheld_shard(&self, key: &str) -> MutexGuard<'_, Shard> {
        let cell = self.cell(key);
        let shard = lock(&cell.shard);
        cell.released
            .wait_while(shard, |shard| shard.is_held(key))
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the threads that wait until no transaction uses a key.
    pub(super) fn notify_released(&self, key: &str) {
        self.cell(key).released.notify_all();
    }

    /// Drops entries from shards that have too many.
    pub(super) fn shrink(&self) {
        for mut shard in self.shards() {
            shard.shrink(self.keys_max);
        }
    }

    /// Keeps a value that was read from the file, unless a value has changed since.
    pub(super) fn keep(&self, key: &str, value: Option<&Value>, version: u64) {
        let mut shard = self.shard(key);
        if shard.version == version && !shard.entries.contains_key(key) {
            let entry = Entry {
                value: value.cloned(),
                is_stored: value.is_some(),
                ..Entry::default()
            };
            // Order: shrunk first, so that the new entry stays: its reader relies on that.
            shard.shrink(self.keys_max.saturating_sub(1));
            shard.entries.insert(key.into(), entry);
        }
    }
}

impl Shard {
    pub(super) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.get(key)
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries.get_mut(key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Entry)> {
        self.entries.iter()
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn is_held(&self, key: &str) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.holders > 0)
    }

    /// The key's entry, to be changed. A new entry has no value.
    pub(super) fn change(&mut self, key: &str) -> (Arc<str>, &mut Entry) {
        self.version += 1;
        let shared = match self.entries.get_key_value(key) {
            Some((shared, _)) => Arc::clone(shared),
            None => key.into(),
        };
        let entry = self.entries.entry(Arc::clone(&shared)).or_default();
        (shared, entry)
    }

    /// Drops a key's value, because another process may have changed it; values that were read
    /// before are out of date. Returns false if the key is in use.
    pub(super) fn forget(&mut self, key: &str) -> bool {
        if let Some(entry) = self.entries.get_mut(key)
            && (entry.unwritten() != 0 || entry.holders > 0)
        {
            entry.note_overtaken(Overtaken::Maybe);
            // Order: noted first. Either the batch finds the note when it has ended, or the key is
            // found to be written here.
            if entry.unwritten() != 0 || entry.holders > 0 {
                return false;
            }
        }
        self.entries.remove(key);
        self.version += 1;
        true
    }

    /// Drops entries if there are too many: half of them, so that this is seldom done.
    fn shrink(&mut self, keys_max: usize) {
        if self.entries.len() <= keys_max {
            return;
        }
        let mut excess = self.entries.len() - keys_max / 2;
        self.entries.retain(|_, entry| {
            let forget = excess > 0 && entry.is_clean();
            excess -= usize::from(forget);
            !forget
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code that can panic runs under the lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The shard of a key, by a cheap hash: the maps of the shards use a better one.
fn shard_of(key: &str) -> usize {
    let mix = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    let hash = key
        .as_bytes()
        .iter()
        .rev()
        .take(8)
        .fold(key.len() as u32, mix);
    (hash ^ (hash >> 15)) as usize % SHARDS
}

/// A key of a namespace.
#[derive(Clone)]
pub(super) struct Key {
    pub(super) space: Arc<Space>,
    pub(super) key: Arc<str>,
}

impl Key {
    pub(super) fn is(&self, other: &Self) -> bool {
        self.key == other.key && Arc::ptr_eq(&self.space, &other.space)
    }

    /// Whether the key has an unwritten change that is not later than `last`.
    pub(super) fn waits_since(&self, last: u64) -> bool {
        let shard = self.space.shard(&self.key);
        let entry = shard.get(&self.key);
        entry.is_some_and(|entry| (1..=last).contains(&entry.unwritten()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_beyond_the_bound_are_dropped_unless_they_are_unwritten() {
        crate::sync::run(|| {
            let space = Space::new("", 160);
            for n in 0..100 {
                let key = format!("unwritten {n}");
                let mut shard = space.shard(&key);
                let (_, entry) = shard.change(&key);
                entry.value = Some(Value::I64(n));
                entry.note_change(1);
            }
            for n in 0..1000 {
                let key = format!("read {n}");
                let version = space.shard(&key).version();
                space.keep(&key, Some(&Value::I64(n)), version);
            }
            let keys = space.shards().map(|shard| shard.iter().count());
            assert!(keys.sum::<usize>() <= 160 + 100);
            for n in 0..100 {
                let key = format!("unwritten {n}");
                assert!(space.shard(&key).get(&key).is_some());
            }
        });
    }

    /// This also holds if the change was written and its entry dropped before the value is kept.
    #[test]
    fn a_value_read_before_a_change_is_not_kept() {
        crate::sync::run(|| {
            let space = Space::new("", SHARDS);
            let other = (0..).map(|n| format!("other{n}"));
            let other = other.into_iter().find(|key| shard_of(key) == shard_of("k"));
            let version = space.shard("k").version();
            space.shard("k").change("k").1.value = Some(Value::I64(2));
            space.keep("k", Some(&Value::I64(1)), version);
            let kept = space.shard("k").get("k").unwrap().value.clone();
            assert_eq!(kept, Some(Value::I64(2)));
            space.shard("k").change(&other.unwrap());
            space.shrink();
            assert!(space.shard("k").get("k").is_none());
            space.keep("k", Some(&Value::I64(1)), version);
            assert!(space.shard("k").get("k").is_none());
        });
    }

    /// The batch settles the change of the other process when it has ended.
    #[test]
    fn batch_knows_that_a_key_was_overtaken_before_it_took_the_key() {
        crate::sync::run(|| {
            let (mut entry, batch) = (Entry::default(), Arc::default());
            entry.note_change(1);
            entry.note_overtaken(Overtaken::Maybe);
            entry.write_in(&batch);
            assert!(batch.end());
            assert_eq!(entry.take_overtaken(), Overtaken::Maybe);
        });
    }

    #[test]
    fn keys_spread_over_the_shards() {
        let keys: Vec<String> = (0..1600).map(|n| format!("settings.key{n}")).collect();
        let mut counts = [0; SHARDS];
        keys.iter().for_each(|key| counts[shard_of(key)] += 1);
        assert!(
            counts.iter().all(|count| (50..=150).contains(count)),
            "{counts:?}"
        );
    }
}
