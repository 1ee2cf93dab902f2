//! The names and definitions of storage tables, with the same text as those of Dflat for Swift.
//!
//! Source: the file format of Dflat for Swift. Its names are never quoted. This library quotes
//! names where SQL requires it, so that a type named `Order` can be stored. In definitions it
//! quotes no others, so that the text kept in the file is the same.

use dflat_model::{Field, IndexDescriptor, KEY_HASH, TableDescriptor};

use crate::ffi;

/// The names of a table in SQL, quoted.
pub(crate) struct Names {
    /// The main table.
    pub(crate) main: String,
    /// The name of the main table as a text literal of SQL.
    pub(crate) main_text: String,
    /// The table of the notes of rows that other programs have changed.
    pub(crate) notes: String,
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
    /// The columns of the values.
    pub(crate) columns: Vec<String>,
    /// The name of the index table as a text literal of SQL, if [`FILLED`] records how far it is
    /// filled.
    pub(crate) filled: Option<String>,
}

impl Names {
    pub(crate) fn new(table: &TableDescriptor) -> Self {
        let indexes = table.indexes.iter().map(|index| {
            let plain = PlainIndexNames::new(table, index);
            IndexNames {
                table: quoted(&plain.table),
                index: quoted(&plain.index),
                columns: plain.columns.iter().map(|column| quoted(column)).collect(),
                filled: index.condition.is_some().then(|| literal(&plain.table)),
            }
        });
        Self {
            main: quoted(&table.name),
            main_text: literal(&table.name),
            notes: quoted(&notes_name(table)),
            key_columns: (0..table.primary_key.len()).map(key_column).collect(),
            indexes: indexes.collect(),
        }
    }
}

/// The names of a secondary index, unquoted, as the file's schema has them.
pub(crate) struct PlainIndexNames {
    pub(crate) table: String,
    pub(crate) index: String,
    pub(crate) columns: Vec<String>,
}

impl PlainIndexNames {
    /// The names of an index. An index over one field of all objects has the names that Dflat for
    /// Swift gives it. Any other index has names that Dflat for Swift ignores: Dflat for Swift
    /// assumes that an index is filled up to the last row id of its table, which does not hold for
    /// these indexes.
    pub(crate) fn new(table: &TableDescriptor, index: &IndexDescriptor) -> Self {
        let index_table = format!("{}__{}", table.name, index.storage_key());
        let (index_table, name) = if index.is_plain() {
            let name = format!("index__{index_table}");
            (index_table, name)
        } else {
            let index_table = format!("{LIBRARY_PREFIX}{index_table}");
            let name = format!("{index_table}__index");
            (index_table, name)
        };
        Self {
            table: index_table,
            index: name,
            columns: index.fields.iter().map(Field::storage_key).collect(),
        }
    }
}

/// The prefix of the names of tables that Dflat for Swift does not know.
pub(crate) const LIBRARY_PREFIX: &str = "dflat__";

/// The name of the table of the notes of a table's rows that other programs have changed.
pub(crate) fn notes_name(table: &TableDescriptor) -> String {
    format!("{LIBRARY_PREFIX}history_{}", table.name)
}

/// The table that records how far indexes with a condition are filled: up to a row id, or
/// completely if the row id is NULL. The last entry of such an index does not show how far it is
/// filled.
pub(crate) const FILLED: &str = "CREATE TABLE IF NOT EXISTS dflat__filled \
     (name TEXT PRIMARY KEY, up_to INTEGER) WITHOUT ROWID";

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

/// The definition of a main table, as the file keeps it.
pub(crate) fn stored_main(table: &TableDescriptor) -> String {
    stored(&create_main(table))
}

/// The definitions that an index table and the indexes on it may have, as the file keeps them. The
/// definition of the table comes first. A unique index of the descriptor may also be stored as one
/// that SQLite does not keep unique.
pub(crate) fn stored_index(table: &TableDescriptor, position: usize) -> Vec<String> {
    let unique = table
        .indexes
        .get(position)
        .is_some_and(|index| index.unique);
    let definitions = [Some(false), unique.then_some(true)];
    let definitions = definitions.into_iter().flatten();
    let mut stored: Vec<_> = definitions
        .filter_map(|unique| create_index(table, position, unique))
        .flatten()
        .map(|definition| stored(&definition))
        .collect();
    stored.dedup();
    stored
}

/// A definition, as the file keeps it.
pub(crate) fn stored(definition: &str) -> String {
    definition.replacen("IF NOT EXISTS ", "", 1)
}

