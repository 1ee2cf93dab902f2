//! Forgets the objects that another file has forgotten.

use std::rc::Rc;

use dflat_engine::engine::{Engine, PerformOptions};
use dflat_engine::object::field_value;
use dflat_engine::storage::WriteTransaction;
use dflat_engine::transaction::Transaction;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{Table, ValueRef};

use super::erase::{ForgottenObject, collect_erased, erase};
use super::search::{Search, Searched};
use crate::commits::{FileStore, Marks, count_collection};
use crate::past::rows_with_keys;
use crate::received::ObjectKeys;
use crate::steps::prepare;

/// The marks of another file, which this one takes.
pub(crate) struct ReceivedMarks<'m> {
    pub(crate) engine: &'m Engine,
    /// All versioned tables of the file, and those that are to be.
    pub(crate) tables: &'m [Table],
    /// Those whose objects are forgotten.
    pub(crate) allowed: &'m [Table],
    pub(crate) marks: &'m Marks,
}

impl ReceivedMarks<'_> {
    /// Stores the marks that this file lacks, and forgets their objects as
    /// [`forget_object`](super::forget_object) does. An object that was forgotten here, too, stays:
    /// the program has inserted it since. `check` fails once this has taken too long.
    ///
    /// The history is read once for all marks, in a snapshot. Without an object to forget, no
    /// writer waits.
    ///
    /// # Errors
    /// - [`ErrorKind::AlreadyExists`] if the tables have one of the objects; then nothing is
    ///   changed.
    /// - [`ErrorKind::Corrupt`] if the history is damaged.
    /// - Otherwise those of [`collect`](super::collect) and of `check`.
    pub(crate) fn apply(&self, check: &dyn Fn() -> Result<()>) -> Result<ForgottenObject> {
        let Some(first) = self.allowed.first() else {
            return Ok(ForgottenObject::default());
        };
        let mut forgotten = ForgottenObject::default();
        let known = self.engine.read_history(Marks::read)?;
        let new = self.marks.without(&known);
        if !new.is_empty() {
            let mut search = Search {
                tables: self.allowed,
                marks: &new,
                check,
                found: ObjectKeys::new(),
                keys: 0,
            };
            let snapshot = self.engine.snapshot()?;
            let place = snapshot.read(first, |snapshot, _| {
                search.run(snapshot, Searched::default())
            })?;
            drop(snapshot);
            forgotten = self.write(first, &mut search, place)?;
        }
        // Another exchange may have been interrupted before this.
        collect_erased(self.engine, first, self.tables)?;
        Ok(forgotten)
    }

    fn write(
        &self,
        first: &Table,
        search: &mut Search<'_>,
        place: Searched,
    ) -> Result<ForgottenObject> {
        let store = FileStore::new(self.engine);
        let options = PerformOptions { write_first: true };
        let handler = |transaction: &Rc<Transaction>| {
            prepare(transaction, self.tables)?;
            transaction.write_history(first, |writer| {
                search.run(writer, place)?;
                let known = Marks::read(writer)?;
                let mut objects = std::mem::take(&mut search.found);
                for (table, keys) in &mut objects {
                    keys.retain(|key| !known.has(table, key));
                }
                objects.retain(|_, keys| !keys.is_empty());
                self.check_deleted(writer, &objects)?;
                let forgotten = match objects.is_empty() {
                    true => ForgottenObject::default(),
                    false => erase(writer, &store, self.allowed, &objects)?,
                };
                search.marks.take(writer)?;
                // Other exchanges have read the marks before.
                count_collection(writer)?;
                Ok(forgotten)
            })
        };
        let tables = self.tables.iter().cloned();
        self.engine.perform_here(tables, options, handler, |_| ())
    }

    /// Checks that the tables have none of the objects.
    fn check_deleted(&self, writer: &mut dyn WriteTransaction, objects: &ObjectKeys) -> Result<()> {
        for (name, keys) in objects {
            let Some(table) = self.allowed.iter().find(|table| table.name == *name) else {
                continue;
            };
            let rows = rows_with_keys(writer, table, keys)?;
            let Some(payload) = rows.values().next() else {
                continue;
            };
            let parts = table.primary_key.iter();
            let parts = parts.map(|field| field_value(payload, field).unwrap_or(ValueRef::Null));
            let parts: Vec<String> = parts.map(|part| part.to_string()).collect();
            let message = format!(
                "cannot sync: the other side has forgotten {} {}, which exists on this side; \
                 delete it first",
                table.type_name,
                parts.join(", ")
            );
            return Err(Error::new(ErrorKind::AlreadyExists, message));
        }
        Ok(())
    }
}
