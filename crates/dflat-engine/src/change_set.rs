//! The end of a transaction: the changes of its commit, and the completion to call with its
//! outcome.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use std::sync::OnceLock;

use dflat_model::{CommitSeq, RowId, Table, Value};
use smallvec::SmallVec;

use crate::error::{Error, ErrorKind, Result};
use crate::fetch::corrupt_bytes;
use crate::object::{Object, Origin};
use crate::storage::{Backend, ScanPlan, Snapshot, Source, View};
use crate::sync::{Arc, Mutex, PoisonError};

/// An engine's number in change records: the sum of a random number of the process and the engine's
/// number within the process.
#[must_use]
pub fn record_engine(engine: u64) -> u64 {
    static PROCESS: OnceLock<u64> = OnceLock::new();
    let process = PROCESS.get_or_init(|| RandomState::new().hash_one(std::process::id()));
    process.wrapping_add(engine)
}

/// Receives the outcome of a transaction, once. Closures implement it.
pub trait Complete: Send {
    /// Takes the outcome.
    fn complete(self: Box<Self>, outcome: Result<()>);
}

/// The code that is called with the outcome, after everything else of the transaction is done.
pub type Completion = Box<dyn Complete>;

impl<F: FnOnce(Result<()>) + Send> Complete for F {
    fn complete(self: Box<Self>, outcome: Result<()>) {
        self(outcome);
    }
}

/// A transaction that has ended.
pub struct Ended {
    /// The changes of its commit, if there are any; or the error because of which no change is
    /// kept.
    pub outcome: Result<Option<ChangeSet>>,
    /// Called last.
    pub completion: Completion,
}

/// The changes of one commit. A change set exists only for a committed transaction, and is
/// complete: each changed row appears once, with its state before and after, or lies in a range of
/// inserted rows.
#[derive(Clone, Debug)]
pub struct ChangeSet {
    /// The commit.
    pub seq: CommitSeq,
    /// The changed tables, each once; most commits change one.
    pub tables: SmallVec<[TableChanges; 1]>,
    /// The state of this commit. It is present until the change set is published, if a table has
    /// both a range of inserted rows and subscribers.
    pub state: Option<Arc<CommitState>>,
}

impl ChangeSet {
    /// Number of changed rows that wait to be matched with subscriptions: the listed rows and,
    /// until the change set is published, the rows in ranges that have subscribers. A range counts
    /// with its deleted rows.
    #[must_use]
    pub fn unmatched_count(&self) -> usize {
        let rows = |table: &TableChanges| {
            let range = table.inserted.filter(|_| self.state.is_some());
            table.rows.len() + range.map_or(0, RowRange::count)
        };
        self.tables.iter().map(rows).sum()
    }

    /// The changes to one of its tables with every row in the list: rows in the range of inserted
    /// rows are read from the state of this commit.
    ///
    /// # Errors
    /// If that state cannot be read, or was released.
    pub fn listed(&self, changes: &TableChanges) -> Result<TableChanges> {
        let mut listed = changes.clone();
        let Some(range) = listed.inserted.take() else {
            return Ok(listed);
        };
        let Some(state) = &self.state else {
            let type_name = &changes.table.type_name;
            let message = format!(
                "cannot read the inserted rows of {type_name}: the state of their commit is released"
            );
            return Err(Error::new(ErrorKind::Backend, message));
        };
        let objects = state.read(&changes.table, range)?;
        let inserted = objects.into_iter().map(|object| {
            let (row_id, before) = (object.row_id(), None);
            let after = Some(object);
            (row_id, RowChange { before, after })
        });
        let at = listed.rows.partition_point(|(id, _)| *id < range.first);
        listed.rows.insert_many(at, inserted);
        Ok(listed)
    }
}

/// The changes to one table.
#[derive(Clone, Debug)]
pub struct TableChanges {
    /// The table.
    pub table: Table,
    /// The changed rows, each once, by ascending row id; many commits change one. Rows in
    /// `inserted` are not among them.
    pub rows: SmallVec<[(RowId, RowChange); 1]>,
    /// Further rows that the transaction inserted.
    pub inserted: Option<RowRange>,
    /// Whether some row was changed more than once, so that it may have the same values as before
    /// the transaction. A row that was changed once always has other values.
    pub repeated: bool,
    /// Whether objects after the commit share memory, so that keeping one object keeps others.
    pub is_attached: bool,
}

