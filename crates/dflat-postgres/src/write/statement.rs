//! The statements that write a row and its index entries, each in one round trip.
//!
//! A statement first finds out whether another row has the key or a unique value, and writes only
//! if none has. So a conflict is an answer and not an error, which would end the transaction. No
//! other transaction writes meanwhile.

use dflat_engine::storage::IndexEntry;
use dflat_model::{RowId, Table};

use crate::layout::{StoredIndex, StoredKey, StoredTable};

/// The way in which the row itself is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A row with a new row id.
    Insert,
    /// A row with a row id that it had before.
    Restore,
    /// A row that exists, with its key.
    Update,
    /// A row that exists, with another key.
    UpdateKey,
}

/// An index entry to write.
pub(super) struct EntryWrite<'a> {
    /// Position of the index in the descriptor.
    pub(super) position: usize,
    index: &'a StoredIndex,
    /// `None` if the entry is removed.
    key: Option<StoredKey>,
    /// Whether another row with an equal value is a conflict.
    is_checked: bool,
}

impl<'a> EntryWrite<'a> {
    /// The entries of a row; those of indexes that are not stored are left out.
    pub(super) fn of(
        table: &Table,
        stored: &'a StoredTable,
        entries: &[IndexEntry<'_>],
        kind: Kind,
    ) -> Vec<Self> {
        let entries = entries.iter().filter_map(|entry| {
            let index = stored.index(table.indexes.get(entry.index)?)?;
            let keeps_equal = kind == Kind::Restore && index.admits_equal;
            Some(Self {
                position: entry.index,
                index,
                key: entry.values.get().map(StoredKey::new),
                is_checked: index.is_unique && !keeps_equal && entry.values.can_conflict(),
            })
        });
        entries.collect()
    }

    /// Whether a conflict of this entry is looked for.
    pub(super) const fn is_checked(&self) -> bool {
        self.is_checked
    }
}

/// A parameter of a statement.
pub(super) enum Param {
    Number(i64),
    Bytes(Vec<u8>),
    MaybeBytes(Option<Vec<u8>>),
}

/// The text of a statement and its parameters.
pub(super) struct RowStatement {
    pub(super) text: String,
    pub(super) params: Vec<Param>,
}

impl RowStatement {
    fn param(&mut self, param: Param) -> String {
        let number = self.params.len() + 1;
        let typed = match param {
            Param::Number(_) => format!("${number}::bigint"),
            Param::Bytes(_) | Param::MaybeBytes(_) => format!("${number}::bytea"),
        };
        self.params.push(param);
        typed
    }

