//! The floor of queries by an index: hand-written SQL on the tables that Dflat has made.
#![allow(
    unsafe_code,
    reason = "SQLite's C API, called without a layer between: that is what the floor measures"
)]

use std::path::Path;

use dflat::codegen::{Message, TableReader};
use dflat_engine::object::TableView;
use libsqlite3_sys as sqlite;

use super::{Floor, column_blob};
use crate::Result;
use crate::workload::RankedData;

/// A query, whose parameters are the lowest rank and the rank after the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexedQuery {
    /// One rank.
    Point,
    /// A range, in the order of insertion.
    Range,
    /// A range, in the order of ranks.
    Ordered,
    /// The first ten objects from a rank on, in the order of ranks.
    TopTen,
}

impl IndexedQuery {
    const fn rest(self) -> &'static str {
        match self {
            Self::Point => "WHERE i.f6 = ?1",
            Self::Range => "WHERE i.f6 >= ?1 AND i.f6 < ?2 ORDER BY i.rowid",
            Self::Ordered => "WHERE i.f6 >= ?1 AND i.f6 < ?2 ORDER BY i.f6, i.rowid",
            Self::TopTen => "WHERE i.f6 >= ?1 ORDER BY i.f6, i.rowid LIMIT 10",
        }
    }
}

/// A connection with a statement for each query, prepared when the query is first run.
pub struct IndexedFloor {
    floor: Floor,
    // Invariant: each is NULL, or prepared by the connection, reset between calls, and finalized
    // before the connection closes.
    statements: [*mut sqlite::sqlite3_stmt; 4],
}

impl IndexedFloor {
    /// Opens a file that has the tables.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self {
            floor: Floor::open_to_read(path)?,
            statements: [std::ptr::null_mut(); 4],
        })
    }

    fn statement(&mut self, query: IndexedQuery) -> Result<*mut sqlite::sqlite3_stmt> {
        let statement = self.statements[query as usize];
        if !statement.is_null() {
            return Ok(statement);
        }
        let statement = self.floor.prepare(&format!(
            "SELECT t.rowid, t.p FROM ranked__f6 AS i JOIN ranked AS t ON t.rowid = i.rowid {}",
            query.rest()
        ))?;
        self.statements[query as usize] = statement;
        Ok(statement)
    }

    /// The objects of a query.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn fetch(
        &mut self,
        query: IndexedQuery,
        from: i32,
        to: i32,
    ) -> Result<Vec<(i64, RankedData)>> {
        let mut objects = Vec::new();
        let statement = self.statement(query)?;
        // SAFETY: The statement is live and reset, and the connection used by this value alone. A
        // statement without a second parameter refuses the second value, which is harmless.
        unsafe {
            sqlite::sqlite3_bind_int(statement, 1, from);
            sqlite::sqlite3_bind_int(statement, 2, to);
        }
        loop {
            // SAFETY: The statement is live and the connection used by this value alone.
            match unsafe { sqlite::sqlite3_step(statement) } {
                // SAFETY: The statement is on a row of a row id and a blob.
                sqlite::SQLITE_ROW => unsafe {
                    let row_id = sqlite::sqlite3_column_int64(statement, 0);
                    let root = TableView::root(column_blob(statement, 1)).unwrap_or_default();
                    let view = RankedData::view(TableReader::new(root));
                    objects.push((row_id, RankedData::decode(view)));
                },
                sqlite::SQLITE_DONE => break,
                code => {
                    return self
                        .floor
                        .expect(code, sqlite::SQLITE_DONE)
                        .map(|()| objects);
                }
            }
        }
        // SAFETY: The statement is live.
        let code = unsafe { sqlite::sqlite3_reset(statement) };
        self.floor.expect(code, sqlite::SQLITE_OK)?;
        Ok(objects)
    }
}

impl Drop for IndexedFloor {
    fn drop(&mut self) {
        for statement in self.statements {
            // SAFETY: It is NULL or live, and not used again; the connection is closed after this.
            unsafe { sqlite::sqlite3_finalize(statement) };
        }
    }
}