/// The definitions of an index table and of the index on it. SQLite keeps the index unique if
/// `unique` is true.
pub(crate) fn create_index(
    table: &TableDescriptor,
    position: usize,
    unique: bool,
) -> Option<[String; 2]> {
    let index = table.indexes.get(position)?;
    let names = PlainIndexNames::new(table, index);
    let index_table = quoted_if_needed(&names.table);
    let columns: Vec<String> = names.columns.iter().map(|c| quoted_if_needed(c)).collect();
    let types = index
        .fields
        .iter()
        .map(|field| field.column_type().sql_name());
    let typed: Vec<String> = columns
        .iter()
        .zip(types)
        .map(|(c, t)| format!("{c} {t}"))
        .collect();
    let unique = if unique { "UNIQUE " } else { "" };
    Some([
        format!(
            "CREATE TABLE IF NOT EXISTS {index_table} (rowid INTEGER PRIMARY KEY, {})",
            typed.join(", "),
        ),
        format!(
            "CREATE {unique}INDEX IF NOT EXISTS {} ON {index_table} ({})",
            quoted_if_needed(&names.index),
            columns.join(", "),
        ),
    ])
}

/// The prefixes of the names of a table's index tables: of those that Dflat for Swift knows, and of
/// those that only this library knows.
pub(crate) fn index_prefixes(table: &TableDescriptor) -> [String; 2] {
    [
        format!("{}__", table.name),
        format!("{LIBRARY_PREFIX}{}__", table.name),
    ]
}

/// Whether a table of the file is the index table of an index that the descriptor does not have.
///
/// The name alone does not show this: the table may be the main table of a type in a namespace of
/// that name, or belong to such a type.
pub(crate) fn is_other_index(table: &TableDescriptor, name: &str, sql: &str) -> bool {
    let [plain, prefixed] = index_prefixes(table);
    let (key, known) = match (name.strip_prefix(&plain), name.strip_prefix(&prefixed)) {
        (Some(key), _) => (key, true),
        (_, Some(key)) => (key, false),
        _ => return false,
    };
    let indexes = table
        .indexes
        .iter()
        .filter(|index| index.is_plain() == known);
    if indexes
        .map(IndexDescriptor::storage_key)
        .any(|known| known == key)
    {
        return false;
    }
    let fields = key.split_once(KEY_HASH).map_or(key, |(fields, _)| fields);
    let start = format!(
        "CREATE TABLE {} (rowid INTEGER PRIMARY KEY, ",
        quoted_if_needed(name)
    );
    let Some(columns) = sql.strip_prefix(&start) else {
        return false;
    };
    let columns = columns.trim_end_matches(')').split(", ");
    let columns = columns.map(|column| column.rsplit_once(' ').map_or(column, |(name, _)| name));
    columns.eq(fields.split("_and_").map(quoted_if_needed))
}

/// The statement that removes an index.
pub(crate) fn drop_index(index: &IndexNames) -> String {
    format!("DROP INDEX IF EXISTS {}", index.index)
}

/// The statement that removes a trigger.
pub(crate) fn drop_trigger(name: &str) -> String {
    format!("DROP TRIGGER IF EXISTS {}", quoted(name))
}

/// The statement that removes a view.
pub(crate) fn drop_view(name: &str) -> String {
    format!("DROP VIEW IF EXISTS {}", quoted(name))
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

/// A name as a text literal of SQL.
pub(crate) fn literal(name: &str) -> String {
    format!("'{}'", name.replace('\'', "''"))
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

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use dflat_model::{FieldKind, IndexCondition, Scalar, Step, Value};

    use super::*;

    fn field(steps: &[Step]) -> Field {
        Field {
            name: Cow::Borrowed("field"),
            steps: Cow::Owned(steps.to_vec()),
            kind: FieldKind::Scalar(Scalar::I64),
            default: Value::Int(0),
        }
    }

    fn table(name: &'static str, fields: &[&[Step]]) -> TableDescriptor {
        let fields: Vec<Field> = fields.iter().map(|steps| field(steps)).collect();
        let index = IndexDescriptor {
            fields: fields.into(),
            unique: false,
            condition: Some(IndexCondition::IsNull(field(&[Step::Field(8)]))),
        };
        TableDescriptor {
            name: Cow::Borrowed(name),
            indexes: vec![index].into(),
            ..(*crate::layout::sample::table()).clone()
        }
    }

    /// The tables of a type `f4` in a namespace `post` have names that begin like those of a type
    /// `post`.
    #[test]
    fn index_tables_of_a_type_differ_from_those_of_a_type_with_a_longer_name() {
        let own = table(
            "post",
            &[&[Step::Field(4), Step::Field(6)], &[Step::Field(10)]],
        );
        let other = table("post__f4", &[&[Step::Field(6)], &[Step::Field(10)]]);
        let without = TableDescriptor {
            indexes: Cow::Borrowed(&[]),
            ..own.clone()
        };
        for (of, is_own) in [(&own, true), (&other, false)] {
            let [sql, _] = create_index(of, 0, false).unwrap();
            let stored = sql.replace("CREATE TABLE IF NOT EXISTS", "CREATE TABLE");
            let name = PlainIndexNames::new(of, &of.indexes[0]).table;
            assert_eq!(is_other_index(&without, &name, &stored), is_own, "{name}");
            assert!(!is_other_index(of, &name, &stored), "{name}");
        }
    }
}