    /// The statement that writes a row.
    ///
    /// Its one row has the columns: whether the row exists, whether another row has the key, and
    /// for each checked entry, whether another row has its value.
    pub(super) fn write(
        kind: Kind,
        stored: &StoredTable,
        row_id: RowId,
        (key, payload): (Option<&StoredKey>, &[u8]),
        entries: &[EntryWrite<'_>],
    ) -> Self {
        let mut statement = Self {
            text: String::new(),
            params: Vec::new(),
        };
        let main = &stored.relation;
        let id = statement.param(Param::Number(row_id.0));
        let exists = match kind {
            Kind::Insert => "false".to_owned(),
            _ => format!("EXISTS (SELECT FROM {main} WHERE rowid = {id})"),
        };
        let mut columns = vec![format!("{exists} AS e")];
        let mut conditions = vec![match kind {
            Kind::Insert => "true",
            Kind::Restore => "NOT e",
            Kind::Update | Kind::UpdateKey => "e",
        }];
        let mut written = Vec::new();
        match key {
            None => columns.push("false AS k".to_owned()),
            Some(key) => {
                let bytes = statement.param(Param::Bytes(key.key().to_vec()));
                let tie = statement.param(Param::Bytes(key.tie(row_id)));
                let rest = statement.param(Param::MaybeBytes(key.rest().map(<[u8]>::to_vec)));
                // A key of which a part is NULL may occur more than once.
                columns.push(match key.has_null() {
                    true => "false AS k".to_owned(),
                    false => format!(
                        "EXISTS (SELECT FROM {main} WHERE key = {bytes} AND tie = {tie} \
                         AND rowid <> {id}) AS k"
                    ),
                });
                conditions.push("NOT k");
                written = vec![bytes, tie, rest];
            }
        }
        let payload = statement.param(Param::Bytes(payload.to_vec()));
        let mut names = Vec::new();
        let mut parts = Vec::new();
        for (number, entry) in entries.iter().enumerate() {
            parts.push(statement.entry(number, kind, &id, entry, &mut columns, &mut names));
        }
        let conflicts: Vec<String> = names.iter().map(|name| format!("NOT {name}")).collect();
        let mut condition = conditions.join(" AND ");
        for conflict in &conflicts {
            condition.push_str(" AND ");
            condition.push_str(conflict);
        }
        let row = match (kind, written.as_slice()) {
            (Kind::Insert | Kind::Restore, [key, tie, rest]) => format!(
                "INSERT INTO {main} (rowid, key, tie, rest, p) \
                 SELECT {id}, {key}, {tie}, {rest}, {payload} FROM c WHERE {condition}"
            ),
            (_, [key, tie, rest]) => format!(
                "UPDATE {main} m SET key = {key}, tie = {tie}, rest = {rest}, p = {payload} \
                 FROM c WHERE m.rowid = {id} AND {condition}"
            ),
            _ => format!(
                "UPDATE {main} m SET p = {payload} FROM c WHERE m.rowid = {id} AND {condition}"
            ),
        };
        let mut text = format!(
            "WITH c AS MATERIALIZED (SELECT {}), w AS ({row})",
            columns.join(", ")
        );
        for (number, (part, end)) in parts.iter().enumerate() {
            text.push_str(&format!(", x{number} AS ({part} {condition}{end})"));
        }
        text.push_str(" SELECT * FROM c");
        statement.text = text;
        statement
    }

    /// The part of a statement that writes an entry: the text before its condition, and after it.
    fn entry(
        &mut self,
        number: usize,
        kind: Kind,
        id: &str,
        entry: &EntryWrite<'_>,
        columns: &mut Vec<String>,
        names: &mut Vec<String>,
    ) -> (String, &'static str) {
        let index = &entry.index.relation;
        let Some(key) = &entry.key else {
            let delete = format!("DELETE FROM {index} i USING c WHERE i.rowid = {id} AND");
            return (delete, "");
        };
        let bytes = self.param(Param::Bytes(key.key().to_vec()));
        let rest = self.param(Param::MaybeBytes(key.rest().map(<[u8]>::to_vec)));
        if entry.is_checked {
            columns.push(format!(
                "EXISTS (SELECT FROM {index} WHERE key = {bytes} \
                 AND rest IS NOT DISTINCT FROM {rest} AND rowid <> {id}) AS u{number}"
            ));
            names.push(format!("u{number}"));
        }
        let put = format!(
            "INSERT INTO {index} (rowid, key, rest) SELECT {id}, {bytes}, {rest} FROM c WHERE"
        );
        let end = match kind {
            Kind::Insert | Kind::Restore => "",
            Kind::Update | Kind::UpdateKey => {
                " ON CONFLICT (rowid) DO UPDATE SET key = excluded.key, rest = excluded.rest"
            }
        };
        (put, end)
    }
}

/// The statement that inserts rows whose keys no other rows have.
pub(super) fn insert_rows(main: &str) -> String {
    format!(
        "INSERT INTO {main} (rowid, key, tie, rest, p) SELECT * FROM \
         unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[])"
    )
}

/// The statement that replaces the payloads of rows. It fails if one of them does not exist, so
/// that the transaction is undone although the library does not wait for the answer.
pub(super) fn update_rows(main: &str) -> String {
    let update = format!(
        "UPDATE {main} m SET p = v.p FROM unnest($1::bigint[], $2::bytea[]) AS v(id, p) \
         WHERE m.rowid = v.id"
    );
    expect_rows(&update, "$3")
}

/// The statement that deletes rows. It fails if one of them does not exist.
pub(super) fn delete_rows(main: &str) -> String {
    let delete = format!("DELETE FROM {main} WHERE rowid = ANY ($1::bigint[])");
    expect_rows(&delete, "$2")
}

/// A statement that fails unless it changes a number of rows: the text is no number.
fn expect_rows(change: &str, count: &str) -> String {
    format!(
        "WITH w AS ({change} RETURNING 1) SELECT CASE WHEN count(*) = {count}::bigint THEN 0 \
         ELSE ('rows are missing, and found were only ' || count(*))::integer END FROM w"
    )
}

/// The statement that deletes the entries of rows in an index.
pub(super) fn delete_entries(index: &str) -> String {
    format!("DELETE FROM {index} WHERE rowid = ANY ($1::bigint[])")
}

/// The statement that puts entries into an index, in place of those of the same rows.
pub(super) fn put_entries(index: &str) -> String {
    format!(
        "INSERT INTO {index} (rowid, key, rest) \
         SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) \
         ON CONFLICT (rowid) DO UPDATE SET key = excluded.key, rest = excluded.rest"
    )
}

/// The statement that finds out whether rows have the values of other rows in an index.
pub(super) fn has_equal_entries(index: &str) -> String {
    format!(
        "SELECT EXISTS (SELECT FROM {index} a JOIN {index} b ON b.key = a.key \
         AND b.rest IS NOT DISTINCT FROM a.rest AND b.rowid <> a.rowid \
         WHERE a.rowid = ANY ($1::bigint[]))"
    )
}
