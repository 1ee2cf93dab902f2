//! A plain connection, as another program would use it.

use std::ffi::CStr;
use std::fs::OpenOptions;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use crate::ffi::{Access, Connection};

/// How long it waits for a lock.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Raw(Connection);

impl Raw {
    /// Opens a file, or creates an empty one.
    pub(crate) fn open(path: &Path) -> Self {
        Self::open_by(path, None)
    }

    /// As [`Self::open`], through the VFS of a name.
    pub(crate) fn open_by(path: &Path, vfs: Option<&CStr>) -> Self {
        let mut options = OpenOptions::new();
        let _ = options.write(true).create_new(true).open(path);
        let mut connection = Connection::open(path, Access::ReadWrite, None, vfs).unwrap();
        connection.set_busy_timeout(PATIENCE);
        Self(connection)
    }

    pub(crate) fn execute(&mut self, sql: &str) {
        self.0
            .execute(sql)
            .unwrap_or_else(|fault| panic!("{sql}: {fault}"));
    }

    /// Whether another connection keeps this one from beginning a read.
    pub(crate) fn is_kept_out(&mut self) -> bool {
        self.0.set_busy_timeout(Duration::ZERO);
        let read = self.0.execute("SELECT count(*) FROM sqlite_schema");
        self.0.set_busy_timeout(PATIENCE);
        read.is_err_and(|error| error.is_busy())
    }

    /// The rows of a query. Each row is a text of its columns, joined with `|`.
    pub(crate) fn rows(&mut self, columns: &[&str], rest: &str) -> Vec<String> {
        let columns: Vec<String> = columns.iter().map(|c| format!("quote({c})")).collect();
        let sql = format!(
            "SELECT CAST({} AS BLOB) {rest}",
            columns.join(" || '|' || ")
        );
        let statement = self.0.prepare(&sql).unwrap();
        let mut rows = Vec::new();
        self.0
            .query(statement, [], |columns| {
                let text = columns.blob(0)?.unwrap_or_default();
                rows.push(String::from_utf8(text.to_vec()).unwrap());
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        self.0.forget_statements();
        rows
    }

    /// The type, name and definition of everything in the schema, in order of name.
    pub(crate) fn schema(&mut self) -> Vec<String> {
        self.rows(&["type", "name", "sql"], "FROM sqlite_schema ORDER BY name")
    }
}
