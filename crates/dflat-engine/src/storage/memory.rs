//! The memory backend: persistent maps, so that a snapshot is a copy of a pointer.
//!
//! It is a user's in-memory mode and the second implementation of the seam. A transaction works on
//! its own copy of the state, which shares what it does not change, and puts it in place when it
//! commits.

use std::cmp::Ordering;
use std::ops::{Bound, ControlFlow};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use dflat_model::{Direction, RowId, Table, Value};
use rpds::{HashTrieMapSync, RedBlackTreeMapSync};

use super::{
    Backend, CloseOptions, Conflict, IndexEntry, IndexState, Key, KeyScan, Row, RowWrite, ScanPlan,
    Snapshot, Source, View, WriteError, WriteTransaction,
};
use crate::error::{Error, ErrorKind, Result};

/// Stores objects in memory.
#[derive(Debug, Default)]
pub struct MemoryBackend {
    shared: Mutex<Shared>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Shared {
    state: State,
    /// A write transaction is open.
    writing: bool,
    /// Snapshots and transactions that are open.
    open: usize,
    closed: bool,
}

/// Everything that is stored: cheap to clone.
#[derive(Clone, Debug, Default)]
struct State {
    tables: HashTrieMapSync<String, TableState>,
}

#[derive(Clone, Debug, Default)]
struct TableState {
    rows: RedBlackTreeMapSync<RowId, StoredRow>,
    keys: RedBlackTreeMapSync<KeyValues, RowId>,
    /// Indexes by storage key.
    indexes: HashTrieMapSync<String, IndexStore>,
    last_row_id: i64,
}

#[derive(Clone, Debug)]
struct StoredRow {
    key: KeyValues,
    payload: Arc<[u8]>,
}

#[derive(Clone, Debug, Default)]
struct IndexStore {
    entries: RedBlackTreeMapSync<(KeyValues, RowId), ()>,
    values: RedBlackTreeMapSync<RowId, KeyValues>,
}

/// Values of a key's parts, with the total order of values.
#[derive(Clone, Debug)]
struct KeyValues(Arc<[Value]>);

impl Ord for KeyValues {
    fn cmp(&self, other: &Self) -> Ordering {
        let pairs = self.0.iter().zip(other.0.iter());
        let unequal = pairs
            .map(|(a, b)| a.as_ref().order(b.as_ref()))
            .find(|o| o.is_ne());
        unequal.unwrap_or_else(|| self.0.len().cmp(&other.0.len()))
    }
}

impl PartialOrd for KeyValues {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for KeyValues {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for KeyValues {}

impl MemoryBackend {
    /// An empty store.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // No code that can panic runs under the lock.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, condition: impl Fn(&Shared) -> bool) -> MutexGuard<'_, Shared> {
        let guard = self.lock();
        let waited = self.changed.wait_while(guard, |shared| condition(shared));
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self, writing: bool) {
        let mut shared = self.lock();
        shared.open -= 1;
        if writing {
            shared.writing = false;
        }
        drop(shared);
        self.changed.notify_all();
    }
}

fn shut_down() -> Error {
    Error::new(
        ErrorKind::ShutDown,
        "cannot use the database: it is shut down",
    )
}

impl Backend for MemoryBackend {
    fn snapshot(self: Arc<Self>, view: View) -> Result<Box<dyn Snapshot>> {
        let mut shared = self.lock();
        if shared.closed {
            return Err(shut_down());
        }
        shared.open += 1;
        drop(shared);
        Ok(Box::new(MemorySnapshot {
            backend: self,
            view,
            state: None,
        }))
    }

    fn begin(self: Arc<Self>) -> Result<Box<dyn WriteTransaction>> {
        let mut shared = self.wait_while(|shared| shared.writing && !shared.closed);
        if shared.closed {
            return Err(shut_down());
        }
        shared.writing = true;
        shared.open += 1;
        let state = shared.state.clone();
        drop(shared);
        Ok(Box::new(MemoryTransaction {
            backend: self,
            state,
            savepoint: None,
        }))
    }

