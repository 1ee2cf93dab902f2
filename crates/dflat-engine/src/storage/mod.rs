//! The storage seam: what a backend does, and nothing else.
//!
//! A backend stores rows and index rows, scans them by a plan, and commits. It never decodes a
//! payload and never calls user code. Its laws, which `dflat-testkit` checks on every backend:
//!
//! 1. A [`View::Pinned`] snapshot shows the state that was committed when it was first scanned, for
//!    as long as it lives, whatever is committed meanwhile. It never blocks a writer.
//! 2. A write transaction sees its own writes; nobody else does before it commits, and everybody
//!    who starts to look afterwards does.
//! 3. One write transaction exists at a time: `begin` waits for the one before.
//! 4. A write that fails with a [`Conflict`] changed nothing, and the transaction goes on.
//! 5. Row ids are positive and increase in order of insertion. One that was committed is never used
//!    again, even if its row is deleted.
//! 6. A scan gives its rows in the order that [`ScanPlan`] states.
//! 7. A transaction that is dropped without `commit` is rolled back.
//! 8. A snapshot or scan of a table that was never written is empty; reading creates nothing.
//! 9. An index whose state is [`IndexState::Ready`] has exactly one entry for each row, NULL
//!    included, of which its condition is true, if it has one; one that is
//!    [`IndexState::Incomplete`] has one for each of these up to an id, and none beyond.
//! 10. A write transaction can tell whether somebody else, such as another process, has committed
//!     since a state that a pinned snapshot saw.
//! 11. After `close`, everything fails with [`ErrorKind::ShutDown`](crate::ErrorKind::ShutDown).

mod index;
mod memory;
mod scan;

use std::ops::ControlFlow;
use std::sync::Arc;

use dflat_model::{RowId, Table, ValueRef};

use crate::error::{Error, Result};
pub use index::{EntryValues, IndexEntry, IndexState, IndexStates, Indexes};
pub use memory::MemoryBackend;
pub use scan::{Entry, Key, KeyScan, Row, ScanPlan, Source, position_of};

/// A place where objects are stored.
pub trait Backend: Send + Sync + 'static {
    /// Starts to read.
    ///
    /// # Errors
    /// As opening a file or waiting for a reader can fail.
    fn snapshot(self: Arc<Self>, view: View) -> Result<Box<dyn Snapshot>>;

    /// Starts to write: waits for the writer before, and for other processes up to the busy
    /// timeout.
    ///
    /// # Errors
    /// As opening or creating a file or waiting for a lock can fail.
    fn begin(self: Arc<Self>) -> Result<Box<dyn WriteTransaction>>;

    /// As [`begin`](Self::begin), with a commit that survives what is asked for, where there is
    /// something to survive.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    fn begin_with(self: Arc<Self>, durability: Durability) -> Result<Box<dyn WriteTransaction>> {
        let _ = durability;
        self.begin()
    }

    /// What a commit survives, if nothing else is asked for.
    fn durability(&self) -> Durability {
        Durability::Normal
    }

    /// Waits while the storage is to be left alone: a transaction calls it before its handler runs.
    fn wait_while_suspended(&self) {}

    /// The bytes of a log beside the storage that is not part of it yet; 0 if there is none.
    fn log_bytes(&self) -> u64 {
        0
    }

    /// Whether somebody who reads an older state keeps that log from being cut back.
    fn is_log_pinned(&self) -> bool {
        false
    }

    /// How often a write transaction waited to begin because that log was too long.
    fn log_waits(&self) -> u64 {
        0
    }

    /// Waits until all snapshots and transactions have ended, then releases every resource.
    ///
    /// # Errors
    /// As the work that `options` asks for can fail; the backend is closed all the same.
    fn close(&self, options: CloseOptions) -> Result<()>;
}

/// What a commit survives. The later survives more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The end of the process. After a loss of power the last commits may be gone, never half of
    /// one, and none without those after it.
    #[default]
    Normal,
    /// A loss of power: each commit waits for the device, on Apple's systems until that has emptied
    /// its cache.
    Full,
}

/// What a snapshot sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Each scan sees the latest committed state: the cheapest way to scan once.
    Latest,
    /// All scans see the state of the first.
    Pinned,
}

/// Names a committed state of a backend. What the number says is the backend's own business.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateId(pub u64);

impl StateId {
    /// Of a state that the backend can't tell from others. Whoever saw it takes the next one for
    /// overtaken.
    pub const UNKNOWN: Self = Self(u64::MAX);
}

/// What to do when a backend is closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CloseOptions {
    /// Leave one file, without a write-ahead log beside it.
    pub truncate: bool,
    /// Give unused space back to the file system.
    pub vacuum: bool,
}

/// Reads.
pub trait Snapshot: Send {
    /// Calls `visit` with each row of the plan, until it breaks.
    ///
    /// # Errors
    /// As reading the file can fail; rows already visited are valid.
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()>;

    /// Fixes the view of a pinned snapshot that was not scanned yet, as its first scan would, and
    /// names the state it sees.
    ///
    /// # Errors
    /// As reading the file can fail.
    fn pin(&mut self) -> Result<StateId> {
        Ok(StateId::default())
    }

    /// Whether somebody has committed after that state, and before the one that this sees, which is
    /// pinned, by another way than this backend. Never, where there is none.
    fn is_overtaken(&self, since: StateId) -> bool {
        let _ = since;
        false
    }

