//! Writes rows with their index entries, and determines which errors end the transaction.

use std::ops::ControlFlow;

use dflat_engine::storage::{Conflict, IndexEntry, Key, RowWrite, WriteError};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{RowId, Table, ValueRef};

use crate::connection::file_connection::{FileConnection, TableId};
use crate::ffi::{Param, SqliteError};
use crate::layout::control::ControlStatement;
use crate::layout::ddl::{PlainIndexNames, stored_main};
use crate::layout::statement_text::TableStatement;

/// An error after which the transaction may be lost.
pub(crate) trait TransactionError: From<Error> {
    /// The error, if the transaction is lost.
    fn error(&self) -> Option<&Error>;
}

impl TransactionError for Error {
    fn error(&self) -> Option<&Error> {
        Some(self)
    }
}

impl TransactionError for WriteError {
    fn error(&self) -> Option<&Error> {
        match self {
            Self::Conflict(_) => None,
            Self::Failed(error) if error.kind() == ErrorKind::NotFound => None,
            Self::Failed(error) => Some(error),
        }
    }
}

impl FileConnection {
    /// Inserts a row and its index entries, all of them or none.
    ///
    /// A conflict is rare, so that what was written is deleted after one: a savepoint for each row
    /// would cost as many instructions as the writes themselves.
    #[inline]
    pub(crate) fn insert_row(
        &mut self,
        table: &Table,
        key: &[ValueRef<'_>],
        row: &RowWrite<'_>,
    ) -> Result<RowId, WriteError> {
        let entry = self.enter(table);
        let params = key.iter().copied().map(Param::Value);
        let params = params.chain([Param::Blob(row.payload)]);
        self.run(entry, TableStatement::Insert, params)
            .map_err(|error| refused(error, table, "insert into", Key::Primary))?;
        let row_id = RowId(self.raw.last_insert_row_id());
        match self.index(table, entry, row_id, row.entries) {
            Err(WriteError::Conflict(conflict)) => {
                let undone = self.undo_insert(entry, row_id, row.entries);
                let what = || format!("cannot undo an insert into {}", table.name);
                undone.map_err(|error| WriteError::Failed(error.into_error(what())))?;
                Err(WriteError::Conflict(conflict))
            }
            indexed => indexed.map(|()| row_id),
        }
    }

    /// Deletes a row that was just inserted, and its entries. The next row gets the same row id.
    #[cold]
    fn undo_insert(
        &mut self,
        entry: TableId,
        row_id: RowId,
        index_entries: &[IndexEntry<'_>],
    ) -> Result<(), SqliteError> {
        self.delete_entries(entry, row_id, index_entries)?;
        self.run(entry, TableStatement::Delete, [Param::id(row_id)])?;
        let name = self.tables[entry.0].table.name.clone();
        if !self.exists(ControlStatement::FindTable, "sqlite_sequence")? {
            return Ok(());
        }
        let statement = self.control_statement(ControlStatement::SetLastRowId)?;
        let before = Param::id(RowId(row_id.0 - 1));
        let name = Param::Value(ValueRef::Text(&name));
        self.raw.run(statement, [before, name])
    }

    fn delete_entries(
        &mut self,
        entry: TableId,
        row_id: RowId,
        index_entries: &[IndexEntry<'_>],
    ) -> Result<(), SqliteError> {
        for IndexEntry { index, .. } in index_entries {
            let operation = TableStatement::DeleteEntry(*index);
            self.run(entry, operation, [Param::id(row_id)])?;
        }
        Ok(())
    }

    /// Replaces a row and its index entries, all of them or none.
    #[inline]
    pub(crate) fn update_row(
        &mut self,
        table: &Table,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> Result<(), WriteError> {
        let entries = row.entries.iter().enumerate();
        let mut unique = entries.filter(|(_, entry)| is_unique(table, entry));
        let first = match (row.key, unique.next(), unique.next()) {
            (None, first, None) => first.map(|(position, _)| position),
            // More than one statement can fail.
            _ => {
                return self.whole(table, row, |this, entry| {
                    this.replace(table, entry, row_id, row)?;
                    this.index(table, entry, row_id, row.entries)
                });
            }
        };
        let entry = self.enter(table);
        let Some(first) = first else {
            self.replace(table, entry, row_id, row)?;
            return self.index(table, entry, row_id, row.entries);
        };
        // Order: the only statement that can fail because of another row goes first, so that there
        // is nothing to undo.
        let (before, from) = row.entries.split_at(first);
        let (first, after) = from.split_at(1);
        self.index(table, entry, row_id, first)?;
        if let Err(error) = self.replace(table, entry, row_id, row) {
            // There is no such row, so that it has no entry either.
            let undone = self.delete_entries(entry, row_id, first);
            let what = || format!("cannot undo an update of {}", table.name);
            undone.map_err(|error| WriteError::Failed(error.into_error(what())))?;
            return Err(error);
        }
        self.index(table, entry, row_id, before)?;
        self.index(table, entry, row_id, after)
    }

    /// Replaces a row without its index entries.
    #[inline]
    fn replace(
        &mut self,
        table: &Table,
        entry: TableId,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> Result<(), WriteError> {
        let updated = match row.key {
            Some(key) => self.put_row(entry, row_id, (key, row.payload)),
            None => self.put_payload(entry, row_id, row.payload),
        };
        if updated.map_err(|error| refused(error, table, "update", Key::Primary))? {
            return Ok(());
        }
        let message = format!("cannot update {}: there is no row {row_id}", table.name);
        Err(Error::new(ErrorKind::NotFound, message).into())
    }

    /// Writes a row and its index entries, all of them or none, with a savepoint if a statement
    /// after the first can fail because of another row.
    pub(crate) fn whole<T>(
        &mut self,
        table: &Table,
        row: &RowWrite<'_>,
        work: impl FnOnce(&mut Self, TableId) -> Result<T, WriteError>,
    ) -> Result<T, WriteError> {
        let entry = self.enter(table);
        // SQLite undoes a single statement that fails. After the first statement, only an entry of
        // a unique index can fail, and in such an index NULL may occur any number of times.
        if !row.entries.iter().any(|entry| is_unique(table, entry)) {
            return work(self, entry);
        }
        let fail =
            |error: SqliteError| error.into_error(format_args!("cannot write {}", table.name));
        self.control(ControlStatement::Savepoint).map_err(fail)?;
        let outcome = work(self, entry);
        if let Err(error) = &outcome {
            if error.error().is_some() {
                // The transaction is lost and will be rolled back as a whole.
                return outcome;
            }
            self.control(ControlStatement::RollbackToSavepoint)
                .map_err(fail)?;
        }
        self.control(ControlStatement::ReleaseSavepoint)
            .map_err(fail)?;
        outcome
    }

    /// Writes a row's index entries. Fails with a conflict if another row has a value that must be
    /// unique.
    #[inline]
    pub(crate) fn index(
        &mut self,
        table: &Table,
        entry: TableId,
        row_id: RowId,
        index_entries: &[IndexEntry<'_>],
    ) -> Result<(), WriteError> {
        if index_entries.is_empty() {
            return Ok(());
        }
        self.refuse_duplicates(table, entry, row_id, index_entries)?;
        self.put_entries(table, entry, row_id, index_entries)
    }

    /// Fails with a conflict if another row has a value that must be unique, for the indexes that
    /// SQLite does not keep unique.
    fn refuse_duplicates(
        &mut self,
        table: &Table,
        entry: TableId,
        row_id: RowId,
        index_entries: &[IndexEntry<'_>],
    ) -> Result<(), WriteError> {
        for IndexEntry { index, values } in index_entries {
            let Some(given) = values.get().filter(|_| values.can_conflict()) else {
                continue;
            };
            if self.is_unenforced(entry, *index) {
                let key = Key::Index(*index);
                let other = self.other_has(entry, *index, given, row_id);
                if other.map_err(|error| refused(error, table, "index", key))? {
                    return Err(WriteError::Conflict(Conflict { key }));
                }
            }
        }
        Ok(())
    }

    /// Replaces a key and a payload. Returns whether the row exists.
    pub(crate) fn put_row(
        &mut self,
        entry: TableId,
        row_id: RowId,
        (key, payload): (&[ValueRef<'_>], &[u8]),
    ) -> Result<bool, SqliteError> {
        let key = key.iter().copied().map(Param::Value);
        let params = key.chain([Param::Blob(payload), Param::id(row_id)]);
        self.run(entry, TableStatement::UpdateRow, params)?;
        Ok(self.raw.changes_count() > 0)
    }

    /// Replaces a payload. Returns whether the row exists.
    pub(crate) fn put_payload(
        &mut self,
        entry: TableId,
        row_id: RowId,
        payload: &[u8],
    ) -> Result<bool, SqliteError> {
        // Most updates change numbers, which does not change the length. If many follow one
        // another, overwriting the payload costs a quarter of the time of a statement. If the
        // payload were a text, overwriting would keep it a text; but an update has read the payload
        // as a blob before.
        if self.holds_payloads_alone(entry)? {
            let table = &self.tables[entry.0].table.name;
            let place = (c"p", row_id.0);
            if self.raw.overwrite(table, place, payload)? {
                return Ok(true);
            }
        }
        let statement = self.statement(entry, TableStatement::UpdatePayload)?;
        let params = [Param::Blob(payload), Param::id(row_id)];
        self.raw
            .query(statement, params, |_| Ok(ControlFlow::Continue(())))?;
        Ok(self.raw.changes_count() > 0)
    }

    /// Whether the table has the definition of this library and of Dflat for Swift, and no index of
    /// another program. In any other table, something may be derived from the payload that SQLite
    /// would not update when the payload is overwritten.
    pub(crate) fn holds_payloads_alone(&mut self, entry: TableId) -> Result<bool, SqliteError> {
        if let Some(known) = self.tables[entry.0].holds_payloads_alone {
            return Ok(known);
        }
        let table = self.tables[entry.0].table.clone();
        let alone = self.is_defined(&table.name, &[stored_main(&table)])?;
        self.tables[entry.0].holds_payloads_alone = Some(alone);
        Ok(alone)
    }

    pub(crate) fn put_entries(
        &mut self,
        table: &Table,
        entry: TableId,
        row_id: RowId,
        index_entries: &[IndexEntry<'_>],
    ) -> Result<(), WriteError> {
        for IndexEntry { index, values } in index_entries {
            let row_id = std::iter::once(Param::id(row_id));
            let written = match values.get() {
                Some(values) => {
                    let values = values.iter().copied().map(Param::Value);
                    self.run(
                        entry,
                        TableStatement::PutEntry(*index),
                        row_id.chain(values),
                    )
                }
                None => self.run(entry, TableStatement::DeleteEntry(*index), row_id),
            };
            written.map_err(|error| refused(error, table, "index", Key::Index(*index)))?;
        }
        Ok(())
    }

    pub(crate) fn delete(&mut self, table: &Table, row_id: RowId) -> Result<bool> {
        let fail = |error: SqliteError| {
            error.into_error(format_args!("cannot delete from {}", table.name))
        };
        let entry = self.enter(table);
        let deleted = match self.run(entry, TableStatement::Delete, [Param::id(row_id)]) {
            Ok(()) => self.raw.changes_count() > 0,
            Err(error) => {
                self.tolerate_missing(error, &table.name).map_err(fail)?;
                false
            }
        };
        for (position, index) in table.indexes.iter().enumerate() {
            let operation = TableStatement::DeleteEntry(position);
            if let Err(error) = self.run(entry, operation, [Param::id(row_id)]) {
                let plain = PlainIndexNames::new(table, index);
                self.tolerate_missing(error, &plain.table).map_err(fail)?;
            }
        }
        Ok(deleted)
    }

    /// Ignores the error if the table to delete from does not exist.
    fn tolerate_missing(&mut self, error: SqliteError, name: &str) -> Result<(), SqliteError> {
        if error.may_be_missing_name() && !self.exists(ControlStatement::FindTable, name)? {
            Ok(())
        } else {
            Err(error)
        }
    }
}

/// Whether another row may have the values of an entry, which must be unique.
fn is_unique(table: &Table, entry: &IndexEntry<'_>) -> bool {
    let index = table.indexes.get(entry.index);
    index.is_some_and(|index| index.unique) && entry.values.can_conflict()
}

pub(crate) fn check_arguments(table: &Table, row: &RowWrite<'_>) -> Result<(), WriteError> {
    let key_fits = row
        .key
        .is_none_or(|key: &[ValueRef<'_>]| key.len() == table.primary_key.len());
    if key_fits {
        Ok(())
    } else {
        Err(bad_argument(table, "the key has the wrong number of parts"))
    }
}

/// Payloads below this length fit into a row, with any key and in any index.
const SMALL_PAYLOAD_BYTES: usize = 1 << 20;

/// Refuses a row that is larger than SQLite stores, before anything is written: SQLite would refuse
/// some of the statements only.
#[inline]
pub(crate) fn check_size(
    table: &Table,
    row: &RowWrite<'_>,
    bytes_max: impl FnOnce() -> Result<usize>,
) -> Result<(), WriteError> {
    if row.payload.len() < SMALL_PAYLOAD_BYTES {
        return Ok(());
    }
    let (bytes, max) = (largest_row(row), bytes_max()?);
    if bytes <= max {
        return Ok(());
    }
    let why = format!("the object takes {bytes} bytes, and a row has at most {max}");
    Err(bad_argument(table, &why))
}

/// The largest number of bytes that the row or one of its index entries may take.
fn largest_row(row: &RowWrite<'_>) -> usize {
    // Each value has a header of at most nine bytes, and a row has one more.
    let bytes = |value: &ValueRef<'_>| match value {
        ValueRef::Text(text) => text.len() + 9,
        _ => 8 + 9,
    };
    let all = |values: &[ValueRef<'_>]| values.iter().map(bytes).sum::<usize>() + 4 * 9;
    let entries = row.entries.iter().filter_map(|entry| entry.values.get());
    let entry = entries.map(all).max().unwrap_or_default();
    entry.max(row.payload.len() + all(row.key.unwrap_or_default()))
}

pub(crate) fn bad_argument(table: &Table, why: &str) -> WriteError {
    let message = format!("cannot write {}: {why}", table.name);
    WriteError::Failed(Error::new(ErrorKind::InvalidArgument, message))
}

pub(crate) fn refused(error: SqliteError, table: &Table, verb: &str, key: Key) -> WriteError {
    if error.is_duplicate() {
        WriteError::Conflict(Conflict { key })
    } else {
        WriteError::Failed(error.into_error(format_args!("cannot {verb} {}", table.name)))
    }
}

#[cfg(test)]
mod tests;
