//! Writes with the only connection that writes.

mod pack;
mod reading;

use std::sync::Arc;

use dflat_engine::storage::{
    BaseState, Durability, IndexRepair, Key, NamedTable, RowWrite, StepId, WriteError,
    WriteTransaction,
};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{RowId, Table};

use crate::connection::commits::CommitBase;
use crate::connection::file_connection::FileConnection;
use crate::ffi::{Param, SqliteError};
use crate::layout::statement_text::TableStatement;
use crate::upkeep::owner::Upkeep;
use crate::write::row_write::{
    TransactionError, bad_argument, check_arguments, check_size, refused,
};
use pack::refuse_pack;

/// A write transaction.
pub(crate) struct SqliteTransaction {
    upkeep: Arc<Upkeep>,
    // Invariant: `Some` until the transaction ends.
    connection: Option<FileConnection>,
    /// Whether no other connection has written since this backend's last transaction.
    follows_own: bool,
    /// The standing of the presence before the transaction began.
    standing: Option<u64>,
    /// Whether another process follows the file, if that was asked for.
    has_others: Option<bool>,
    /// The error that lost the transaction.
    failed: Option<Error>,
    /// The number of rows that were written.
    changes_count: u64,
    /// The number of bytes of their payloads.
    bytes: u64,
}

impl SqliteTransaction {
    /// Waits while the log is far too long, then for the preceding writers, then for the file's
    /// lock.
    pub(crate) fn new(upkeep: Arc<Upkeep>, durability: Durability) -> Result<Self> {
        upkeep.hold_back();
        let connection = upkeep.connections().take_writer()?;
        let mut transaction = Self {
            standing: upkeep.presence().standing(),
            upkeep,
            connection: Some(connection),
            follows_own: false,
            has_others: None,
            failed: None,
            changes_count: 0,
            bytes: 0,
        };
        let mut begun = begin(transaction.connection()?, durability);
        if begun.as_ref().is_err_and(SqliteError::is_read_only) {
            let refused = transaction.connection.take();
            let connections = transaction.upkeep.connections();
            transaction.connection = Some(connections.replace_writer(refused)?);
            begun = begin(transaction.connection()?, durability);
        }
        match begun {
            Ok(()) => {
                let connections = transaction.upkeep.connections();
                transaction.follows_own = !connections.commits().take_foreign_write();
                if !transaction.follows_own {
                    refuse_pack(connections, transaction.connection.as_mut())?;
                }
            }
            Err(error) => {
                let usable = error.is_busy();
                let path = transaction.upkeep.connections().path().display();
                let error = error.into_error(format_args!("cannot start to write {path}"));
                if usable {
                    return Err(error);
                }
                return Err(transaction.lose(error));
            }
        }
        Ok(transaction)
    }

    /// The connection, if the transaction is still complete.
    ///
    /// After some errors SQLite rolls the transaction back by itself. A later write would then be
    /// committed at once, so no more writes are allowed.
    fn connection(&mut self) -> Result<&mut FileConnection> {
        match (&self.failed, &mut self.connection) {
            (None, Some(connection)) => Ok(connection),
            (Some(error), _) => Err(error.clone()),
            (None, None) => Err(Error::new(ErrorKind::Aborted, "the transaction has ended")),
        }
    }

    /// Runs a write. If the write fails for another reason than a conflict or a missing row, the
    /// transaction is lost.
    fn write<T, E: TransactionError>(
        &mut self,
        work: impl FnOnce(&mut FileConnection) -> Result<T, E>,
    ) -> Result<T, E> {
        let outcome = self.connection().map_err(E::from).and_then(work);
        if self.failed.is_none()
            && let Err(Some(error)) = outcome.as_ref().map_err(TransactionError::error)
        {
            let error = error.clone();
            return Err(self.lose(error).into());
        }
        outcome
    }

    /// Refuses a row that is larger than SQLite stores. The transaction is not lost.
    fn check_size(&mut self, table: &Table, row: &RowWrite<'_>) -> Result<(), WriteError> {
        check_size(table, row, || {
            // Almost no row is so large that the connection is asked.
            Ok(self.connection()?.raw.row_bytes_max())
        })
    }

    /// Whether another process follows the file. The first call asks the system.
    fn has_others(&mut self) -> bool {
        let presence = self.upkeep.presence();
        *self.has_others.get_or_insert_with(|| presence.has_others())
    }