    fn close(&self, _options: CloseOptions) -> Result<()> {
        self.lock().closed = true;
        self.changed.notify_all();
        let mut shared = self.wait_while(|shared| shared.open > 0);
        shared.state = State::default();
        Ok(())
    }
}

struct MemorySnapshot {
    backend: Arc<MemoryBackend>,
    view: View,
    state: Option<State>,
}

impl MemorySnapshot {
    fn state(&mut self) -> State {
        let current = self
            .state
            .clone()
            .unwrap_or_else(|| self.backend.lock().state.clone());
        if self.view == View::Pinned {
            self.state = Some(current.clone());
        }
        current
    }
}

impl Drop for MemorySnapshot {
    fn drop(&mut self) {
        self.backend.ended(false);
    }
}

impl Snapshot for MemorySnapshot {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.state().scan(plan, visit);
        Ok(())
    }

    fn pin(&mut self) -> Result<()> {
        self.state();
        Ok(())
    }

    fn index_states(&mut self, table: &Table) -> Result<Vec<IndexState>> {
        Ok(self.state().index_states(table))
    }
}

struct MemoryTransaction {
    backend: Arc<MemoryBackend>,
    state: State,
    savepoint: Option<State>,
}

impl Drop for MemoryTransaction {
    fn drop(&mut self) {
        self.backend.ended(true);
    }
}

impl Snapshot for MemoryTransaction {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.state.scan(plan, visit);
        Ok(())
    }

    fn index_states(&mut self, table: &Table) -> Result<Vec<IndexState>> {
        Ok(self.state.index_states(table))
    }
}

impl WriteTransaction for MemoryTransaction {
    fn create(&mut self, table: &Table) -> Result<()> {
        let mut stored = self
            .state
            .tables
            .get(table.name.as_ref())
            .cloned()
            .unwrap_or_default();
        for index in table.indexes.iter() {
            let key = index.field.storage_key();
            if !stored.indexes.contains_key(&key) {
                stored.indexes.insert_mut(key, IndexStore::default());
            }
        }
        self.state.tables.insert_mut(table.name.to_string(), stored);
        Ok(())
    }

    fn insert(&mut self, table: &Table, row: &RowWrite<'_>) -> Result<RowId, WriteError> {
        let mut stored = self.table(table)?;
        let row_id = RowId(stored.last_row_id + 1);
        stored.last_row_id = row_id.0;
        stored.put_row(row_id, row)?;
        stored.put_entries(table, row_id, row.entries)?;
        self.state.tables.insert_mut(table.name.to_string(), stored);
        Ok(row_id)
    }

