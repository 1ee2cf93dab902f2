//! The schemas of tables, which the file keeps for older and newer code.

use std::ops::ControlFlow;

use dflat_model::{Table, ValueRef};

use crate::connection::file_connection::FileConnection;
use crate::ffi::{Param, SqliteError};
use crate::layout::control::ControlStatement;

impl FileConnection {
    /// The stored schema of a table, by the table's name.
    pub(crate) fn stored_schema(&mut self, table: &str) -> Result<Option<Vec<u8>>, SqliteError> {
        if !self.exists(ControlStatement::FindTable, "dflat__schema")? {
            return Ok(None);
        }
        let statement = self.control_statement(ControlStatement::FindSchema)?;
        let mut found = None;
        let name = Param::Value(ValueRef::Text(table));
        self.raw.query(statement, [name], |row| {
            found = row.blob(0)?.map(<[u8]>::to_vec);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// Stores the schema of a table.
    pub(crate) fn store_schema(&mut self, table: &Table, schema: &[u8]) -> Result<(), SqliteError> {
        self.control(ControlStatement::CreateSchemas)?;
        let statement = self.control_statement(ControlStatement::PutSchema)?;
        let name = Param::Value(ValueRef::Text(&table.name));
        self.raw.run(statement, [name, Param::Blob(schema)])
    }
}
