//! The states that a query can read: the latest commit, a snapshot, or a transaction.

use dflat_engine::engine::{Engine, EngineSnapshot};
use dflat_engine::fetch::{self, KeyParts};
use dflat_engine::object::{Object, Origin};
use dflat_engine::storage::{Snapshot, View};
use dflat_engine::transaction::Transaction;
use dflat_model::{RowId, Table};

use crate::Result;

/// The state that a query reads.
#[derive(Clone, Copy)]
pub enum Source<'w> {
    /// The latest commit; on a handler's thread, the state that its transaction sees.
    Workspace(&'w Engine),
    /// The state of a snapshot.
    Snapshot(&'w EngineSnapshot),
    /// The state that a transaction sees: one snapshot with the transaction's own changes.
    Transaction(&'w Transaction),
}

/// The state that a query reads on a thread of the library.
pub enum OwnedSource {
    /// The latest commit.
    Workspace(Engine),
    /// The state of a snapshot, which is held until this value is dropped.
    Snapshot(EngineSnapshot),
}

impl OwnedSource {
    /// The state, for a read on this thread.
    #[must_use]
    pub const fn as_source(&self) -> Source<'_> {
        match self {
            Self::Workspace(engine) => Source::Workspace(engine),
            Self::Snapshot(snapshot) => Source::Snapshot(snapshot),
        }
    }

    /// The engine that reads.
    #[must_use]
    pub const fn engine(&self) -> &Engine {
        match self {
            Self::Workspace(engine) => engine,
            Self::Snapshot(snapshot) => snapshot.engine(),
        }
    }
}

impl Source<'_> {
    /// The state, for a read on another thread. `None` for the state of a transaction, which only
    /// the thread of its handler can read.
    #[must_use]
    pub fn to_owned(self) -> Option<OwnedSource> {
        match self {
            Self::Workspace(engine) => Some(OwnedSource::Workspace(engine.clone())),
            Self::Snapshot(snapshot) => Some(OwnedSource::Snapshot(snapshot.clone())),
            Self::Transaction(_) => None,
        }
    }

    /// Calls `read` with the storage that holds the state. `read` must not call user code.
    ///
    /// # Errors
    /// - [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown.
    /// - [`UndeclaredType`](crate::ErrorKind::UndeclaredType) if the transaction was not given the
    ///   table.
    /// - Otherwise, the errors of `read`.
    #[inline]
    pub fn read<R>(
        self,
        table: &Table,
        view: View,
        read: impl FnOnce(&mut dyn Snapshot, Origin) -> Result<R>,
    ) -> Result<R> {
        match self {
            Self::Workspace(engine) => engine.read(table, view, read),
            Self::Snapshot(snapshot) => snapshot.read(table, read),
            Self::Transaction(transaction) => transaction.read(table, read),
        }
    }

    /// The object with a primary key.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Corrupt`](crate::ErrorKind::Corrupt) if its row is damaged.
    pub fn get(self, table: &Table, key: &KeyParts<'_>) -> Result<Option<Object>> {
        self.read(table, View::Latest, |snapshot, origin| {
            fetch::get(snapshot, table, key, origin)
        })
    }

    /// The object with a row id, which one read of the same engine gave.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn find(self, table: &Table, row_id: RowId) -> Result<Option<Object>> {
        self.read(table, View::Latest, |snapshot, origin| {
            fetch::find(snapshot, table, row_id, origin)
        })
    }

    /// The objects with these primary keys, all of the same state, in the order of the keys; `None`
    /// for a key without an object.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_many(self, table: &Table, keys: &[KeyParts<'_>]) -> Result<Vec<Option<Object>>> {
        self.read(table, View::Pinned, |snapshot, origin| {
            fetch::get_many(snapshot, table, keys, origin)
        })
    }
}
