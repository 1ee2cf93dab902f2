//! Carries out one change inside a transaction.

mod lacking;
mod many;
mod refusals;

use dflat_model::{AutoKey, RowId, Table};

use super::context::{Change, Outcome, Transaction, TransactionObject};
use super::group::{SizeLimit, WriteAccess};
use super::row::{
    Prepared, auto_key_of, key_parts, present_entries, refuse_missing_key, shown, with_auto_key,
};
use super::stored_row::{
    insert_absent, insert_with_unused_id, named, prepare_newest, refused, write_over,
};
use refusals::{fit, gone, loses};

use crate::error::{Error, ErrorKind, Result};
use crate::fetch;
use crate::object::{Knowledge, Object, changes_scalars_alone, equal, verify};
use crate::storage::{RowWrite, WriteError};

impl Transaction {
    /// Carries out a change.
    ///
    /// # Errors
    /// - [`ErrorKind::AlreadyExists`] if the primary key or a unique value belongs to another
    ///   object, and [`ErrorKind::NotFound`] if the object to update was deleted: nothing is
    ///   changed, and the transaction stays usable.
    /// - [`ErrorKind::InvalidArgument`] if a part of the written object's primary key has no value,
    ///   such as NaN, if the object is larger than the backend can store, or if the request was
    ///   made in another transaction: nothing is changed, and the transaction stays usable.
    /// - [`ErrorKind::KeysExhausted`] if the key of a new object is to be assigned, and the table
    ///   holds the largest key: nothing is changed, and the transaction stays usable.
    /// - [`ErrorKind::UndeclaredType`] for a table that was not declared.
    /// - [`ErrorKind::Aborted`] if the transaction was aborted or lost before.
    /// - Any other error loses the transaction: none of its changes is kept.
    pub fn submit(&self, table: &Table, change: Change<'_>) -> Result<Outcome> {
        let operation = match &change {
            Change::Create { .. } => "insert",
            Change::Update { .. } => "update",
            Change::Upsert { .. } => "upsert",
            Change::Restore { .. } => "restore",
            Change::Delete { .. } => "delete",
        };
        self.admit(operation, table)?;
        if let Change::Update { base, .. } | Change::Delete { base } = &change {
            self.made_here(operation, table, base)?;
        }
        if let Change::Create { payload }
        | Change::Update { payload, .. }
        | Change::Upsert { payload }
        | Change::Restore { payload } = &change
        {
            // A new object without a key may get one from the library.
            let assigned = match &change {
                Change::Create { .. } | Change::Upsert { .. } => auto_key_of(table, payload)?,
                _ => None,
            };
            match assigned {
                Some(auto) => {
                    return self.note_lost(self.insert_with_auto_key(table, auto, payload));
                }
                None => refuse_missing_key(operation, table, payload)?,
            }
        }
        let outcome = match change {
            Change::Create { payload } => self.insert(table, payload),
            Change::Update {
                base,
                payload,
                lacking: None,
            } => self.update(table, base.into_object(), payload),
            Change::Update {
                base,
                payload,
                lacking: Some(reason),
            } => self.update_lacking(table, base.into_object(), payload, reason),
            Change::Upsert { payload } => self.upsert(table, payload),
            Change::Restore { payload } => self.restore(table, payload),
            Change::Delete { base } => self.delete(table, base.into_object()),
        };
        self.note_lost(outcome)
    }

    /// Loses the transaction if its change failed for another reason than the change itself.
    fn note_lost(&self, outcome: Result<Outcome>) -> Result<Outcome> {
        outcome.inspect_err(|error| {
            if loses(error) {
                self.lose(error);
            } else if error.kind() == ErrorKind::AlreadyExists {
                self.groups().telemetry().note_conflict();
            }
        })
    }

    /// Refuses a change of an object that was looked up in another transaction: the stored object
    /// may have changed since.
    fn made_here(&self, operation: &str, table: &Table, base: &TransactionObject) -> Result<()> {
        fetch::check_table(operation, table, base.object())?;
        if self.has_found(base) {
            return Ok(());
        }
        let message = format!(
            "cannot {operation} {}: the request was made in another transaction",
            table.type_name
        );
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }

    /// Succeeds only if `seen` is still stored with the values it has.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfDate`] if it is not: the transaction stays usable. Otherwise as
    /// [`Transaction::latest`].
    pub fn check_unchanged(&self, table: &Table, seen: &Object) -> Result<()> {
        let why = match self.look_up(table, seen)? {
            Some(latest) if equal(&table.types, latest.payload(), seen.payload()) => return Ok(()),
            Some(_) => "was changed",
            None => "was deleted",
        };
        let key = shown(&table.primary_key, seen.payload());
        let message = format!(
            "cannot submit a change of {}: the object with the primary key {key} {why} since it \
             was read",
            table.type_name
        );
        self.groups().telemetry().note_conflict();
        Err(Error::new(ErrorKind::OutOfDate, message))
    }

