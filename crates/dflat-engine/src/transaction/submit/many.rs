//! Carries out many changes in few calls of the backend.
//!
//! The outcomes are those of the same changes one by one. A batch looks up the objects of all its
//! upserts at once, and collects new objects until another change might make a difference to them.

use std::collections::{HashMap, HashSet};

use dflat_model::{AutoKey, Table, ValueRef, key};

use super::super::context::{Change, Outcome, Transaction, TransactionObject};
use super::super::group::WriteAccess;
use super::super::row::{
    Entries, KeyParts, auto_key_of, key_parts, present_entries, refuse_missing_key, with_auto_keys,
};
use super::super::stored_row::{insert_with_unused_id, refused};
use super::refusals::fit;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch;
use crate::object::Object;
use crate::storage::{RowWrite, WriteError};

/// The most bytes of new objects that are written at once, apart from the last object.
const BYTES_MAX: usize = 4 << 20;

impl Transaction {
    /// How many changes the caller should pass to [`submit_many`](Self::submit_many) at once; 1 if
    /// nothing is gained by more.
    #[must_use]
    pub fn batch_max(&self) -> usize {
        self.groups().backend().batch_max()
    }

    /// Carries out changes one after the other, as [`submit`](Self::submit) does each, and returns
    /// as many outcomes. An error that loses the transaction is the outcome of the change that it
    /// met, and maybe of some others; later changes are refused.
    pub fn submit_many<'c>(
        &self,
        table: &Table,
        changes: impl IntoIterator<Item = Change<'c>>,
    ) -> Vec<Result<Outcome>> {
        let changes = changes.into_iter();
        let max = self.batch_max();
        if max <= 1 {
            return changes.map(|change| self.submit(table, change)).collect();
        }
        let mut changes = changes.peekable();
        let mut outcomes = Vec::new();
        while changes.peek().is_some() {
            let batch: Vec<Change<'_>> = changes.by_ref().take(max).collect();
            outcomes.extend(Batch::new(self, table).outcomes(batch));
        }
        outcomes
    }
}

/// A new object to insert.
struct New<'c> {
    /// The position of its change in the batch.
    position: usize,
    payload: &'c [u8],
    is_restored: bool,
}

/// Changes that are carried out together.
struct Batch<'t, 'c> {
    transaction: &'t Transaction,
    table: &'t Table,
    outcomes: Vec<Option<Result<Outcome>>>,
    /// New objects that were not inserted yet. With `auto`, all of them get their keys assigned.
    new: Vec<New<'c>>,
    auto: Option<AutoKey>,
    bytes: usize,
    /// The stored objects of the upserts, by key; `None` for a key without one.
    found: HashMap<Vec<u8>, Option<Object>>,
    /// The keys of the changes so far: what was found under them may not be so any more.
    touched: HashSet<Vec<u8>>,
    /// Whether the order of an update and of an insertion may make a difference.
    has_unique: bool,
}

impl<'t, 'c> Batch<'t, 'c> {
    fn new(transaction: &'t Transaction, table: &'t Table) -> Self {
        Self {
            transaction,
            table,
            outcomes: Vec::new(),
            new: Vec::new(),
            auto: None,
            bytes: 0,
            found: HashMap::new(),
            touched: HashSet::new(),
            has_unique: true,
        }
    }

    fn outcomes(mut self, changes: Vec<Change<'c>>) -> Vec<Result<Outcome>> {
        self.outcomes.resize_with(changes.len(), || None);
        self.look_up(&changes);
        for (position, change) in changes.into_iter().enumerate() {
            self.carry_out(position, change);
        }
        self.insert();
        let missing = || Error::new(ErrorKind::Backend, "a change has no outcome");
        let outcomes = self.outcomes.into_iter();
        outcomes
            .map(|outcome| outcome.unwrap_or_else(|| Err(missing())))
            .collect()
    }

