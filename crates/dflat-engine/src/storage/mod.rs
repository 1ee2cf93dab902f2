//! The storage seam: everything that the engine requires of a backend.
//!
//! A backend stores rows and index entries, scans them by a plan, and commits. It never decodes a
//! payload and never calls user code, apart from the visitor of a scan. It implements [`Backend`],
//! [`Snapshot`] and [`WriteTransaction`]. Methods that only a change log or a history needs have
//! defaults. `dflat-testkit` checks these laws on every backend:
//!
//! 1. A [`View::Pinned`] snapshot shows the state that was committed when it was first scanned,
//!    until it is dropped, whatever is committed meanwhile. It never blocks a writer.
//! 2. A write transaction sees its own writes. Before it commits, no other reader sees them; every
//!    snapshot that begins after the commit does.
//! 3. One write transaction exists at a time: `begin` waits for the previous one.
//! 4. A write that fails with a [`Conflict`] changed nothing, and the transaction goes on.
//! 5. Row ids are positive and increase in order of insertion. A row id that was committed is never
//!    used again, even if its row is deleted.
//! 6. A scan visits its rows in the order that [`ScanPlan`] states.
//! 7. A transaction that is dropped without `commit` is rolled back.
//! 8. A scan of a table that was never written is empty, and creates nothing.
//! 9. An index whose state is [`IndexState::Ready`] has exactly one entry for each row, NULL
//!    included; an index with a condition, for each row of which the condition is true. An index
//!    that is [`IndexState::Incomplete`] has these entries for the rows up to a row id, and none
//!    for later rows.
//! 10. A write transaction can tell whether another program, such as another process, has committed
//!     since a state that a pinned snapshot saw.
//! 11. After `close`, everything fails with [`ErrorKind::ShutDown`].
//! 12. If the records between two states are [`Records::Complete`], each commit between the two
//!     states was made by this backend or has appended its records, and a reader of the later state
//!     visits all records, the last one first.

mod backend;
mod index;
mod memory;
mod named;
mod scan;
mod state;
mod step;
mod write;

use std::ops::ControlFlow;

use dflat_model::{RowId, Table, ValueRef};

use crate::error::{Error, ErrorKind, Result};
pub use backend::Backend;
pub use index::{
    EntryValues, IndexEntry, IndexRepair, IndexState, IndexStates, Indexes, RowRepair,
};
pub use memory::MemoryBackend;
pub use named::{NamedRow, NamedTable};
pub use scan::{Entry, Key, KeyScan, Row, ScanPlan, Source, position_of};
pub use state::{BaseState, CloseOptions, Durability, Looked, Records, Staleness, StateId, View};
pub use step::{NotedRow, StepId, StepRow};
pub use write::{Conflict, RowWrite, WriteError};

/// Reads.
pub trait Snapshot: Send {
    /// Calls `visit` with each row of the plan, until `visit` returns `Break`.
    ///
    /// The rows come in the order that [`ScanPlan`] states. The bytes of a row are lent until its
    /// visit returns.
    ///
    /// # Errors
    /// The errors of reading the file; rows already visited are valid.
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()>;

