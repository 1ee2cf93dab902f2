//! Repairs a file in place as far as possible, and keeps rows that are not objects.

use dflat_engine::Result;
use dflat_model::{RowId, Table, ValueRef};

use crate::backend::SqliteBackend;
use crate::connection::configure::exists;
use crate::connection::file_connection::FileConnection;
use crate::ffi::{PageCheck, Param, SqliteError, refuse_damage};
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

/// The rows of a table to take out, each with the reason.
pub type RowsToTakeOut<'t> = (&'t Table, Vec<(RowId, String)>);

/// The work of a repair in place.
#[derive(Debug)]
pub struct Mending<'m> {
    /// The rows to move into the table `dflat__unreadable`.
    pub rows: &'m [RowsToTakeOut<'m>],
    /// The tables whose index tables are dropped, so that they are built anew.
    pub indexes: &'m [&'m Table],
    /// Whether pages of the file are damaged.
    pub has_damaged_pages: bool,
}

impl SqliteBackend {
    /// Moves rows into the table `dflat__unreadable`, with their bytes and the given reasons, and
    /// drops index tables, in one transaction. If pages are damaged, the indexes by which SQLite
    /// finds rows by key are rebuilt, too, and the transaction is rolled back if pages are damaged
    /// at its end.
    ///
    /// # Errors
    /// The errors of writing; `Corrupt` if pages are damaged in a way that this does not mend.
    pub fn repair_in_place(&self, mending: &Mending<'_>) -> Result<()> {
        let is_damaged = mending.has_damaged_pages;
        self.mend(|connection| {
            // Order: rows on damaged pages are deleted before a table is made in the file. SQLite
            // gives a new table the page behind those of the other tables. If a row has that page,
            // SQLite moves it, and also writes to the page whose number the moved page begins with.
            // In a damaged page this is any number.
            let schema = if is_damaged { "temp" } else { "main" };
            connection.raw.execute(&create_unreadable(schema))?;
            for (table, rows) in mending.rows {
                take_out(connection, schema, table, rows)?;
            }
            for table in mending.indexes {
                drop_indexes(connection, table)?;
            }
            for (table, rows) in mending.rows {
                delete_entries(connection, table, rows)?;
            }
            if is_damaged {
                connection.raw.execute("REINDEX")?;
                refuse_damage(&mut connection.raw, PageCheck::Whole)?;
                connection.raw.execute(&create_unreadable("main"))?;
                connection.raw.execute(
                    "INSERT INTO main.dflat__unreadable SELECT * FROM temp.dflat__unreadable",
                )?;
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
            connection.raw.execute(&create_unreadable("main"))?;
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

    /// Writes without the backend's bookkeeping, like a foreign program. So the library notices a
    /// foreign commit, and drops its knowledge in memory.
    pub(super) fn mend(
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

/// Makes the table of the rows that a repair takes out of their tables.
fn create_unreadable(schema: &str) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {schema}.dflat__unreadable \
         (name TEXT NOT NULL, row INTEGER NOT NULL, reason TEXT NOT NULL, p)"
    )
}

/// Moves rows of a table into `dflat__unreadable`.
fn take_out(
    connection: &mut FileConnection,
    schema: &str,
    table: &Table,
    rows: &[(RowId, String)],
) -> Result<(), SqliteError> {
    let name = Names::new(table).main;
    let copy = connection.raw.prepare(&format!(
        "INSERT INTO {schema}.dflat__unreadable SELECT ?2, rowid, ?3, p FROM {name} \
         WHERE rowid = ?1"
    ))?;
    let delete = connection.raw.prepare(&delete_from(&name))?;
    for (row_id, reason) in rows {
        let texts = [table.name.as_ref(), reason].map(ValueRef::Text);
        let [name, reason] = texts.map(Param::Value);
        let row_id = Param::id(*row_id);
        connection.raw.run(copy, [row_id, name, reason])?;
        connection.raw.run(delete, [row_id])?;
    }
    Ok(())
}

/// Deletes the entries of rows from the index tables that there are.
fn delete_entries(
    connection: &mut FileConnection,
    table: &Table,
    rows: &[(RowId, String)],
) -> Result<(), SqliteError> {
    let names = Names::new(table);
    for (position, index) in names.indexes.iter().enumerate() {
        let plain = PlainIndexNames::new(table, &table.indexes[position]).table;
        if !connection.exists(ControlStatement::FindTable, &plain)? {
            continue;
        }
        let delete = connection.raw.prepare(&delete_from(&index.table))?;
        for (row_id, _) in rows {
            connection.raw.run(delete, [Param::id(*row_id)])?;
        }
    }
    Ok(())
}

fn delete_from(table: &str) -> String {
    format!("DELETE FROM {table} WHERE rowid = ?")
}

fn drop_indexes(connection: &mut FileConnection, table: &Table) -> Result<(), SqliteError> {
    for index in table.indexes.iter() {
        let plain = PlainIndexNames::new(table, index).table;
        if connection.exists(ControlStatement::FindTable, &plain)? {
            connection.raw.execute(&drop_table(&plain))?;
        }
    }
    Ok(())
}
