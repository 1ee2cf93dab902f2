//! The tables that are known to exist, and the indexes that are known to be ready.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use dflat_engine::storage::{IndexState, IndexStates};
use dflat_model::Table;

use crate::layout::StoredTable;

/// Facts that hold for every state after the one in which they were found. A snapshot uses those
/// that were known when it began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// The generation of the servers for which they hold.
    pub(crate) generation: u16,
    /// Whether the library's own tables exist.
    pub(crate) exists: bool,
    /// The tables, by the name of the type's storage.
    pub(crate) tables: HashMap<String, Arc<StoredTable>>,
    /// The tables of indexes that have every entry, by name.
    pub(crate) ready: HashSet<String>,
}

impl Known {
    /// Nothing is known of the servers of a generation.
    pub(crate) fn of(generation: u16) -> Self {
        Self {
            generation,
            ..Self::default()
        }
    }

    /// The states of a table's indexes, if all are known to be ready.
    pub(crate) fn ready_states(&self, table: &Table) -> Option<IndexStates> {
        let stored = self.tables.get(table.name.as_ref())?;
        let states = stored.states(table, |index| self.ready.contains(&index.name))?;
        let is_ready = states.iter().all(|state| *state == IndexState::Ready);
        is_ready.then_some(states)
    }
}
