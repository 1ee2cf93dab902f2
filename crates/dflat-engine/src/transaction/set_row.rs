//! Sets rows to earlier states, for a history.

use dflat_model::{RowId, Table};

use super::context::Transaction;
use super::group::WriteAccess;
use super::row::{key_parts, present_entries};
use super::stored_row::{named, refused, write_over};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch;
use crate::object::verify;
use crate::storage::{RowWrite, WriteTransaction};

impl Transaction {
    /// Takes the write access, prepares a table for writing, and reads the state that the
    /// transaction writes to. `read` must not call user code, and writes nothing.
    ///
    /// # Errors
    /// [`ErrorKind::UndeclaredType`] for a table that was not declared; otherwise as `read`. Most
    /// errors lose the transaction.
    pub fn read_to_write<R>(
        &self,
        table: &Table,
        read: impl FnOnce(&mut dyn WriteTransaction) -> Result<R>,
    ) -> Result<R> {
        self.admit("read", table)?;
        self.write(table, |_, access| read(access.writer))
    }

    /// As [`read_to_write`](Self::read_to_write), but `write` may write to the history. No other
    /// transaction shares the commit, because these writes could not be written again with it. The
    /// transaction must have begun with write access.
    ///
    /// # Errors
    /// As [`read_to_write`](Self::read_to_write). An error of `write` loses the transaction.
    pub fn write_history<R>(
        &self,
        table: &Table,
        write: impl FnOnce(&mut dyn WriteTransaction) -> Result<R>,
    ) -> Result<R> {
        self.admit("write the history of", table)?;
        self.write(table, |_, access| {
            *access.has_more = true;
            write(access.writer)
        })
        .inspect_err(|error| self.lose(error))
    }

    /// Sets a row to exactly these bytes, or deletes it. A row that does not exist is inserted
    /// under this row id, which must be one that the table has given before. Returns whether the
    /// row has changed.
    ///
    /// # Errors
    /// - [`ErrorKind::AlreadyExists`] if the primary key or a unique value belongs to another
    ///   object: nothing is changed, and the transaction stays usable.
    /// - [`ErrorKind::UndeclaredType`] for a table that was not declared.
    /// - [`ErrorKind::Aborted`] if the transaction was aborted or lost before.
    /// - Any other error loses the transaction; [`ErrorKind::Corrupt`] if the bytes are malformed.
    pub fn set_row(&self, table: &Table, row_id: RowId, payload: Option<&[u8]>) -> Result<bool> {
        self.admit("set", table)?;
        self.write(table, |stored_as, access| {
            let current = match access.changes.latest(stored_as, row_id) {
                Some(latest) => latest.cloned(),
                None => fetch::find_incomplete(access.writer, stored_as, row_id, access.origin)?,
            };
            match (current, payload) {
                (None, None) => Ok(false),
                (Some(current), Some(payload)) if current.payload() == payload => Ok(false),
                (Some(current), None) => {
                    let deleted = access.writer.delete(stored_as, row_id);
                    deleted.map_err(|error| named("delete", stored_as, error))?;
                    access.changes.note(stored_as, row_id, Some(current), None);
                    Ok(true)
                }
                (current, Some(payload)) => {
                    check(stored_as, row_id, payload)?;
                    match &current {
                        Some(current) => {
                            let states = (current.payload(), payload);
                            write_over(stored_as, row_id, states, access)?;
                        }
                        None => put_back(stored_as, row_id, payload, access)?,
                    }
                    self.note_written(stored_as, row_id, current, payload, access);
                    Ok(true)
                }
            }
        })
    }
}

/// Inserts a row under the row id that it had before.
fn put_back(
    table: &Table,
    row_id: RowId,
    payload: &[u8],
    access: &mut WriteAccess<'_>,
) -> Result<()> {
    let key = key_parts(table, payload)?;
    let mut entries = present_entries(table, payload)?;
    access.coverage.leave(&mut entries, Some(row_id));
    let row = RowWrite {
        key: Some(key.as_slice()),
        payload,
        entries: &entries,
    };
    let restored = access.writer.restore(table, row_id, &row);
    restored.map_err(|error| refused("insert", table, payload, error))
}

fn check(table: &Table, row_id: RowId, payload: &[u8]) -> Result<()> {
    verify(&table.types, payload).map_err(|_| {
        let message = format!(
            "cannot set row {row_id} of {}: the bytes are malformed",
            table.type_name
        );
        Error::new(ErrorKind::Corrupt, message)
    })
}
