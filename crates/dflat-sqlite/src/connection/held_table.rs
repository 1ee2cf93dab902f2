//! The statements that a connection holds for a table, and its knowledge of the table.

use std::mem::discriminant;
use std::sync::Arc;

use dflat_engine::storage::Indexes;
use dflat_model::Table;

use crate::ffi::StatementId;
use crate::io::TableUsage;
use crate::layout::ddl::Names;
use crate::layout::statement_text::{IndexUse, TableStatement};

/// A table that a connection was used for.
pub(crate) struct HeldTable {
    // Invariant: kept alive, so that no other descriptor can have the same address.
    pub(crate) table: Table,
    pub(crate) names: Names,
    /// The statements that write rows, by position, so that a change does not search for them.
    pub(crate) placed: [Option<StatementId>; TableStatement::PLACES],
    /// All other statements.
    pub(crate) others: Vec<(TableStatement, StatementId)>,
    /// Whether all tables are known to exist.
    pub(crate) created: bool,
    /// The positions of unique indexes that SQLite does not keep unique, if `created` is true.
    pub(crate) unenforced: Vec<usize>,
    /// Whether no row is marked as foreign, if `created` is true.
    pub(crate) lacks_foreign: bool,
    /// Whether only the rows of this table depend on the payloads; `None` if not looked up yet.
    pub(crate) holds_payloads_alone: Option<bool>,
    /// The triggers of the table when they were last read.
    pub(crate) triggers: Option<TriggerState>,
    /// The states of its indexes, for as long as a read transaction is kept.
    pub(crate) indexes: Option<Indexes>,
    /// Whether the main table is known to store its columns, so that none is computed.
    pub(crate) is_stored: bool,
    /// Where the uses of its indexes are counted.
    pub(crate) usage: Option<Arc<TableUsage>>,
}

impl HeldTable {
    /// The statement of an operation without a [`place`](TableStatement::place). Counts the use of
    /// its index.
    pub(crate) fn find(&self, operation: TableStatement) -> Option<StatementId> {
        if let (Some(usage), false) = (&self.usage, operation.may_do_nothing()) {
            note_use(usage, operation);
        }
        // The kind is compared in place; a full comparison is a call.
        let kind = discriminant(&operation);
        let is_it = |o: &TableStatement| discriminant(o) == kind && *o == operation;
        let found = self.others.iter().find(|(other, _)| is_it(other));
        found.map(|(_, id)| *id)
    }
}

/// The state of a table's triggers, valid for one version of the file's schema.
pub(crate) struct TriggerState {
    pub(crate) schema_version: u64,
    /// Whether there is a main table.
    pub(crate) exists: bool,
    /// Whether there is a table of foreign rows.
    pub(crate) has_foreign: bool,
    /// Whether the main table has all of its triggers, which then note all foreign writes.
    pub(crate) main: bool,
    /// For each index, whether its table has all of its triggers and the definition of this
    /// library.
    pub(crate) indexes: Vec<bool>,
}

/// Counts a statement that uses an index.
pub(crate) fn note_use(usage: &TableUsage, operation: TableStatement) {
    match operation.index_use() {
        Some(IndexUse::Write(position)) => usage.note_write(position),
        Some(IndexUse::Lookup(position)) => usage.note_lookup(position),
        None => {}
    }
}