    /// Counts a row that was written.
    fn note(&mut self, payload: &[u8]) {
        self.changes_count += 1;
        self.bytes += payload.len() as u64;
    }

    /// Reads. If an error made SQLite roll back, the transaction is lost.
    fn read<T>(&mut self, work: impl FnOnce(&mut FileConnection) -> Result<T>) -> Result<T> {
        let connection = self.connection()?;
        let outcome = work(connection);
        match outcome {
            Err(error) if connection.raw.is_autocommit() => Err(self.lose(error)),
            outcome => outcome,
        }
    }

    /// Notes that the transaction is lost by an error, and returns the reason: a file that is gone
    /// or lacks pages is the cause of other errors.
    fn lose(&mut self, error: Error) -> Error {
        let connections = self.upkeep.connections();
        let whole = self.connection.as_mut();
        let whole = whole.map_or(Ok(()), |connection| connections.check_writer(connection));
        let reason = whole.err().unwrap_or(error);
        self.failed = Some(reason.clone());
        reason
    }

    /// Returns the connection to the pool, unless the connection failed.
    fn release(&mut self) {
        if let Some(mut connection) = self.connection.take() {
            let usable = connection.rollback_write() && self.failed.is_none();
            self.upkeep.return_writer(usable.then_some(connection));
        }
    }
}

fn begin(connection: &mut FileConnection, durability: Durability) -> Result<(), SqliteError> {
    connection.set_durability(durability)?;
    connection.begin_write()
}

impl WriteTransaction for SqliteTransaction {
    fn is_whole(&self) -> bool {
        let open = self
            .connection
            .as_ref()
            .is_some_and(|s| !s.raw.is_autocommit());
        open && self.failed.is_none()
    }

    fn base(&self) -> BaseState {
        let commit_base = self
            .connection
            .as_ref()
            .and_then(FileConnection::commit_base);
        let unknown = || self.upkeep.connections().commits().state(None);
        BaseState {
            id: commit_base.map_or_else(unknown, CommitBase::state),
            is_own: self.follows_own,
        }
    }

    fn create(&mut self, table: &Table) -> Result<()> {
        self.write(|connection| {
            connection
                .create(table)
                .map_err(|error| error.into_error(format_args!("cannot create {}", table.name)))
        })
    }

    fn stored_schema(&mut self, table: &Table) -> Result<Option<Vec<u8>>> {
        self.read(|connection| {
            connection
                .stored_schema(&table.name)
                .map_err(|error| schema_error(error, table))
        })
    }

    fn store_schema(&mut self, table: &Table, schema: &[u8]) -> Result<()> {
        self.write(|connection| {
            let stored = connection.store_schema(table, schema);
            stored.map_err(|error| schema_error(error, table))
        })
    }

    fn insert(&mut self, table: &Table, row: &RowWrite<'_>) -> Result<RowId, WriteError> {
        let Some(key) = row.key else {
            return Err(bad_argument(table, "an insert has no key"));
        };
        check_arguments(table, row)?;
        self.check_size(table, row)?;
        let inserted = self.write(|connection| connection.insert_row(table, key, row))?;
        self.note(row.payload);
        Ok(inserted)
    }

