//! Inserts many rows together.
//!
//! As a statement of one row does, it first finds out which rows have the key or a unique value of
//! another row, and writes the others. Rows that are written together do not see one another, so a
//! row with a value of an earlier one begins others.
//!
//! A few rows take one statement, in one round trip. More rows take a question and a `COPY` for
//! each table: the server spends about half the time on a row of a `COPY`.

use std::collections::{HashMap, HashSet};

use dflat_engine::Result;
use dflat_engine::storage::{Conflict, Key, RowWrite};
use dflat_model::{RowId, Table};
use tokio_postgres::types::ToSql;

use super::copied::CopiedRows;
use super::transaction::PostgresTransaction;
use crate::layout::{StoredIndex, StoredKey, StoredTable};
use crate::server::{Answer, Connection};

/// The most bytes of payloads that are written together, apart from those of the last row.
const BYTES_MAX: usize = 4 << 20;

/// As many rows take a `COPY` for each table, which takes more round trips than a statement.
const COPIED_MIN: usize = 512;

/// The rows that are not written, each with the key of which another row has the values.
type Refused = HashMap<i64, Key>;

/// Rows to insert, in columns.
struct Bulk<'a> {
    indexes: Vec<BulkIndex<'a>>,
    row_ids: Vec<i64>,
    keys: Vec<Vec<u8>>,
    ties: Vec<Vec<u8>>,
    rests: Vec<Option<Vec<u8>>>,
    payloads: Vec<&'a [u8]>,
    bytes: usize,
    /// The keys and the unique values so far, each with the number of its index.
    taken: HashSet<(usize, Vec<u8>)>,
}

/// The entries of an index, in columns. The key is NULL for a row without an entry.
struct BulkIndex<'a> {
    /// Position of the index in the descriptor.
    position: usize,
    stored: &'a StoredIndex,
    keys: Vec<Option<Vec<u8>>>,
    rests: Vec<Option<Vec<u8>>>,
    /// Whether another row with the value is a conflict; only for a unique index.
    checked: Vec<bool>,
}

impl<'a> Bulk<'a> {
    fn new(table: &Table, stored: &'a StoredTable) -> Self {
        let indexes = table.indexes.iter().enumerate();
        let indexes = indexes.filter_map(|(position, index)| {
            Some(BulkIndex {
                position,
                stored: stored.index(index)?,
                keys: Vec::new(),
                rests: Vec::new(),
                checked: Vec::new(),
            })
        });
        Self {
            indexes: indexes.collect(),
            row_ids: Vec::new(),
            keys: Vec::new(),
            ties: Vec::new(),
            rests: Vec::new(),
            payloads: Vec::new(),
            bytes: 0,
            taken: HashSet::new(),
        }
    }

    /// Adds a row, unless the statement is full, or an earlier row has one of its values.
    fn add(&mut self, row_id: RowId, row: &RowWrite<'a>) -> bool {
        let key = StoredKey::new(row.key.unwrap_or_default());
        let entries = self.indexes.iter().map(|index| {
            let mut entries = row.entries.iter();
            let entry = entries.find(|entry| entry.index == index.position);
            let values = entry.map(|entry| &entry.values);
            let is_checked =
                index.stored.is_unique && values.is_some_and(|values| values.can_conflict());
            let key = values.and_then(|values| values.get()).map(StoredKey::new);
            (key, is_checked)
        });
        let entries: Vec<(Option<StoredKey>, bool)> = entries.collect();
        let mut values = Vec::new();
        if !key.has_null() {
            values.push((0, key.bytes().to_vec()));
        }
        for (number, (entry, is_checked)) in entries.iter().enumerate() {
            if let Some(entry) = entry.as_ref().filter(|_| *is_checked) {
                values.push((number + 1, entry.bytes().to_vec()));
            }
        }
        if self.bytes >= BYTES_MAX || values.iter().any(|value| self.taken.contains(value)) {
            return false;
        }
        self.taken.extend(values);
        self.bytes += row.payload.len();
        self.row_ids.push(row_id.0);
        self.keys.push(key.key().to_vec());
        self.ties.push(key.tie(row_id));
        self.rests.push(key.rest().map(<[u8]>::to_vec));
        self.payloads.push(row.payload);
        for (index, (entry, is_checked)) in self.indexes.iter_mut().zip(entries) {
            let entry = entry.as_ref();
            index.keys.push(entry.map(|entry| entry.key().to_vec()));
            let rest = entry.and_then(StoredKey::rest);
            index.rests.push(rest.map(<[u8]>::to_vec));
            index.checked.push(is_checked);
        }
        true
    }

