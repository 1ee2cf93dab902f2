//! Writing a file that stands on a pack.

use std::ops::ControlFlow;
use std::sync::Arc;

use dflat_engine::storage::{
    BaseState, Conflict, IndexRepair, Indexes, Key, Records, Row, RowRepair, RowWrite, ScanPlan,
    Snapshot, Source, StateId, WriteError, WriteTransaction,
};
use dflat_engine::transaction::derive;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{RowId, Table, Value, ValueRef};

use super::StandingBackend;
use super::base::{self, State};
use super::conflicts::{self, conflict};
use super::hidden::Hidden;
use super::prepare::{PREPARED, entries_of, prepare};
use super::snapshot::{Buffers, indexes};
use super::union::{Union, position_of};

/// A write transaction of the file, over the pack.
pub(super) struct StandingWriter {
    backend: Arc<StandingBackend>,
    file: Box<dyn WriteTransaction>,
    /// The hidden objects, from the first use on.
    state: Option<State>,
    /// Those that this transaction changes.
    hidden: Option<Hidden>,
    buffers: Buffers,
}

impl StandingWriter {
    pub(super) fn new(backend: Arc<StandingBackend>, file: Box<dyn WriteTransaction>) -> Self {
        Self {
            backend,
            file,
            state: None,
            hidden: None,
            buffers: Buffers::default(),
        }
    }

    /// The objects of a type, and the transaction of the file. `None` if the pack was built without
    /// the type.
    fn parts(&mut self, table: &Table) -> Result<(Option<Union<'_>>, &mut dyn WriteTransaction)> {
        if self.state.is_none() {
            self.state = Some(self.backend.state(self.file.as_mut())?);
        }
        let none = || Error::new(ErrorKind::Backend, "the hidden objects are not known");
        let state = self.state.as_ref().ok_or_else(none)?;
        let hidden = self.hidden.as_ref().unwrap_or(&state.hidden);
        let union = self.buffers.union(&self.backend.pack, hidden, table)?;
        Ok((union, self.file.as_mut()))
    }

    fn hide(&mut self, table: &Table, row_id: RowId) {
        let hidden = || {
            let state = self.state.as_ref();
            state.map_or_else(Hidden::default, |state| Hidden::clone(&state.hidden))
        };
        self.hidden
            .get_or_insert_with(hidden)
            .insert(&table.name, row_id);
    }

    /// Fails with a conflict if another object of the pack has the key or a unique value of a row.
    fn check_conflicts(
        &mut self,
        table: &Table,
        own: Option<RowId>,
        row: &RowWrite<'_>,
    ) -> Result<(), WriteError> {
        match self.parts(table)? {
            (Some(mut union), file) => conflicts::check(&mut union, file, (table, own), row),
            (None, _) => Ok(()),
        }
    }

    /// Fails if the file has a row with the row id of an object of the pack that is not hidden: the
    /// row would take the object's place.
    fn check_unused(&mut self, table: &Table, row_id: RowId) -> Result<()> {
        let mut is_used = false;
        let plan = ScanPlan {
            table,
            source: Source::RowIds(&[row_id]),
            payload: false,
        };
        self.file.scan(&plan, &mut |_| {
            is_used = true;
            ControlFlow::Break(())
        })?;
        if !is_used {
            return Ok(());
        }
        let message = format!(
            "row {row_id}: another program has written a row with the id of an object of the pack; \
             delete that row from the file, or give it another id"
        );
        Err(Error::new(ErrorKind::Corrupt, message))
    }

    /// The payload of an object of the pack that is not hidden.
    fn of_pack(&mut self, table: &Table, row_id: RowId) -> Result<Option<Vec<u8>>> {
        let (Some(mut union), _) = self.parts(table)? else {
            return Ok(None);
        };
        if !union.is_shown(row_id) {
            return Ok(None);
        }
        let position = position_of(row_id);
        union
            .payload(position)
            .map(|payload| Some(payload.to_vec()))
    }
}

impl Snapshot for StandingWriter {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        match self.parts(plan.table)? {
            (Some(mut union), file) => union.scan(file, plan, visit),
            (None, file) => file.scan(plan, visit),
        }
    }

    fn pin(&mut self) -> Result<StateId> {
        self.file.pin()
    }

    fn is_overtaken(&self, since: StateId) -> bool {
        self.file.is_overtaken(since)
    }

    fn records(
        &mut self,
        since: StateId,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Records> {
        self.file.records(since, visit)
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        indexes(self.file.indexes(table)?, &self.backend.pack, table)
    }
}

impl WriteTransaction for StandingWriter {
    fn base(&self) -> BaseState {
        self.file.base()
    }

    fn is_whole(&self) -> bool {
        self.file.is_whole()
    }