    /// Calls `visit` with the row of each of these primary keys that has one, with its payload and
    /// the position of the key, in the order of the keys. A key without values, or with a NULL, has
    /// no row. A backend whose calls are costly reads many rows in one call.
    ///
    /// # Errors
    /// The errors of reading the file; rows already visited are valid.
    fn find_many(
        &mut self,
        table: &Table,
        keys: &[&[ValueRef<'_>]],
        visit: &mut dyn FnMut(usize, Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        for (position, key) in keys.iter().enumerate() {
            if key.is_empty() || key.iter().any(|part| part.is_null()) {
                continue;
            }
            let plan = ScanPlan {
                table,
                source: Source::PrimaryKey(key),
                payload: true,
            };
            let mut flow = ControlFlow::Continue(());
            self.scan(&plan, &mut |row| {
                flow = visit(position, row);
                ControlFlow::Break(())
            })?;
            if flow.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Fixes the state that a pinned snapshot sees, as its first scan would, and returns the id of
    /// this state. A backend to which no other program can write may return one id for all states.
    ///
    /// # Errors
    /// The errors of reading the file.
    fn pin(&mut self) -> Result<StateId> {
        Ok(StateId::default())
    }

    /// Whether another program has committed after the state `since` and before the state that this
    /// pinned snapshot sees. False for a backend to which no other program can write.
    fn is_overtaken(&self, since: StateId) -> bool {
        let _ = since;
        false
    }

    /// Calls `visit` with each change record of the commits after the state `since` and up to the
    /// state that this pinned snapshot sees, from the latest record back to the first. A write
    /// transaction reads the records up to its base state.
    ///
    /// The backend alone judges whether the records account for every commit, by whichever program;
    /// it does not decode them. Commits of this backend need no records, but are visited if they
    /// have some. If a commit is not accounted for, no record is visited, and the result is
    /// [`Records::Broken`]; so it is if `visit` returns `Break`.
    ///
    /// # Errors
    /// The errors of reading the file.
    fn records(
        &mut self,
        since: StateId,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Records> {
        let _ = (since, visit);
        Ok(Records::Broken)
    }

    /// Calls `visit` with the steps of the history from the latest one back to the first; of those
    /// with smaller ids than `below`, if it is given. A backend without a history has none.
    ///
    /// # Errors
    /// The errors of reading the file; steps already visited are valid.
    fn steps(
        &mut self,
        below: Option<StepId>,
        visit: &mut dyn FnMut(StepRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let _ = (below, visit);
        Ok(())
    }

    /// Calls `visit` with each row of a versioned table that another program has changed since
    /// [`forget_notes`](WriteTransaction::forget_notes), by ascending row id, and with the payload
    /// of the row before, if there was the row.
    ///
    /// # Errors
    /// The errors of reading the file.
    fn noted(
        &mut self,
        table: &Table,
        visit: &mut dyn FnMut(NotedRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let _ = (table, visit);
        Ok(())
    }

    /// Calls `visit` with the rows that have these names, in the order of the names; a name without
    /// a row is left out. A backend without a history has none.
    ///
    /// # Errors
    /// The errors of reading the file; rows already visited are valid.
    fn named(
        &mut self,
        table: NamedTable,
        names: &[&[u8]],
        visit: &mut dyn FnMut(NamedRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let _ = (table, names, visit);
        Ok(())
    }

    /// Calls `visit` with all rows of a table of named bytes from the latest one back to the first;
    /// with those whose numbers are smaller than `below`, if it is given.
    ///
    /// # Errors
    /// The errors of reading the file; rows already visited are valid.
    fn all_named(
        &mut self,
        table: NamedTable,
        below: Option<i64>,
        visit: &mut dyn FnMut(NamedRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let _ = (table, below, visit);
        Ok(())
    }

    /// How far the table's indexes are complete, as this snapshot sees them. Called before each
    /// query that an index may serve, so it should not read the storage each time.
    ///
    /// # Errors
    /// The errors of reading the file.
    fn indexes(&mut self, table: &Table) -> Result<Indexes>;
}

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
    /// change; an entry that is [absent](EntryValues::Absent) is removed.
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
    /// First deletes all index entries of each row that is [foreign](RowRepair::is_foreign), and
    /// clears its mark. Then puts the given entries, each in place of the row's entry in its index.
    /// If two rows have the same value of a unique index, the index keeps both from then on;
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
    /// payloads before. The table exists.
    ///
    /// # Errors
    /// The errors of writing the file.
    fn keep_notes(&mut self, table: &Table) -> Result<()> {
        let _ = table;
        Ok(())
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
    /// [`ErrorKind::InDoubt`] if nobody knows whether the commit was made.
    fn commit(self: Box<Self>) -> Result<()>;
}
