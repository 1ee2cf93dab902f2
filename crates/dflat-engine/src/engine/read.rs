//! Reading: on the caller's thread, from the latest commit, a snapshot, or the current transaction.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use dflat_model::{CommitSeq, Query, RowId, Table, Value};

use super::Engine;
use super::follower::Follower;
use super::snapshots::{EngineSnapshot, SnapshotCell};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{self, Control, Fetched, Grouping, Groups};
use crate::object::{Object, Origin};
use crate::observe::Refetch;
use crate::storage::{Backend, Row, Snapshot, Staleness, View};
use crate::telemetry::Telemetry;
use crate::transaction::{self, Indexer};

/// Reads the committed state.
#[derive(Clone)]
pub(super) struct Reader {
    pub(super) backend: Arc<dyn Backend>,
    /// The latest commit that is done.
    pub(super) committed: Arc<AtomicU64>,
    /// Held while transactions are committed and numbered.
    pub(super) committing: Arc<Mutex<()>>,
    pub(super) follower: Arc<Follower>,
    pub(super) indexer: Arc<Indexer>,
    /// Identifies the engine among the engines of the process.
    pub(super) engine: u64,
}

impl Reader {
    pub(super) fn new(
        backend: Arc<dyn Backend>,
        telemetry: Arc<Telemetry>,
        follow_bytes_max: usize,
        index_on_read: bool,
    ) -> Self {
        static NEXT_ENGINE: AtomicU64 = AtomicU64::new(1);
        let engine = NEXT_ENGINE.fetch_add(1, Ordering::Relaxed);
        let (committed, committing) = (Arc::default(), Arc::default());
        let follower = Follower::new(
            engine,
            Arc::clone(&backend),
            Arc::clone(&committed),
            Arc::clone(&committing),
            telemetry,
            follow_bytes_max,
        );
        Self {
            engine,
            indexer: Indexer::new(Arc::clone(&backend), engine, index_on_read),
            backend,
            committed,
            committing,
            follower: Arc::new(follower),
        }
    }

    pub(super) fn committed(&self) -> CommitSeq {
        CommitSeq(self.committed.load(Ordering::Acquire))
    }

    /// Notes the committed state before the first subscriber reads anything.
    pub(super) fn stand(&self) -> Result<()> {
        if !self.follower.stands() {
            // Order: the state is pinned without a lock, because writers wait for the lock. A
            // subscriber that finds the state of another subscriber reads after that state.
            self.follower.stand(self.snapshot(View::Pinned)?.pin()?);
        }
        Ok(())
    }

    /// The origin of objects that are read when `seq` is the latest commit.
    pub(super) fn origin(&self, seq: CommitSeq) -> Origin {
        Origin {
            engine: self.engine,
            seq,
            transaction: 0,
        }
    }

    pub(super) fn snapshot(&self, view: View) -> Result<Box<dyn Snapshot>> {
        Arc::clone(&self.backend).snapshot(view)
    }

    fn fetch_latest(&self, table: &Table, query: &Query) -> Result<Fetched> {
        self.read(table, fetch::view_for(table, query), |snapshot, origin| {
            fetch::fetched(snapshot, table, query, &Control::default(), origin)
        })
    }

    /// Reads the state of a commit whose number is known exactly: no later commit is visible. It
    /// may wait for a commit that is under way.
    fn read_exactly<R>(
        &self,
        table: &Table,
        read: impl Fn(&mut dyn Snapshot, Origin) -> Result<R>,
    ) -> Result<R> {
        let read_once = || {
            let mut snapshot = self.snapshot(View::Pinned)?;
            let origin = self.origin(self.follower.pin(snapshot.as_mut())?);
            let read = |snapshot: &mut dyn Snapshot| read(snapshot, origin);
            self.indexer.read(table, snapshot.as_mut(), read)
        };
        let began = Instant::now();
        loop {
            let error = match read_once() {
                Ok(read) => return Ok(read),
                Err(error) => error,
            };
            match self.backend.retry_after(&error, began.elapsed()) {
                Some(pause) => thread::sleep(pause),
                None => return Err(named(table, error)),
            }
        }
    }

    fn read<R>(
        &self,
        table: &Table,
        view: View,
        read: impl FnOnce(&mut dyn Snapshot, Origin) -> Result<R>,
    ) -> Result<R> {
        // Order: the number is read first, so that it can only be too small.
        let origin = self.origin(self.committed());
        let read = |snapshot: &mut dyn Snapshot| read(snapshot, origin);
        let read = self
            .snapshot(view)
            .and_then(|mut snapshot| self.indexer.read(table, snapshot.as_mut(), read));
        read.map_err(|error| named(table, error))
    }

    pub(super) fn get(&self, table: &Table, key: &[Value]) -> Result<Option<Object>> {
        self.read(table, View::Latest, |snapshot, origin| {
            fetch::get(snapshot, table, &fetch::parts(key), origin)
        })
    }
}

impl Refetch for Reader {
    fn fetch(&self, table: &Table, query: &Query) -> Result<Fetched> {
        self.read_exactly(table, |snapshot, origin| {
            fetch::fetched(snapshot, table, query, &Control::default(), origin)
        })
    }

