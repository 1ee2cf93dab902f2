//! Writes that are sent together with later ones.
//!
//! A write that can't conflict has a known answer, so it needs no round trip of its own. Such
//! writes are an update that leaves the keys as they are, a deletion, both of rows that the engine
//! has found, and an insertion under a key that the engine has looked up and not found. They wait
//! here until something else is asked of the server, or many of them are here. They are then sent
//! by a few statements; their answers are taken with that of the next question.

use std::collections::{BTreeMap, BTreeSet};

use dflat_engine::storage::{IndexEntry, RowWrite};
use dflat_model::{RowId, Table};

use super::statement::{delete_entries, delete_rows, insert_rows, put_entries, update_rows};
use crate::layout::{StoredKey, StoredTable};
use crate::server::OwnedParam;

/// The most rows that wait.
const ROWS_MAX: usize = 512;

/// The most bytes of payloads that wait, apart from those of the last row.
const BYTES_MAX: usize = 256 << 10;

/// A statement with its parameters.
pub(super) type Posting = (String, Vec<OwnedParam>);

/// The writes that wait.
#[derive(Default)]
pub(super) struct Pending {
    tables: Vec<PendingTable>,
    bytes: usize,
}

/// The writes of a table. A row is inserted, updated or deleted, and only one of these.
struct PendingTable {
    relation: String,
    inserted: BTreeMap<i64, (StoredKey, Vec<u8>)>,
    updated: BTreeMap<i64, Vec<u8>>,
    deleted: BTreeSet<i64>,
    indexes: Vec<PendingIndex>,
}

/// The entries of an index.
struct PendingIndex {
    relation: String,
    /// The new entry of each row; `None` if the row has no entry any more.
    entries: BTreeMap<i64, Option<StoredKey>>,
}

impl Pending {
    pub(super) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Whether the writes should be sent.
    pub(super) fn is_full(&self) -> bool {
        let rows =
            |table: &PendingTable| table.inserted.len() + table.updated.len() + table.deleted.len();
        self.bytes >= BYTES_MAX || self.tables.iter().map(rows).sum::<usize>() >= ROWS_MAX
    }

    fn table(&mut self, stored: &StoredTable) -> Option<&mut PendingTable> {
        let known = |table: &PendingTable| table.relation == stored.relation;
        let position = self.tables.iter().position(known);
        let position = position.unwrap_or_else(|| {
            self.tables.push(PendingTable {
                relation: stored.relation.clone(),
                inserted: BTreeMap::new(),
                updated: BTreeMap::new(),
                deleted: BTreeSet::new(),
                indexes: Vec::new(),
            });
            self.tables.len() - 1
        });
        self.tables.get_mut(position)
    }

