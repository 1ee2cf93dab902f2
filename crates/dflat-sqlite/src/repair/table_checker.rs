//! Checks the rows of one table and the entries of its indexes.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::storage::{IndexState, Key};
use dflat_engine::transaction::{Derived, missing_value};
use dflat_model::{RowId, Table, Value};

use super::problem::{Derive, OnProblem, Problem, ProblemKind};
use crate::connection::configure::integer;
use crate::connection::file_connection::FileConnection;
use crate::ffi::{Param, SqliteError, StatementId};
use crate::layout::control::ControlStatement;
use crate::layout::ddl::Names;

/// The number of rows of a step. Their keys and index values are in memory together; between two
/// steps the check reports its progress, and can be cancelled.
const ROWS_MAX: usize = 256;

/// Checks the rows of a table in one state of the file.
pub(super) struct TableChecker<'s> {
    connection: &'s mut FileConnection,
    table: &'s Table,
    names: Names,
    /// For each index, the last row up to which it has entries; `None` if the index does not exist
    /// or can't be trusted.
    filled_up_to: Vec<Option<RowId>>,
    /// Foreign rows, which queries do not look up in indexes.
    foreign: HashSet<RowId>,
    last: RowId,
    statements: HashMap<String, StatementId>,
    /// Whether the check has ended early because pages can't be read.
    is_broken: bool,
}

impl<'s> TableChecker<'s> {
    pub(super) fn new(
        connection: &'s mut FileConnection,
        table: &'s Table,
    ) -> Result<Self, SqliteError> {
        let indexes = connection.indexes(table).unwrap_or_default();
        let last_filled = |state: &IndexState| match state {
            IndexState::Ready => Some(RowId(i64::MAX)),
            IndexState::Incomplete(last) => Some(*last),
            IndexState::Missing => None,
        };
        let mut filled_up_to: Vec<_> = indexes.states.iter().map(last_filled).collect();
        filled_up_to.resize(table.indexes.len(), None);
        Ok(Self {
            names: Names::new(table),
            connection,
            table,
            filled_up_to,
            foreign: indexes.foreign.into_iter().collect(),
            last: RowId(i64::MIN),
            statements: HashMap::new(),
            is_broken: false,
        })
    }

    /// The number of rows, or 0 if they can't be counted; `None` if the table does not exist.
    pub(super) fn total(&mut self) -> Result<Option<u64>, SqliteError> {
        if !self
            .connection
            .exists(ControlStatement::FindTable, &self.table.name)?
        {
            return Ok(None);
        }
        let sql = format!("SELECT count(*) FROM {}", self.names.main);
        let count = integer(&mut self.connection.raw, &sql);
        Ok(Some(count.unwrap_or(0).unsigned_abs()))
    }

    fn problem(&self, kind: ProblemKind, row_id: Option<RowId>, message: String) -> Problem {
        Problem {
            kind,
            table: Some(self.table.name.to_string()),
            row_id,
            message,
        }
    }

    /// Checks the next rows. Returns their number.
    pub(super) fn step(
        &mut self,
        derive: Derive<'_>,
        found: OnProblem<'_>,
    ) -> Result<u64, SqliteError> {
        if self.is_broken {
            return Ok(0);
        }
        let sql = format!(
            "SELECT rowid, p FROM {} WHERE rowid > ? ORDER BY rowid LIMIT {ROWS_MAX}",
            self.names.main
        );
        let entry = self.connection.enter(self.table);
        let statement = match self.connection.refuse_computed(entry) {
            Err(error) if error.is_corrupt() => {
                self.is_broken = true;
                found(self.problem(ProblemKind::Pages, None, error.to_string()));
                return Ok(0);
            }
            Err(error) => return Err(error),
            Ok(()) => self.held(sql)?,
        };
        let mut rows: Vec<(RowId, Result<Derived>)> = Vec::with_capacity(ROWS_MAX);
        let table = self.table;
        let after = Param::id(self.last);
        let (mut last, mut in_order) = (self.last, true);
        let connection = &mut self.connection.raw;
        let read = connection.query(statement, [after], |columns| {
            let row_id = RowId(columns.integer(0));
            in_order = row_id > last;
            if !in_order {
                return Ok(ControlFlow::Break(()));
            }
            last = row_id;
            rows.push((row_id, derive(table, columns.blob(1)?.unwrap_or_default())));
            Ok(ControlFlow::Continue(()))
        });
        self.last = last;
        if !in_order {
            // Otherwise the check could run in a circle.
            self.is_broken = true;
            let message = format!("the rows after {} are out of order", last.0);
            found(self.problem(ProblemKind::Pages, None, message));
        }
        if let Err(error) = read {
            if !error.is_corrupt() {
                return Err(error);
            }
            self.is_broken = true;
            let message = format!("the rows after {} can't be read: {error}", self.last.0);
            found(self.problem(ProblemKind::Pages, None, message));
        }
        let count = rows.len() as u64;
        for (row_id, derived) in rows {
            self.look_at(row_id, derived, found)?;
        }
        Ok(count)
    }

