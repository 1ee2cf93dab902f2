//! The keys that one transaction of the dictionary writes.

use super::item;
use super::reading::read_inside;
use super::space::{Entry, Key, Overtaken, Space};
use super::writing::Writing;
use crate::engine::Engine;
use crate::error::{ErrorKind, Result};
use crate::object::Writer;
use crate::sync::Arc;
use crate::transaction::{Change, Transaction};

/// The keys that a transaction writes.
#[derive(Default)]
pub(super) struct Batch {
    keys: Vec<Key>,
    /// The written keys.
    written: Vec<Key>,
    /// The namespaces of the written keys.
    spaces: Vec<Arc<Space>>,
    writing: Arc<Writing>,
    /// The key that could not be written.
    pub(super) failed_key: Option<Key>,
}

impl Batch {
    pub(super) fn of(keys: Vec<Key>) -> Self {
        Self {
            keys,
            ..Self::default()
        }
    }

    /// Writes the keys. `leave` is called, with the key's shard locked, for each key that a
    /// transaction uses, which is left to that transaction.
    pub(super) fn write(
        &mut self,
        engine: &Engine,
        transaction: &Transaction,
        leave: &dyn Fn(&Key),
    ) -> Result<()> {
        // Writing first, without a read before, does not fail because another process has
        // committed before.
        transaction.write_first()?;
        let noticed = engine.renewals();
        let mut writer = Writer::new();
        self.keys.reverse();
        while let Some(key) = self.keys.pop() {
            let mut shard = key.space.shard(&key.key);
            let Some(entry) = shard.get_mut(&key.key) else {
                continue;
            };
            entry.queued = false;
            if entry.unwritten() == 0 {
                continue;
            }
            // A transaction that uses the key queues it at its end, if necessary.
            if entry.holders > 0 {
                if !std::mem::replace(&mut entry.is_left, true) {
                    leave(&key);
                }
                continue;
            }
            let must_compare = entry.may_be_overtaken(noticed) || entry.is_repeated;
            let value = entry.value.clone();
            let was_stored = entry.write_in(&self.writing);
            drop(shard);
            self.note_space(&key.space);
            if must_compare && is_in_file(transaction, &key, &value) {
                self.written.push(key);
                continue;
            }
            let stored = store(transaction, &mut writer, &key, value.as_ref(), was_stored);
            if let Err(error) = stored {
                // An error of one key must not keep the others from being written.
                if matches!(
                    error.kind(),
                    ErrorKind::Corrupt | ErrorKind::InvalidArgument
                ) {
                    self.failed_key = Some(key);
                } else {
                    self.written.push(key);
                }
                return Err(error);
            }
            self.written.push(key);
        }
        Ok(())
    }

    fn note_space(&mut self, space: &Arc<Space>) {
        if !self.spaces.iter().any(|known| Arc::ptr_eq(known, space)) {
            self.spaces.push(Arc::clone(space));
        }
    }

    /// Marks the keys as written. Returns the keys that another process has changed meanwhile.
    pub(super) fn note_written(self) -> Vec<(Key, Overtaken)> {
        let mut overtaken = Vec::new();
        if self.writing.end() {
            for key in self.written {
                let mut shard = key.space.shard(&key.key);
                let entry = shard.get_mut(&key.key);
                // Without an entry, another process may have changed the key: memory that was short
                // may have dropped the entry since the batch ended.
                let is_overtaken = entry.map_or(Overtaken::Maybe, Entry::take_overtaken);
                drop(shard);
                if is_overtaken != Overtaken::No {
                    overtaken.push((key, is_overtaken));
                }
            }
        }
        self.spaces.iter().for_each(|space| space.shrink());
        overtaken
    }

    /// Marks the keys that must be written again as queued, and returns them.
    pub(super) fn put_back(self) -> Vec<Key> {
        // The keys that the transaction did not reach.
        let mut again = self.keys;
        again.reverse();
        for key in self.written {
            let mut shard = key.space.shard(&key.key);
            let Some(entry) = shard.get_mut(&key.key) else {
                continue;
            };
            if entry.unwritten() != 0 && !entry.queued {
                entry.queued = true;
                drop(shard);
                again.push(key);
            }
        }
        again
    }
}

/// Compares a key with the file before it is written. Notes the value of another process that is
/// about to be replaced, if there is one; returns whether the file has the value already.
fn is_in_file(transaction: &Transaction, key: &Key, value: &Option<item::Value>) -> bool {
    // An error is met again when the key is written.
    let Ok(stored) = read_inside(transaction, &key.space, &key.key) else {
        return false;
    };
    if let Some(entry) = key.space.shard(&key.key).get_mut(&key.key) {
        entry.note_replaced(&stored);
    }
    stored == *value
}

/// Writes a key that is known to have a row or not.
fn store(
    transaction: &Transaction,
    writer: &mut Writer,
    key: &Key,
    value: Option<&item::Value>,
    is_stored: bool,
) -> Result<()> {
    match value {
        // Without a known row the key is most likely new, and creating it saves a look-up.
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
            transaction.submit(&item::TABLE, Change::Upsert { payload })?;
        }
        None => {
            let found = transaction.get(&item::TABLE, &item::key_of(key, &space.name))?;
            if let Some(object) = found
                && let Some(base) = transaction.latest(&item::TABLE, &object)?
            {
                transaction.submit(&item::TABLE, Change::Delete { base })?;
            }
        }
    }
    Ok(())
}

/// Creates the row of a key; false if the key has a row already.
fn insert(
    transaction: &Transaction,
    writer: &mut Writer,
    Key { space, key }: &Key,
    value: &item::Value,
) -> Result<bool> {
    let payload = item::encode(writer, key, &space.name, value)?;
    match transaction.submit(&item::TABLE, Change::Create { payload }) {
        Ok(_) => Ok(true),
        // The conflict changed nothing, and the transaction stays usable.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}