    /// How far the table's indexes are to be believed, as this snapshot sees them.
    ///
    /// # Errors
    /// As reading the file can fail.
    fn indexes(&mut self, table: &Table) -> Result<Indexes>;

    /// Whether the index at a position is ready, and nobody else has written past the indexes.
    ///
    /// # Errors
    /// As reading the file can fail.
    fn is_index_whole(&mut self, table: &Table, position: usize) -> Result<bool> {
        Ok(self.indexes(table)?.is_whole(position))
    }

    /// The state of each of the table's indexes, in their order.
    ///
    /// # Errors
    /// As reading the file can fail.
    fn index_states(&mut self, table: &Table) -> Result<Vec<IndexState>> {
        Ok(self.indexes(table)?.states.into_vec())
    }
}

/// Reads and writes.
pub trait WriteTransaction: Snapshot {
    /// Whether it is certain that nobody has written to the storage, past this backend, since the
    /// backend's last transaction.
    fn follows_own(&self) -> bool;

    /// Whether nothing of the transaction is lost: false after a failed write that was no conflict,
    /// and after a failed read that ended it.
    fn is_whole(&self) -> bool;

    /// Names the committed state on which this transaction stands.
    fn base(&self) -> StateId {
        StateId::default()
    }

    /// Creates the table and its index tables if they are missing or not to be believed, without
    /// filling them, and removes other index tables of the table, which its writes would leave
    /// behind the truth.
    ///
    /// # Errors
    /// As writing the file can fail.
    fn create(&mut self, table: &Table) -> Result<()>;

    /// The bytes that [`store_schema`](Self::store_schema) stored for a table.
    ///
    /// # Errors
    /// As reading the file can fail.
    fn stored_schema(&mut self, table: &Table) -> Result<Option<Vec<u8>>>;

    /// Stores what the newest code that writes to a table knows, instead of what was stored before.
    ///
    /// # Errors
    /// As writing the file can fail.
    fn store_schema(&mut self, table: &Table, schema: &[u8]) -> Result<()>;

    /// Inserts a row and its index entries.
    ///
    /// # Errors
    /// A conflict if the key or a unique value exists; else as writing the file can fail.
    fn insert(&mut self, table: &Table, row: &RowWrite<'_>) -> Result<RowId, WriteError>;

    /// Replaces a row. Only the key, if given, and the index entries given are changed: one that is
    /// absent is removed.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is no such row; nothing is
    /// changed. A conflict if the new key or a unique value exists; else as writing the file can
    /// fail.
    fn update(
        &mut self,
        table: &Table,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> Result<(), WriteError>;

    /// Deletes a row and all its index entries; whether there was one.
    ///
    /// # Errors
    /// As writing the file can fail.
    fn delete(&mut self, table: &Table, row_id: RowId) -> Result<bool>;

    /// Lets a unique index keep the values that it has more than once. From then on
    /// [`insert`](Self::insert) and [`update`](Self::update) look whether a value exists, and the
    /// methods that put back what there was do not.
    ///
    /// # Errors
    /// As writing the file can fail.
    fn admit_duplicates(&mut self, table: &Table, index: usize) -> Result<()>;

    /// Removes the index entries of a row that is apart, which is none afterwards. Whoever calls
    /// this puts those in that are right.
    ///
    /// # Errors
    /// As writing the file can fail.
    fn forget_foreign(&mut self, table: &Table, row_id: RowId) -> Result<()> {
        let _ = (table, row_id);
        Ok(())
    }

    /// Says that an index with a condition is filled up to a row id, or ready, if it is none: how
    /// far cannot be told from its entries.
    ///
    /// # Errors
    /// As writing the file can fail.
    fn note_filled(&mut self, table: &Table, index: usize, up_to: Option<RowId>) -> Result<()>;

    /// Adds or replaces the index entry of a row that exists: how an index is filled.
    ///
    /// # Errors
    /// A conflict if a unique value exists, unless duplicates are admitted; else as writing the
    /// file can fail.
    fn put_index_entry(
        &mut self,
        table: &Table,
        row_id: RowId,
        entry: &IndexEntry<'_>,
    ) -> Result<(), WriteError>;

    /// Inserts a row with the row id it had, and its index entries: how a transaction that had to
    /// be undone is written again. Row ids that `insert` gives later are larger.
    ///
    /// # Errors
    /// A conflict if the row, its key or a unique value exists, unless duplicates are admitted;
    /// else as writing the file can fail.
    fn restore(
        &mut self,
        table: &Table,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> Result<(), WriteError>;

    /// Makes the changes visible to all and, as far as the chosen durability goes, permanent.
    ///
    /// # Errors
    /// As writing the file can fail; nothing of the transaction is kept then.
    fn commit(self: Box<Self>) -> Result<()>;

    /// Undoes the changes.
    fn rollback(self: Box<Self>);
}

/// What a write stores.
#[derive(Clone, Copy, Debug)]
pub struct RowWrite<'a> {
    /// The primary key's values; `None` in an update that leaves it as it is.
    pub key: Option<&'a [ValueRef<'a>]>,
    /// The object's bytes.
    pub payload: &'a [u8],
    /// The index entries to write.
    pub entries: &'a [IndexEntry<'a>],
}

/// A row can't be written because another has the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The key that admits the value once.
    pub key: Key,
}

/// Why a write failed.
#[derive(Debug)]
pub enum WriteError {
    /// Another row has the same value; the transaction goes on.
    Conflict(Conflict),
    /// Anything else; the transaction is lost.
    Failed(Error),
}

impl From<Error> for WriteError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
