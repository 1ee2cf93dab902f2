//! What a query reads: the latest commit, a snapshot, or a transaction.

use dflat_engine::engine::{Engine, EngineSnapshot};
use dflat_engine::fetch;
use dflat_engine::object::Origin;
use dflat_engine::storage::{Snapshot, View};
use dflat_engine::transaction::Transaction;

use crate::codegen::KeyParts;
use crate::{Object, Result};

/// What a query reads.
#[derive(Clone, Copy)]
pub(crate) enum Source<'w> {
    Workspace(&'w Engine),
    Snapshot(&'w EngineSnapshot),
    Transaction(&'w Transaction),
}

impl Source<'_> {
    pub(crate) fn read<T: Object, R>(
        self,
        view: View,
        read: impl FnOnce(&mut dyn Snapshot, Origin) -> Result<R>,
    ) -> Result<R> {
        match self {
            Self::Workspace(engine) => engine.read(&T::TABLE, view, read),
            Self::Snapshot(snapshot) => snapshot.read(read),
            Self::Transaction(transaction) => transaction.read(&T::TABLE, read),
        }
    }

    pub(crate) fn get<T: Object>(self, key: T::Key<'_>) -> Result<Option<T>> {
        let (table, key) = (T::TABLE, T::key_values(key));
        let found = self.read::<T, _>(View::Latest, |snapshot, origin| {
            fetch::get(snapshot, &table, &key, origin)
        })?;
        Ok(found.map(T::from_handle))
    }

    pub(crate) fn get_many<'k, T: Object>(
        self,
        keys: impl IntoIterator<Item = T::Key<'k>>,
    ) -> Result<Vec<Option<T>>> {
        let table = T::TABLE;
        let keys: Vec<KeyParts<'k>> = keys.into_iter().map(T::key_values).collect();
        self.read::<T, _>(View::Pinned, |snapshot, origin| {
            let found = keys.iter().map(|key| {
                let found = fetch::get(snapshot, &table, key, origin)?;
                Ok(found.map(T::from_handle))
            });
            found.collect()
        })
    }
}