    fn count(&self, table: &Table, query: &Query) -> Result<(usize, CommitSeq)> {
        self.read_exactly(table, |snapshot, origin| {
            let count = fetch::count(snapshot, table, query, &Control::default())?;
            Ok((count, origin.seq))
        })
    }

    fn groups(
        &self,
        table: &Table,
        query: &Query,
        grouping: &Arc<Grouping>,
    ) -> Result<(Groups, CommitSeq)> {
        self.read_exactly(table, |snapshot, origin| {
            let groups = fetch::groups(snapshot, table, query, grouping, &Control::default())?;
            Ok((groups, origin.seq))
        })
    }

    fn objects(
        &self,
        table: &Table,
        row_ids: &[RowId],
    ) -> Result<(Vec<Result<Option<Object>>>, CommitSeq)> {
        self.read_exactly(table, |snapshot, origin| {
            let mut found = Vec::with_capacity(row_ids.len());
            for row_id in row_ids {
                let object = fetch::find(snapshot, table, *row_id, origin);
                if let Err(error) = &object
                    && error.may_pass()
                {
                    return Err(error.clone());
                }
                found.push(object);
            }
            Ok((found, origin.seq))
        })
    }

    fn find(&self, table: &Table, known: &Object) -> Result<(Option<Object>, CommitSeq)> {
        let key = fetch::key_of(table, known)?;
        self.read_exactly(table, |snapshot, origin| {
            let object = fetch::get(snapshot, table, &fetch::parts(&key), origin)?;
            Ok((object, origin.seq))
        })
    }
}

/// Adds the type to an error that does not name it.
fn named(table: &Table, error: Error) -> Error {
    match error.kind() {
        ErrorKind::Corrupt
        | ErrorKind::InvalidArgument
        | ErrorKind::Cancelled
        | ErrorKind::DeadlineExceeded => error,
        _ => error.context(format_args!("cannot fetch {}", table.type_name)),
    }
}

impl Engine {
    /// How old the state can be that reads see.
    ///
    /// # Errors
    /// [`ErrorKind::ShutDown`] after shutdown; otherwise the errors of
    /// reading.
    pub fn staleness(&self) -> Result<Staleness> {
        self.admit_read(format_args!("find out how old the state is"))?;
        self.inner.reader.backend.staleness()
    }

    /// Reads a table. On a handler's thread, this reads the state that the handler's transaction
    /// sees. `read` must not call user code.
    ///
    /// # Errors
    /// [`ErrorKind::ShutDown`] after shutdown; otherwise as `read`.
    pub fn read<R>(
        &self,
        table: &Table,
        view: View,
        read: impl FnOnce(&mut dyn Snapshot, Origin) -> Result<R>,
    ) -> Result<R> {
        let reader = &self.inner.reader;
        match transaction::current(&reader.backend) {
            Some(transaction) => transaction.read(table, read),
            None => {
                self.refuse_work(format_args!("fetch {}", table.type_name))?;
                let telemetry = &self.inner.telemetry;
                telemetry.query(&table.type_name, || reader.read(table, view, read))
            }
        }
    }

    /// Whether this is the thread of a handler, so that reads see the changes of its transaction.
    #[must_use]
    pub fn is_in_transaction(&self) -> bool {
        transaction::current(&self.inner.reader.backend).is_some()
    }

    /// Visits the committed row with a primary key, on a handler's thread too. Its bytes are not
    /// verified.
    ///
    /// # Errors
    /// As [`Engine::read`].
    pub fn visit_committed(
        &self,
        table: &Table,
        key: &[Value],
        visit: &mut dyn FnMut(Row<'_>),
    ) -> Result<()> {
        self.admit_read(format_args!("fetch {}", table.type_name))?;
        let reader = &self.inner.reader;
        reader.read(table, View::Latest, |snapshot, _| {
            fetch::visit(snapshot, table, key, visit)
        })
    }

    /// Fetches the committed objects of a query, on a handler's thread too.
    ///
    /// # Errors
    /// As [`Engine::read`].
    pub fn fetch_committed(&self, table: &Table, query: &Query) -> Result<Vec<Object>> {
        self.admit_read(format_args!("fetch {}", table.type_name))?;
        let objects = self.inner.reader.fetch_latest(table, query)?.objects;
        Ok(Arc::unwrap_or_clone(objects))
    }

    /// A snapshot of the present state.
    ///
    /// # Errors
    /// As [`Engine::read`].
    pub fn snapshot(&self) -> Result<EngineSnapshot> {
        let snapshot = self.unpinned_snapshot()?;
        snapshot.pin()?;
        Ok(snapshot)
    }

    /// A snapshot of the state at the first fetch from the snapshot.
    ///
    /// # Errors
    /// As [`Engine::read`].
    pub fn unpinned_snapshot(&self) -> Result<EngineSnapshot> {
        self.refuse_work(format_args!("take a snapshot"))?;
        // A program that only reads has no commits at which ages are checked.
        self.inner.snapshots.look(&self.inner.telemetry);
        let reader = self.inner.reader.snapshot(View::Pinned)?;
        let cell = Arc::new(SnapshotCell::new(reader));
        self.inner.snapshots.hold(&cell);
        self.client.hold_snapshot(&cell);
        Ok(EngineSnapshot::new(cell, self.clone()))
    }
}