    /// Looks up the objects with the keys of upserts and restorations. If that fails, each of them
    /// is looked up on its own.
    fn look_up(&mut self, changes: &[Change<'_>]) {
        let (transaction, table) = (self.transaction, self.table);
        let payloads = changes.iter().filter_map(|change| match change {
            Change::Upsert { payload } | Change::Restore { payload } => Some(*payload),
            _ => None,
        });
        let keys = payloads.map(|payload| key_parts(table, payload));
        let Ok(keys) = keys.collect::<Result<Vec<KeyParts<'_>>>>() else {
            return;
        };
        if keys.is_empty() || transaction.admit("upsert", table).is_err() {
            return;
        }
        if !transaction.has_begun() {
            transaction.start_writing_anew();
        }
        let unique = transaction.write(table, |stored_as, _| {
            Ok(stored_as.indexes.iter().any(|index| index.unique))
        });
        let found = unique.and_then(|unique| {
            self.has_unique = unique;
            transaction.read(table, |snapshot, origin| {
                fetch::get_many_incomplete(snapshot, table, &keys, origin)
            })
        });
        let Ok(found) = found else { return };
        let keys = keys.iter().map(|key| encoded(key));
        self.found = keys.zip(found).collect();
    }

    fn carry_out(&mut self, position: usize, change: Change<'c>) {
        let is_restored = matches!(change, Change::Restore { .. });
        let (payload, operation) = match &change {
            Change::Create { payload } => (*payload, "insert"),
            Change::Upsert { payload } => (*payload, "upsert"),
            Change::Restore { payload } => (*payload, "restore"),
            Change::Update { .. } | Change::Delete { .. } => return self.alone(position, change),
        };
        let is_creation = matches!(change, Change::Create { .. });
        match self.step(payload, operation, (is_creation, is_restored)) {
            Ok(Step::Insert(auto)) => {
                if auto != self.auto && !self.new.is_empty() {
                    self.insert();
                }
                self.auto = auto;
                self.bytes += payload.len();
                self.new.push(New {
                    position,
                    payload,
                    is_restored,
                });
                if self.bytes >= BYTES_MAX {
                    self.insert();
                }
            }
            Ok(Step::Update(base)) => {
                if self.has_unique {
                    self.insert();
                }
                let written = match is_restored {
                    true => self.transaction.restore_over(self.table, base, payload),
                    false => self.transaction.update(self.table, base, payload),
                };
                self.set(position, self.transaction.note_lost(written));
            }
            Ok(Step::Alone) => self.alone(position, change),
            Err(error) => self.set(position, Err(error)),
        }
    }

    /// The way in which an object is to be written.
    fn step(
        &mut self,
        payload: &[u8],
        operation: &str,
        (is_creation, is_restored): (bool, bool),
    ) -> Result<Step> {
        let table = self.table;
        self.transaction.admit(operation, table)?;
        if !is_restored && let Some(auto) = auto_key_of(table, payload)? {
            // An object that is refused for another value uses up no key.
            let is_plain = !table.indexes.iter().any(|index| index.unique);
            return Ok(match is_plain {
                true => Step::Insert(Some(auto)),
                false => Step::Alone,
            });
        }
        refuse_missing_key(operation, table, payload)?;
        let key = encoded(&key_parts(table, payload)?);
        if !is_creation && self.auto.is_some() {
            // The keys that will be assigned are not known yet.
            self.insert();
        }
        let found = match is_creation {
            true => Some(None),
            false if self.touched.contains(&key) => None,
            false => self.found.remove(&key),
        };
        self.touched.insert(key);
        Ok(match found {
            Some(None) => Step::Insert(None),
            Some(Some(base)) => Step::Update(base),
            None => Step::Alone,
        })
    }

    /// Carries out a change after all changes before it.
    fn alone(&mut self, position: usize, change: Change<'_>) {
        self.insert();
        let base = match &change {
            Change::Update { base, .. } | Change::Delete { base } => Some(base),
            _ => None,
        };
        self.touch(base.map(TransactionObject::object), &change);
        let outcome = self.transaction.submit(self.table, change);
        self.set(position, outcome);
    }

    /// Notes the keys that a change may take or leave.
    fn touch(&mut self, base: Option<&Object>, change: &Change<'_>) {
        let after = match change {
            Change::Update { payload, .. } => Some(*payload),
            _ => None,
        };
        let payloads = base.map(Object::payload).into_iter().chain(after);
        for payload in payloads {
            match key_parts(self.table, payload) {
                Ok(parts) => drop(self.touched.insert(encoded(&parts))),
                Err(_) => self.found.clear(),
            }
        }
    }

