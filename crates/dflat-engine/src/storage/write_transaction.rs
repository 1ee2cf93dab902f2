//! Writes that are committed together.

use dflat_model::{RowId, Table};

#[cfg(doc)]
use super::Records;
use super::{
    BaseState, Conflict, IndexRepair, NamedTable, RowWrite, Snapshot, StateId, StepId, WriteError,
};
use crate::error::{Error, ErrorKind, Result};

/// Reads and writes. A transaction that is dropped without a commit is rolled back.
pub trait WriteTransaction: Snapshot {
    /// The committed state on which this transaction begins.
    fn base(&self) -> BaseState {
        BaseState {
            id: StateId::default(),
            is_own: true,
        }
    }

    /// Whether the transaction still holds everything it wrote. False after a write that failed for
    /// another reason than a conflict, and after a read whose failure ended the transaction.
    fn is_whole(&self) -> bool;

    /// Creates the table and its indexes if they are missing. A new index gets no entries.
    ///
    /// Removes indexes of the table that cannot be trusted, and those that the descriptor does not
    /// have, because writes of this transaction would not maintain them.
    ///
    /// # Errors
    /// The errors of writing the file.
    fn create(&mut self, table: &Table) -> Result<()>;

    /// The bytes that [`store_schema`](Self::store_schema) stored for a table.
    ///
    /// # Errors
    /// The errors of reading the file.
    fn stored_schema(&mut self, table: &Table) -> Result<Option<Vec<u8>>>;

    /// Stores the descriptor of the newest code that writes to a table, in place of the one stored
    /// before. The backend does not decode these bytes.
    ///
    /// # Errors
    /// The errors of writing the file.
    fn store_schema(&mut self, table: &Table, schema: &[u8]) -> Result<()>;

    /// Inserts a row and its index entries under a row id that is larger than any before it.
    ///
    /// # Errors
    /// A conflict if another row has the key or a unique value; otherwise the errors of writing the
    /// file.
    fn insert(&mut self, table: &Table, row: &RowWrite<'_>) -> Result<RowId, WriteError>;

    /// As [`insert`](Self::insert), of a row whose primary key the engine has looked up in this
    /// transaction and not found. A backend whose calls are costly may write it together with later
    /// calls, as an [`update`](Self::update), unless a unique value may conflict.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    fn insert_absent(&mut self, table: &Table, row: &RowWrite<'_>) -> Result<RowId, WriteError> {
        self.insert(table, row)
    }

