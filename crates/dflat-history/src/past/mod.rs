//! Earlier states: a snapshot of the present state under an overlay of reversed steps.

mod build;
mod forward;
mod lost;
mod overlay;
mod place;
mod ranges;
mod scan;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use dflat_engine::engine::{Engine, EngineSnapshot};
use dflat_engine::storage::{
    Backend, CloseOptions, Durability, IndexState, IndexStates, Indexes, Row, ScanPlan, Snapshot,
    View, WriteTransaction,
};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{RowId, Table};

pub(crate) use forward::rows_with_keys;
pub(crate) use overlay::Overlay;
use place::missing;
pub use place::{Moment, Place};
pub(crate) use place::{check_before_all, is_reached};

/// The most rows of a table that an overlay may change for the indexes of the table to be used.
/// These rows are examined one by one, as the rows are that other programs have written.
const ROWS_MAX: usize = 1000;

/// The objects of versioned types as they were.
pub struct PastBackend {
    head: EngineSnapshot,
    overlay: Overlay,
    tables: Vec<Table>,
    /// The tables whose objects are lost, by name, and why.
    lost: BTreeMap<String, Error>,
}

impl PastBackend {
    /// The state at a moment. `tables` are all versioned tables.
    ///
    /// # Errors
    /// - [`ErrorKind::NotFound`] if there is no such step.
    /// - [`ErrorKind::Corrupt`] if the steps do not fit the objects.
    /// - [`ErrorKind::OutOfDate`] if changes of a program that has prevented notes are in no step
    ///   yet.
    /// - Otherwise the errors of reading.
    pub(crate) fn open(engine: &Engine, tables: Vec<Table>, moment: &Moment) -> Result<Self> {
        let head = engine.snapshot()?;
        let overlay = match tables.first() {
            Some(first) => head.read(first, |snapshot, _| {
                Overlay::build(snapshot, &tables, moment)
            })?,
            None => match moment {
                Moment::Step(id) => return Err(missing(*id)),
                Moment::Time(_) | Moment::Commit(_) => Overlay::default(),
            },
        };
        Ok(Self {
            head,
            overlay,
            tables,
            lost: BTreeMap::new(),
        })
    }

    /// Has each read of a table fail, because its objects are lost.
    pub(crate) fn lose(&mut self, table: &Table, why: Error) {
        self.lost.insert(table.name.to_string(), why);
    }

    fn check_readable(&self, table: &Table) -> Result<()> {
        if let Some(why) = self.lost.get(table.name.as_ref()) {
            return Err(why.clone());
        }
        if self.tables.iter().any(|known| known.is_stored_as(table)) {
            return Ok(());
        }
        let message = format!(
            "cannot read an earlier state of {}: the type is not versioned",
            table.type_name
        );
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }
}

impl Backend for PastBackend {
    fn snapshot(self: Arc<Self>, _view: View) -> Result<Box<dyn Snapshot>> {
        Ok(Box::new(PastSnapshot { backend: self }))
    }

    fn begin(self: Arc<Self>, _durability: Durability) -> Result<Box<dyn WriteTransaction>> {
        let message = "cannot change an earlier state";
        Err(Error::new(ErrorKind::ReadOnly, message))
    }

    fn close(&self, _options: CloseOptions) -> Result<()> {
        Ok(())
    }
}

impl fmt::Debug for PastBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PastBackend").finish_non_exhaustive()
    }
}

/// All snapshots see the same state.
struct PastSnapshot {
    backend: Arc<PastBackend>,
}

impl Snapshot for PastSnapshot {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.backend.check_readable(plan.table)?;
        let past = self.backend.overlay.table(plan.table);
        self.backend.head.read(plan.table, |head, _| match past {
            Some(past) if past.is_whole() => scan::scan(past, &mut NoRows, plan, visit),
            Some(past) => scan::scan(past, head, plan, visit),
            None => head.scan(plan, visit),
        })
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        self.backend.check_readable(table)?;
        let mut found = self
            .backend
            .head
            .read(table, |head, _| head.indexes(table))?;
        let Some(past) = self.backend.overlay.table(table) else {
            return Ok(found);
        };
        let mut foreign: Vec<RowId> = past.row_ids().collect();
        foreign.append(&mut found.foreign);
        foreign.sort_unstable();
        foreign.dedup();
        if foreign.len() > ROWS_MAX {
            found.states = IndexStates::from_elem(IndexState::Missing, table.indexes.len());
            foreign.clear();
        }
        found.foreign = foreign;
        found.is_noted = false;
        Ok(found)
    }
}

/// The present rows beside a state that has all of its rows in the overlay.
struct NoRows;

impl Snapshot for NoRows {
    fn scan(
        &mut self,
        _plan: &ScanPlan<'_>,
        _visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        Ok(())
    }

    fn indexes(&mut self, _table: &Table) -> Result<Indexes> {
        Ok(Indexes::default())
    }
}
