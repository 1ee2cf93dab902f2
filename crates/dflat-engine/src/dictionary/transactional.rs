//! Keys inside a transaction.
//!
//! From its first use of a key to its end a transaction holds the key: who wants to change it
//! directly waits, and who reads it directly reads what it was. A change that was made directly
//! before and is not written yet is written by the transaction first, so that both are in one
//! commit. The next transaction may use the key before that one is acknowledged: it finds in the
//! table what that one has left there, and does not write the direct change again. After the
//! commit, and before the transaction's completion, the value in memory becomes the new one and
//! subscribers are told.

use super::batch::put;
use super::item::{self, TABLE, Value};
use super::space::Key;
use super::{Dictionary, lock, value_of};
use crate::error::Result;
use crate::object::Writer;
use crate::sync::{Arc, Mutex, MutexGuard};
use crate::transaction::Transaction;

/// The keys that a transaction holds. Its handler and its completion share them.
#[derive(Default)]
pub struct HeldKeys(Mutex<Vec<HeldKey>>);

struct HeldKey {
    dictionary: Dictionary,
    key: Arc<str>,
    /// The number of the direct change that the transaction has written, and its value.
    carried: Option<(u64, Option<Value>)>,
    /// Whether the transaction has set it.
    is_set: bool,
    /// What it is when the handler has returned.
    last: Option<Value>,
}

impl HeldKeys {
    fn lock(&self) -> MutexGuard<'_, Vec<HeldKey>> {
        lock(&self.0)
    }

    /// How many keys are held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether no key is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes again what was written directly before the transaction, for the keys from the n-th
    /// on: the group of changes in which they were used first was undone.
    ///
    /// # Errors
    /// As changes can fail.
    pub fn carry_again(&self, first: usize, transaction: &Transaction) -> Result<()> {
        let mut writer = Writer::new();
        for hold in self.lock().iter_mut().skip(first) {
            hold.is_set = false;
            // If it fails it is not carried, and written after the transaction.
            if let Some((number, value)) = hold.carried.take() {
                put(transaction, &mut writer, &hold.full_key(), value.as_ref())?;
                hold.carried = Some((number, value));
            }
        }
        Ok(())
    }

    /// Notes what the values are, when the handler has returned.
    ///
    /// # Errors
    /// As reading can fail.
    pub fn seal(&self, transaction: &Transaction) -> Result<()> {
        for hold in self.lock().iter_mut() {
            if hold.is_set {
                hold.last = read(transaction, &hold.dictionary, &hold.key)?;
            } else if let Some((_, value)) = &hold.carried {
                hold.last = value.clone();
            } else {
                continue;
            }
            let mut shard = hold.dictionary.space.shard(&hold.key);
            if let Some(entry) = shard.get_mut(&hold.key) {
                entry.sealed.push(hold.last.clone());
            }
        }
        Ok(())
    }

    /// Lets go of the keys when the transaction has ended.
    pub fn release(&self, is_committed: bool) {
        let holds = std::mem::take(&mut *self.lock());
        let mut pending = super::PendingNotifications::default();
        for hold in holds {
            let full_key = hold.full_key();
            let mut shard = full_key.space.shard(&full_key.key);
            let (key, entry) = shard.change(&full_key.key);
            entry.holders -= 1;
            if entry.holders == 0 {
                entry.sealed = Vec::new();
            }
            if is_committed && hold.is_set {
                entry.unwritten = 0;
                if entry.value != hold.last {
                    entry.value = hold.last;
                    pending.extend(full_key.space.subscribers.queue(
                        &key,
                        entry.value.as_ref(),
                        false,
                    ));
                }
            } else if is_committed
                && hold
                    .carried
                    .as_ref()
                    .is_some_and(|(number, _)| *number == entry.unwritten)
            {
                entry.unwritten = 0;
            }
            let again = entry.unwritten != 0 && !entry.queued && entry.holders == 0;
            entry.queued |= again;
            let was_left = entry.holders == 0 && std::mem::take(&mut entry.is_left);
            if again || was_left {
                hold.dictionary.writer().take_back(&full_key, again);
            }
            drop(shard);
            full_key.space.notify_released(&full_key.key);
            if again {
                hold.dictionary.enqueue([]);
            }
        }
        pending.tell();
    }
}

