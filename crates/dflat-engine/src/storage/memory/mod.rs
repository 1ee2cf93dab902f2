//! The memory backend: persistent maps, so that a snapshot is a copy of a pointer.
//!
//! Workspaces in memory use it. It is also the second implementation of the seam. A transaction
//! works on its own copy of the state, which shares the unchanged parts with the committed state.
//! The commit puts the copy in the place of the committed state.

mod state;

use std::ops::ControlFlow;

use dflat_model::{IndexDescriptor, RowId, Table};

use super::{
    Backend, CloseOptions, Conflict, Durability, IndexRepair, Indexes, Key, Row, RowWrite,
    ScanPlan, Snapshot, StateId, View, WriteError, WriteTransaction,
};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use state::{Duplicates, IndexStore, MemoryState, TableState};

/// Stores objects in memory.
#[derive(Debug, Default)]
pub struct MemoryBackend {
    shared: Mutex<Shared>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Shared {
    state: MemoryState,
    /// Whether a write transaction is open.
    writing: bool,
    /// The number of open snapshots and transactions.
    open: usize,
    closed: bool,
}

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

    fn begin(self: Arc<Self>, _durability: Durability) -> Result<Box<dyn WriteTransaction>> {
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
        }))
    }

    fn close(&self, _options: CloseOptions) -> Result<()> {
        self.lock().closed = true;
        self.changed.notify_all();
        let mut shared = self.wait_while(|shared| shared.open > 0);
        shared.state = MemoryState::default();
        Ok(())
    }
}

struct MemorySnapshot {
    backend: Arc<MemoryBackend>,
    view: View,
    state: Option<MemoryState>,
}

impl MemorySnapshot {
    fn state(&mut self) -> MemoryState {
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

    fn pin(&mut self) -> Result<StateId> {
        self.state();
        Ok(StateId::default())
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        Ok(self.state().indexes(table))
    }
}

struct MemoryTransaction {
    backend: Arc<MemoryBackend>,
    state: MemoryState,
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

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        Ok(self.state.indexes(table))
    }
}

impl WriteTransaction for MemoryTransaction {
    fn is_whole(&self) -> bool {
        true
    }

    fn create(&mut self, table: &Table) -> Result<()> {
        let mut stored = self
            .state
            .tables
            .get(table.name.as_ref())
            .cloned()
            .unwrap_or_default();
        let keys = table.indexes.iter().map(IndexDescriptor::storage_key);
        let keys: Vec<String> = keys.collect();
        let has_rows = !stored.rows.is_empty();
        let others: Vec<String> = stored.indexes.keys().cloned().collect();
        for other in others.iter().filter(|other| !keys.contains(other)) {
            stored.indexes.remove_mut(other);
        }
        for (key, index) in keys.into_iter().zip(table.indexes.iter()) {
            let store = stored.indexes.get(&key);
            // An index that became unique is built anew, so that equal values are found. An index
            // whose definition changed, such as the default of its field, is built anew as well.
            if !store.is_some_and(|store| store.is(index)) {
                stored
                    .indexes
                    .insert_mut(key, IndexStore::new(index, has_rows));
            }
        }
        self.state.tables.insert_mut(table.name.to_string(), stored);
        Ok(())
    }

    fn stored_schema(&mut self, table: &Table) -> Result<Option<Vec<u8>>> {
        Ok(self.state.schemas.get(table.name.as_ref()).cloned())
    }

    fn store_schema(&mut self, table: &Table, schema: &[u8]) -> Result<()> {
        self.state
            .schemas
            .insert_mut(table.name.to_string(), schema.to_vec());
        Ok(())
    }

    fn insert(&mut self, table: &Table, row: &RowWrite<'_>) -> Result<RowId, WriteError> {
        let mut stored = self.table(table)?;
        let row_id = RowId(stored.last_row_id + 1);
        stored.last_row_id = row_id.0;
        stored.put_row(row_id, row)?;
        stored.put_entries(table, row_id, row.entries, Duplicates::Refused)?;
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
        stored.put_entries(table, row_id, row.entries, Duplicates::Refused)?;
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

    fn repair_indexes(&mut self, table: &Table, repair: &IndexRepair<'_>) -> Result<()> {
        let mut stored = self.table(table)?;
        for row in repair.rows {
            if row.is_foreign {
                stored.remove_entries(table, row.row_id);
            }
        }
        for row in repair.rows {
            for entry in &row.entries {
                stored.put_entry_admitting(table, row.row_id, entry)?;
            }
        }
        for (index, up_to) in repair.filled {
            stored.note_filled(table, *index, *up_to);
        }
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
        stored.put_entries(table, row_id, row.entries, Duplicates::Kept)?;
        self.state.tables.insert_mut(table.name.to_string(), stored);
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.backend.lock().state = self.state.clone();
        Ok(())
    }
}

impl MemoryTransaction {
    /// A copy of a table's state, to be changed and put back if no write conflicts.
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