    fn update(
        &mut self,
        table: &Table,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> Result<(), WriteError> {
        let mut stored = self.table(table)?;
        stored.put_row(row_id, row)?;
        stored.put_entries(table, row_id, row.entries)?;
        self.state.tables.insert_mut(table.name.to_string(), stored);
        Ok(())
    }

    fn delete(&mut self, table: &Table, row_id: RowId) -> Result<bool> {
        let Some(mut stored) = self.state.tables.get(table.name.as_ref()).cloned() else {
            return Ok(false);
        };
        let existed = stored.remove_row(row_id);
        self.state.tables.insert_mut(table.name.to_string(), stored);
        Ok(existed)
    }

    fn put_index_entry(
        &mut self,
        table: &Table,
        row_id: RowId,
        entry: &IndexEntry<'_>,
    ) -> Result<(), WriteError> {
        let mut stored = self.table(table)?;
        stored.put_entries(table, row_id, std::slice::from_ref(entry))?;
        self.state.tables.insert_mut(table.name.to_string(), stored);
        Ok(())
    }

    fn restore(
        &mut self,
        table: &Table,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> Result<(), WriteError> {
        let mut stored = self.table(table)?;
        if stored.rows.contains_key(&row_id) {
            return Err(WriteError::Conflict(Conflict { key: Key::Primary }));
        }
        stored.last_row_id = stored.last_row_id.max(row_id.0);
        stored.put_row(row_id, row)?;
        stored.put_entries(table, row_id, row.entries)?;
        self.state.tables.insert_mut(table.name.to_string(), stored);
        Ok(())
    }

    fn set_savepoint(&mut self) -> Result<()> {
        self.savepoint = Some(self.state.clone());
        Ok(())
    }

    fn release_savepoint(&mut self) -> Result<()> {
        self.savepoint = None;
        Ok(())
    }

    fn rollback_to_savepoint(&mut self) -> Result<()> {
        let savepoint = self.savepoint.take();
        self.state = savepoint.ok_or_else(|| {
            Error::new(
                ErrorKind::Backend,
                "cannot roll back: there is no savepoint",
            )
        })?;
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.backend.lock().state = self.state.clone();
        Ok(())
    }

    fn rollback(self: Box<Self>) {}
}

impl MemoryTransaction {
    /// A copy of a table's state, to change and put back if nothing conflicts.
    fn table(&self, table: &Table) -> Result<TableState> {
        self.state
            .tables
            .get(table.name.as_ref())
            .cloned()
            .ok_or_else(|| {
                let message = format!(
                    "cannot write {}: its table was not created",
                    table.type_name
                );
                Error::new(ErrorKind::Backend, message)
            })
    }
}

impl State {
    fn scan(&self, plan: &ScanPlan<'_>, visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>) {
        let Some(table) = self.tables.get(plan.table.name.as_ref()) else {
            return;
        };
        let mut lend = |row_id: RowId, stored: &StoredRow| {
            visit(Row {
                row_id,
                payload: &stored.payload,
            })
        };
        let _ = match &plan.source {
            Source::Rows => table
                .rows
                .iter()
                .try_for_each(|(id, stored)| lend(*id, stored)),
            Source::RowIds(ids) => ids.iter().try_for_each(|id| {
                table
                    .rows
                    .get(id)
                    .map_or(ControlFlow::Continue(()), |stored| lend(*id, stored))
            }),
            Source::Key(scan) => table
                .range(plan.table, scan)
                .into_iter()
                .try_for_each(|id| {
                    table
                        .rows
                        .get(&id)
                        .map_or(ControlFlow::Continue(()), |stored| lend(id, stored))
                }),
        };
    }

    fn index_states(&self, table: &Table) -> Vec<IndexState> {
        let stored = self.tables.get(table.name.as_ref());
        let state = |key: String| match stored {
            None => IndexState::Ready,
            Some(stored) => match stored.indexes.get(&key) {
                None => IndexState::Missing,
                Some(index) if index.values.size() == stored.rows.size() => IndexState::Ready,
                Some(_) => IndexState::Incomplete,
            },
        };
        table
            .indexes
            .iter()
            .map(|index| state(index.field.storage_key()))
            .collect()
    }
}

impl TableState {
    fn put_row(&mut self, row_id: RowId, row: &RowWrite<'_>) -> Result<(), WriteError> {
        let before = self.rows.get(&row_id).map(|row| row.key.clone());
        let key = match (row.key, before.clone()) {
            (Some(parts), _) => KeyValues(parts.iter().map(|part| part.to_value()).collect()),
            (None, Some(key)) => key,
            (None, None) => {
                let message = format!("cannot update row {row_id}: it does not exist");
                return Err(Error::new(ErrorKind::NotFound, message).into());
            }
        };
        if self.keys.get(&key).is_some_and(|owner| *owner != row_id) {
            return Err(WriteError::Conflict(Conflict { key: Key::Primary }));
        }
        if let Some(before) = before {
            self.keys.remove_mut(&before);
        }
        self.keys.insert_mut(key.clone(), row_id);
        self.rows.insert_mut(
            row_id,
            StoredRow {
                key,
                payload: row.payload.into(),
            },
        );
        Ok(())
    }

    fn put_entries(
        &mut self,
        table: &Table,
        row_id: RowId,
        entries: &[IndexEntry<'_>],
    ) -> Result<(), WriteError> {
        for entry in entries {
            let Some(index) = table.indexes.get(entry.index) else {
                continue;
            };
            let key = index.field.storage_key();
            let mut store = self.indexes.get(&key).cloned().unwrap_or_default();
            let value = KeyValues([entry.value.to_value()].into());
            let conflict = index.unique && !entry.value.is_null() && {
                let same = (value.clone(), RowId(i64::MIN))..=(value.clone(), RowId(i64::MAX));
                store
                    .entries
                    .range(same)
                    .any(|((_, owner), ())| *owner != row_id)
            };
            if conflict {
                return Err(WriteError::Conflict(Conflict {
                    key: Key::Index(entry.index),
                }));
            }
            store.remove(row_id);
            store.entries.insert_mut((value.clone(), row_id), ());
            store.values.insert_mut(row_id, value);
            self.indexes.insert_mut(key, store);
        }
        Ok(())
    }

    fn remove_row(&mut self, row_id: RowId) -> bool {
        let Some(key) = self.rows.get(&row_id).map(|row| row.key.clone()) else {
            return false;
        };
        self.rows.remove_mut(&row_id);
        self.keys.remove_mut(&key);
        let indexes: Vec<String> = self.indexes.keys().cloned().collect();
        for name in indexes {
            if let Some(mut store) = self.indexes.get(&name).cloned() {
                store.remove(row_id);
                self.indexes.insert_mut(name, store);
            }
        }
        true
    }

    /// The row ids of a key's range, in the scan's order.
    fn range(&self, table: &Table, scan: &KeyScan<'_>) -> Vec<RowId> {
        let mut found: Vec<(KeyValues, RowId)> = match scan.key {
            Key::Primary => {
                let from = KeyValues(scan.prefix.into());
                let range = (Bound::Included(from), Bound::Unbounded);
                let entries = self.keys.range(range).map(|(key, id)| (key.clone(), *id));
                within(entries, scan)
            }
            Key::Index(position) => {
                let index = table.indexes.get(position);
                let store = index.and_then(|i| self.indexes.get(&i.field.storage_key()));
                let Some(store) = store else {
                    return Vec::new();
                };
                let from = (KeyValues(scan.prefix.into()), RowId(i64::MIN));
                let range = (Bound::Included(from), Bound::Unbounded);
                within(
                    store.entries.range(range).map(|(entry, ())| entry.clone()),
                    scan,
                )
            }
        };
        if scan.direction == Direction::Descending {
            found.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        found.into_iter().map(|(_, row_id)| row_id).collect()
    }
}

impl IndexStore {
    fn remove(&mut self, row_id: RowId) {
        if let Some(value) = self.values.get(&row_id).cloned() {
            self.entries.remove_mut(&(value, row_id));
            self.values.remove_mut(&row_id);
        }
    }
}

/// The entries of a range, given those from its prefix on, in ascending order.
fn within(
    entries: impl Iterator<Item = (KeyValues, RowId)>,
    scan: &KeyScan<'_>,
) -> Vec<(KeyValues, RowId)> {
    let depth = scan.prefix.len();
    let prefixed = entries.take_while(|(key, _)| {
        key.0
            .iter()
            .zip(scan.prefix)
            .all(|(a, b)| a.as_ref().order(b.as_ref()).is_eq())
    });
    let in_range = |(key, _): &(KeyValues, RowId)| {
        let Some(value) = key.0.get(depth) else {
            return true;
        };
        let above = match scan.lower {
            Bound::Unbounded => true,
            Bound::Included(bound) => value.as_ref().order(bound.as_ref()).is_ge(),
            Bound::Excluded(bound) => value.as_ref().order(bound.as_ref()).is_gt(),
        };
        let below = match scan.upper {
            Bound::Unbounded => true,
            Bound::Included(bound) => value.as_ref().order(bound.as_ref()).is_le(),
            Bound::Excluded(bound) => value.as_ref().order(bound.as_ref()).is_lt(),
        };
        above && below
    };
    prefixed.filter(in_range).collect()
}
