//! The tables of named bytes: the chunks, the commits, the branches and the received changes of a
//! history.

use std::ops::ControlFlow;

use dflat_engine::storage::{NamedRow, NamedTable};
use dflat_model::RowId;

use crate::connection::file_connection::FileConnection;
use crate::ffi::{Columns, Param, SqliteError, StatementId};
use crate::layout::control::ControlStatement;
use crate::layout::named::{self, NamedStatement};

impl FileConnection {
    /// Visits the rows of these names.
    pub(crate) fn named(
        &mut self,
        table: NamedTable,
        names: &[&[u8]],
        visit: &mut dyn FnMut(NamedRow<'_>) -> ControlFlow<()>,
    ) -> Result<(), SqliteError> {
        if names.is_empty() || !self.has_named(table)? {
            return Ok(());
        }
        let statement = self.named_statement(table, NamedStatement::Find)?;
        let mut flow = ControlFlow::Continue(());
        for name in names {
            self.raw.query(statement, [Param::Blob(name)], |columns| {
                flow = visit(row(columns)?);
                Ok(flow)
            })?;
            if flow.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Visits the rows with smaller numbers than `below`, from the latest one back.
    pub(crate) fn all_named(
        &mut self,
        table: NamedTable,
        below: Option<i64>,
        visit: &mut dyn FnMut(NamedRow<'_>) -> ControlFlow<()>,
    ) -> Result<(), SqliteError> {
        if !self.has_named(table)? {
            return Ok(());
        }
        let below = RowId(below.unwrap_or(i64::MAX));
        let statement = self.named_statement(table, NamedStatement::Below)?;
        self.raw.query(statement, [Param::id(below)], |columns| {
            Ok(visit(row(columns)?))
        })
    }

    fn named_statement(
        &mut self,
        table: NamedTable,
        statement: NamedStatement,
    ) -> Result<StatementId, SqliteError> {
        let place = (table as usize, statement as usize);
        if let Some(id) = self.named[place.0][place.1] {
            return Ok(id);
        }
        let id = self.raw.prepare(&named::sql(table, statement))?;
        self.named[place.0][place.1] = Some(id);
        Ok(id)
    }

    fn has_named(&mut self, table: NamedTable) -> Result<bool, SqliteError> {
        self.exists(ControlStatement::FindTable, named::name(table))
    }

    /// Puts a row, as a part of the open write transaction. Creates the table if it is missing.
    pub(crate) fn put_named(
        &mut self,
        table: NamedTable,
        name: &[u8],
        bytes: &[u8],
    ) -> Result<(), SqliteError> {
        match self.put_named_row(table, name, bytes) {
            Err(_) if !self.raw.is_autocommit() => {
                let create = self.named_statement(table, NamedStatement::Create)?;
                self.raw.run(create, [])?;
                self.put_named_row(table, name, bytes)
            }
            put => put,
        }
    }

    fn put_named_row(
        &mut self,
        table: NamedTable,
        name: &[u8],
        bytes: &[u8],
    ) -> Result<(), SqliteError> {
        let statement = self.named_statement(table, NamedStatement::Put)?;
        let params = [Param::Blob(name), Param::Blob(bytes)];
        self.raw.run(statement, params)
    }

    /// Deletes the row of a name, as a part of the open write transaction.
    pub(crate) fn delete_named(
        &mut self,
        table: NamedTable,
        name: &[u8],
    ) -> Result<(), SqliteError> {
        if !self.has_named(table)? {
            return Ok(());
        }
        let statement = self.named_statement(table, NamedStatement::Delete)?;
        self.raw.run(statement, [Param::Blob(name)])
    }
}

fn row(columns: Columns<'_>) -> Result<NamedRow<'_>, SqliteError> {
    Ok(NamedRow {
        id: columns.integer(0),
        name: columns.blob(1)?.unwrap_or_default(),
        bytes: columns.blob(2)?.unwrap_or_default(),
    })
}
