//! A connection with its prepared statements and its transactions.

mod log_state;
mod writing;
mod written_change_log;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use dflat_engine::Result;
use dflat_engine::storage::Durability;
use dflat_model::{Table, ValueRef};

use crate::connection::commits::{CommitBase, Commits};
use crate::connection::held_table::{HeldTable, note_use};
use crate::connection::identity::OpenedFile;
use crate::connection::polled_file::PolledFile;
use crate::ffi::{Connection, LogExtent, LogStamp, Param, SqliteError, StatementId};
use crate::io::{Monitor, Space};
use crate::layout::control::ControlStatement;
use crate::layout::ddl::Names;
use crate::layout::named::{self, NamedStatement};
use crate::layout::statement_text::TableStatement;
pub(crate) use written_change_log::{RecordIds, WrittenChangeLog};

/// The most tables whose statements are held. Descriptors that a program makes again and again at
/// run time must not fill the memory: beyond this number all statements are forgotten.
const TABLES_MAX: usize = 256;

/// A read transaction that stays open after the read for which it was begun.
#[derive(Clone, Copy)]
pub(crate) struct KeptRead {
    /// The stamp of the log before the transaction began, which sees this state or a later one.
    pub(crate) stamp: LogStamp,
    /// The epoch of [`Readers`](crate::connection::readers::Readers) in which it began.
    pub(crate) epoch: u32,
    /// Whether something was read; from the first read on the transaction sees one state.
    pub(crate) has_read: bool,
}

/// Shared by all open connections of a backend.
pub(crate) struct OpenMark;

/// A connection, and the state of the tables that it was used for.
pub(crate) struct FileConnection {
    /// Present in a connection of a backend.
    // Order: dropped before the connection is closed. Otherwise a connection that is opened in
    // between would not be taken for the first.
    pub(crate) mark: Option<Arc<OpenMark>>,
    /// The file that was opened. Present in a connection of a backend.
    pub(crate) file: Option<Arc<OpenedFile>>,
    pub(crate) raw: Connection,
    pub(crate) path: Arc<Path>,
    pub(crate) tables: Vec<HeldTable>,
    controls: [Option<StatementId>; ControlStatement::COUNT],
    /// The statements of the tables of named bytes.
    pub(crate) named: [[Option<StatementId>; NamedStatement::COUNT]; named::TABLES],
    /// The durability of its commits, if it was set.
    durability: Option<Durability>,
    /// Whether the file is known to have a log, which stays while this connection is open.
    pub(crate) has_log: bool,
    /// Present if foreign writes are noticed only by the sizes and times of the files.
    pub(crate) polled: Option<PolledFile>,
    /// The read transaction that is kept from one read to the next.
    pub(crate) kept_read: Option<KeptRead>,
    /// The length of the log after the last commit, if it was not taken yet.
    log_extent: Option<LogExtent>,
    /// Present if this connection writes for a backend.
    commits: Option<Arc<Commits>>,
    /// Whether `commits` was notified of the state of the file when it was opened.
    is_known: bool,
    /// Whether a write transaction is open.
    is_writing: bool,
    /// The tables that the open write transaction has created, or whose creation it has checked.
    created_now: Vec<TableId>,
    /// The base state of the open write transaction.
    commit_base: Option<CommitBase>,
    /// Present if the uses of indexes are counted.
    monitor: Option<Arc<Monitor>>,
    commits_count: u64,
    /// The change log, as far as this connection wrote it.
    pub(crate) change_log: WrittenChangeLog,
    /// Whether a row was deleted since the unused space was looked at.
    has_deleted: bool,
    /// Whether the triggers have noted all foreign changes of versioned tables, by their names, and
    /// the version of the file's schema for which this holds.
    // Not in `HeldTable`: a write of a row would take longer if that were larger.
    pub(crate) noting: BTreeMap<String, (u64, bool)>,
    /// The unused space, if the last transaction looked at it.
    space: Option<Space>,
}

/// The position of a table in a connection, until the next call of [`FileConnection::enter`].
#[derive(Clone, Copy)]
pub(crate) struct TableId(pub(crate) usize);

impl FileConnection {
    pub(crate) fn new(raw: Connection, path: Arc<Path>, monitor: Option<Arc<Monitor>>) -> Self {
        Self {
            mark: None,
            file: None,
            raw,
            path,
            tables: Vec::new(),
            controls: [None; ControlStatement::COUNT],
            named: [[None; NamedStatement::COUNT]; named::TABLES],
            durability: None,
            has_log: false,
            polled: None,
            kept_read: None,
            log_extent: None,
            commits: None,
            is_known: false,
            is_writing: false,
            created_now: Vec::new(),
            commit_base: None,
            monitor,
            commits_count: 0,
            change_log: WrittenChangeLog::default(),
            has_deleted: false,
            noting: BTreeMap::new(),
            space: None,
        }
    }

    /// Finds or makes the entry of a table.
    pub(crate) fn enter(&mut self, table: &Table) -> TableId {
        let found = self.tables.iter().position(|e| e.table.is_same(table));
        TableId(found.unwrap_or_else(|| self.add(table)))
    }

