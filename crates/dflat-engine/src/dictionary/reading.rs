//! Reads of the dictionary, and subscriptions to its keys.

use std::collections::BTreeMap;

use dflat_model::{Comparison, Expression, Predicate, Query, RowId};

use super::Dictionary;
use super::item::{self, TABLE, Value};
use super::key_subscribers::{Event, KeySubscriber, KeySubscription, Pattern};
use super::space::{Entry, Space};
use crate::engine::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::corrupt;
use crate::object::Object;
use crate::sync::Arc;
use crate::transaction::Transaction;

impl Dictionary {
    /// The value of a key.
    ///
    /// # Errors
    /// [`ErrorKind::ShutDown`] after shutdown; otherwise, if the value is not in memory, the errors
    /// of reading the file.
    pub fn get(&self, key: &str) -> Result<Option<Value>> {
        self.admit(format_args!("read the value of {key:?}"))?;
        let shard = self.space.shard(key);
        if let Some(entry) = shard.get(key) {
            return Ok(entry.value.clone());
        }
        drop(shard);
        // Order: before the value is read that later commits may change.
        self.follow();
        let version = self.space.shard(key).version();
        let value = read(&self.state.engine, &self.space, key)?;
        self.space.keep(key, value.as_ref(), version);
        Ok(value)
    }

    /// The keys that begin with a text and their values, by key.
    ///
    /// # Errors
    /// [`ErrorKind::ShutDown`] after shutdown; otherwise the errors of reading the file.
    pub fn entries(&self, prefix: &str) -> Result<BTreeMap<Arc<str>, Value>> {
        self.admit(format_args!("read the keys of the dictionary"))?;
        // Order: unwritten values are collected first. They may be written, and dropped from
        // memory, before the file is read.
        let unwritten = self.in_memory(prefix, |entry| entry.unwritten() != 0);
        let rows = self
            .state
            .engine
            .fetch_committed(&TABLE, &self.query(prefix))?;
        let mut entries = BTreeMap::new();
        for row in &rows {
            let decoded = item::decode(row.payload());
            let (key, _, value) = decoded.map_err(|_| corrupt(&TABLE, row.row_id()))?;
            if key.starts_with(prefix) {
                entries.insert(Arc::from(key), value.ok_or_else(|| unknown_kind(key))?);
            }
        }
        let known = self.in_memory(prefix, |_| true);
        for (key, value) in unwritten.into_iter().chain(known) {
            match value {
                Some(value) => entries.insert(key, value),
                None => entries.remove(&key),
            };
        }
        Ok(entries)
    }

    pub(super) fn in_memory(
        &self,
        prefix: &str,
        which: impl Fn(&Entry) -> bool,
    ) -> Vec<(Arc<str>, Option<Value>)> {
        let mut found = Vec::new();
        for shard in self.space.shards() {
            let entries = shard.iter().filter(|(_, entry)| which(entry));
            let entries = entries.filter(|(key, _)| key.starts_with(prefix));
            found.extend(entries.map(|(key, entry)| (Arc::clone(key), entry.value.clone())));
        }
        found
    }

    /// The rows of the namespace whose keys are not smaller than a text.
    fn query(&self, least: &str) -> Query {
        let [key, namespace] =
            [0, 1].map(|part| Expression::Field(TABLE.primary_key[part].clone()));
        let [least, name] = item::key_of(least, &self.space.name);
        let compare = |left, operator, right| Predicate::Compare {
            left,
            operator,
            right: Expression::Literal(right),
        };
        Query {
            predicate: Some(Predicate::And(vec![
                compare(key, Comparison::GreaterOrEqual, least),
                compare(namespace, Comparison::Equal, name),
            ])),
            ..Query::default()
        }
    }

