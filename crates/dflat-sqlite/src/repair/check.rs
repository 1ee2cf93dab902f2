//! Checks every page, row and index entry.

use dflat_engine::storage::Key;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{RowId, Table, Value};

use super::problem::{Derive, OnProblem, Problem, ProblemKind, Report};
use super::table_checker::TableChecker;
use crate::backend::SqliteBackend;
use crate::connection::configure::integer;
use crate::connection::file_connection::FileConnection;
use crate::ffi::{PageCheck, SqliteError, each_page_damage};
use crate::layout::control::ControlStatement;
use crate::layout::ddl::Names;
use crate::upkeep::backup::Progress;

impl SqliteBackend {
    /// Checks the pages of the file with SQLite's own check. Returns the number of pages.
    ///
    /// # Errors
    /// The errors of reading, except those that damage causes.
    pub fn check_pages(&self, found: OnProblem<'_>) -> Result<u64> {
        self.inspect(|connection| {
            let mut damage = |message: String| {
                found(Problem {
                    kind: ProblemKind::Pages,
                    table: None,
                    row_id: None,
                    message,
                });
            };
            each_page_damage(&mut connection.raw, PageCheck::Whole, &mut damage)?;
            let pages = integer(&mut connection.raw, "PRAGMA page_count");
            Ok(pages.unwrap_or(0).unsigned_abs())
        })
    }

    /// Checks the stored descriptions of all types. `damage` returns the damage of one, if it has
    /// any.
    ///
    /// # Errors
    /// The errors of reading, except those that damage causes.
    pub fn check_descriptions(
        &self,
        damage: &dyn Fn(&str, &[u8]) -> Option<String>,
        found: OnProblem<'_>,
    ) -> Result<()> {
        let stored = match self.stored_descriptors() {
            // The check of the pages reports the damage.
            Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(()),
            stored => stored?,
        };
        for (name, bytes) in stored {
            if let Some(message) = damage(&name, &bytes) {
                found(Problem {
                    kind: ProblemKind::Description,
                    table: Some(name),
                    row_id: None,
                    message,
                });
            }
        }
        Ok(())
    }

    /// Checks every row of a table and the entries of its indexes. Returns the number of rows.
    ///
    /// # Errors
    /// `Cancelled` if `report` breaks; otherwise the errors of reading, except those that damage
    /// causes.
    pub fn check_rows(
        &self,
        table: &Table,
        derive: Derive<'_>,
        found: OnProblem<'_>,
        report: Report<'_>,
    ) -> Result<u64> {
        self.inspect_rows(table, derive, found, report)
    }

    fn inspect_rows(
        &self,
        table: &Table,
        derive: Derive<'_>,
        found: OnProblem<'_>,
        report: Report<'_>,
    ) -> Result<u64> {
        let mut cancelled = false;
        let rows = self.inspect(|connection| {
            connection.control(ControlStatement::Begin)?;
            let mut walk = TableChecker::new(connection, table)?;
            let Some(total) = walk.total()? else {
                return Ok(0);
            };
            let mut done = 0;
            loop {
                let count = walk.step(derive, found)?;
                done += count;
                if report(Progress { done, total }).is_break() {
                    cancelled = true;
                    return Ok(done);
                }
                if count == 0 {
                    break;
                }
            }
            walk.orphans(found)?;
            Ok(done)
        })?;
        if cancelled {
            let message = format!("cannot check {}: the check was cancelled", table.name);
            return Err(Error::new(ErrorKind::Cancelled, message));
        }
        Ok(rows)
    }

    /// Runs `work` with a connection of its own.
    pub(super) fn inspect(
        &self,
        work: impl FnOnce(&mut FileConnection) -> Result<u64, SqliteError>,
    ) -> Result<u64> {
        let timeout = self.connections().options().busy_timeout;
        self.connections().pool().begin_upkeep(timeout)?;
        let outcome = self
            .connections()
            .open_reader()
            .and_then(|connection| match connection {
                None => Ok(0),
                Some(mut connection) => {
                    let done = work(&mut connection);
                    connection.check_untorn()?;
                    done.map_err(|error| {
                        error.into_error(format!("cannot check {}", self.path().display()))
                    })
                }
            });
        self.connections().pool().end_upkeep();
        outcome
    }

    /// The largest row id that a table may have used; 0 if it can't be read.
    ///
    /// # Errors
    /// The errors of reading, except those that damage causes.
    pub fn last_row_id(&self, table: &Table) -> Result<RowId> {
        let last = self.inspect(|connection| {
            let mut last = 0;
            let largest = format!("SELECT max(rowid) FROM {}", Names::new(table).main);
            for sql in [last_given(table), largest] {
                last = last.max(integer_or_zero(connection, &sql)?);
            }
            Ok(last.unsigned_abs())
        })?;
        Ok(RowId(i64::try_from(last).unwrap_or(i64::MAX)))
    }

    /// Whether each of these rows, looked up by its row id, has this primary key and these bytes.
    /// For a row that can't be read, the answer is no.
    ///
    /// # Errors
    /// The errors of reading, except those that damage causes.
    pub fn are_stored(
        &self,
        table: &Table,
        rows: &[(RowId, &[Value], &[u8])],
    ) -> Result<Vec<bool>> {
        let mut stored = Vec::with_capacity(rows.len());
        self.inspect(|connection| {
            let mut walk = TableChecker::new(connection, table)?;
            for (row_id, key, payload) in rows {
                let bytes = Some(*payload);
                stored.push(walk.has_with(Key::Primary, *row_id, key, bytes)?);
            }
            Ok(0)
        })?;
        stored.resize(rows.len(), false);
        Ok(stored)
    }
}

/// The statement that reads the last row id that SQLite has given to a row of a table.
pub(super) fn last_given(table: &Table) -> String {
    let name = table.name.replace('\'', "''");
    format!("SELECT seq FROM sqlite_sequence WHERE name = '{name}'")
}

/// The first number that a statement gives; 0 if it gives none, or none that can be read.
pub(super) fn integer_or_zero(
    connection: &mut FileConnection,
    sql: &str,
) -> Result<i64, SqliteError> {
    match integer(&mut connection.raw, sql) {
        Err(error) if error.is_corrupt() || error.may_be_missing_name() => Ok(0),
        number => number,
    }
}
