//! The table of a file that stands on a pack: it names the pack, and has the hidden objects.

use std::ops::ControlFlow;

use dflat_engine::{ErrorKind, Result};
use dflat_model::{RowId, Table, ValueRef};

use super::check::{integer_or_zero, last_given};
use crate::backend::SqliteBackend;
use crate::connection::file_connection::FileConnection;
use crate::ffi::{Param, SqliteError};
use crate::layout::control::ControlStatement;

/// The table, as `docs/storage-format.md` has it.
const CREATE: &str = "CREATE TABLE IF NOT EXISTS dflat__base \
                      (rowid INTEGER PRIMARY KEY AUTOINCREMENT, __pk0 TEXT, __pk1 INTEGER, p BLOB, \
                      UNIQUE(__pk0, __pk1))";

/// The row ids that are looked up one after the other without a row before the search ends.
const MISSES_MAX: u32 = 1000;

/// The row id behind which those of a table go on if the last one can't be read: no pack has as
/// many objects.
const FAR: i64 = 1 << 40;

/// A row of the table.
struct BaseRow {
    row_id: i64,
    /// The name of an object table. It is empty in the row that names the pack.
    name: String,
    chunk: i64,
    payload: Vec<u8>,
}

impl SqliteBackend {
    /// Whether the file stands on a pack: whether it has the table.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn stands_on_pack(&self) -> Result<bool> {
        let mut found = false;
        self.inspect(|connection| {
            found = connection.exists(ControlStatement::FindTable, "dflat__base")?;
            Ok(0)
        })?;
        Ok(found)
    }

    /// Copies the table that names the pack and has the hidden objects into another file, if this
    /// file has the table, and lets the row ids of the object tables go on behind those of the
    /// pack. Returns the number of rows that can't be read. If the row that names the pack is one
    /// of them, nothing is copied.
    ///
    /// # Errors
    /// The errors of reading, except those of damage, and of writing.
    pub fn copy_base(&self, target: &Self, tables: &[Table]) -> Result<u64> {
        let (mut rows, mut lost) = (Vec::new(), 0);
        let read = self.inspect(|connection| {
            if connection.exists(ControlStatement::FindTable, "dflat__base")? {
                lost = read_rows(connection, &mut rows)?;
            }
            Ok(0)
        });
        match read {
            Err(error) if error.kind() == ErrorKind::Corrupt => lost += 1,
            read => drop(read?),
        }
        let names_pack = |row: &BaseRow| row.name.is_empty() && row.chunk == 0;
        if !rows.iter().any(names_pack) {
            return Ok(lost);
        }
        let mut last_ids = Vec::new();
        self.inspect(|connection| {
            let of_pack = |table: &&Table| rows.iter().any(|row| row.name == table.name);
            for table in tables.iter().filter(of_pack) {
                let last = integer_or_zero(connection, &last_given(table))?;
                let last = Some(last).filter(|last| (1..i64::MAX / 2).contains(last));
                last_ids.push((&*table.name, last.unwrap_or(FAR)));
            }
            Ok(0)
        })?;
        target.mend(|connection| write_rows(connection, &rows, &last_ids))?;
        Ok(lost)
    }
}

/// Reads each row by its row id, and returns the number of those that can't be read.
fn read_rows(connection: &mut FileConnection, rows: &mut Vec<BaseRow>) -> Result<u64, SqliteError> {
    let sql = "SELECT CAST(__pk0 AS BLOB), __pk1, p FROM dflat__base WHERE rowid = ?";
    let statement = connection.raw.prepare(sql)?;
    let (mut row_id, mut misses, mut unread, mut lost) = (0, 0, 0, 0);
    while misses < MISSES_MAX {
        row_id += 1;
        let before = rows.len();
        let read = connection
            .raw
            .query(statement, [Param::id(RowId(row_id))], |columns| {
                let name = columns.blob(0)?.map(String::from_utf8_lossy);
                rows.push(BaseRow {
                    row_id,
                    name: name.unwrap_or_default().into_owned(),
                    chunk: columns.integer(1),
                    payload: columns.blob(2)?.unwrap_or_default().to_vec(),
                });
                Ok(ControlFlow::Break(()))
            });
        match read {
            Ok(()) if rows.len() > before => {
                // Row ids have no gaps, so that the rows between two that were read were there.
                lost += std::mem::take(&mut unread);
                misses = 0;
            }
            Ok(()) => misses += 1,
            Err(error) if error.is_corrupt() => (misses, unread) = (misses + 1, unread + 1),
            Err(error) => return Err(error),
        }
    }
    // It is not known how many rows were behind the last one that was read.
    Ok(lost + u64::from(unread > 0))
}

fn write_rows(
    connection: &mut FileConnection,
    rows: &[BaseRow],
    last_ids: &[(&str, i64)],
) -> Result<(), SqliteError> {
    connection.raw.execute(CREATE)?;
    // Damage may show two rows with one key.
    let sql = "INSERT OR IGNORE INTO dflat__base (rowid, __pk0, __pk1, p) VALUES (?, ?, ?, ?)";
    let insert = connection.raw.prepare(sql)?;
    for row in rows {
        let params = [
            Param::id(RowId(row.row_id)),
            Param::Value(ValueRef::Text(&row.name)),
            Param::Value(ValueRef::Int(row.chunk)),
            Param::Blob(&row.payload),
        ];
        connection.raw.run(insert, params)?;
    }
    let sql = "INSERT INTO sqlite_sequence (name, seq) SELECT ?1, 0 WHERE NOT EXISTS \
               (SELECT 1 FROM sqlite_sequence WHERE name = ?1)";
    let add = connection.raw.prepare(sql)?;
    let sql = "UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1";
    let raise = connection.raw.prepare(sql)?;
    for (name, last) in last_ids {
        let name = Param::Value(ValueRef::Text(name));
        connection.raw.run(add, [name])?;
        connection.raw.run(raise, [name, Param::id(RowId(*last))])?;
    }
    Ok(())
}
