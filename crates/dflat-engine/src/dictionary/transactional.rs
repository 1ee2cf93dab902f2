//! The dictionary inside a transaction.
//!
//! A transaction holds a key from its first use of the key to its end. Meanwhile, a direct change
//! of the key waits, and a direct read returns the value from before the transaction. If the key
//! has a direct change that is not written yet, the transaction writes that change first, so that
//! both are in one commit. The next transaction may use the key before this one is acknowledged: it
//! finds the value that this one left in the table, and does not write the direct change again.
//! After the commit, and before the transaction's completion, the value in memory is replaced and
//! subscribers are notified.

use super::batch::put;
use super::foreign;
use super::item::Value;
use super::reading::read_inside;
use super::space::{Key, Overtaken};
use super::{Dictionary, lock};
use crate::error::{Error, ErrorKind, Result};
use crate::object::Writer;
use crate::sync::{Arc, Mutex, MutexGuard};
use crate::transaction::Transaction;

/// The keys that a transaction holds, shared by its handler and its completion.
#[derive(Default)]
pub struct HeldKeys(Mutex<Vec<HeldKey>>);

struct HeldKey {
    dictionary: Dictionary,
    key: Arc<str>,
    /// The number and the value of the direct change that the transaction has written.
    carried: Option<(u64, Option<Value>)>,
    /// Whether the transaction has set it.
    is_set: bool,
    /// The value when the handler has returned.
    last: Option<Value>,
}

impl HeldKeys {
    fn lock(&self) -> MutexGuard<'_, Vec<HeldKey>> {
        lock(&self.0)
    }

    /// The number of held keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether no key is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes again the direct changes of the keys from position `first` on, because the savepoint
    /// in which these keys were used first was rolled back.
    ///
    /// # Errors
    /// The errors of changes.
    pub fn carry_again(&self, first: usize, transaction: &Transaction) -> Result<()> {
        let mut writer = Writer::new();
        for hold in self.lock().iter_mut().skip(first) {
            hold.is_set = false;
            // If writing fails, the change stays unwritten, and is written after the transaction.
            if let Some((number, value)) = hold.carried.take() {
                put(transaction, &mut writer, &hold.full_key(), value.as_ref())?;
                hold.carried = Some((number, value));
            }
        }
        Ok(())
    }

    /// Notes the values of the keys when the handler has returned.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn seal(&self, transaction: &Transaction) -> Result<()> {
        for hold in self.lock().iter_mut() {
            if hold.is_set {
                hold.last = read_inside(transaction, &hold.dictionary.space, &hold.key)?;
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

    /// Releases the keys when the transaction has ended.
    pub fn release(&self, is_committed: bool) {
        let holds = std::mem::take(&mut *self.lock());
        let mut pending = super::PendingNotifications::default();
        let mut overtaken = Vec::new();
        for hold in holds {
            let full_key = hold.full_key();
            let mut shard = full_key.space.shard(&full_key.key);
            let (key, entry) = shard.change(&full_key.key);
            entry.holders -= 1;
            if entry.holders == 0 {
                entry.sealed = Vec::new();
            }
            if is_committed && hold.is_set {
                entry.note_written();
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
                    .is_some_and(|(number, _)| *number == entry.unwritten())
            {
                entry.note_written();
            }
            let again = entry.unwritten() != 0 && !entry.queued && entry.holders == 0;
            entry.queued |= again;
            let was_left = entry.holders == 0 && std::mem::take(&mut entry.is_left);
            let is_overtaken = entry.take_overtaken();
            if again || was_left {
                hold.dictionary.writer().take_back(&full_key, again);
            }
            drop(shard);
            full_key.space.notify_released(&full_key.key);
            if again {
                hold.dictionary.enqueue([]);
            }
            if is_overtaken != Overtaken::No {
                overtaken.push((hold.dictionary, full_key, is_overtaken));
            }
        }
        pending.notify();
        for (dictionary, key, overtaken) in overtaken {
            let engine = &dictionary.state.engine;
            if let Some(overwrite) = foreign::settle(engine, &key, overtaken) {
                dictionary.writer().report_overwrite(overwrite);
            }
        }
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

/// The dictionary as seen and changed by a transaction.
pub struct TransactionKeys<'t> {
    dictionary: Dictionary,
    transaction: &'t Transaction,
    holds: &'t HeldKeys,
}

impl Dictionary {
    /// The dictionary inside a transaction that declares its [table](super::TABLE).
    /// [`HeldKeys::release`] releases the keys that it uses. A transaction of another engine can
    /// use no key.
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
    /// As [`Transaction::get`], and [`ErrorKind::InvalidArgument`] if the dictionary is one of
    /// another engine.
    pub fn get(&self, key: &str) -> Result<Option<Value>> {
        self.hold(key)?;
        read_inside(self.transaction, &self.dictionary.space, key)
    }

    /// Sets or removes a value.
    ///
    /// # Errors
    /// As [`Transaction::submit`], and [`ErrorKind::InvalidArgument`] if the dictionary is one of
    /// another engine.
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

    /// Holds a key, unless the transaction holds it already.
    fn hold(&self, key: &str) -> Result<()> {
        // Invariant: the table of the transaction is that of the dictionary. Otherwise a direct
        // change would be written to another file, and then count as written.
        if !self.dictionary.state.engine.is_in_transaction() {
            let message = format!(
                "cannot use the key {key:?} in a transaction: its dictionary is of another workspace"
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let held = |hold: &HeldKey| hold.is(&self.dictionary, key);
        if self.holds.lock().iter().any(held) {
            return Ok(());
        }
        // Fails if the transaction does not declare the table.
        let found = read_inside(self.transaction, &self.dictionary.space, key)?;
        let space = &self.dictionary.space;
        let (key, carried) = loop {
            // The value from before must be in memory for direct reads during the transaction.
            self.dictionary.get(key)?;
            let mut shard = space.shard(key);
            if shard.get(key).is_none() {
                continue;
            }
            let (key, entry) = shard.change(key);
            entry.holders += 1;
            // An earlier transaction that is not acknowledged yet may have written the direct
            // change or a later value. If that transaction fails, the table does not have its
            // value.
            let unwritten = entry.unwritten();
            let is_written = unwritten == 0 || entry.sealed.contains(&found);
            if !is_written && entry.sealed.is_empty() {
                entry.note_replaced(&found);
            }
            let carried = (!is_written).then(|| (unwritten, entry.value.clone()));
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
