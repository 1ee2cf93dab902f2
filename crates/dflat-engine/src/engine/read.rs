//! Reading: on the caller's thread, from the latest commit, a snapshot, or the current transaction.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dflat_model::{CommitSeq, Query, Table, Value};

use super::{Engine, shut_down};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{self, Fetched};
use crate::object::{Object, Origin};
use crate::storage::{Backend, Snapshot, View};
use crate::transaction;

/// What reads the committed state.
#[derive(Clone)]
pub(super) struct Reader {
    pub(super) backend: Arc<dyn Backend>,
    /// The latest commit that is done.
    pub(super) committed: Arc<AtomicU64>,
    /// Tells the engine from others of the process.
    pub(super) engine: u64,
}

impl Reader {
    pub(super) fn new(backend: Arc<dyn Backend>) -> Self {
        static NEXT_ENGINE: AtomicU64 = AtomicU64::new(1);
        Self {
            engine: NEXT_ENGINE.fetch_add(1, Ordering::Relaxed),
            backend,
            committed: Arc::default(),
        }
    }

    pub(super) fn committed(&self) -> CommitSeq {
        CommitSeq(self.committed.load(Ordering::Acquire))
    }

    /// The origin of what is read when `seq` is the latest commit.
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

    pub(super) fn fetch(&self, table: &Table, query: &Query) -> Result<Fetched> {
        self.read(table, query).map_err(|error| named(table, error))
    }

    fn read(&self, table: &Table, query: &Query) -> Result<Fetched> {
        // Order: the number is read first, so that it can only be too small.
        let seq = self.committed();
        let mut snapshot = self.snapshot(fetch::view_for(table, query))?;
        let origin = self.origin(seq);
        let objects = fetch::fetch(snapshot.as_mut(), table, query, origin)?;
        Ok(Fetched {
            engine: self.engine,
            objects,
            seq,
        })
    }

    pub(super) fn get(&self, table: &Table, key: &[Value]) -> Result<Option<Object>> {
        let origin = self.origin(self.committed());
        let found = self
            .snapshot(View::Latest)
            .and_then(|mut snapshot| fetch::get(snapshot.as_mut(), table, key, origin));
        found.map_err(|error| named(table, error))
    }
}

/// Names the type in an error that does not.
fn named(table: &Table, error: Error) -> Error {
    match error.kind() {
        ErrorKind::Corrupt | ErrorKind::InvalidArgument => error,
        _ => error.context(format_args!("cannot fetch {}", table.type_name)),
    }
}

impl Engine {
    /// Fetches the objects of a query. On a handler's thread this reads what its transaction sees.
    ///
    /// # Errors
    /// [`ErrorKind::ShutDown`] after shutdown; else as
    /// [`fetch::fetch`].
    pub fn fetch(&self, table: &Table, query: &Query) -> Result<Fetched> {
        let reader = &self.inner.reader;
        if let Some(transaction) = transaction::current(&reader.backend) {
            let objects = transaction.fetch(table, query)?;
            return Ok(Fetched {
                engine: reader.engine,
                objects,
                seq: CommitSeq::default(),
            });
        }
        self.refuse_if_closed(format_args!("fetch {}", table.type_name))?;
        reader.fetch(table, query)
    }

    /// Fetches the object with a primary key. On a handler's thread this reads what its transaction
    /// sees.
    ///
    /// # Errors
    /// As [`Engine::fetch`].
    pub fn get(&self, table: &Table, key: &[Value]) -> Result<Option<Object>> {
        let reader = &self.inner.reader;
        match transaction::current(&reader.backend) {
            Some(transaction) => transaction.get(table, key),
            None => {
                self.refuse_if_closed(format_args!("fetch {}", table.type_name))?;
                reader.get(table, key)
            }
        }
    }

    /// A view on the state as of now.
    ///
    /// # Errors
    /// As [`Engine::fetch`].
    pub fn snapshot(&self) -> Result<EngineSnapshot> {
        let snapshot = self.unpinned_snapshot()?;
        snapshot.read(|reader, _| reader.pin())?;
        Ok(snapshot)
    }

    /// A view on the state as of the first fetch from it.
    ///
    /// # Errors
    /// As [`Engine::fetch`].
    pub fn unpinned_snapshot(&self) -> Result<EngineSnapshot> {
        self.refuse_if_closed(format_args!("take a snapshot"))?;
        let reader = self.inner.reader.snapshot(View::Pinned)?;
        let cell = Arc::new(SnapshotCell {
            reader: Mutex::new(Some(Pinning { reader, seq: None })),
        });
        let mut snapshots = self
            .inner
            .snapshots
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        snapshots.retain(|snapshot| snapshot.strong_count() > 0);
        snapshots.push(Arc::downgrade(&cell));
        Ok(EngineSnapshot {
            cell,
            engine: self.clone(),
        })
    }

    /// Ends all snapshots that are still held, so that closing need not wait for their owners.
    pub(super) fn release_snapshots(&self) {
        let mut snapshots = self
            .inner
            .snapshots
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for snapshot in snapshots
            .drain(..)
            .filter_map(|snapshot| snapshot.upgrade())
        {
            *snapshot
                .reader
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

pub(super) struct SnapshotCell {
    /// `None` once the engine is shut down.
    reader: Mutex<Option<Pinning>>,
}

struct Pinning {
    reader: Box<dyn Snapshot>,
    /// The latest commit before the first read.
    seq: Option<CommitSeq>,
}

/// A view on one state: all its fetches agree. Fetches from several threads take turns.
pub struct EngineSnapshot {
    cell: Arc<SnapshotCell>,
    engine: Engine,
}

impl EngineSnapshot {
    /// Fetches the objects of a query.
    ///
    /// # Errors
    /// As [`Engine::fetch`].
    pub fn fetch(&self, table: &Table, query: &Query) -> Result<Fetched> {
        self.read(|reader, origin| {
            let objects = fetch::fetch(reader, table, query, origin)?;
            Ok(Fetched {
                engine: origin.engine,
                objects,
                seq: origin.seq,
            })
        })
    }

    /// Fetches the object with a primary key.
    ///
    /// # Errors
    /// As [`Engine::fetch`].
    pub fn get(&self, table: &Table, key: &[Value]) -> Result<Option<Object>> {
        self.read(|reader, origin| fetch::get(reader, table, key, origin))
    }

    fn read<R>(&self, read: impl FnOnce(&mut dyn Snapshot, Origin) -> Result<R>) -> Result<R> {
        let mut cell = self
            .cell
            .reader
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let Some(pinning) = cell.as_mut() else {
            return Err(shut_down(format_args!("read a snapshot")));
        };
        let seq = *pinning
            .seq
            .get_or_insert_with(|| self.engine.inner.reader.committed());
        read(
            pinning.reader.as_mut(),
            self.engine.inner.reader.origin(seq),
        )
    }
}