impl AsRef<Self> for HeldKeys {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl HeldKey {
    fn full_key(&self) -> Key {
        Key {
            space: Arc::clone(&self.dictionary.space),
            key: Arc::clone(&self.key),
        }
    }
}

/// The dictionary as a transaction sees and changes it.
pub struct TransactionKeys<'t> {
    dictionary: Dictionary,
    transaction: &'t Transaction,
    holds: &'t HeldKeys,
}

impl Dictionary {
    /// The dictionary inside a transaction over [`TABLE`], whose keys are let go by
    /// [`HeldKeys::release`].
    #[must_use]
    pub fn inside<'t>(
        &self,
        transaction: &'t Transaction,
        holds: &'t HeldKeys,
    ) -> TransactionKeys<'t> {
        TransactionKeys {
            dictionary: self.clone(),
            transaction,
            holds,
        }
    }
}

impl TransactionKeys<'_> {
    /// The value of a key, the transaction's own changes included.
    ///
    /// # Errors
    /// As [`Transaction::get`].
    pub fn get(&self, key: &str) -> Result<Option<Value>> {
        self.hold(key)?;
        read(self.transaction, &self.dictionary, key)
    }

    /// Sets or removes a value.
    ///
    /// # Errors
    /// As [`Transaction::submit`].
    pub fn set(&self, key: &str, value: Option<&Value>) -> Result<()> {
        self.hold(key)?;
        let full_key = Key {
            space: Arc::clone(&self.dictionary.space),
            key: key.into(),
        };
        put(self.transaction, &mut Writer::new(), &full_key, value)?;
        for hold in self.holds.lock().iter_mut() {
            hold.is_set |= hold.is(&self.dictionary, key);
        }
        Ok(())
    }

    /// Holds a key, unless it is held.
    fn hold(&self, key: &str) -> Result<()> {
        let held = |hold: &HeldKey| hold.is(&self.dictionary, key);
        if self.holds.lock().iter().any(held) {
            return Ok(());
        }
        // Refused here if the transaction does not name the table.
        let found = read(self.transaction, &self.dictionary, key)?;
        let space = &self.dictionary.space;
        let (key, carried) = loop {
            // What it was must be in memory, for those who read it meanwhile.
            self.dictionary.get(key)?;
            let mut shard = space.shard(key);
            if shard.get(key).is_none() {
                continue;
            }
            let (key, entry) = shard.change(key);
            entry.holders += 1;
            // One before, that is not acknowledged yet, has written it, or something later. If that
            // one has failed, the table does not hold what it left.
            let is_written = entry.unwritten == 0 || entry.sealed.contains(&found);
            let carried = (!is_written).then(|| (entry.unwritten, entry.value.clone()));
            break (key, carried);
        };
        let mut hold = HeldKey {
            dictionary: self.dictionary.clone(),
            key,
            carried: None,
            is_set: false,
            last: None,
        };
        let put = carried.as_ref().map_or(Ok(()), |(_, value)| {
            let mut writer = Writer::new();
            put(
                self.transaction,
                &mut writer,
                &hold.full_key(),
                value.as_ref(),
            )
        });
        hold.carried = carried.filter(|_| put.is_ok());
        self.holds.lock().push(hold);
        put
    }
}

impl HeldKey {
    fn is(&self, dictionary: &Dictionary, key: &str) -> bool {
        *self.key == *key && Arc::ptr_eq(&self.dictionary.space, &dictionary.space)
    }
}

fn read(transaction: &Transaction, dictionary: &Dictionary, key: &str) -> Result<Option<Value>> {
    let row = transaction.get(&TABLE, &item::key_of(key, &dictionary.space.name))?;
    row.map(|row| value_of(key, row.row_id(), row.payload()))
        .transpose()
}