    fn insert(&self, table: &Table, payload: &[u8]) -> Result<Outcome> {
        self.write(table, |stored_as, access| {
            self.put(stored_as, payload, access, insert_with_unused_id)
        })
    }

    /// As `insert`, of an object whose key was looked up with the write access, and not found.
    fn insert_absent(&self, table: &Table, payload: &[u8]) -> Result<Outcome> {
        self.write(table, |stored_as, access| {
            self.put(stored_as, payload, access, insert_absent)
        })
    }

    /// Inserts an object with a key that the library assigns.
    ///
    /// Order: the largest key is read with the write access, so that no other transaction, also of
    /// another process, can insert a key before this one.
    fn insert_with_auto_key(
        &self,
        table: &Table,
        auto: AutoKey,
        payload: &[u8],
    ) -> Result<Outcome> {
        self.write(table, |stored_as, access| {
            let payload = with_auto_key(table, auto, access.writer, payload)?;
            self.put(stored_as, &payload, access, insert_absent)
        })
    }

    /// Writes a new object.
    #[inline]
    fn put<I>(
        &self,
        table: &Table,
        payload: &[u8],
        access: &mut WriteAccess<'_>,
        insert: I,
    ) -> Result<Outcome>
    where
        I: FnOnce(&mut WriteAccess<'_>, &Table, &RowWrite<'_>) -> Result<RowId, WriteError>,
    {
        let mut entries = present_entries(table, payload)?;
        access.coverage.leave(&mut entries, None);
        let key = key_parts(table, payload)?;
        let row = RowWrite {
            key: Some(key.as_slice()),
            payload,
            entries: &entries,
        };
        let inserted = insert(access, table, &row);
        let row_id = inserted.map_err(|error| refused("insert", table, payload, error))?;
        let object = self.note_written(table, row_id, None, payload, access);
        Ok(Outcome::Inserted(object))
    }

    fn update(&self, table: &Table, base: Object, payload: &[u8]) -> Result<Outcome> {
        // An update that leaves the stored values as they are writes nothing, and does not take the
        // write access.
        if !self.is_writing() && is_identity(table, base.payload(), payload) {
            return Ok(Outcome::Identity(base));
        }
        let row_id = base.row_id();
        self.write(table, |stored_as, access| {
            let Some(latest) = self.stored(table, base, access)? else {
                return Err(gone(table, row_id));
            };
            let before = latest.payload();
            // The usual change: it differs in scalars only, and keeps everything that newer code
            // wrote.
            if changes_scalars_alone(&table.types, before, payload) {
                return self.replace(stored_as, latest, payload, access);
            }
            let kept = access.schemas.keep_unknown(table, before, payload)?;
            let payload = kept.as_deref().unwrap_or(payload);
            if has_equal_values(stored_as, before, payload) {
                return Ok(Outcome::Identity(latest));
            }
            self.replace(stored_as, latest, payload, access)
        })
    }

    /// Replaces the values of a stored object.
    fn replace(
        &self,
        table: &Table,
        latest: Object,
        payload: &[u8],
        access: &mut WriteAccess<'_>,
    ) -> Result<Outcome> {
        let row_id = latest.row_id();
        write_over(table, row_id, (latest.payload(), payload), access)?;
        let object = self.note_written(table, row_id, Some(latest), payload, access);
        Ok(Outcome::Updated(object))
    }

    /// Notes that an object was written, and its state before. Returns the written object.
    #[inline]
    pub(super) fn note_written(
        &self,
        table: &Table,
        row_id: RowId,
        before: Option<Object>,
        payload: &[u8],
        access: &mut WriteAccess<'_>,
    ) -> Object {
        let kept = || self.groups().is_observed(table);
        let arena = access.arenas.of(table);
        let object = arena.object(row_id, access.origin, payload, kept);
        access
            .changes
            .note_written(table, row_id, before, (&object, arena.has_shared()));
        object
    }

    fn upsert(&self, table: &Table, payload: &[u8]) -> Result<Outcome> {
        if !self.has_begun() && self.batch_max() > 1 {
            // A look-up before the write access is one that may have to be made again.
            self.start_writing_anew();
        }
        let has_read = self.has_begun();
        let mut found = self.find_by_key_of(table, payload)?;
        let is_same = |base: &Object| is_identity(table, base.payload(), payload);
        // An upsert that leaves the stored values as they are writes nothing. Before another one,
        // another process may commit. The handler has not seen the object, so it is looked up
        // again with the write access.
        if !has_read && !found.as_ref().is_some_and(is_same) {
            self.start_writing_anew();
            found = self.find_by_key_of(table, payload)?;
        }
        match found {
            Some(base) => self.update(table, base, payload),
            // A look-up in a state before the write access may be out of date.
            None if self.is_writing() => self.insert_absent(table, payload),
            None => self.insert(table, payload),
        }
    }

