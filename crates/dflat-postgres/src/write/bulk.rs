//! Inserts many rows by one statement.
//!
//! As a statement of one row does, it first finds out which rows have the key or a unique value of
//! another row, and writes the others. Rows of one statement do not see one another, so a row with
//! a value of an earlier one begins another statement.

use std::collections::HashSet;

use dflat_engine::Result;
use dflat_engine::storage::{Conflict, Key, RowWrite};
use dflat_model::{RowId, Table};
use tokio_postgres::types::ToSql;

use super::transaction::PostgresTransaction;
use crate::layout::{StoredIndex, StoredKey, StoredTable};

/// The most bytes of payloads of a statement, apart from those of its last row.
const BYTES_MAX: usize = 1 << 20;

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

    /// The statement. Its rows are those that were not written: the row id, whether another row has
    /// the key, and for each unique index, whether another row has the value.
    fn text(&self, main: &str) -> String {
        let mut arrays =
            String::from("$1::bigint[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[]");
        let mut names = String::from("id, key, tie, rest, p");
        let mut flags = vec!["k".to_owned()];
        let mut columns = vec![format!(
            "EXISTS (SELECT FROM {main} m WHERE m.key = v.key AND m.tie = v.tie) AS k"
        )];
        let mut param = 5;
        for (number, index) in self.indexes.iter().enumerate() {
            arrays.push_str(&format!(
                ", ${}::bytea[], ${}::bytea[]",
                param + 1,
                param + 2
            ));
            names.push_str(&format!(", k{number}, r{number}"));
            param += 2;
            if index.stored.is_unique {
                param += 1;
                arrays.push_str(&format!(", ${param}::boolean[]"));
                names.push_str(&format!(", q{number}"));
                flags.push(format!("u{number}"));
                columns.push(format!(
                    "v.q{number} AND EXISTS (SELECT FROM {} i WHERE i.key = v.k{number} \
                     AND i.rest IS NOT DISTINCT FROM v.r{number}) AS u{number}",
                    index.stored.relation
                ));
            }
        }
        let (columns, refused) = (columns.join(", "), flags.join(" OR "));
        let mut text = format!(
            "WITH c AS MATERIALIZED (SELECT v.*, {columns} FROM unnest({arrays}) AS v({names})), \
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
        text.push_str(&format!(
            " SELECT id, {} FROM c WHERE {refused}",
            flags.join(", ")
        ));
        text
    }

    fn params(&self) -> Vec<&(dyn ToSql + Sync)> {
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![
            &self.row_ids,
            &self.keys,
            &self.ties,
            &self.rests,
            &self.payloads,
        ];
        for index in &self.indexes {
            params.push(&index.keys);
            params.push(&index.rests);
            if index.stored.is_unique {
                params.push(&index.checked);
            }
        }
        params
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

impl PostgresTransaction {
    /// Inserts rows, as few statements as possible.
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
        let (text, params) = (bulk.text(&stored.relation), bulk.params());
        self.has_written = true;
        let operation = format_args!("write {}", table.type_name);
        let refused = self.run(operation, |connection| {
            let rows = connection.query(&text, &params)?;
            let refused = rows.iter().map(|row| {
                let flags = (1..row.len()).map(|position| row.try_get::<_, bool>(position));
                let flags = flags.collect::<std::result::Result<Vec<bool>, _>>()?;
                Ok((row.try_get::<_, i64>(0)?, bulk.refused(&flags)))
            });
            refused.collect::<std::result::Result<std::collections::HashMap<i64, Key>, _>>()
        })?;
        let row_ids = bulk.row_ids.iter();
        outcomes.extend(row_ids.map(|row_id| match refused.get(row_id) {
            None => Ok(RowId(*row_id)),
            Some(key) => Err(Conflict { key: *key }),
        }));
        Ok(())
    }
}