    /// Calls `function` with the values that match and then with each change, until the
    /// subscription ends, at the latest when the workspace is shut down. The calls with the present
    /// values are made before this returns. A later call is made on the thread that changed a
    /// value, after the change; or, if another thread is notifying this subscriber at that time, on
    /// that thread.
    ///
    /// # Errors
    /// [`ErrorKind::ShutDown`] after shutdown; otherwise the errors of reading the file.
    pub fn subscribe(
        &self,
        pattern: Pattern,
        function: Box<dyn FnMut(Event) + Send>,
    ) -> Result<KeySubscription> {
        let operation = format_args!("subscribe to keys of the dictionary");
        self.admit(operation)?;
        self.follow();
        // Order: registered first, so that a change after the values were read is delivered after
        // them.
        let subscriber = self.space.subscribers.add(pattern.clone(), function);
        let subscription = KeySubscription::new(Arc::clone(&subscriber));
        self.state.engine.hold(operation, subscription.to_end())?;
        match pattern {
            Pattern::Key(key) => {
                let value = self.initial(&key, &subscriber)?;
                subscriber.deliver_initial(&key, value);
            }
            Pattern::Prefix(prefix) => {
                let mut entries = self.entries(&prefix)?;
                // The values read may be older or newer than queued changes.
                for key in subscriber.queued_keys() {
                    match self.initial(&key, &subscriber)? {
                        Some(value) => entries.insert(key, value),
                        None => entries.remove(&key),
                    };
                }
                for (key, value) in entries {
                    subscriber.deliver_initial(&key, Some(value));
                }
            }
        }
        subscriber.notify();
        Ok(subscription)
    }

    /// The value that is delivered first. Earlier changes are taken out of the subscriber's queue.
    fn initial(&self, key: &str, subscriber: &KeySubscriber) -> Result<Option<Value>> {
        self.with_present(key, |value| {
            // Order: while the shard is locked, queued changes are older than the value.
            subscriber.forget_queued(key);
            value.cloned()
        })
    }

    /// Calls a function with the value of a key, while the key's shard is locked.
    pub(super) fn with_present<R>(
        &self,
        key: &str,
        function: impl FnOnce(Option<&Value>) -> R,
    ) -> Result<R> {
        loop {
            let version = self.space.shard(key).version();
            let read = self.get(key)?;
            let shard = self.space.shard(key);
            let value = match shard.get(key) {
                Some(entry) => entry.value.as_ref(),
                None if shard.version() == version => read.as_ref(),
                None => continue,
            };
            return Ok(function(value));
        }
    }
}

/// The value of a key in the file.
pub(super) fn read(engine: &Engine, space: &Space, key: &str) -> Result<Option<Value>> {
    let mut found = None;
    let key_of = item::key_of(key, &space.name);
    let read = engine.visit_committed(&TABLE, &key_of, &mut |row| {
        found = Some(value_of(key, row.row_id, row.payload));
    });
    read.map_err(|error| error.context(format_args!("cannot read the value of {key:?}")))?;
    found.transpose()
}

/// The value of a key's row.
pub(super) fn value_of(key: &str, row_id: RowId, payload: &[u8]) -> Result<Value> {
    let (_, _, value) = item::decode(payload).map_err(|_| corrupt(&TABLE, row_id))?;
    value.ok_or_else(|| unknown_kind(key))
}

/// A value of the dictionary with its key, as a row of [`TABLE`] has them.
#[derive(Clone, Debug)]
pub struct Item<'r> {
    /// The key.
    pub key: &'r str,
    /// The namespace; the empty one if the key has none.
    pub namespace: &'r str,
    /// The value.
    pub value: Value,
}

/// Decodes a row of [`TABLE`].
///
/// # Errors
/// [`ErrorKind::Corrupt`] if the row is damaged, or if a later version of the library wrote a value
/// of a kind that this one does not know.
pub fn item_of(row: &Object) -> Result<Item<'_>> {
    let decoded = item::decode(row.payload());
    let (key, namespace, value) = decoded.map_err(|_| corrupt(&TABLE, row.row_id()))?;
    Ok(Item {
        key,
        namespace,
        value: value.ok_or_else(|| unknown_kind(key))?,
    })
}

fn unknown_kind(key: &str) -> Error {
    let message =
        format!("cannot read the value of {key:?}: a later version of Dflat wrote its kind");
    Error::new(ErrorKind::Corrupt, message)
}

/// The value of a key that a transaction sees.
pub(super) fn read_inside(
    transaction: &Transaction,
    space: &Space,
    key: &str,
) -> Result<Option<Value>> {
    let row = transaction.get(&TABLE, &item::key_of(key, &space.name))?;
    row.map(|row| value_of(key, row.row_id(), row.payload()))
        .transpose()
}
