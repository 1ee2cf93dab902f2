//! The statements on a table, as SQL text. Each text is made once for a connection.

use std::iter;

use crate::layout::ddl::{IndexNames, Names};
use crate::layout::key_range::KeyShape;
use crate::layout::key_statement::scan_key;

/// A statement on a table: the key under which a prepared statement is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableStatement {
    /// All rows, with or without their payloads.
    ScanRows(bool),
    /// All rows after a row id, with or without their payloads.
    ScanRowsAfter(bool),
    /// One row.
    FindRow,
    /// The rows in a range of a key.
    ScanKey(KeyShape),
    /// How far an index is built. If the flag is true, foreign rows are left out.
    IndexState(usize, bool),
    /// Adds a row.
    Insert,
    /// Adds a row with a row id.
    InsertWithId,
    /// Replaces a payload.
    UpdatePayload,
    /// Replaces a key and a payload.
    UpdateRow,
    /// Deletes a row.
    Delete,
    /// Adds or replaces an index entry.
    PutEntry(usize),
    /// Whether another row has the same values in an index.
    FindOther(usize),
    /// Deletes an index entry.
    DeleteEntry(usize),
    /// Records how far an index with a condition is filled.
    NoteFilled(usize),
    /// The notes of rows that other programs have changed.
    Noted,
}

/// How a statement uses the index at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexUse {
    Write(usize),
    Lookup(usize),
}

impl TableStatement {
    /// The number of statements that have a [`place`](Self::place).
    pub(crate) const PLACES: usize = 5;

    /// The position of the statement among the statements of a table that write a row; `None` for
    /// others.
    #[inline]
    pub(crate) const fn place(self) -> Option<usize> {
        match self {
            Self::Insert => Some(0),
            Self::InsertWithId => Some(1),
            Self::UpdatePayload => Some(2),
            Self::UpdateRow => Some(3),
            Self::Delete => Some(4),
            _ => None,
        }
    }

    /// The index that a statement uses.
    pub(crate) const fn index_use(self) -> Option<IndexUse> {
        match self {
            Self::PutEntry(position) | Self::DeleteEntry(position) => {
                Some(IndexUse::Write(position))
            }
            Self::ScanKey(shape) => match shape.index {
                Some(position) => Some(IndexUse::Lookup(position)),
                None => None,
            },
            _ => None,
        }
    }

    /// Whether the statement may change no row: an object may have no entry in an index with a
    /// condition.
    #[inline]
    pub(crate) const fn may_do_nothing(self) -> bool {
        matches!(self, Self::DeleteEntry(_))
    }

    /// The SQL text, or `None` if the statement names an index that the table lacks.
    pub(crate) fn sql(self, names: &Names) -> Option<String> {
        let Names {
            main, key_columns, ..
        } = names;
        Some(match self {
            Self::ScanRows(payload) => {
                let p = wanted("p", payload);
                format!("SELECT rowid, {p} FROM {main} ORDER BY rowid")
            }
            Self::ScanRowsAfter(payload) => {
                let p = wanted("p", payload);
                format!("SELECT rowid, {p} FROM {main} WHERE rowid > ? ORDER BY rowid")
            }
            Self::FindRow => format!("SELECT rowid, p FROM {main} WHERE rowid = ?"),
            Self::ScanKey(shape) => return scan_key(names, shape),
            Self::IndexState(position, without_foreign) => {
                return index_state(names, position, without_foreign);
            }
            Self::Insert => {
                let marks: String = iter::repeat_n("?, ", key_columns.len()).collect();
                let columns = key_columns.join(", ");
                format!("INSERT INTO {main} ({columns}, p) VALUES ({marks}?)")
            }
            Self::InsertWithId => {
                let marks: String = iter::repeat_n("?, ", key_columns.len()).collect();
                let columns = key_columns.join(", ");
                format!("INSERT INTO {main} ({columns}, p, rowid) VALUES ({marks}?, ?)")
            }
            Self::UpdatePayload => format!("UPDATE {main} SET p = ? WHERE rowid = ?"),
            Self::UpdateRow => {
                let set: Vec<String> = key_columns
                    .iter()
                    .map(|column| format!("{column} = ?"))
                    .collect();
                let set = set.join(", ");
                format!("UPDATE {main} SET {set}, p = ? WHERE rowid = ?")
            }
            Self::Noted => format!("SELECT row_id, p FROM {} ORDER BY row_id", names.notes),
            Self::Delete => format!("DELETE FROM {main} WHERE rowid = ?"),
            Self::PutEntry(position) => {
                let index = names.indexes.get(position)?;
                let marks: String = iter::repeat_n(", ?", index.columns.len()).collect();
                let set = index.columns.iter().map(|c| format!("{c} = excluded.{c}"));
                // `REPLACE` would delete the entry of another row that has the same unique value.
                format!(
                    "INSERT INTO {table} (rowid, {columns}) VALUES (?{marks}) \
                     ON CONFLICT (rowid) DO UPDATE SET {set}",
                    table = index.table,
                    columns = index.columns.join(", "),
                    set = set.collect::<Vec<_>>().join(", "),
                )
            }
            Self::FindOther(position) => {
                let index = names.indexes.get(position)?;
                let IndexNames { table, columns, .. } = index;
                let same: Vec<String> = columns.iter().map(|c| format!("{c} = ?")).collect();
                let same = same.join(" AND ");
                format!("SELECT 1 FROM {table} WHERE {same} AND rowid <> ? LIMIT 1")
            }
            Self::DeleteEntry(position) => {
                let index = names.indexes.get(position)?;
                format!("DELETE FROM {} WHERE rowid = ?", index.table)
            }
            Self::NoteFilled(position) => {
                let name = names.indexes.get(position)?.filled.as_ref()?;
                format!("UPDATE dflat__filled SET up_to = ? WHERE name = {name}")
            }
        })
    }
}

fn index_state(names: &Names, position: usize, without_foreign: bool) -> Option<String> {
    let index = names.indexes.get(position)?;
    let exists = format!(
        "EXISTS (SELECT 1 FROM {} INDEXED BY {})",
        index.table, index.index
    );
    if let Some(name) = &index.filled {
        return Some(format!(
            "SELECT up_to IS NULL, coalesce(up_to, 0), {exists} FROM dflat__filled \
             WHERE name = {name}"
        ));
    }
    let last = |table: &str| {
        let name = &names.main_text;
        let others = match without_foreign {
            true => format!(
                " WHERE rowid NOT IN (SELECT row_id FROM dflat__foreign WHERE name = {name})"
            ),
            false => String::new(),
        };
        format!("(SELECT rowid FROM {table}{others} ORDER BY rowid DESC LIMIT 1)")
    };
    // If the index of that name is missing, the statement fails to prepare.
    Some(format!(
        "SELECT {in_main} IS {in_index}, coalesce({in_index}, 0), {exists}",
        in_main = last(&names.main),
        in_index = last(&index.table),
    ))
}

/// The column of the payload, or NULL if the payload is not wanted.
const fn wanted(column: &str, payload: bool) -> &str {
    if payload { column } else { "NULL" }
}
