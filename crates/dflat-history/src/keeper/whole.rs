//! Compares all objects of a table with its tree and the steps since.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::storage::{ScanPlan, Snapshot, Source, WriteTransaction};
use dflat_model::record::Change;
use dflat_model::{RowId, Table, Value, ValueRef, key};

use super::expected::Expected;
use super::leaves::Leaves;
use super::strangers::Notes;
use super::unnoted::{
    ROWS_MAX, StateBefore, UnnotedChange, UnnotedRow, differing, each_payload, present_key,
};
use crate::chunk::Address;
use crate::commits::{Content, building, has_gap, has_trees, head, load};
use crate::past::Place;
use crate::steps::{Backwards, each_row, lacks_all};
use crate::tree::Root;

/// Row ids from here on are those of deleted objects that no step has had before.
const ROW_ID_MIN: i64 = 3 << 61;

/// A tree of the table's objects at an earlier place.
pub(super) struct Base {
    root: Root,
    place: Place,
}

impl Base {
    /// The tree that the file has: that of the last commit, or one that was built and is in no
    /// commit yet.
    ///
    /// # Errors
    /// The errors of reading.
    pub(super) fn of(writer: &mut dyn WriteTransaction, table: &Table) -> Result<Option<Self>> {
        if has_gap(writer, &table.name)? {
            return Ok(None);
        }
        let head = head(writer)?;
        if let Some(id) = head.commit {
            let commit = load(writer, id)?;
            let of = commit.tables.iter().find(|of| of.name == *table.name);
            if let Some(root) = of.filter(|of| !of.is_forgotten).and_then(|of| of.kept())
                && has_trees(writer, [root])?
            {
                let place = head.place();
                return Ok(Some(Self { root, place }));
            }
        }
        let built = building(writer, &table.name)?;
        let built = built.filter(|built| {
            built.until.is_none() && built.descriptor == Address::of(&table.to_bytes())
        });
        Ok(built.map(|built| Self {
            root: built.root,
            place: built.place(),
        }))
    }
}

/// The rows that other programs have changed, or may have changed. `None` if they are too many, or
/// the steps since the tree are.
///
/// # Errors
/// [`ErrorKind::Corrupt`](dflat_engine::ErrorKind::Corrupt) if the tree or a step cannot be read;
/// otherwise the errors of reading.
pub(super) fn compare(
    writer: &mut dyn WriteTransaction,
    table: &Table,
    base: &Base,
    notes: &Notes,
) -> Result<Option<Vec<UnnotedRow>>> {
    let Some(expected) = Expected::since(writer, table, Some(&base.place), ROWS_MAX)? else {
        return Ok(None);
    };
    let mut compared = Compared {
        table,
        content: Content::of(table),
        expected: &expected,
        notes,
        seen: Vec::new(),
        inserted: Vec::new(),
        missing: BTreeMap::new(),
        rows: Vec::new(),
    };
    differing(writer, table, (&expected, notes), &mut |row, _| {
        compared.rows.push(row);
    })?;
    let mut leaves = Leaves::of(base.root);
    while let Some(leaf) = leaves.next(writer)? {
        for (key, hash) in leaf.view().pairs() {
            if !expected.keys.contains(key) {
                compared.look_up(writer, key, hash)?;
            }
        }
        if compared.rows.len() + compared.missing.len() > ROWS_MAX {
            return Ok(None);
        }
    }
    compared.find_inserted(writer)?;
    compared.find_deleted(writer)?;
    let rows = compared.rows;
    Ok((rows.len() <= ROWS_MAX).then_some(rows))
}

struct Compared<'c> {
    table: &'c Table,
    content: Content<'c>,
    expected: &'c Expected,
    notes: &'c Notes,
    /// The rows of the objects that the tree has, and no step has changed.
    seen: Vec<RowId>,
    /// The rows that neither the tree nor a step since has.
    inserted: Vec<RowId>,
    /// The objects of the tree that the table lacks, by encoded key, with their hashes.
    missing: BTreeMap<Vec<u8>, Address>,
    rows: Vec<UnnotedRow>,
}