    fn add(&mut self, table: &Table) -> usize {
        // A transaction that writes relies on the state of the tables that it has created.
        if self.tables.len() >= TABLES_MAX && !self.is_writing {
            self.tables.clear();
            self.noting.clear();
            self.controls = [None; ControlStatement::COUNT];
            self.named = [[None; NamedStatement::COUNT]; named::TABLES];
            self.raw.forget_statements();
        }
        self.tables.push(HeldTable {
            table: table.clone(),
            names: Names::new(table),
            placed: [None; TableStatement::PLACES],
            others: Vec::new(),
            created: false,
            unenforced: Vec::new(),
            lacks_foreign: false,
            holds_payloads_alone: None,
            triggers: None,
            indexes: None,
            is_stored: false,
            usage: self.monitor.as_ref().map(|monitor| monitor.usage_of(table)),
        });
        self.tables.len() - 1
    }

    /// The statement of an operation on a table, prepared at the first call.
    #[inline]
    pub(crate) fn statement(
        &mut self,
        entry: TableId,
        operation: TableStatement,
    ) -> Result<StatementId, SqliteError> {
        let held = &self.tables[entry.0];
        // Statements on indexes have no fixed position, because their uses are counted.
        let found = match operation.place() {
            Some(place) => held.placed[place],
            None => held.find(operation),
        };
        found.map_or_else(|| self.prepare(entry, operation), Ok)
    }

    fn prepare(
        &mut self,
        entry: TableId,
        operation: TableStatement,
    ) -> Result<StatementId, SqliteError> {
        self.refuse_computed(entry)?;
        let held = &mut self.tables[entry.0];
        let sql = operation
            .sql(&held.names)
            .ok_or_else(|| SqliteError::misuse("the table has no such key"))?;
        let id = self.raw.prepare(&sql)?;
        match operation.place() {
            Some(place) => held.placed[place] = Some(id),
            None => held.others.push((operation, id)),
        }
        Ok(id)
    }

    /// Fails if a column of the table is computed when it is read: a small file could then give any
    /// number of rows, each as large as SQLite's largest value.
    pub(crate) fn refuse_computed(
        &mut self,
        TableId(position): TableId,
    ) -> Result<(), SqliteError> {
        if self.tables[position].is_stored {
            return Ok(());
        }
        let table = self.tables[position].table.clone();
        if self.exists(ControlStatement::FindComputed, &table.name)? {
            let text = format!(
                "the table {} computes its rows and does not store them",
                table.name
            );
            return Err(SqliteError::damage(&text));
        }
        self.tables[position].is_stored = true;
        Ok(())
    }

    /// Runs an operation on a table to its end.
    #[inline]
    pub(crate) fn run<'p>(
        &mut self,
        entry: TableId,
        operation: TableStatement,
        params: impl IntoIterator<Item = Param<'p>>,
    ) -> Result<(), SqliteError> {
        let statement = self.statement(entry, operation)?;
        self.has_deleted |= matches!(operation, TableStatement::Delete);
        match operation {
            // Objects are updated one after the other, each with its entries.
            TableStatement::PutEntry(_) | TableStatement::DeleteEntry(_) => {
                self.raw.run_beside(statement, params)?;
            }
            _ => self.raw.run(statement, params)?,
        }
        if operation.may_do_nothing()
            && self.raw.changes_count() > 0
            && let Some(usage) = &self.tables[entry.0].usage
        {
            note_use(usage, operation);
        }
        Ok(())
    }

    /// Runs a statement that is not about one table.
    pub(crate) fn control(&mut self, control: ControlStatement) -> Result<(), SqliteError> {
        let statement = self.control_statement(control)?;
        self.raw.run(statement, [])
    }

    /// Whether the file's schema has a table or an index of this name.
    pub(crate) fn exists(
        &mut self,
        what: ControlStatement,
        name: &str,
    ) -> Result<bool, SqliteError> {
        let statement = self.control_statement(what)?;
        let mut found = false;
        let name = Param::Value(ValueRef::Text(name));
        self.raw.query(statement, [name], |_| {
            found = true;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    pub(crate) fn control_statement(
        &mut self,
        control: ControlStatement,
    ) -> Result<StatementId, SqliteError> {
        let position = control as usize;
        if let Some(id) = self.controls[position] {
            return Ok(id);
        }
        let id = self.raw.prepare(control.sql())?;
        self.controls[position] = Some(id);
        Ok(id)
    }

    /// Whether a statement was ever run.
    #[cfg(test)]
    pub(crate) fn has_run(&self, control: ControlStatement) -> bool {
        self.controls[control as usize].is_some()
    }

    /// The number that a statement gives.
    pub(crate) fn control_number(&mut self, control: ControlStatement) -> Result<u64, SqliteError> {
        let statement = self.control_statement(control)?;
        let mut number = 0;
        self.raw.query(statement, [], |columns| {
            number = columns.integer(0);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(number.unsigned_abs())
    }

    /// Rolls an open transaction back. Returns whether no transaction is open afterwards.
    pub(crate) fn end(&mut self) -> bool {
        if self.kept_read.take().is_some() {
            for entry in &mut self.tables {
                entry.indexes = None;
            }
        }
        self.raw.is_autocommit()
            || (self.control(ControlStatement::Rollback).is_ok() && self.raw.is_autocommit())
    }

    /// Forgets all that is known of the definitions of tables.
    fn forget_created(&mut self) {
        self.noting.clear();
        for entry in &mut self.tables {
            (entry.created, entry.lacks_foreign) = (false, false);
            (entry.holds_payloads_alone, entry.triggers) = (None, None);
        }
    }
}
