//! Adds batches to first trees.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::rc::Rc;
use std::sync::Arc;

use dflat_engine::engine::{Engine, PerformOptions};
use dflat_engine::storage::{Key, KeyScan, ScanPlan, Snapshot, Source, WriteTransaction};
use dflat_engine::transaction::Transaction;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{Direction, RowId, Table, TableDescriptor, Value, ValueRef, key};

use super::state::{Building, building, damaged, put_building};
use crate::chunk::{Address, ChunkStore};
use crate::commits::advance::{edits, latest};
use crate::commits::content::Content;
use crate::commits::log::load;
use crate::commits::refs::head;
use crate::commits::store::FileStore;
use crate::past::{Moment, Overlay, Place};
use crate::steps::{Backwards, StepSource, prepare, rows_of};
use crate::tree::{Edit, Root, Trees};

/// The objects of a batch, and the bytes of them after which no further one is read. A table with
/// fewer objects has its tree built by the first commit.
const OBJECTS: usize = 2048;
const BYTES: usize = 1 << 20;

/// If more rows have changed since the last batch or the last commit, the tree is built anew.
const ROWS_MAX: usize = 50_000;

/// Whether there is a batch to add to the first tree of a table: the build has begun and has not
/// ended, or no commit has a tree, and the objects are more than one batch.
///
/// # Errors
/// The errors of reading.
pub fn needs_batch(engine: &Engine, table: &Table) -> Result<bool> {
    engine.read_history(|snapshot| {
        if let Some(building) = building(snapshot, &table.name)? {
            return Ok(building.until.is_some());
        }
        if has_tree(snapshot, table)? {
            return Ok(false);
        }
        let mut objects = 0;
        let plan = ScanPlan {
            table,
            source: Source::Rows,
            payload: false,
        };
        snapshot.scan(&plan, &mut |_| {
            objects += 1;
            match objects <= OBJECTS {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        Ok(objects > OBJECTS)
    })
}

/// Whether the last commit has a tree of a table.
fn has_tree(snapshot: &mut dyn Snapshot, table: &Table) -> Result<bool> {
    let Some(id) = head(snapshot)?.commit else {
        return Ok(false);
    };
    let commit = load(snapshot, id)?;
    let mut of_commit = commit.tables.iter().filter(|of| !of.is_forgotten);
    Ok(of_commit.any(|of| of.name == *table.name))
}

/// Adds the next batch to the first tree of a table, in a transaction, from which on the table is
/// versioned. Returns whether the tree has all objects now.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] if the table is not versioned, or a key is too long for a tree;
/// [`ErrorKind::Corrupt`] if an object or the history is damaged; otherwise those of
/// [`Engine::perform_here`].
pub fn build_batch(engine: &Engine, table: &Table) -> Result<bool> {
    let store = FileStore::new(engine);
    let options = PerformOptions { write_first: true };
    let handler = |transaction: &Rc<Transaction>| {
        prepare(transaction, std::slice::from_ref(table))?;
        transaction.write_history(table, |writer| {
            let Some(table) = stored(writer, table)? else {
                let message = format!(
                    "cannot build the tree of {}: the type is not versioned",
                    table.type_name
                );
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            };
            let before = building(writer, &table.name)?;
            // A commit may have ended the build while this transaction waited for its turn.
            if before.is_none() && has_tree(writer, &table)? {
                return Ok(true);
            }
            let trees = Trees::new(Arc::clone(&store) as Arc<dyn ChunkStore>);
            let batch = Batch {
                table: &table,
                trees: &trees,
            };
            let building = batch.add(writer, before)?;
            store.write(writer)?;
            put_building(writer, &table.name, &building)?;
            Ok(building.until.is_none())
        })
    };
    engine.perform_here([table.clone()], options, handler, |_| ())
}

/// The table as the file describes it, if it is versioned.
fn stored(writer: &mut dyn WriteTransaction, table: &Table) -> Result<Option<Table>> {
    let Some(bytes) = writer.stored_schema(table)? else {
        return Ok(None);
    };
    if !TableDescriptor::is_versioned(&bytes) {
        return Ok(None);
    }
    let stored = TableDescriptor::from_bytes(&bytes).map_err(|error| {
        let message = format!(
            "cannot read the stored schema of {}: {error}",
            table.type_name
        );
        Error::new(ErrorKind::Corrupt, message)
    })?;
    Ok(Some(Table::new(stored)))
}

struct Batch<'b> {
    table: &'b Table,
    trees: &'b Trees,
}

impl Batch<'_> {
    /// The state with the changes since and the next objects.
    fn add(
        &self,
        writer: &mut dyn WriteTransaction,
        mut before: Option<Building>,
    ) -> Result<Building> {
        let descriptor = Address::of(&self.table.to_bytes());
        if let Some(of) = &before
            && (of.descriptor != descriptor || is_far(writer as &mut dyn Snapshot, &of.place())?)
        {
            before = None;
        }
        let mut edits = match &before {
            Some(of) => self.changes(writer, of)?,
            None => BTreeMap::new(),
        };
        let until = match before.as_ref().map(|of| &of.until) {
            // All objects are there.
            Some(None) => None,
            Some(Some(until)) => self.next(writer, Some(until), &mut edits)?,
            None => self.next(writer, None, &mut edits)?,
        };
        let root = before.map_or(Root::EMPTY, |of| of.root);
        let edits = edits.into_iter();
        let edits = edits.map(|(key, payload)| Edit {
            key: key.into(),
            payload,
        });
        Ok(Building {
            step: latest(writer)?,
            root: self.trees.apply(&root, edits)?,
            until,
            descriptor,
        })
    }

    /// The changes of later steps to the objects that the tree has.
    fn changes(
        &self,
        writer: &mut dyn WriteTransaction,
        before: &Building,
    ) -> Result<BTreeMap<Vec<u8>, Option<Address>>> {
        let moment = Moment::Commit(before.place());
        let tables = std::slice::from_ref(self.table);
        let earlier = Overlay::build(writer, tables, &moment)?;
        let mut edits = edits(writer, self.table, &earlier)?;
        if let Some(until) = &before.until {
            edits.retain(|key, _| key <= until);
        }
        Ok(edits)
    }

    /// Adds the next objects behind a key. Returns the last key; none if these are all.
    fn next(
        &self,
        writer: &mut dyn WriteTransaction,
        behind: Option<&Vec<u8>>,
        edits: &mut BTreeMap<Vec<u8>, Option<Address>>,
    ) -> Result<Option<Vec<u8>>> {
        let parts = match behind {
            Some(key) => self.parts(key)?,
            None => Vec::new(),
        };
        let mut added = Added {
            content: Content::of(self.table),
            edits,
            objects: 0,
            bytes: 0,
            last: behind.cloned(),
            row_id: RowId(0),
        };
        // The objects with the same first parts come first, then those with fewer same parts.
        for count in (0..parts.len().max(1)).rev() {
            let lower = parts.get(count).map_or(Bound::Unbounded, Bound::Excluded);
            let prefix = parts.get(..count).unwrap_or_default();
            if added.scan(writer, self.table, (prefix, lower))?.is_break() {
                self.check_last(writer, added.last.as_deref(), added.row_id)?;
                return Ok(added.last);
            }
        }
        Ok(None)
    }

    /// Fails if the last row of a batch has another key than its object: the next batch would begin
    /// at another place.
    fn check_last(
        &self,
        writer: &mut dyn WriteTransaction,
        key: Option<&[u8]>,
        row_id: RowId,
    ) -> Result<()> {
        let parts = self.parts(key.unwrap_or_default())?;
        let parts: Vec<ValueRef<'_>> = parts.iter().map(Value::as_ref).collect();
        let mut found = None;
        let plan = ScanPlan {
            table: self.table,
            source: Source::PrimaryKey(&parts),
            payload: false,
        };
        writer.scan(&plan, &mut |row| {
            found = Some(row.row_id);
            ControlFlow::Break(())
        })?;
        match found == Some(row_id) {
            true => Ok(()),
            false => Err(other_key(self.table, row_id)),
        }
    }

    /// The values of an encoded key.
    fn parts(&self, key: &[u8]) -> Result<Vec<Value>> {
        let columns: Vec<_> = self
            .table
            .primary_key
            .iter()
            .map(|field| field.column_type())
            .collect();
        key::decode(key, &columns).map_err(|_| damaged())
    }
}

#[cold]
fn other_key(table: &Table, row_id: RowId) -> Error {
    let message = format!(
        "cannot build the tree of {}: row {row_id}, or the row before it in the order of the keys, \
         has another key than its object; another program has written it",
        table.type_name
    );
    Error::new(ErrorKind::Corrupt, message)
}

/// Whether so many rows have changed since a place that a tree is built from all objects.
///
/// # Errors
/// [`ErrorKind::Corrupt`] for a step that cannot be read; otherwise the errors of reading.
pub(crate) fn is_far(source: &mut (impl StepSource + ?Sized), place: &Place) -> Result<bool> {
    let (mut rows, mut steps) = (0, Backwards::below(None));
    while let Some(step) = steps.next(source)?
        && !place.is_at(&step)
        && rows <= ROWS_MAX
    {
        rows += rows_of(&step)?.values().map(Vec::len).sum::<usize>();
    }
    Ok(rows > ROWS_MAX)
}

/// The objects of a batch.
struct Added<'a> {
    content: Content<'a>,
    edits: &'a mut BTreeMap<Vec<u8>, Option<Address>>,
    objects: usize,
    bytes: usize,
    /// The last key, and the row of its object.
    last: Option<Vec<u8>>,
    row_id: RowId,
}