impl Compared<'_> {
    /// Compares the object of a key with the hash that the tree has.
    fn look_up(
        &mut self,
        writer: &mut dyn WriteTransaction,
        key: &[u8],
        hash: Address,
    ) -> Result<()> {
        let values = self.values(key)?;
        let found = find(writer, self.table, &values)?;
        // A row that a step has left with another key is not that of the object.
        let found = found.filter(|(row_id, _)| !self.expected.rows.contains_key(row_id));
        let Some((row_id, payload)) = found else {
            self.missing.insert(key.to_vec(), hash);
            return Ok(());
        };
        self.seen.push(row_id);
        let has_key = self.content.key(&payload).as_deref() == Some(key);
        if has_key && self.is(row_id, &payload, hash) {
            return Ok(());
        }
        let before = self.before(row_id, hash);
        let change = match has_key {
            true => UnnotedChange::Updated(before),
            false => {
                self.push(
                    row_id,
                    present_key(self.table, &payload),
                    UnnotedChange::Inserted,
                );
                UnnotedChange::Deleted(before)
            }
        };
        self.push(row_id, values, change);
        Ok(())
    }

    fn push(&mut self, row_id: RowId, key: Vec<Value>, change: UnnotedChange) {
        self.rows.push(UnnotedRow {
            row_id,
            key,
            change,
        });
    }

    /// Whether a payload has a hash.
    fn is(&self, row_id: RowId, payload: &[u8], hash: Address) -> bool {
        // The types may have learned values since that the payload has.
        let canonical = self.content.bytes(row_id, payload);
        canonical.is_ok_and(|bytes| Address::of(&bytes) == hash) || Address::of(payload) == hash
    }

    /// The state of a row before its change.
    fn before(&self, row_id: RowId, hash: Address) -> StateBefore {
        let noted = self.notes.get(&row_id).and_then(Option::as_ref);
        match noted.filter(|noted| self.is(row_id, noted, hash)) {
            Some(noted) => StateBefore::Known(noted.clone()),
            None => StateBefore::Lost(Some(hash)),
        }
    }

    /// The values of an encoded key.
    fn values(&self, bytes: &[u8]) -> Result<Vec<Value>> {
        let columns = self.table.primary_key.iter();
        let columns: Vec<_> = columns.map(|field| field.column_type()).collect();
        key::decode(bytes, &columns).map_err(|_| {
            let name = &self.table.type_name;
            let message = format!("a key in a tree of {name} is malformed");
            dflat_engine::Error::new(dflat_engine::ErrorKind::Corrupt, message)
        })
    }

    /// Finds the rows that neither the tree nor a step has.
    fn find_inserted(&mut self, writer: &mut dyn WriteTransaction) -> Result<()> {
        self.seen.sort_unstable();
        let (seen, expected) = (&self.seen, self.expected);
        let mut inserted = Vec::new();
        let plan = ScanPlan {
            table: self.table,
            source: Source::Rows,
            payload: false,
        };
        writer.scan(&plan, &mut |row| {
            let is_known =
                seen.binary_search(&row.row_id).is_ok() || expected.rows.contains_key(&row.row_id);
            if !is_known {
                inserted.push(row.row_id);
            }
            match inserted.len() <= ROWS_MAX {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        let (table, content, rows) = (self.table, &self.content, &mut self.rows);
        each_payload(writer, table, &inserted, &mut |row_id, payload| {
            let Some(payload) = payload else {
                return;
            };
            let change = match content.key(payload) {
                Some(_) => UnnotedChange::Inserted,
                // No tree has an object whose key lacks a part, so it may have been there.
                None => UnnotedChange::Updated(StateBefore::Lost(None)),
            };
            rows.push(UnnotedRow {
                row_id,
                key: present_key(table, payload),
                change,
            });
        })?;
        self.inserted = inserted;
        Ok(())
    }

    /// Finds the rows that the steps have, and the table lacks: those of deleted objects, and those
    /// of objects that have other row ids now.
    fn find_deleted(&mut self, writer: &mut dyn WriteTransaction) -> Result<()> {
        let mut missing = std::mem::take(&mut self.missing);
        let (mut settled, mut moved) = (HashSet::new(), Vec::new());
        let mut steps = Backwards::below(None);
        while let Some(step) = steps.next(writer as &mut dyn Snapshot)? {
            each_row(&step, &mut |name, row| {
                let is_row = *name == *self.table.name && row.change != Change::Mended;
                if !is_row || !settled.insert(row.row_id) {
                    return Ok(());
                }
                let is_there = self.seen.binary_search(&row.row_id).is_ok();
                let was_there = !matches!(row.change, Change::Deleted(_));
                if is_there || !was_there || self.expected.rows.contains_key(&row.row_id) {
                    return Ok(());
                }
                let key = key::encode(row.key.iter().copied());
                let is_present = self.inserted.binary_search(&row.row_id).is_ok();
                match missing.remove(&key) {
                    Some(hash) => self.delete(row.row_id, &key, hash)?,
                    // Its object has a key that lacks a part, and is there.
                    None if is_present && row.key.contains(&ValueRef::Null) => {}
                    None => moved.push((row.row_id, key)),
                }
                Ok(())
            })?;
            // The rows of before may be other ones.
            if lacks_all(&step, self.table)? {
                break;
            }
        }
        for (key, hash) in missing {
            self.delete(new_row_id(&key), &key, hash)?;
        }
        for (row_id, key) in moved {
            self.note_moved(writer, (row_id, &key), &settled)?;
        }
        Ok(())
    }

    fn delete(&mut self, row_id: RowId, key: &[u8], hash: Address) -> Result<()> {
        let before = self.before(row_id, hash);
        let values = self.values(key)?;
        self.push(row_id, values, UnnotedChange::Deleted(before));
        Ok(())
    }

    /// Lists the change of an object that has another row id now, or is no longer there although no
    /// tree has it. `settled` are the rows that the steps have.
    fn note_moved(
        &mut self,
        writer: &mut dyn WriteTransaction,
        (from, key): (RowId, &[u8]),
        settled: &HashSet<RowId>,
    ) -> Result<()> {
        let values = self.values(key)?;
        let found = match values.contains(&Value::Null) {
            true => None,
            false => find(writer, self.table, &values)?,
        };
        // A row that the steps have is not the one to which the object was moved.
        let is_new = |to: &RowId| self.seen.binary_search(to).is_ok() && !settled.contains(to);
        let before = match found.filter(|(to, _)| is_new(to)) {
            Some((to, payload)) => self.insert_moved((to, &values), payload),
            None => StateBefore::Lost(None),
        };
        self.push(from, values, UnnotedChange::Deleted(before));
        Ok(())
    }

    /// Lists the insertion of an object in the row that it has now. Returns the state before that
    /// it had in another row.
    fn insert_moved(&mut self, (to, key): (RowId, &[Value]), payload: Vec<u8>) -> StateBefore {
        let is_same = |row: &&mut UnnotedRow| row.row_id == to && row.key == key;
        let Some(row) = self.rows.iter_mut().find(is_same) else {
            self.push(to, key.to_vec(), UnnotedChange::Inserted);
            return StateBefore::Known(payload);
        };
        match std::mem::replace(&mut row.change, UnnotedChange::Inserted) {
            UnnotedChange::Updated(before) => before,
            _ => StateBefore::Lost(None),
        }
    }
}

/// The row that has a key, and its payload.
fn find(
    writer: &mut dyn WriteTransaction,
    table: &Table,
    key: &[Value],
) -> Result<Option<(RowId, Vec<u8>)>> {
    let parts: Vec<ValueRef<'_>> = key.iter().map(Value::as_ref).collect();
    let mut found = None;
    let plan = ScanPlan {
        table,
        source: Source::PrimaryKey(&parts),
        payload: true,
    };
    writer.scan(&plan, &mut |row| {
        found = Some((row.row_id, row.payload.to_vec()));
        ControlFlow::Break(())
    })?;
    Ok(found)
}

/// A row id for a deleted object whose row is not known: no row of the table has it.
fn new_row_id(key: &[u8]) -> RowId {
    let hash = Address::of(key);
    let first = hash.as_bytes().first_chunk().copied().unwrap_or_default();
    RowId(ROW_ID_MIN | (i64::from_le_bytes(first) & ((1 << 61) - 1)))
}
