//! The reads of a transaction: from the committed state, from the writes of its commit group, or
//! from its own writes.

use std::ops::ControlFlow;
use std::sync::Arc;

use dflat_model::{CommitSeq, Query, Table, Value, ValueRef};

use super::super::group::{OpenGroup, ReadBase};
use super::super::replay::overtaken;
use super::super::row::key_parts;
use super::{Stage, Transaction, TransactionObject};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{self, Control};
use crate::object::{Object, Origin, verify};
use crate::storage::{Snapshot, StateId, View};

impl Transaction {
    /// Fetches the objects of a query, the transaction's own changes included.
    ///
    /// # Errors
    /// [`ErrorKind::UndeclaredType`] for a table not declared; otherwise as [`fetch::fetch`].
    pub fn fetch(&self, table: &Table, query: &Query) -> Result<Vec<Object>> {
        self.read(table, |snapshot, origin| {
            fetch::fetch(snapshot, table, query, &Control::default(), origin)
        })
    }

    /// Fetches the object with a primary key, the transaction's own changes included.
    ///
    /// # Errors
    /// As [`Transaction::fetch`].
    pub fn get(&self, table: &Table, key: &[Value]) -> Result<Option<Object>> {
        self.read(table, |snapshot, origin| {
            fetch::get(snapshot, table, &fetch::parts(key), origin)
        })
    }

