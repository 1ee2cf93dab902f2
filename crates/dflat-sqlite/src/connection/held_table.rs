//! What a connection knows and holds of a table.

use std::mem::discriminant;
use std::sync::Arc;

use dflat_engine::storage::Indexes;
use dflat_model::Table;

use crate::ffi::StatementId;
use crate::io::TableUsage;
use crate::layout::ddl::Names;
use crate::layout::statement_text::{IndexUse, TableStatement};

/// What is held for a table.
pub(crate) struct HeldTable {
    // Invariant: kept alive, so that no other descriptor can have the same address.
    pub(crate) table: Table,
    pub(crate) names: Names,
    /// The statements that write rows, so that none is looked for by each of many changes.
    pub(crate) placed: [Option<StatementId>; TableStatement::PLACES],
    /// All other statements.
    pub(crate) others: Vec<(TableStatement, StatementId)>,
    /// Whether all tables are known to exist.
    pub(crate) created: bool,
    /// The positions of unique indexes that SQLite does not keep unique, if they were created.
    pub(crate) lenient: Vec<usize>,
    /// Whether no row is known to be noted, if all tables are known to exist.
    pub(crate) unspoilt: bool,
    /// Whether nothing but its rows holds the payloads, if that was looked up.
    pub(crate) holds_payloads_alone: Option<bool>,
    /// Which triggers there were when that was looked up last.
    pub(crate) trust: Option<Trust>,
    /// How far its indexes are to be believed, for as long as a read transaction is kept.
    pub(crate) indexes: Option<Indexes>,
    /// Whether the main table was looked at, and what it gives is stored in it.
    pub(crate) is_stored: bool,
    /// Where the uses of its indexes are counted.
    pub(crate) usage: Option<Arc<TableUsage>>,
}

impl HeldTable {
    /// The statement of an operation that has no place of its own; counts its use.
    pub(crate) fn find(&self, operation: TableStatement) -> Option<StatementId> {
        if let (Some(usage), false) = (&self.usage, operation.may_do_nothing()) {
            note_use(usage, operation);
        }
        // What kind it is, is compared in place; the rest is a call.
        let kind = discriminant(&operation);
        let is_it = |o: &TableStatement| discriminant(o) == kind && *o == operation;
        let found = self.others.iter().find(|(other, _)| is_it(other));
        found.map(|(_, id)| *id)
    }
}

/// What is known of a table's triggers, as long as the file's schema is the same.
pub(crate) struct Trust {
    pub(crate) schema_version: u64,
    /// There is a main table.
    pub(crate) exists: bool,
    /// There is a table of the rows that others have written.
    pub(crate) has_foreign: bool,
    /// The main table has all of its triggers, and they note whatever others do.
    pub(crate) main: bool,
    /// Whether the table of each index has, and is defined as we do it.
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