    /// Adds an update, if it can't conflict.
    pub(super) fn update(
        &mut self,
        table: &Table,
        stored: &StoredTable,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> bool {
        if row.key.is_some() || may_conflict(table, stored, row) {
            return false;
        }
        let Some(pending) = self.table(stored) else {
            return false;
        };
        if pending.deleted.contains(&row_id.0) {
            return false;
        }
        match pending.inserted.get_mut(&row_id.0) {
            Some((_, payload)) => *payload = row.payload.to_vec(),
            None => drop(pending.updated.insert(row_id.0, row.payload.to_vec())),
        }
        pending.put_entries(table, stored, row_id, row);
        self.bytes += row.payload.len();
        true
    }

    /// Adds a row whose key no other row has, if its other values can't conflict.
    pub(super) fn insert(
        &mut self,
        table: &Table,
        stored: &StoredTable,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> bool {
        let Some(key) = row.key.map(StoredKey::new) else {
            return false;
        };
        if may_conflict(table, stored, row) {
            return false;
        }
        let Some(pending) = self.table(stored) else {
            return false;
        };
        let inserted = (key, row.payload.to_vec());
        pending.inserted.insert(row_id.0, inserted);
        pending.put_entries(table, stored, row_id, row);
        self.bytes += row.payload.len();
        true
    }

    /// Adds the deletion of a row and its entries, unless its insertion waits.
    pub(super) fn delete(&mut self, stored: &StoredTable, row_id: RowId) -> bool {
        let Some(pending) = self.table(stored) else {
            return false;
        };
        if pending.inserted.contains_key(&row_id.0) {
            return false;
        }
        pending.updated.remove(&row_id.0);
        pending.deleted.insert(row_id.0);
        for index in &stored.indexes {
            pending.entries(&index.relation).insert(row_id.0, None);
        }
        true
    }

    /// Takes the writes, as statements to send in this order.
    pub(super) fn take(&mut self) -> Vec<Posting> {
        self.bytes = 0;
        let mut postings = Vec::new();
        for table in std::mem::take(&mut self.tables) {
            table.add_to(&mut postings);
        }
        postings
    }
}

impl PendingTable {
    fn entries(&mut self, relation: &str) -> &mut BTreeMap<i64, Option<StoredKey>> {
        let known = |index: &PendingIndex| index.relation == relation;
        let position = self.indexes.iter().position(known).unwrap_or_else(|| {
            self.indexes.push(PendingIndex {
                relation: relation.to_owned(),
                entries: BTreeMap::new(),
            });
            self.indexes.len() - 1
        });
        &mut self.indexes[position].entries
    }

    fn put_entries(
        &mut self,
        table: &Table,
        stored: &StoredTable,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) {
        for entry in row.entries {
            let index = table.indexes.get(entry.index);
            if let Some(index) = index.and_then(|index| stored.index(index)) {
                let key = entry.values.get().map(StoredKey::new);
                self.entries(&index.relation).insert(row_id.0, key);
            }
        }
    }

    fn add_inserted_to(&mut self, postings: &mut Vec<Posting>) {
        let (mut row_ids, mut payloads) = (Vec::new(), Vec::new());
        let (mut keys, mut ties, mut rests) = (Vec::new(), Vec::new(), Vec::new());
        for (row_id, (key, payload)) in std::mem::take(&mut self.inserted) {
            row_ids.push(row_id);
            keys.push(key.key().to_vec());
            ties.push(key.tie(RowId(row_id)));
            rests.push(key.rest().map(<[u8]>::to_vec));
            payloads.push(payload);
        }
        if !row_ids.is_empty() {
            let params: Vec<OwnedParam> = vec![
                Box::new(row_ids),
                Box::new(keys),
                Box::new(ties),
                Box::new(rests),
                Box::new(payloads),
            ];
            postings.push((insert_rows(&self.relation), params));
        }
    }

    /// Adds the statements. Deletions come first: an inserted row may have the key of a deleted
    /// one.
    fn add_to(mut self, postings: &mut Vec<Posting>) {
        if !self.deleted.is_empty() {
            let row_ids: Vec<i64> = std::mem::take(&mut self.deleted).into_iter().collect();
            let count = count(&row_ids);
            let params: Vec<OwnedParam> = vec![Box::new(row_ids), Box::new(count)];
            postings.push((delete_rows(&self.relation), params));
        }
        self.add_inserted_to(postings);
        if !self.updated.is_empty() {
            let (row_ids, payloads): (Vec<i64>, Vec<Vec<u8>>) = self.updated.into_iter().unzip();
            let count = count(&row_ids);
            let params: Vec<OwnedParam> =
                vec![Box::new(row_ids), Box::new(payloads), Box::new(count)];
            postings.push((update_rows(&self.relation), params));
        }
        for index in self.indexes {
            index.add_to(postings);
        }
    }
}

impl PendingIndex {
    fn add_to(self, postings: &mut Vec<Posting>) {
        let (mut row_ids, mut keys, mut rests) = (Vec::new(), Vec::new(), Vec::new());
        let mut removed: Vec<i64> = Vec::new();
        for (row_id, key) in self.entries {
            let Some(key) = key else {
                removed.push(row_id);
                continue;
            };
            row_ids.push(row_id);
            keys.push(key.key().to_vec());
            rests.push(key.rest().map(<[u8]>::to_vec));
        }
        if !removed.is_empty() {
            postings.push((delete_entries(&self.relation), vec![Box::new(removed)]));
        }
        if !row_ids.is_empty() {
            let params: Vec<OwnedParam> = vec![Box::new(row_ids), Box::new(keys), Box::new(rests)];
            postings.push((put_entries(&self.relation), params));
        }
    }
}

/// Whether another row may have a unique value of a row.
fn may_conflict(table: &Table, stored: &StoredTable, row: &RowWrite<'_>) -> bool {
    row.entries.iter().any(|entry: &IndexEntry<'_>| {
        let index = table.indexes.get(entry.index);
        let index = index.and_then(|index| stored.index(index));
        index.is_some_and(|index| index.is_unique) && entry.values.can_conflict()
    })
}

fn count(row_ids: &[i64]) -> i64 {
    row_ids.len() as i64
}