    fn look_at(
        &mut self,
        row_id: RowId,
        derived: Result<Derived>,
        found: OnProblem<'_>,
    ) -> Result<(), SqliteError> {
        let derived = match derived {
            Ok(derived) => derived,
            Err(error) => {
                found(self.problem(ProblemKind::Payload, Some(row_id), error.to_string()));
                return Ok(());
            }
        };
        if !self.has(Key::Primary, row_id, &derived.key)? {
            let parts = self.table.primary_key.iter().zip(&derived.key);
            let parts: Vec<String> = parts.map(|(f, value)| format!("{f} = {value}")).collect();
            let key = parts.join(", ");
            let message = format!("the key columns differ from the object's primary key {key}");
            found(self.problem(ProblemKind::Key, Some(row_id), message));
        }
        let parts = self.table.primary_key.iter().zip(&derived.key);
        for (field, _) in parts.filter(|(_, value)| **value == Value::Null) {
            let value = missing_value(field);
            let message = format!("field `{field}` of its primary key is {value}");
            found(self.problem(ProblemKind::MissingKey, Some(row_id), message));
        }
        for (position, values) in derived.entries.iter().enumerate() {
            let last = self.filled_up_to.get(position).copied().flatten();
            if last.is_none_or(|last| row_id > last) || self.foreign.contains(&row_id) {
                continue;
            }
            let key = Key::Index(position);
            let index = &self.table.indexes[position];
            let message = match values {
                Some(values) if !self.has(key, row_id, values)? => {
                    let values: Vec<String> = values.iter().map(Value::to_string).collect();
                    let entry = values.join(", ");
                    format!("the index on {index} has no entry {entry} for the row")
                }
                None if self.has(key, row_id, &[])? => {
                    format!("the index on {index} must not have an entry for the row")
                }
                _ => continue,
            };
            found(self.problem(ProblemKind::Index, Some(row_id), message));
        }
        Ok(())
    }

    /// The statement with a text, prepared once.
    fn held(&mut self, sql: String) -> Result<StatementId, SqliteError> {
        if let Some(statement) = self.statements.get(&sql) {
            return Ok(*statement);
        }
        let statement = self.connection.raw.prepare(&sql)?;
        self.statements.insert(sql, statement);
        Ok(statement)
    }

    /// Whether a row has these values in the first columns of a key. If the row can't be read, the
    /// answer is no; the check of the pages reports the reason.
    fn has(&mut self, key: Key, row_id: RowId, values: &[Value]) -> Result<bool, SqliteError> {
        self.has_with(key, row_id, values, None)
    }

    /// As [`Self::has`], and whether the row has these bytes, if they are given.
    pub(super) fn has_with(
        &mut self,
        key: Key,
        row_id: RowId,
        values: &[Value],
        payload: Option<&[u8]>,
    ) -> Result<bool, SqliteError> {
        let (table, columns) = match key {
            Key::Primary => (&self.names.main, self.names.key_columns.as_slice()),
            Key::Index(position) => {
                let index = &self.names.indexes[position];
                (&index.table, index.columns.as_slice())
            }
        };
        let columns = columns.iter().take(values.len()).map(String::as_str);
        let columns = columns.chain(payload.map(|_| "p"));
        let equal: Vec<String> = columns.map(|c| format!(" AND {c} IS ?")).collect();
        let sql = format!("SELECT 1 FROM {table} WHERE rowid = ?{}", equal.concat());
        let statement = self.held(sql)?;
        let values = values.iter().map(|value| Param::Value(value.as_ref()));
        let params = std::iter::once(Param::id(row_id)).chain(values);
        let params = params.chain(payload.map(Param::Blob));
        let mut found = false;
        let outcome = self.connection.raw.query(statement, params, |_| {
            found = true;
            Ok(ControlFlow::Break(()))
        });
        match outcome {
            Err(error) if error.is_corrupt() => Ok(false),
            outcome => outcome.map(|()| found),
        }
    }

    /// Finds index entries of rows that do not exist.
    pub(super) fn orphans(&mut self, found: OnProblem<'_>) -> Result<(), SqliteError> {
        for position in 0..self.filled_up_to.len() {
            if self.filled_up_to[position].is_none() {
                continue;
            }
            let index = &self.names.indexes[position].table;
            let sql = format!(
                "SELECT rowid FROM {index} WHERE rowid NOT IN (SELECT rowid FROM {}) LIMIT 100",
                self.names.main
            );
            let mut orphans = Vec::new();
            let looked = self.connection.raw.execute_with(&sql, |columns| {
                orphans.push(RowId(columns.integer(0)));
                Ok(())
            });
            match looked {
                Err(error) if error.is_corrupt() => {}
                looked => looked?,
            }
            for row_id in orphans {
                if self.foreign.contains(&row_id) {
                    continue;
                }
                let message = format!(
                    "the index on {} has an entry for the row, which does not exist",
                    self.table.indexes[position]
                );
                found(self.problem(ProblemKind::Orphan, Some(row_id), message));
            }
        }
        Ok(())
    }
}
