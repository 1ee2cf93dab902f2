//! Repairs a file in place as far as possible, and keeps rows that are not objects.

use dflat_engine::Result;
use dflat_model::{RowId, Table, ValueRef};

use crate::backend::SqliteBackend;
use crate::connection::configure::exists;
use crate::connection::file_connection::FileConnection;
use crate::ffi::{Param, SqliteError};
use crate::layout::control::ControlStatement;
use crate::layout::ddl::{Names, PlainIndexNames, drop_table};

/// The bytes of a row that is kept although it is not an object of the table.
#[derive(Clone, Debug)]
pub struct UnreadableRow {
    /// The row id.
    pub row_id: RowId,
    /// The reason why the row is not an object.
    pub reason: String,
    /// The bytes.
    pub payload: Vec<u8>,
}

/// The table of the rows that a repair takes out of their tables.
const CREATE_UNREADABLE: &str = "CREATE TABLE IF NOT EXISTS dflat__unreadable \
     (name TEXT NOT NULL, row INTEGER NOT NULL, reason TEXT NOT NULL, p)";

impl SqliteBackend {
    /// Moves rows into the table `dflat__unreadable`, with their bytes and the given reason, in one
    /// transaction.
    ///
    /// # Errors
    /// The errors of writing.
    pub fn move_to_unreadable(&self, table: &Table, rows: &[(RowId, String)]) -> Result<()> {
        self.mend(|connection| {
            connection.raw.execute(CREATE_UNREADABLE)?;
            let names = Names::new(table);
            let copy = connection.raw.prepare(&format!(
                "INSERT INTO dflat__unreadable SELECT ?2, rowid, ?3, p FROM {} WHERE rowid = ?1",
                names.main
            ))?;
            let mut delete = Vec::new();
            let mut tables = vec![names.main.clone()];
            for (position, index) in names.indexes.iter().enumerate() {
                let plain = PlainIndexNames::new(table, &table.indexes[position]).table;
                if connection.exists(ControlStatement::FindTable, &plain)? {
                    tables.push(index.table.clone());
                }
            }
            for name in tables {
                let sql = format!("DELETE FROM {name} WHERE rowid = ?");
                delete.push(connection.raw.prepare(&sql)?);
            }
            for (row_id, reason) in rows {
                let texts = [table.name.as_ref(), reason].map(ValueRef::Text);
                let [name, reason] = texts.map(Param::Value);
                let row_id = Param::id(*row_id);
                connection.raw.run(copy, [row_id, name, reason])?;
                for statement in &delete {
                    connection.raw.run(*statement, [row_id])?;
                }
            }
            Ok(())
        })
    }

    /// Adds rows that are in no table to `dflat__unreadable`, in one transaction.
    ///
    /// # Errors
    /// The errors of writing.
    pub fn insert_unreadable(&self, table: &Table, rows: &[UnreadableRow]) -> Result<()> {
        self.mend(|connection| {
            connection.raw.execute(CREATE_UNREADABLE)?;
            let sql = "INSERT INTO dflat__unreadable VALUES (?, ?, ?, ?)";
            let insert = connection.raw.prepare(sql)?;
            for row in rows {
                let [name, reason] = [&*table.name, &row.reason].map(ValueRef::Text);
                let [name, reason] = [name, reason].map(Param::Value);
                let params = [
                    name,
                    Param::id(row.row_id),
                    reason,
                    Param::Blob(&row.payload),
                ];
                connection.raw.run(insert, params)?;
            }
            Ok(())
        })
    }

    /// Drops the index tables of a table, so that they are built anew.
    ///
    /// # Errors
    /// The errors of writing.
    pub fn drop_indexes(&self, table: &Table) -> Result<()> {
        self.mend(|connection| {
            for index in table.indexes.iter() {
                let plain = PlainIndexNames::new(table, index).table;
                if connection.exists(ControlStatement::FindTable, &plain)? {
                    connection.raw.execute(&drop_table(&plain))?;
                }
            }
            Ok(())
        })
    }

    /// Rebuilds the indexes by which SQLite finds rows by key.
    ///
    /// # Errors
    /// The errors of writing; `Corrupt` if a table itself can't be read.
    pub fn reindex(&self) -> Result<()> {
        self.mend(|connection| connection.raw.execute("REINDEX"))
    }

    /// Writes without the backend's bookkeeping, like a foreign program. So the library notices a
    /// foreign commit, and drops its knowledge in memory.
    fn mend(
        &self,
        work: impl FnOnce(&mut FileConnection) -> Result<(), SqliteError>,
    ) -> Result<()> {
        let what = || format!("cannot repair {}", self.path().display());
        if !exists(self.path())? {
            return Ok(());
        }
        let mut connection = self.connections().take_writer()?;
        let mended = connection
            .control(ControlStatement::BeginImmediate)
            .and_then(|()| work(&mut connection))
            .inspect(|()| self.upkeep().presence().send_away())
            .and_then(|()| connection.control(ControlStatement::Commit));
        // The connection is not used again, because it may assume tables that no longer exist.
        drop(connection);
        self.upkeep().return_writer(None);
        mended.map_err(|error| error.into_error(what()))
    }
}
