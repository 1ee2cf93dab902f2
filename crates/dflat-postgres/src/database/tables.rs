//! Reads the descriptions of tables.

use dflat_engine::Result;
use dflat_model::Table;

use crate::failure::failed;
use crate::layout::{Control, Schema, StoredTable};
use crate::server::Connection;

/// Reads the description of a table; `None` if it does not exist.
pub(crate) fn read_table(
    connection: &mut Connection,
    (schema, control): (&Schema, &Control),
    table: &Table,
) -> Result<Option<StoredTable>> {
    let rows = connection.query(&control.table, &[&table.name.as_ref()]);
    let rows = rows.map_err(|error| failed(format_args!("read {}", table.type_name), error))?;
    StoredTable::read(schema, &rows)
}

/// Reads the description of a table that exists; `None` if it was not created.
pub(crate) fn read_created(
    connection: &mut Connection,
    names: (&Schema, &Control),
    table: &Table,
) -> Result<Option<StoredTable>> {
    let stored = read_table(connection, names, table)?;
    Ok(stored.filter(StoredTable::is_created))
}
