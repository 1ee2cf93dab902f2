//! A pack as a read-only backend of the engine.

mod entries;
mod scan;

use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use dflat_engine::storage::{
    Backend, CloseOptions, Durability, IndexState, Indexes, KeyScan, Row, ScanPlan, Snapshot,
    StateId, View, WriteTransaction,
};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{IndexDescriptor, Table, ValueRef};

use crate::read::Pack;
pub(crate) use entries::{Entries, Span};
use scan::Scanner;
pub(crate) use scan::{behind, bounds, index_in, positions_behind, row_id};

/// A backend over the objects of a pack.
///
/// The row id of an object is its position in the order of the keys, plus one. A table that the
/// pack was built without is empty. An index is used if the pack has one of the same definition.
///
/// # Errors
/// Writes fail with [`ReadOnly`](ErrorKind::ReadOnly), and reads of a damaged file with
/// [`Corrupt`](ErrorKind::Corrupt). A read through a descriptor with another primary key than that
/// of the stored objects fails with [`InvalidArgument`](ErrorKind::InvalidArgument).
pub struct PackBackend {
    pack: Pack,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The number of open snapshots.
    open: usize,
    closed: bool,
}

impl PackBackend {
    /// A backend over a pack.
    #[must_use]
    pub fn new(pack: Pack) -> Arc<Self> {
        Arc::new(Self {
            pack,
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// The pack.
    #[must_use]
    pub const fn pack(&self) -> &Pack {
        &self.pack
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of a backend that is not closed.
    fn unclosed(&self) -> Result<MutexGuard<'_, State>> {
        let state = self.lock();
        if state.closed {
            let message = format!("cannot use {}: it is shut down", self.pack.path().display());
            return Err(Error::new(ErrorKind::ShutDown, message));
        }
        Ok(state)
    }
}

impl Backend for PackBackend {
    fn snapshot(self: Arc<Self>, _view: View) -> Result<Box<dyn Snapshot>> {
        let mut state = self.unclosed()?;
        state.open += 1;
        drop(state);
        Ok(Box::new(PackSnapshot {
            backend: self,
            scanner: Scanner::default(),
        }))
    }

    fn begin(self: Arc<Self>, _durability: Durability) -> Result<Box<dyn WriteTransaction>> {
        drop(self.unclosed()?);
        let path = self.pack.path().display();
        let message = format!("cannot write {path}: a pack cannot be changed");
        Err(Error::new(ErrorKind::ReadOnly, message))
    }

    fn close(&self, _options: CloseOptions) -> Result<()> {
        let mut state = self.lock();
        state.closed = true;
        let waited = self.changed.wait_while(state, |state| state.open > 0);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }
}

impl fmt::Debug for PackBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackBackend")
            .field("pack", &self.pack)
            .finish_non_exhaustive()
    }
}

/// All snapshots see the same state.
struct PackSnapshot {
    backend: Arc<PackBackend>,
    scanner: Scanner,
}

impl Drop for PackSnapshot {
    fn drop(&mut self) {
        self.backend.lock().open -= 1;
        self.backend.changed.notify_all();
    }
}

impl Snapshot for PackSnapshot {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.scanner.scan(&self.backend.pack, plan, visit)
    }

    fn tally(
        &mut self,
        table: &Table,
        (scan, parts): (&KeyScan<'_>, usize),
        proceed: &mut dyn FnMut() -> ControlFlow<()>,
        visit: &mut dyn FnMut(&[ValueRef<'_>], usize) -> ControlFlow<()>,
    ) -> Result<bool> {
        // An index entry has its values in a form that is compared only.
        if parts > 0 {
            return Ok(false);
        }
        let Some(count) = self.scanner.count(&self.backend.pack, table, scan)? else {
            return Ok(false);
        };
        if proceed().is_continue() {
            let _ = visit(&[], usize::try_from(count).unwrap_or(usize::MAX));
        }
        Ok(true)
    }

    fn pin(&mut self) -> Result<StateId> {
        Ok(StateId::default())
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        let Some(stored) = self.backend.pack.stored(table)? else {
            return Ok(Indexes::ready(table));
        };
        let state = |index: &IndexDescriptor| match index_in(stored.table(), index) {
            Some(_) => IndexState::Ready,
            None => IndexState::Missing,
        };
        Ok(Indexes {
            states: table.indexes.iter().map(state).collect(),
            foreign: Vec::new(),
            is_noted: false,
        })
    }
}