impl TableChanges {
    /// A copy whose objects after the commit can each be kept without keeping others.
    #[must_use]
    pub fn detached(&self) -> Self {
        let mut changes = self.clone();
        for (_, change) in &mut changes.rows {
            let attached = change.after.as_mut().filter(|after| after.is_attached());
            if let Some(after) = attached {
                *after = after.detach();
            }
        }
        changes.is_attached = false;
        changes
    }
}

/// Rows that other programs have written, as they are at a commit. It stands for all commits since
/// the commit before: the states before and the single commits are not known.
#[derive(Clone, Debug)]
pub struct RereadSet {
    /// The commit.
    pub seq: CommitSeq,
    /// The tables that may have changed, each once.
    pub tables: Vec<RereadTable>,
}

/// The rows of a table that other programs may have written.
#[derive(Clone, Debug)]
pub struct RereadTable {
    /// The table.
    pub table: Table,
    /// The rows, by ascending row id, with their states now and without their states before; `None`
    /// if any row may have been written.
    pub changes: Option<TableChanges>,
}

/// The keys of one table that commits of other processes may have changed.
#[derive(Clone, Debug, PartialEq)]
pub enum ChangedKeys {
    /// Any key.
    Any,
    /// These keys.
    These {
        /// The primary keys of the changed rows.
        keys: Vec<Vec<Value>>,
        /// The number of times that commits of other processes were noticed, including these
        /// commits. No other key has changed since the previous call.
        notice: u64,
    },
}

/// The change to one row; never absent both before and after.
#[derive(Clone, Debug)]
pub struct RowChange {
    /// The object before, or `None` if the row was inserted.
    pub before: Option<Object>,
    /// The object after, or `None` if the row was deleted.
    pub after: Option<Object>,
}

/// Rows of a table that one transaction inserted: all rows with a row id from the first to the
/// last, both included. Fewer rows than ids may exist, because the transaction may have deleted
/// some again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowRange {
    /// The row inserted first.
    pub first: RowId,
    /// The row inserted last.
    pub last: RowId,
}

impl RowRange {
    /// The number of row ids in the range.
    #[must_use]
    pub fn count(self) -> usize {
        let ids = self.last.0.saturating_sub(self.first.0).saturating_add(1);
        usize::try_from(ids).unwrap_or(0)
    }

    /// Whether a row id lies in the range.
    #[must_use]
    pub fn contains(self, row_id: RowId) -> bool {
        self.first <= row_id && row_id <= self.last
    }

    /// The rows in the range, by ascending row id, each in memory of its own.
    ///
    /// # Errors
    /// The errors of reading the file; [`ErrorKind::Corrupt`] if a row is damaged.
    pub fn read(
        self,
        snapshot: &mut dyn Snapshot,
        table: &Table,
        origin: Origin,
    ) -> Result<Vec<Object>> {
        let plan = ScanPlan {
            table,
            source: Source::RowsAfter(RowId(self.first.0 - 1)),
            payload: true,
        };
        let (mut objects, mut damaged) = (Vec::new(), None);
        snapshot.scan(&plan, &mut |row| {
            if row.row_id > self.last {
                return ControlFlow::Break(());
            }
            match Object::new(table, row.row_id, origin, row.payload) {
                Ok(object) => objects.push(object),
                Err(_) => damaged = Some(corrupt_bytes(table, row.row_id, row.payload)),
            }
            match &damaged {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        })?;
        damaged.map_or(Ok(objects), Err)
    }
}

/// The state of one commit, pinned: its reads do not see later commits.
pub struct CommitState {
    snapshot: Mutex<Box<dyn Snapshot>>,
    origin: Origin,
}

impl CommitState {
    /// Pins the state that is committed now. The caller ensures that this is the state of the
    /// commit that `origin` names.
    ///
    /// # Errors
    /// The errors of starting to read.
    pub(crate) fn pin(backend: &Arc<dyn Backend>, origin: Origin) -> Result<Self> {
        let mut snapshot = Arc::clone(backend).snapshot(View::Pinned)?;
        snapshot.pin()?;
        let snapshot = Mutex::new(snapshot);
        Ok(Self { snapshot, origin })
    }

    fn read(&self, table: &Table, range: RowRange) -> Result<Vec<Object>> {
        let mut snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        range.read(snapshot.as_mut(), table, self.origin)
    }
}

impl fmt::Debug for CommitState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommitState({:?})", self.origin.seq)
    }
}