    /// Inserts rows one after the other, as [`insert`](Self::insert) does each, and returns as many
    /// outcomes: a row that conflicts is not inserted, and the others are. A backend whose calls
    /// are costly inserts many rows in one call.
    ///
    /// # Errors
    /// The errors of writing the file.
    fn insert_many(
        &mut self,
        table: &Table,
        rows: &[RowWrite<'_>],
    ) -> Result<Vec<Result<RowId, Conflict>>> {
        let inserted = rows.iter().map(|row| match self.insert(table, row) {
            Ok(row_id) => Ok(Ok(row_id)),
            Err(WriteError::Conflict(conflict)) => Ok(Err(conflict)),
            Err(WriteError::Failed(error)) => Err(error),
        });
        inserted.collect()
    }

    /// Replaces a row. If `row` has no key, the key stays. Of the index entries only the given ones
    /// change; an entry that is [absent](super::EntryValues::Absent) is removed.
    ///
    /// The engine has found the row before. So a backend whose calls are costly may write together
    /// with later calls what cannot conflict; a failure is then the error of a later call, or of
    /// [`commit`](Self::commit).
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is no such row; nothing is changed. A backend that writes
    /// later loses the transaction instead. A conflict if another row has the new key or a unique
    /// value; otherwise the errors of writing the file.
    fn update(
        &mut self,
        table: &Table,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> Result<(), WriteError>;

    /// Deletes a row that the engine has found, and all its index entries. Returns whether the row
    /// existed; a backend that deletes it together with later calls returns true.
    ///
    /// # Errors
    /// The errors of writing the file.
    fn delete(&mut self, table: &Table, row_id: RowId) -> Result<bool>;

    /// Inserts a row with the row id that it had before, and its index entries. The engine writes a
    /// transaction again in this way after the backend lost it. Row ids that
    /// [`insert`](Self::insert) gives later are larger.
    ///
    /// If [`repair_indexes`](Self::repair_indexes) has put equal values into a unique index, the
    /// index takes another equal value.
    ///
    /// # Errors
    /// A conflict if the row exists, or another row has the key or a unique value; otherwise the
    /// errors of writing the file.
    fn restore(
        &mut self,
        table: &Table,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> Result<(), WriteError>;

    /// Writes index entries of rows that exist already: fills a new index, or mends an index after
    /// a foreign write.
    ///
    /// First deletes all index entries of each row that is [foreign](super::RowRepair::is_foreign),
    /// and clears its mark. Then puts the given entries, each in place of the row's entry in its
    /// index. If two rows have the same value of a unique index, the index keeps both from then on;
    /// [`insert`](Self::insert) and [`update`](Self::update) still refuse another equal value.
    /// Finally notes how far the indexes of [`filled`](IndexRepair::filled) are built.
    ///
    /// # Errors
    /// The errors of writing the file.
    fn repair_indexes(&mut self, table: &Table, repair: &IndexRepair<'_>) -> Result<()>;

    /// Whether this transaction should append change records: because another process may follow
    /// the commits, or because the caller asked for records. The answer can change until the
    /// commit, so it is asked immediately before the commit.
    fn is_followed(&mut self) -> bool {
        false
    }

    /// The id of the file, for change records. The first call stores it in the file, as a part of
    /// this transaction. `None` if the backend keeps no file, or cannot store the id.
    ///
    /// # Errors
    /// Errors that lose the transaction, such as those of a full disk.
    fn file_id(&mut self) -> Result<Option<u128>> {
        Ok(None)
    }

    /// Appends a change record to this transaction. The backend keeps the records of a commit in
    /// the order of the calls, and does not decode them.
    ///
    /// A backend that cannot keep the record commits the transaction without records; a later
    /// reader then gets [`Records::Broken`].
    ///
    /// # Errors
    /// Errors that lose the transaction, such as those of a full disk.
    fn append_record(&mut self, record: &[u8]) -> Result<()> {
        let _ = record;
        Ok(())
    }

    /// Appends a step to the history, as a part of this transaction, under an id that is larger
    /// than any before it. The backend does not decode it.
    ///
    /// # Errors
    /// Errors that lose the transaction; [`ErrorKind::Backend`] if the
    /// backend keeps no history.
    fn append_step(&mut self, note: &[u8], record: &[u8]) -> Result<()> {
        let _ = (note, record);
        let message = "cannot keep a step: this storage has no history";
        Err(Error::new(ErrorKind::Backend, message))
    }

    /// Replaces the record of a step, or deletes the step. The ids of later steps are larger than
    /// this one all the same, unless it was the latest step.
    ///
    /// # Errors
    /// Errors that lose the transaction.
    fn replace_step(&mut self, id: StepId, record: Option<&[u8]>) -> Result<()> {
        let _ = (id, record);
        Ok(())
    }

    /// Has the backend note from now on which rows of a table other programs change, and their
    /// payloads before. The table exists. Returns whether the backend has done so since the last
    /// call, as [`has_all_notes`](Snapshot::has_all_notes) says.
    ///
    /// # Errors
    /// The errors of writing the file.
    fn keep_notes(&mut self, table: &Table) -> Result<bool> {
        let _ = table;
        Ok(true)
    }

    /// Deletes the notes of a table, and goes on noting unless this `ends` it.
    ///
    /// # Errors
    /// The errors of writing the file.
    fn forget_notes(&mut self, table: &Table, ends: bool) -> Result<()> {
        let _ = (table, ends);
        Ok(())
    }

    /// Keeps bytes under a name, in place of those that have the name, as a part of this
    /// transaction.
    ///
    /// # Errors
    /// Errors that lose the transaction; [`ErrorKind::Backend`] if the
    /// backend keeps no history.
    fn put_named(&mut self, table: NamedTable, name: &[u8], bytes: &[u8]) -> Result<()> {
        let _ = (table, name, bytes);
        let message = "cannot keep a version: this storage has no history";
        Err(Error::new(ErrorKind::Backend, message))
    }

    /// Deletes the row of a name, if there is one, as a part of this transaction.
    ///
    /// # Errors
    /// Errors that lose the transaction.
    fn delete_named(&mut self, table: NamedTable, name: &[u8]) -> Result<()> {
        let _ = (table, name);
        Ok(())
    }

    /// Makes the changes visible to all readers, and permanent as the chosen durability states.
    ///
    /// # Errors
    /// The errors of writing the file; in this case nothing of the transaction is kept.
    /// [`ErrorKind::InDoubt`] if it is not known whether the commit was made.
    fn commit(self: Box<Self>) -> Result<()>;
}