    /// The statement that writes the rows. Its answer has those that were not written: the row id,
    /// whether another row has the key, and for each unique index, whether another row has the
    /// value.
    fn text(&self, main: &str) -> String {
        let question = Question::new(self, main, true);
        let refused = question.flags.join(" OR ");
        let mut text = format!(
            "WITH c AS MATERIALIZED ({question}), \
             w AS (INSERT INTO {main} (rowid, key, tie, rest, p) \
             SELECT id, key, tie, rest, p FROM c WHERE NOT ({refused}))"
        );
        for (number, index) in self.indexes.iter().enumerate() {
            text.push_str(&format!(
                ", x{number} AS (INSERT INTO {} (rowid, key, rest) \
                 SELECT id, k{number}, r{number} FROM c \
                 WHERE k{number} IS NOT NULL AND NOT ({refused}))",
                index.stored.relation
            ));
        }
        let flags = question.flags.join(", ");
        text.push_str(&format!(" SELECT id, {flags} FROM c WHERE {refused}"));
        text
    }

    fn params(&self) -> Vec<&(dyn ToSql + Sync)> {
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![&self.row_ids, &self.keys, &self.ties];
        params.extend([&self.rests as &(dyn ToSql + Sync), &self.payloads]);
        for index in &self.indexes {
            params.extend([&index.keys as &(dyn ToSql + Sync), &index.rests]);
            if index.stored.is_unique {
                params.push(&index.checked);
            }
        }
        params
    }

    /// The question which rows can't be written, with the same answer as the statement.
    fn question(&self, main: &str) -> String {
        let question = Question::new(self, main, false);
        let (flags, refused) = (question.flags.join(", "), question.flags.join(" OR "));
        format!("SELECT id, {flags} FROM ({question}) c WHERE {refused}")
    }

    fn question_params(&self) -> Vec<&(dyn ToSql + Sync)> {
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![&self.row_ids, &self.keys, &self.ties];
        for index in self.indexes.iter().filter(|index| index.stored.is_unique) {
            params.extend([&index.keys as &(dyn ToSql + Sync), &index.rests]);
            params.push(&index.checked);
        }
        params
    }

    /// The statements that write the rows of each table without those that are refused, and the
    /// bytes that each statement takes.
    fn copies(&self, main: &str, refused: &Refused) -> Vec<(String, Vec<u8>)> {
        let ids = self.row_ids.iter().enumerate();
        let written = ids.filter(|(_, row_id)| !refused.contains_key(row_id));
        let mut rows = CopiedRows::new(main, &["rowid", "key", "tie", "rest", "p"], self.bytes);
        for (at, row_id) in written.clone() {
            let columns = (self.keys.get(at), self.ties.get(at), self.rests.get(at));
            let (Some(key), Some(tie), Some(rest)) = columns else {
                continue;
            };
            let payload = self.payloads.get(at).copied();
            rows.add(*row_id, &[Some(key), Some(tie), rest.as_deref(), payload]);
        }
        let mut copies = vec![rows];
        for index in &self.indexes {
            let columns = ["rowid", "key", "rest"];
            let mut entries = CopiedRows::new(&index.stored.relation, &columns, 0);
            for (at, row_id) in written.clone() {
                if let (Some(Some(key)), Some(rest)) = (index.keys.get(at), index.rests.get(at)) {
                    entries.add(*row_id, &[Some(key), rest.as_deref()]);
                }
            }
            copies.push(entries);
        }
        copies.retain(|copy| !copy.is_empty());
        copies.into_iter().map(CopiedRows::into_parts).collect()
    }

    /// The key of the first flag that is set.
    fn refused(&self, flags: &[bool]) -> Key {
        let mut unique = self.indexes.iter().filter(|index| index.stored.is_unique);
        match flags.iter().position(|flag| *flag) {
            Some(number) if number > 0 => unique
                .nth(number - 1)
                .map_or(Key::Primary, |index| Key::Index(index.position)),
            _ => Key::Primary,
        }
    }
}

/// The rows beside what their columns are compared with.
struct Question {
    text: String,
    /// The columns that say why a row is refused: because of its key, and of each unique value.
    flags: Vec<String>,
}

