//! Reading a file that stands on a pack.

use std::ops::ControlFlow;
use std::sync::Arc;

use dflat_engine::Result;
use dflat_engine::storage::{IndexState, Indexes, Records, Row, ScanPlan, Snapshot, StateId, View};
use dflat_model::Table;

use super::StandingBackend;
use super::base::State;
use super::hidden::Hidden;
use super::union::Union;
use crate::backend::index_in;
use crate::read::{Pack, ReadType, RecordReader};

/// The buffers for the type that was read last.
#[derive(Default)]
pub(super) struct Buffers {
    held: Option<(ReadType, RecordReader)>,
}

impl Buffers {
    /// The objects of a type; `None` if the pack was built without it.
    pub(super) fn union<'s>(
        &'s mut self,
        pack: &Pack,
        hidden: &'s Hidden,
        table: &Table,
    ) -> Result<Option<Union<'s>>> {
        let Some(stored) = pack.stored(table)? else {
            return Ok(None);
        };
        let is_same =
            |held: &(ReadType, RecordReader)| Arc::ptr_eq(held.0.stored(), stored.stored());
        if !self.held.as_ref().is_some_and(is_same) {
            self.held = None;
        }
        let check_blocks = pack.options().checks_blocks();
        let new = || (stored.clone(), RecordReader::new(check_blocks));
        let (stored, reader) = self.held.get_or_insert_with(new);
        Ok(Some(Union {
            stored,
            hidden: hidden.rows(&table.name),
            reader,
            check_blocks,
        }))
    }
}

/// How far the indexes of a table are complete in the file and in the pack.
pub(super) fn indexes(file: Indexes, pack: &Pack, table: &Table) -> Result<Indexes> {
    let Some(stored) = pack.stored(table)? else {
        return Ok(file);
    };
    let states = file.states.iter().zip(table.indexes.iter());
    let states = states.map(|(state, index)| match index_in(stored.table(), index) {
        Some(_) => *state,
        None => IndexState::Missing,
    });
    Ok(Indexes {
        states: states.collect(),
        ..file
    })
}

/// A snapshot of the file, over the pack.
pub(super) struct StandingSnapshot {
    backend: Arc<StandingBackend>,
    file: Box<dyn Snapshot>,
    view: View,
    /// The hidden objects, from the first scan on.
    state: Option<State>,
    buffers: Buffers,
}

impl StandingSnapshot {
    pub(super) fn new(backend: Arc<StandingBackend>, file: Box<dyn Snapshot>, view: View) -> Self {
        Self {
            backend,
            file,
            view,
            state: None,
            buffers: Buffers::default(),
        }
    }

    /// Begins to see the latest state, if each scan is to see that.
    fn renew(&mut self) -> Result<()> {
        if self.view == View::Latest && self.state.is_some() {
            self.file = Arc::clone(&self.backend.file).snapshot(View::Pinned)?;
            self.state = None;
        }
        Ok(())
    }
}

impl Snapshot for StandingSnapshot {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.renew()?;
        let state = match self.state.take() {
            Some(state) => state,
            None => self.backend.state(self.file.as_mut())?,
        };
        let state = self.state.insert(state);
        let pack = &self.backend.pack;
        match self.buffers.union(pack, &state.hidden, plan.table)? {
            Some(mut union) => union.scan(self.file.as_mut(), plan, visit),
            None => self.file.scan(plan, visit),
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