    fn create(&mut self, table: &Table) -> Result<()> {
        // The state is read before the first write, so that the file can be checked.
        self.parts(table)?;
        self.file.create(table)?;
        let (union, file) = self.parts(table)?;
        if let Some(mut union) = union
            && prepare(&mut union, file, table)?
        {
            self.hide(table, PREPARED);
        }
        Ok(())
    }

    fn stored_schema(&mut self, table: &Table) -> Result<Option<Vec<u8>>> {
        let stored = self.file.stored_schema(table)?;
        let of_pack = self.backend.pack.stored(table)?;
        // The objects of the pack have values that its own schema knows.
        Ok(stored.or_else(|| of_pack.map(|stored| stored.table().to_bytes())))
    }

    fn store_schema(&mut self, table: &Table, schema: &[u8]) -> Result<()> {
        self.file.store_schema(table, schema)
    }

    fn insert(&mut self, table: &Table, row: &RowWrite<'_>) -> Result<RowId, WriteError> {
        self.check_conflicts(table, None, row)?;
        self.file.insert(table, row)
    }

    fn update(
        &mut self,
        table: &Table,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> Result<(), WriteError> {
        self.check_conflicts(table, Some(row_id), row)?;
        let Some(before) = self.of_pack(table, row_id)? else {
            return self.file.update(table, row_id, row);
        };
        self.check_unused(table, row_id)?;
        let derived = derive(table, &before)?;
        let key: Vec<ValueRef<'_>> = derived.key.iter().map(Value::as_ref).collect();
        let entries = entries_of(&derived, row.entries);
        let mut whole = RowWrite {
            key: Some(row.key.unwrap_or(&key)),
            payload: row.payload,
            entries: &entries,
        };
        let is_changed = |index: usize| row.entries.iter().any(|entry| entry.index == index);
        match self.file.restore(table, row_id, &whole) {
            // Objects of a pack may share a value of a unique index. They keep it.
            Err(WriteError::Conflict(Conflict {
                key: Key::Index(index),
            })) if !is_changed(index) => {
                whole.entries = row.entries;
                self.file.restore(table, row_id, &whole)?;
                let unchanged = entries.iter().filter(|entry| !is_changed(entry.index));
                let rows = [RowRepair {
                    row_id,
                    is_foreign: false,
                    entries: unchanged.cloned().collect(),
                }];
                let repair = IndexRepair {
                    rows: &rows,
                    filled: &[],
                };
                self.file.repair_indexes(table, &repair)?;
            }
            restored => restored?,
        }
        self.hide(table, row_id);
        Ok(())
    }

    fn delete(&mut self, table: &Table, row_id: RowId) -> Result<bool> {
        let (union, _) = self.parts(table)?;
        if union.is_some_and(|union| union.is_shown(row_id)) {
            self.check_unused(table, row_id)?;
            self.hide(table, row_id);
            return Ok(true);
        }
        self.file.delete(table, row_id)
    }

    fn restore(
        &mut self,
        table: &Table,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> Result<(), WriteError> {
        let (union, _) = self.parts(table)?;
        if union.is_some_and(|union| union.is_shown(row_id)) {
            return Err(conflict(Key::Primary));
        }
        self.check_conflicts(table, Some(row_id), row)?;
        self.file.restore(table, row_id, row)
    }

    fn repair_indexes(&mut self, table: &Table, repair: &IndexRepair<'_>) -> Result<()> {
        let (union, file) = self.parts(table)?;
        let Some(union) = union else {
            return file.repair_indexes(table, repair);
        };
        // The entries of the pack's objects are in the pack.
        let of_file = |row: &&RowRepair<'_>| row.is_foreign || !union.is_shown(row.row_id);
        let rows: Vec<RowRepair<'_>> = repair.rows.iter().filter(of_file).cloned().collect();
        let repair = IndexRepair {
            rows: &rows,
            filled: repair.filled,
        };
        file.repair_indexes(table, &repair)
    }

    fn is_followed(&mut self) -> bool {
        self.file.is_followed()
    }

    fn file_id(&mut self) -> Result<Option<u128>> {
        self.file.file_id()
    }

    fn append_record(&mut self, record: &[u8]) -> Result<()> {
        self.file.append_record(record)
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        let Some(mut hidden) = self.hidden.take() else {
            return self.file.commit();
        };
        let before = self.state.as_ref();
        let generation = base::next_generation(before.and_then(|state| state.generation));
        let base_row = before.and_then(|state| state.base_row);
        let pack = &self.backend.pack;
        let base_row = base::write(self.file.as_mut(), pack, &mut hidden, base_row, generation)?;
        self.file.commit()?;
        *self.backend.known() = Some(State {
            generation: Some(generation),
            base_row: Some(base_row),
            hidden: Arc::new(hidden),
        });
        Ok(())
    }
}