    fn restore(&self, table: &Table, payload: &[u8]) -> Result<Outcome> {
        // Order: before the look-up, so that no other process commits after it.
        self.start_writing();
        let Some(base) = self.find_by_key_of(table, payload)? else {
            self.write(table, |stored_as, _| fit(table, stored_as, payload))?;
            return self.insert_absent(table, payload);
        };
        self.restore_over(table, base, payload)
    }

    /// Replaces a stored object with exactly these bytes.
    fn restore_over(&self, table: &Table, base: Object, payload: &[u8]) -> Result<Outcome> {
        let row_id = base.row_id();
        self.write(table, |stored_as, access| {
            fit(table, stored_as, payload)?;
            let Some(latest) = self.stored(table, base, access)? else {
                return Err(gone(table, row_id));
            };
            if has_same_values(stored_as, latest.payload(), payload) {
                return Ok(Outcome::Identity(latest));
            }
            self.replace(stored_as, latest, payload, access)
        })
    }

    /// The object with the primary key of a payload; it may lack required values.
    fn find_by_key_of(&self, table: &Table, payload: &[u8]) -> Result<Option<Object>> {
        let key = key_parts(table, payload)?;
        let key: Vec<_> = key.as_slice().iter().map(|part| part.to_value()).collect();
        self.get_incomplete(table, &key)
    }

    fn delete(&self, table: &Table, base: Object) -> Result<Outcome> {
        let row_id = base.row_id();
        self.write(table, |table, access| {
            if let Some(before) = self.stored(table, base, access)? {
                let deleted = access.writer.delete(table, row_id);
                if deleted.map_err(|error| named("delete", table, error))? {
                    access.changes.note(table, row_id, Some(before), None);
                }
            }
            Ok(Outcome::Deleted(row_id))
        })
    }

    /// The stored state of an object that was looked up; `None` if it was deleted.
    fn stored(
        &self,
        table: &Table,
        base: Object,
        access: &mut WriteAccess<'_>,
    ) -> Result<Option<Object>> {
        match access.changes.latest(table, base.row_id()) {
            Some(latest) => Ok(latest.cloned()),
            None if self.has_undone() => {
                fetch::find_incomplete(access.writer, table, base.row_id(), access.origin)
            }
            None => Ok(Some(base)),
        }
    }

    /// Runs a write with the write access, which the first write of the transaction takes. `write`
    /// gets the schema of the newest code that has written to the table, because the indexes of
    /// that schema must be maintained.
    pub(super) fn write<R>(
        &self,
        table: &Table,
        write: impl FnOnce(&Table, &mut WriteAccess<'_>) -> Result<R>,
    ) -> Result<R> {
        self.start_writing();
        let mut open = self.groups().resume();
        let written = open
            .write_access()
            .map_err(|error| named("write", table, error))
            .and_then(|mut access| {
                let newest = match Prepared::coverage_of(access.prepared, table) {
                    Some(coverage) => {
                        access.coverage = coverage;
                        None
                    }
                    None => prepare_newest(table, &mut access)
                        .map_err(|error| named("prepare", table, error))?,
                };
                let stored_as = newest.as_ref().unwrap_or(table);
                if !access.coverage.is_whole() {
                    self.groups().indexer().want(stored_as, false);
                }
                write(stored_as, &mut access)
            });
        if let Err(error) = &written
            && loses(error)
        {
            self.lose_with(&mut open, error);
            return written;
        }
        match open.exceeded_limit() {
            None => {}
            Some(SizeLimit::Group) => {
                drop(open);
                self.groups().go_alone();
            }
            Some(SizeLimit::List) => open.extend_ranges(|table| self.groups().is_observed(table)),
        }
        written
    }
}

/// Whether an update would leave an object unchanged.
fn is_identity(table: &Table, before: &[u8], payload: &[u8]) -> bool {
    !changes_scalars_alone(&table.types, before, payload)
        && has_equal_values(table, before, payload)
}

/// Whether a stored payload has the same values as the one to write, and lacks no required value:
/// an absent vector is equal to an empty one.
fn has_equal_values(table: &Table, before: &[u8], payload: &[u8]) -> bool {
    before == payload
        || (equal(&table.types, before, payload) && verify(&table.types, before).is_ok())
}

/// Whether two payloads have the same values, and none that the schema lacks. Payloads with the
/// same bytes have the same values.
fn has_same_values(table: &Table, before: &[u8], payload: &[u8]) -> bool {
    let knowledge = Knowledge::of(&table.types);
    let is_known = |bytes| knowledge.covers(&table.types, bytes).unwrap_or(false);
    before == payload
        || (has_equal_values(table, before, payload) && is_known(before) && is_known(payload))
}