    /// Inserts the new objects.
    fn insert(&mut self) {
        let new = std::mem::take(&mut self.new);
        self.bytes = 0;
        if new.is_empty() {
            return;
        }
        let auto = self.auto.take();
        match self.transaction.insert_many(self.table, auto, &new) {
            Ok(outcomes) => {
                for (new, outcome) in new.iter().zip(outcomes) {
                    if auto.is_some()
                        && let Ok(Outcome::Inserted(object)) = &outcome
                        && let Ok(parts) = key_parts(self.table, object.payload())
                    {
                        self.touched.insert(encoded(&parts));
                    }
                    self.set(new.position, self.transaction.note_lost(outcome));
                }
            }
            Err(error) => {
                let outcome = self.transaction.note_lost(Err(error));
                for new in &new {
                    self.set(new.position, outcome.clone());
                }
            }
        }
    }

    fn set(&mut self, position: usize, outcome: Result<Outcome>) {
        if let Some(place) = self.outcomes.get_mut(position) {
            *place = Some(outcome);
        }
    }
}

/// The way in which an object is written.
enum Step {
    /// With other new objects.
    Insert(Option<AutoKey>),
    /// Over the stored object.
    Update(Object),
    /// As a change on its own.
    Alone,
}

fn encoded(key: &[ValueRef<'_>]) -> Vec<u8> {
    key::encode(key.iter().copied())
}

impl Transaction {
    /// Inserts new objects with one call of the backend.
    fn insert_many(
        &self,
        table: &Table,
        auto: Option<AutoKey>,
        new: &[New<'_>],
    ) -> Result<Vec<Result<Outcome>>> {
        self.start_writing();
        self.groups().make_room(new.len());
        let inserted = self.write(table, |stored_as, access| {
            let assigned = match auto {
                None => Vec::new(),
                Some(auto) => {
                    let payloads = new.iter().map(|new| new.payload);
                    with_auto_keys(table, auto, access.writer, payloads)?
                }
            };
            let mut outcomes = Vec::with_capacity(new.len());
            let mut payloads = Vec::with_capacity(new.len());
            for (number, new) in new.iter().enumerate() {
                let payload = match assigned.get(number) {
                    None if new.is_restored => {
                        fit(table, stored_as, new.payload).map(|()| new.payload)
                    }
                    None => Ok(new.payload),
                    Some(assigned) => assigned.as_deref().map_err(Clone::clone),
                };
                // Those that are not written keep their errors, and their places.
                outcomes.push(payload.as_ref().err().cloned().map(Err));
                payloads.extend(payload);
            }
            let mut put = self.put_many(stored_as, &payloads, access)?.into_iter();
            let outcomes = outcomes.into_iter().map(|refused| match refused {
                Some(refused) => Some(refused),
                None => put.next(),
            });
            Ok(outcomes.flatten().collect())
        })?;
        self.groups().shorten_lists();
        Ok(inserted)
    }

    /// Writes new objects.
    fn put_many(
        &self,
        table: &Table,
        payloads: &[&[u8]],
        access: &mut WriteAccess<'_>,
    ) -> Result<Vec<Result<Outcome>>> {
        let mut parts: Vec<(KeyParts<'_>, Entries<'_>)> = Vec::with_capacity(payloads.len());
        for payload in payloads {
            let mut entries = present_entries(table, payload)?;
            access.coverage.leave(&mut entries, None);
            parts.push((key_parts(table, payload)?, entries));
        }
        let rows = payloads.iter().zip(&parts);
        let rows = rows.map(|(payload, (key, entries))| RowWrite {
            key: Some(key.as_slice()),
            payload,
            entries,
        });
        let rows: Vec<RowWrite<'_>> = rows.collect();
        // The first row gets a row id beyond those that were used and not committed, and so do all
        // rows after it.
        let alone = match access.used_row_ids.has(table) {
            true => rows.first(),
            false => None,
        };
        let mut inserted = Vec::with_capacity(rows.len());
        if let Some(row) = alone {
            inserted.push(match insert_with_unused_id(access, table, row) {
                Ok(row_id) => Ok(row_id),
                Err(WriteError::Conflict(conflict)) => Err(conflict),
                Err(WriteError::Failed(error)) => return Err(error),
            });
        }
        let rest = rows.get(inserted.len()..).unwrap_or_default();
        inserted.extend(access.writer.insert_many(table, rest)?);
        let outcomes = inserted.into_iter().zip(payloads);
        let outcomes = outcomes.map(|(inserted, payload)| match inserted {
            Ok(row_id) => {
                let object = self.note_written(table, row_id, None, payload, access);
                Ok(Outcome::Inserted(object))
            }
            Err(conflict) => {
                let error = WriteError::Conflict(conflict);
                Err(refused("insert", table, payload, error))
            }
        });
        Ok(outcomes.collect())
    }
}