    /// Whether there is an object with the primary key of each of these payloads, the transaction's
    /// own changes included.
    ///
    /// # Errors
    /// As [`Transaction::fetch`].
    pub fn have_keys_of(&self, table: &Table, payloads: &[&[u8]]) -> Result<Vec<bool>> {
        let keys = payloads.iter().map(|payload| key_parts(table, payload));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let keys: Vec<&[ValueRef<'_>]> = keys.iter().map(|key| key.as_slice()).collect();
        self.read(table, |snapshot, _| {
            let mut found = vec![false; keys.len()];
            snapshot.find_many(table, &keys, &mut |position, _| {
                if let Some(found) = found.get_mut(position) {
                    *found = true;
                }
                ControlFlow::Continue(())
            })?;
            Ok(found)
        })
    }

    /// The latest state of an object; `None` if it was deleted.
    ///
    /// # Errors
    /// As [`Transaction::fetch`]; [`ErrorKind::InvalidArgument`] for an object of another table.
    ///
    /// # Cost
    /// None, if this transaction has read the object, or if the engine knows that the object was
    /// not changed since it was read, and the transaction reads from no snapshot yet; otherwise a
    /// look-up by row id.
    #[inline]
    pub fn latest(&self, table: &Table, object: &Object) -> Result<Option<TransactionObject>> {
        let latest = self.look_up(table, object).or_else(|error| {
            // An object that lacks required values is changed only if the caller knows that.
            if is_corrupt(&error) && verify(&table.types, object.payload()).is_err() {
                return self.look_up_incomplete(table, object);
            }
            Err(error)
        })?;
        Ok(latest.map(|object| self.found(object)))
    }

    /// As [`latest`](Self::latest), but the object may lack required values.
    ///
    /// # Errors
    /// As [`Transaction::fetch`].
    ///
    /// # Cost
    /// As [`latest`](Self::latest).
    #[inline]
    pub fn latest_to_delete(
        &self,
        table: &Table,
        object: &Object,
    ) -> Result<Option<TransactionObject>> {
        let latest = self.look_up(table, object);
        let latest = latest.or_else(|error| match is_corrupt(&error) {
            true => self.look_up_incomplete(table, object),
            false => Err(error),
        })?;
        Ok(latest.map(|object| self.found(object)))
    }

    const fn found(&self, object: Object) -> TransactionObject {
        TransactionObject {
            object,
            transaction: self.id,
        }
    }

    /// The object with a primary key, which may lack required values.
    pub(in super::super) fn get_incomplete(
        &self,
        table: &Table,
        key: &[Value],
    ) -> Result<Option<Object>> {
        self.get(table, key).or_else(|error| {
            if !is_corrupt(&error) {
                return Err(error);
            }
            self.read(table, |snapshot, origin| {
                fetch::get_incomplete(snapshot, table, &fetch::parts(key), origin)
            })
        })
    }

    /// As `look_up`, but the object may lack required values.
    #[cold]
    fn look_up_incomplete(&self, table: &Table, object: &Object) -> Result<Option<Object>> {
        if object.origin().engine != self.groups.engine() {
            return self.get_incomplete(table, &fetch::key_of(table, object)?);
        }
        self.read(table, |snapshot, origin| {
            fetch::find_incomplete(snapshot, table, object.row_id(), origin)
        })
    }

    pub(in super::super) fn look_up(
        &self,
        table: &Table,
        object: &Object,
    ) -> Result<Option<Object>> {
        self.admit("look up the latest state of", table)?;
        fetch::check_table("look up", table, object)?;
        let origin = object.origin();
        if origin.engine != self.groups.engine() {
            // Row ids of another engine mean nothing here; primary keys do.
            return self.get(table, &fetch::key_of(table, object)?);
        }
        let row_id = object.row_id();
        let (look_ups, saved) = self.look_ups.get();
        self.look_ups.set((look_ups + 1, saved + 1));
        if let Some(known) = self.known(table, object)? {
            return Ok(known);
        }
        self.look_ups.set((look_ups + 1, saved));
        self.read(table, |snapshot, origin| {
            fetch::find(snapshot, table, row_id, origin)
        })
    }

    /// Whether this transaction has read the object, and only its own changes can have changed the
    /// object since.
    fn is_known(&self, object: &Object) -> bool {
        object.origin().transaction == self.id && !self.undone.get()
    }

    /// Whether an object was looked up in this transaction.
    pub(in super::super) fn has_found(&self, found: &TransactionObject) -> bool {
        found.transaction == self.id
    }

    /// Whether objects that were read may be out of date, because changes were undone.
    pub(in super::super) fn has_undone(&self) -> bool {
        self.undone.get()
    }

    /// Makes the transaction read objects again from here on.
    pub(in super::super) fn distrust_reads(&self) {
        self.undone.set(true);
    }

    /// The result of a look-up of an object, if it is known without a read.
    fn known(&self, table: &Table, object: &Object) -> Result<Option<Option<Object>>> {
        let mut stage = self.stage.borrow_mut();
        // Locked once for all that follows: transactions that change many objects come here for
        // each.
        let open = self.groups.lock();
        if matches!(*stage, Stage::Writing)
            && let Some(changed) = open.changes()?.latest(table, object.row_id())
        {
            return Ok(Some(changed.cloned()));
        }
        if self.is_known(object) {
            return Ok(Some(Some(object.clone())));
        }
        self.follow_group(&mut stage, &open);
        let generation = match *stage {
            Stage::Committed(_) => return Ok(None),
            Stage::Fresh => return Ok(self.known_committed(&open, table, object).map(Some)),
            Stage::Group(generation) => generation,
            Stage::Writing => open.generation(),
        };
        let is_current = open.is_current(generation, table, object);
        Ok(is_current.then(|| Some(object.clone())))
    }

    /// The object, if it is certain to be stored unchanged in the committed state, which then is
    /// the state that the transaction has read.
    fn known_committed(&self, open: &OpenGroup, table: &Table, object: &Object) -> Option<Object> {
        if !open.is_unchanged(table, object) {
            return None;
        }
        let state = self.groups.committed_state(open)?;
        if self.basis.get().is_some_and(|basis| basis != state) {
            return None;
        }
        self.note_base(state);
        Some(object.clone())
    }

    /// If the transaction has read nothing yet, and the open commit group has changed one of its
    /// tables, makes the transaction read from the open commit group.
    #[inline]
    fn follow_group(&self, stage: &mut Stage, open: &OpenGroup) {
        if matches!(stage, Stage::Fresh)
            && let ReadBase::Group(generation, group_outcome, base) = open.read_base(&self.tables)
        {
            self.seen.replace(Some(group_outcome));
            self.note_base(base);
            *stage = Stage::Group(generation);
        }
    }

    /// Reads a table, the transaction's own changes included. `read` must not call user code.
    ///
    /// # Errors
    /// [`ErrorKind::UndeclaredType`] for a table not declared; otherwise as `read`.
    pub fn read<R>(
        &self,
        table: &Table,
        read: impl FnOnce(&mut dyn Snapshot, Origin) -> Result<R>,
    ) -> Result<R> {
        self.admit("fetch", table)?;
        let read = |snapshot: &mut dyn Snapshot, origin| {
            let mut requested = self.requested.borrow_mut();
            let read = |snapshot: &mut dyn Snapshot| read(snapshot, origin);
            let indexer = self.groups.indexer();
            indexer.read_held(table, snapshot, &mut requested, read)
        };
        let telemetry = self.groups.telemetry();
        telemetry.query(&table.type_name, || self.read_now(read))
    }

    fn read_now<R>(&self, read: impl FnOnce(&mut dyn Snapshot, Origin) -> Result<R>) -> Result<R> {
        // Uncommitted objects belong to no commit yet: they are always out of date.
        let (engine, transaction) = (self.groups.engine(), self.id);
        let seq = CommitSeq::default();
        let uncommitted = Origin {
            engine,
            seq,
            transaction,
        };
        let mut stage = self.stage.borrow_mut();
        self.follow_group(&mut stage, &self.groups.lock());
        match &mut *stage {
            Stage::Writing => return self.read_written(|snapshot| read(snapshot, uncommitted)),
            Stage::Group(generation) => {
                let mut open = self.groups.lock();
                if let Some(reader) = open.reader(*generation) {
                    return read(reader, uncommitted).inspect_err(|error| {
                        if may_lose(error) {
                            self.groups.restart(&mut open);
                        }
                    });
                }
                // The changes it has read are committed now, or this transaction will fail.
                *stage = Stage::Fresh;
            }
            Stage::Fresh | Stage::Committed(_) => {}
        }
        if matches!(*stage, Stage::Fresh) {
            let backend = Arc::clone(self.groups.backend());
            let mut snapshot = backend.snapshot(View::Pinned)?;
            let state = snapshot.pin()?;
            // If it has read from a commit group, no other program may have committed since.
            if self
                .basis
                .get()
                .is_some_and(|basis| snapshot.is_overtaken(basis))
            {
                let error = overtaken(&self.tables);
                self.failure
                    .borrow_mut()
                    .get_or_insert_with(|| error.clone());
                return Err(error);
            }
            self.note_base(state);
            *stage = Stage::Committed(snapshot);
        }
        match &mut *stage {
            Stage::Committed(snapshot) => read(
                snapshot.as_mut(),
                Origin {
                    engine,
                    seq: self.seq,
                    transaction,
                },
            ),
            _ => Err(Error::new(
                ErrorKind::Backend,
                "cannot read: no snapshot is open",
            )),
        }
    }

    /// Notes the state of its first read.
    fn note_base(&self, state: StateId) {
        if self.basis.get().is_none() {
            self.basis.set(Some(state));
        }
    }

    /// Reads with this transaction's own writes. An error that may have ended the backend's
    /// transaction loses this transaction.
    fn read_written<R>(&self, read: impl FnOnce(&mut dyn Snapshot) -> Result<R>) -> Result<R> {
        let mut open = self.groups.resume();
        let outcome = open.write_access().and_then(|access| read(access.writer));
        outcome.inspect_err(|error| {
            if may_lose(error) {
                self.lose_with(&mut open, error);
            }
        })
    }
}

fn is_corrupt(error: &Error) -> bool {
    error.kind() == ErrorKind::Corrupt
}

/// Whether an error of reading may have ended the backend's transaction.
fn may_lose(error: &Error) -> bool {
    !matches!(
        error.kind(),
        ErrorKind::Corrupt
            | ErrorKind::InvalidArgument
            | ErrorKind::Cancelled
            | ErrorKind::DeadlineExceeded
    )
}
