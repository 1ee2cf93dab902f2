//! The types that a file knows.

use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_model::{BYTES_MAX, ValueRef};

use crate::backend::SqliteBackend;
use crate::ffi::Param;
use crate::layout::control::ControlStatement;

/// The number of descriptors that are read. A file with more was not written by this library.
const TABLES_MAX: i64 = 65_536;

impl SqliteBackend {
    /// The name of each table that this library has written to, and its descriptor as bytes, in
    /// order of name. Descriptors that are too large to be decoded are left out.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn stored_descriptors(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let mut found = Vec::new();
        self.inspect(|connection| {
            if !connection.exists(ControlStatement::FindTable, "dflat__schema")? {
                return Ok(0);
            }
            let statement = connection.control_statement(ControlStatement::ReadSchemas)?;
            let size = i64::try_from(BYTES_MAX).unwrap_or(i64::MAX);
            let limits = [size, TABLES_MAX].map(|limit| Param::Value(ValueRef::Int(limit)));
            connection.raw.query(statement, limits, |row| {
                let name = row.blob(0)?.and_then(|name| str::from_utf8(name).ok());
                if let (Some(name), Some(descriptor)) = (name.map(str::to_owned), row.blob(1)?) {
                    found.push((name, descriptor.to_vec()));
                }
                Ok(ControlFlow::Continue(()))
            })?;
            Ok(0)
        })?;
        Ok(found)
    }
}