impl Question {
    /// The question of all rows; with all of their columns, or with those that are compared.
    fn new(bulk: &Bulk<'_>, main: &str, with_all: bool) -> Self {
        let mut types = vec!["bigint", "bytea", "bytea"];
        let mut names = vec!["id".to_owned(), "key".to_owned(), "tie".to_owned()];
        if with_all {
            types.extend(["bytea", "bytea"]);
            names.extend(["rest".to_owned(), "p".to_owned()]);
        }
        let mut flags = vec!["k".to_owned()];
        let mut columns = vec![format!(
            "EXISTS (SELECT FROM {main} m WHERE m.key = v.key AND m.tie = v.tie) AS k"
        )];
        for (number, index) in bulk.indexes.iter().enumerate() {
            let is_unique = index.stored.is_unique;
            if with_all || is_unique {
                types.extend(["bytea", "bytea"]);
                names.extend([format!("k{number}"), format!("r{number}")]);
            }
            if is_unique {
                types.push("boolean");
                names.push(format!("q{number}"));
                flags.push(format!("u{number}"));
                columns.push(format!(
                    "v.q{number} AND EXISTS (SELECT FROM {} i WHERE i.key = v.k{number} \
                     AND i.rest IS NOT DISTINCT FROM v.r{number}) AS u{number}",
                    index.stored.relation
                ));
            }
        }
        let arrays = types.iter().zip(1..);
        let arrays: Vec<String> = arrays.map(|(of, at)| format!("${at}::{of}[]")).collect();
        let text = format!(
            "SELECT v.*, {} FROM unnest({}) AS v({})",
            columns.join(", "),
            arrays.join(", "),
            names.join(", ")
        );
        Self { text, flags }
    }
}

impl std::fmt::Display for Question {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl PostgresTransaction {
    /// Inserts rows, in few round trips.
    pub(super) fn insert_rows(
        &mut self,
        table: &Table,
        rows: &[RowWrite<'_>],
    ) -> Result<Vec<Result<RowId, Conflict>>> {
        let stored = self.stored(table)?.clone();
        let mut outcomes = Vec::with_capacity(rows.len());
        let mut rest = rows.iter().peekable();
        let mut last = stored.last_row_id;
        while rest.peek().is_some() {
            let mut bulk = Bulk::new(table, &stored);
            while let Some(row) = rest.next_if(|row| bulk.add(RowId(last + 1), row)) {
                last += 1;
                debug_assert!(row.key.is_some(), "a new row has a key");
            }
            self.insert_bulk(table, &stored, &bulk, &mut outcomes)?;
        }
        self.stored(table)?.last_row_id = last;
        Ok(outcomes)
    }

    fn insert_bulk(
        &mut self,
        table: &Table,
        stored: &StoredTable,
        bulk: &Bulk<'_>,
        outcomes: &mut Vec<Result<RowId, Conflict>>,
    ) -> Result<()> {
        let main = &stored.relation;
        self.has_written = true;
        let operation = format_args!("write {}", table.type_name);
        let refused = self.run(operation, |connection| {
            if bulk.row_ids.len() < COPIED_MIN {
                return refused(connection, bulk, &bulk.text(main), &bulk.params());
            }
            let (question, params) = (bulk.question(main), bulk.question_params());
            let refused = refused(connection, bulk, &question, &params)?;
            connection.copy_in(bulk.copies(main, &refused))?;
            Ok(refused)
        })?;
        let row_ids = bulk.row_ids.iter();
        outcomes.extend(row_ids.map(|row_id| match refused.get(row_id) {
            None => Ok(RowId(*row_id)),
            Some(key) => Err(Conflict { key: *key }),
        }));
        Ok(())
    }
}

/// The answer of a statement: the rows that are not written.
fn refused(
    connection: &mut Connection,
    bulk: &Bulk<'_>,
    text: &str,
    params: &[&(dyn ToSql + Sync)],
) -> Answer<Refused> {
    let rows = connection.query(text, params)?;
    let refused = rows.iter().map(|row| {
        let flags = (1..row.len()).map(|position| row.try_get::<_, bool>(position));
        let flags = flags.collect::<Answer<Vec<bool>>>()?;
        Ok((row.try_get::<_, i64>(0)?, bulk.refused(&flags)))
    });
    refused.collect()
}