impl Added<'_> {
    /// Adds the objects with the first parts of a key and a larger next one. Breaks if the batch is
    /// full.
    fn scan(
        &mut self,
        writer: &mut dyn WriteTransaction,
        table: &Table,
        (prefix, lower): (&[Value], Bound<&Value>),
    ) -> Result<ControlFlow<()>> {
        let plan = ScanPlan {
            table,
            source: Source::Key(KeyScan {
                key: Key::Primary,
                prefix,
                lower,
                upper: Bound::Unbounded,
                direction: Direction::Ascending,
                after: None,
            }),
            payload: true,
        };
        let mut flow = Ok(ControlFlow::Continue(()));
        writer.scan(&plan, &mut |row| {
            let entry = self.content.entry(row.row_id, row.payload);
            flow = entry.and_then(|entry| match entry {
                // The rows come in the order of their key columns.
                Some((key, _)) if self.last.as_ref() >= Some(&key) => {
                    Err(other_key(table, row.row_id))
                }
                Some((key, hash)) => {
                    self.objects += 1;
                    self.bytes += row.payload.len();
                    (self.last, self.row_id) = (Some(key.clone()), row.row_id);
                    self.edits.insert(key, Some(hash));
                    match self.objects < OBJECTS && self.bytes < BYTES {
                        true => Ok(ControlFlow::Continue(())),
                        false => Ok(ControlFlow::Break(())),
                    }
                }
                None => Ok(ControlFlow::Continue(())),
            });
            match &flow {
                Ok(flow) => *flow,
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        flow
    }
}
