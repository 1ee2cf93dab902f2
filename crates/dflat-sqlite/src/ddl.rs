//! The names and definitions of storage tables, as text that equals the original's.
//!
//! Source: the file format of Dflat for Swift. Its names are never quoted. Ours are where they must
//! be, so that a type named `Order` can be stored, and are not in a definition where they need not
//! be, so that the text kept in the file is the same.

use dflat_model::TableDescriptor;

use crate::ffi;
use crate::triggers::literal;

/// The names of a table in SQL, quoted.
pub(crate) struct Names {
    /// The main table.
    pub(crate) main: String,
    /// Its name as text of SQL.
    pub(crate) main_text: String,
    /// The columns of the primary key.
    pub(crate) key_columns: Vec<String>,
    /// The secondary indexes, in the descriptor's order.
    pub(crate) indexes: Vec<IndexNames>,
}

/// The names of a secondary index, quoted.
pub(crate) struct IndexNames {
    /// The index table.
    pub(crate) table: String,
    /// The index on it.
    pub(crate) index: String,
    /// The column of the value.
    pub(crate) column: String,
}

impl Names {
    pub(crate) fn new(table: &TableDescriptor) -> Self {
        let indexes = table.indexes.iter().map(|index| {
            let plain = PlainIndexNames::new(table, &index.field.storage_key());
            IndexNames {
                table: quoted(&plain.table),
                index: quoted(&plain.index),
                column: quoted(&plain.column),
            }
        });
        Self {
            main: quoted(&table.name),
            main_text: literal(&table.name),
            key_columns: (0..table.primary_key.len()).map(key_column).collect(),
            indexes: indexes.collect(),
        }
    }
}

/// The names of a secondary index, as they stand in the file's schema.
pub(crate) struct PlainIndexNames {
    pub(crate) table: String,
    pub(crate) index: String,
    pub(crate) column: String,
}

impl PlainIndexNames {
    pub(crate) fn new(table: &TableDescriptor, storage_key: &str) -> Self {
        let index_table = format!("{}__{storage_key}", table.name);
        Self {
            index: format!("index__{index_table}"),
            table: index_table,
            column: storage_key.to_owned(),
        }
    }
}

/// The definition of a main table.
pub(crate) fn create_main(table: &TableDescriptor) -> String {
    let columns: Vec<String> = (0..table.primary_key.len()).map(key_column).collect();
    let typed: Vec<String> = columns
        .iter()
        .zip(table.primary_key.iter())
        .map(|(column, field)| format!("{column} {}", field.column_type().sql_name()))
        .collect();
    format!(
        "CREATE TABLE IF NOT EXISTS {} (rowid INTEGER PRIMARY KEY AUTOINCREMENT, {}, p BLOB, UNIQUE({}))",
        quoted_if_needed(&table.name),
        typed.join(", "),
        columns.join(", "),
    )
}

/// The definitions of an index table and of the index on it, which SQLite keeps `unique` or not.
pub(crate) fn create_index(
    table: &TableDescriptor,
    position: usize,
    unique: bool,
) -> Option<[String; 2]> {
    let index = table.indexes.get(position)?;
    let names = PlainIndexNames::new(table, &index.field.storage_key());
    let index_table = quoted_if_needed(&names.table);
    let column = quoted_if_needed(&names.column);
    let column_type = index.field.column_type().sql_name();
    let unique = if unique { "UNIQUE " } else { "" };
    Some([
        format!(
            "CREATE TABLE IF NOT EXISTS {index_table} (rowid INTEGER PRIMARY KEY, {column} {column_type})"
        ),
        format!(
            "CREATE {unique}INDEX IF NOT EXISTS {} ON {index_table} ({column})",
            quoted_if_needed(&names.index),
        ),
    ])
}

/// Whether a table of the file is the index table of an index that the descriptor does not have.
///
/// The name alone does not tell: it may be the main table of a type in a namespace of that name.
pub(crate) fn is_other_index(table: &TableDescriptor, name: &str, sql: &str) -> bool {
    let Some(key) = name
        .strip_prefix(table.name.as_ref())
        .and_then(|n| n.strip_prefix("__"))
    else {
        return false;
    };
    let definition = format!(
        "CREATE TABLE {} (rowid INTEGER PRIMARY KEY, {} ",
        quoted_if_needed(name),
        quoted_if_needed(key)
    );
    let mut known = table.indexes.iter().map(|index| index.field.storage_key());
    sql.starts_with(&definition) && known.all(|known| known != key)
}

/// Whether SQLite keeps an index of this definition unique.
pub(crate) fn is_unique(definition: &[u8]) -> bool {
    const UNIQUE: &[u8] = b"CREATE UNIQUE ";
    definition
        .get(..UNIQUE.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(UNIQUE))
}

/// The statement that removes an index.
pub(crate) fn drop_index(index: &IndexNames) -> String {
    format!("DROP INDEX IF EXISTS {}", index.index)
}

/// The statement that removes a trigger.
pub(crate) fn drop_trigger(name: &str) -> String {
    format!("DROP TRIGGER IF EXISTS {}", quoted(name))
}

/// The statement that removes a table.
pub(crate) fn drop_table(name: &str) -> String {
    format!("DROP TABLE IF EXISTS {}", quoted(name))
}

fn key_column(position: usize) -> String {
    format!("__pk{position}")
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

pub(crate) fn quoted_if_needed(name: &str) -> String {
    let is_ordinary = name
        .bytes()
        .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
        && name
            .bytes()
            .next()
            .is_some_and(|byte| !byte.is_ascii_digit());
    if is_ordinary && !ffi::is_keyword(name) {
        name.to_owned()
    } else {
        quoted(name)
    }
}
