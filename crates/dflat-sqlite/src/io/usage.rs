//! How often the indexes of a database were written and looked up.

use std::sync::atomic::{AtomicU64, Ordering};

use dflat_model::TableDescriptor;

use super::report::IndexReport;

/// The uses of a table's indexes, by all connections.
pub(crate) struct TableUsage {
    pub(super) table: String,
    indexes: Vec<IndexUsage>,
}

struct IndexUsage {
    name: String,
    unique: bool,
    writes: AtomicU64,
    lookups: AtomicU64,
}

impl TableUsage {
    pub(super) fn new(table: &TableDescriptor) -> Self {
        let indexes = table.indexes.iter().map(|index| IndexUsage {
            name: index.to_string(),
            unique: index.unique,
            writes: AtomicU64::new(0),
            lookups: AtomicU64::new(0),
        });
        Self {
            table: table.name.to_string(),
            indexes: indexes.collect(),
        }
    }

    /// Counts a statement that writes to the index at a position.
    pub(crate) fn note_write(&self, position: usize) {
        if let Some(index) = self.indexes.get(position) {
            index.writes.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a statement that reads the index at a position.
    pub(crate) fn note_lookup(&self, position: usize) {
        if let Some(index) = self.indexes.get(position) {
            index.lookups.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether these counters are for this table, with the same indexes.
    pub(super) fn fits(&self, table: &TableDescriptor) -> bool {
        let names = self.indexes.iter().map(|index| index.name.clone());
        self.table == table.name && names.eq(table.indexes.iter().map(ToString::to_string))
    }

    pub(super) fn report(&self) -> impl Iterator<Item = IndexReport> + '_ {
        self.indexes.iter().map(|index| IndexReport {
            table: self.table.clone(),
            index: index.name.clone(),
            unique: index.unique,
            writes: index.writes.load(Ordering::Relaxed),
            lookups: index.lookups.load(Ordering::Relaxed),
        })
    }
}
