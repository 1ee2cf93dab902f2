//! The tables of a history whose rows have a name and bytes.

use dflat_engine::storage::NamedTable;

/// A statement on such a table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NamedStatement {
    Create,
    /// Reads the row of a name.
    Find,
    /// Reads the rows with smaller numbers than one, from the last one backwards.
    Below,
    /// Puts a row in place of the one that has its name.
    Put,
    /// Deletes the row of a name.
    Delete,
}

impl NamedStatement {
    /// The number of statements on one table.
    pub(crate) const COUNT: usize = Self::Delete as usize + 1;
}

/// The number of tables.
pub(crate) const TABLES: usize = NamedTable::Received as usize + 1;

/// The name of a table in the file.
pub(crate) const fn name(table: NamedTable) -> &'static str {
    match table {
        NamedTable::Chunks => "dflat__chunks",
        NamedTable::Commits => "dflat__commits",
        NamedTable::Refs => "dflat__refs",
        NamedTable::Received => "dflat__received",
    }
}

/// The text of a statement.
pub(crate) fn sql(table: NamedTable, statement: NamedStatement) -> String {
    let name = name(table);
    match statement {
        // The rows are in the order in which they were put. If the name, which may be a hash, were
        // the key of the table, each row would be put at a random place.
        NamedStatement::Create => format!(
            "CREATE TABLE IF NOT EXISTS {name} \
             (id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, bytes BLOB NOT NULL)"
        ),
        NamedStatement::Find => format!("SELECT id, name, bytes FROM {name} WHERE name = ?"),
        NamedStatement::Below => {
            format!("SELECT id, name, bytes FROM {name} WHERE id < ? ORDER BY id DESC")
        }
        NamedStatement::Put => format!(
            "INSERT INTO {name} (name, bytes) VALUES (?, ?) ON CONFLICT (name) \
             DO UPDATE SET bytes = excluded.bytes WHERE bytes <> excluded.bytes"
        ),
        NamedStatement::Delete => format!("DELETE FROM {name} WHERE name = ?"),
    }
}