    fn update(
        &mut self,
        table: &Table,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> Result<(), WriteError> {
        check_arguments(table, row)?;
        self.check_size(table, row)?;
        self.write(|connection| connection.update_row(table, row_id, row))?;
        self.note(row.payload);
        Ok(())
    }

    fn delete(&mut self, table: &Table, row_id: RowId) -> Result<bool> {
        let deleted = self.write(|connection| connection.delete(table, row_id))?;
        if deleted {
            self.note(&[]);
        }
        Ok(deleted)
    }

    fn repair_indexes(&mut self, table: &Table, repair: &IndexRepair<'_>) -> Result<()> {
        self.write(|connection| connection.repair_indexes(table, repair))
    }

    fn restore(
        &mut self,
        table: &Table,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> Result<(), WriteError> {
        let Some(key) = row.key else {
            return Err(bad_argument(table, "an insert has no key"));
        };
        check_arguments(table, row)?;
        self.check_size(table, row)?;
        self.write(|connection| {
            connection.whole(table, row, |connection, entry| {
                let params = key.iter().copied().map(Param::Value);
                let params = params.chain([Param::Blob(row.payload), Param::id(row_id)]);
                connection
                    .run(entry, TableStatement::InsertWithId, params)
                    .map_err(|error| refused(error, table, "insert into", Key::Primary))?;
                connection.put_entries(table, entry, row_id, row.entries)
            })
        })
    }

    fn is_followed(&mut self) -> bool {
        self.upkeep.connections().options().change_log || self.has_others()
    }

    fn file_id(&mut self) -> Result<Option<u128>> {
        self.write(|connection| {
            connection.file_id().map_err(|error| {
                let path = connection.path.display();
                error.into_error(format_args!("cannot keep the id of {path}"))
            })
        })
    }

    fn append_record(&mut self, record: &[u8]) -> Result<()> {
        self.write(|connection| {
            let appended = connection.append_record(record);
            appended.map_err(|error| {
                let path = connection.path.display();
                error.into_error(format_args!("cannot write to the change log of {path}"))
            })
        })
    }

    fn append_step(&mut self, note: &[u8], record: &[u8]) -> Result<()> {
        self.write(|connection| {
            let appended = connection.append_step(note, record);
            appended.map_err(|error| history_error(connection, error))
        })
    }

    fn replace_step(&mut self, id: StepId, record: Option<&[u8]>) -> Result<()> {
        self.write(|connection| {
            let replaced = connection.replace_step(id, record);
            replaced.map_err(|error| history_error(connection, error))
        })
    }

    fn keep_notes(&mut self, table: &Table) -> Result<bool> {
        self.write(|connection| {
            let kept = connection.keep_notes(table);
            kept.map_err(|error| notes_error(error, table))
        })
    }

    fn forget_notes(&mut self, table: &Table, ends: bool) -> Result<()> {
        self.write(|connection| {
            let forgotten = connection.forget_notes(table, ends);
            forgotten.map_err(|error| notes_error(error, table))
        })
    }

    fn put_named(&mut self, table: NamedTable, name: &[u8], bytes: &[u8]) -> Result<()> {
        self.write(|connection| {
            let put = connection.put_named(table, name, bytes);
            put.map_err(|error| history_error(connection, error))
        })
    }

    fn delete_named(&mut self, table: NamedTable, name: &[u8]) -> Result<()> {
        self.write(|connection| {
            let deleted = connection.delete_named(table, name);
            deleted.map_err(|error| history_error(connection, error))
        })
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        let upkeep = Arc::clone(&self.upkeep);
        let lacks_records =
            self.changes_count > 0 && !self.connection()?.change_log.has_all_records();
        // Order: before the commit, so that no follower takes it for one of another program.
        if lacks_records && self.has_others() {
            upkeep.presence().send_away();
        }
        let connection = self.connection()?;
        // Order: before the commit is written, so that the log of another file does not get it.
        if let Err(error) = upkeep.connections().check_writer(connection) {
            self.failed = Some(error.clone());
            return Err(error);
        }
        if let Err(error) = connection.commit_write() {
            let path = connection.path.display();
            let error = error.into_error(format_args!("cannot commit to {path}"));
            return Err(self.lose(error));
        }
        // Order: after the commit is visible, so that a process that is notified finds it.
        if self.has_others() {
            upkeep.presence().notify_others();
        }
        let connection = self.connection.take();
        if let Some(monitor) = self.upkeep.connections().monitor() {
            let log_is_pinned = self.upkeep.is_log_pinned();
            monitor.note_commit(self.changes_count, self.bytes, log_is_pinned);
        }
        self.upkeep.return_writer(connection);
        Ok(())
    }
}

impl Drop for SqliteTransaction {
    fn drop(&mut self) {
        self.release();
    }
}

fn history_error(connection: &FileConnection, error: SqliteError) -> Error {
    let path = connection.path.display();
    error.into_error(format_args!("cannot write to the history of {path}"))
}

fn notes_error(error: SqliteError, table: &Table) -> Error {
    error.into_error(format_args!("cannot keep the history of {}", table.name))
}

fn schema_error(error: SqliteError, table: &Table) -> Error {
    error.into_error(format_args!("cannot keep the schema of {}", table.name))
}

#[cfg(test)]
mod tests;
