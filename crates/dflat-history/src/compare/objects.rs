//! The differences between two states, object by object.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use dflat_engine::engine::{Engine, EngineSnapshot};
use dflat_engine::storage::Snapshot;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{RowId, Table};

use super::change::ObjectChange;
use super::listed::ListedKeys;
use super::states::{KeyedStates, states_at};
use super::version::Version;
use crate::chunk::ChunkStore;
use crate::commits::{CommitId, Content, FileStore, load};
use crate::past::{Moment, Place};
use crate::tree::{Diff, EntryChange, Root, Trees};

/// The bytes of objects that a batch is to have, and the limits of its number of objects.
const BATCH_BYTES: usize = 4 << 20;
const OBJECTS_MIN: usize = 16;
const OBJECTS_MAX: usize = 4096;

/// The same for objects whose keys are known from steps, which are read again for each batch.
const LISTED_BYTES: usize = 16 << 20;
const LISTED_MAX: usize = 32 * 1024;

/// The objects of a type that differ between two states, in order of their keys. After an error it
/// ends.
pub struct ObjectDiff {
    snapshot: EngineSnapshot,
    table: Table,
    moments: [Moment; 2],
    store: Arc<FileStore>,
    keys: Keys,
    batch: VecDeque<ObjectChange>,
    batch_objects: usize,
}

/// The keys of objects that differ, in ascending order.
enum Keys {
    /// Between two commits, from their trees.
    OfTrees(Diff),
    /// From the steps, and more than those that differ.
    Listed(ListedKeys),
    /// There are no more.
    Ended,
}

/// One of the states.
struct Side {
    moment: Moment,
    content: SideContent,
}

/// The content of a state, as far as it is known.
enum SideContent {
    Unknown,
    NoObjects,
    OfCommit(CommitId),
}

impl Side {
    fn of(engine: &Engine, version: Version) -> Result<Self> {
        Ok(Self {
            moment: version.moment(engine)?,
            content: match version {
                Version::Step(_) => SideContent::Unknown,
                Version::Commit(id) => SideContent::OfCommit(id),
            },
        })
    }

    /// The root of a table in a commit, if it is known.
    fn root(&self, snapshot: &mut dyn Snapshot, table: &Table) -> Result<Option<Root>> {
        Ok(match self.content {
            SideContent::Unknown => None,
            SideContent::NoObjects => Some(Root::EMPTY),
            SideContent::OfCommit(id) => load(snapshot, id)?.kept_root(&table.name),
        })
    }
}

impl ObjectDiff {
    /// The differences between two states of a table. `tables` are all versioned tables.
    ///
    /// A batch of about 4 MiB of objects is in memory; for each batch, the steps back to the
    /// earlier state are read. Unless both are commits whose trees are kept, a batch has about
    /// 16 MiB, and 4 MiB of keys are in memory, for which these steps are read once more.
    ///
    /// # Errors
    /// - [`ErrorKind::NotFound`] if there is no such step or commit.
    /// - [`ErrorKind::InvalidArgument`] if the table is not versioned.
    /// - [`ErrorKind::Corrupt`] if the history does not fit the objects.
    /// - Otherwise the errors of reading.
    pub fn new(
        engine: &Engine,
        tables: &[Table],
        table: &Table,
        (from, to): (Version, Version),
    ) -> Result<Self> {
        let sides = [Side::of(engine, from)?, Side::of(engine, to)?];
        Self::between(engine, tables, table, sides)
    }

    fn between(engine: &Engine, tables: &[Table], table: &Table, sides: [Side; 2]) -> Result<Self> {
        let Some(table) = tables.iter().find(|known| known.is_stored_as(table)) else {
            let message = format!(
                "cannot compare states of {}: the type is not versioned",
                table.type_name
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        };
        let snapshot = engine.snapshot()?;
        let store = FileStore::of_snapshot(&snapshot, table);
        let trees = Trees::new(Arc::clone(&store) as Arc<dyn ChunkStore>);
        let roots = snapshot.read(table, |snapshot, _| {
            let roots = sides.each_ref().map(|side| side.root(snapshot, table));
            let [from, to] = roots;
            Ok(from?.zip(to?))
        })?;
        // The trees of some commits are not kept.
        let kept = match roots {
            Some((from, to)) if has_trees(&store, &[from, to])? => roots,
            _ => None,
        };
        let keys = match kept {
            Some((from, to)) => Keys::OfTrees(trees.diff(&from, &to)?),
            None => Keys::Listed(ListedKeys::new()),
        };
        let mut diff = Self {
            snapshot,
            table: table.clone(),
            moments: sides.map(|side| side.moment),
            store,
            keys,
            batch: VecDeque::new(),
            batch_objects: OBJECTS_MIN,
        };
        if kept.is_none() {
            diff.fill()?;
            if diff.batch.is_empty()
                && let Some((from, to)) = roots
                && from != to
            {
                let name = &table.type_name;
                let message =
                    format!("cannot compare commits of {name}: its history was forgotten since");
                return Err(Error::new(ErrorKind::NotFound, message));
            }
        }
        Ok(diff)
    }

    /// The changes of a commit since another one; all objects if there is none.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn since(
        engine: &Engine,
        tables: &[Table],
        table: &Table,
        (from, to): (Option<CommitId>, CommitId),
    ) -> Result<Self> {
        let from = match from {
            Some(from) => Side::of(engine, Version::Commit(from))?,
            None => Side {
                moment: Moment::Commit(Place::EMPTY),
                content: SideContent::NoObjects,
            },
        };
        let to = Side::of(engine, Version::Commit(to))?;
        Self::between(engine, tables, table, [from, to])
    }

    /// The number of nodes that were read from the file.
    #[must_use]
    pub fn chunk_reads(&self) -> u64 {
        self.store.reads()
    }

    fn read(&mut self) -> Result<Option<ObjectChange>> {
        if self.batch.is_empty() {
            self.fill()?;
        }
        Ok(self.batch.pop_front())
    }

    /// Reads the next batch, which has an object unless there is none left.
    fn fill(&mut self) -> Result<()> {
        while self.batch.is_empty() {
            let (bytes, objects, (bytes_max, most)) = match &mut self.keys {
                Keys::Ended => return Ok(()),
                Keys::OfTrees(keys) => {
                    let entries = keys.take(self.batch_objects);
                    let entries: Vec<EntryChange> = entries.collect::<Result<_>>()?;
                    let objects = entries.len();
                    self.batch = self.objects(entries)?;
                    let bytes = self.batch.iter().map(ObjectChange::bytes).sum();
                    (bytes, objects, (BATCH_BYTES, OBJECTS_MAX))
                }
                Keys::Listed(keys) => {
                    let (table, count) = (&self.table, self.batch_objects);
                    let keys = self.snapshot.read(table, |snapshot, _| {
                        keys.take(snapshot, table, (&self.moments, count))
                    })?;
                    let objects = keys.len();
                    (self.batch_of(keys)?, objects, (LISTED_BYTES, LISTED_MAX))
                }
            };
            if objects == 0 {
                self.keys = Keys::Ended;
            }
            let fitting = bytes_max.saturating_mul(objects) / bytes.max(1);
            self.batch_objects = fitting.clamp(OBJECTS_MIN, most);
        }
        Ok(())
    }

    /// The objects with some keys in both states.
    fn states(&self, keys: &BTreeSet<Vec<u8>>) -> Result<[KeyedStates; 2]> {
        let table = &self.table;
        let states = self.snapshot.read(table, |snapshot, _| {
            let wanted = self.moments.each_ref();
            let wanted = wanted.map(|moment| (moment.clone(), keys));
            states_at(snapshot, table, &wanted)
        })?;
        <[_; 2]>::try_from(states).map_err(|_| self.misfit())
    }

    /// Fills the batch with the objects among these that differ. Returns the bytes of all.
    fn batch_of(&mut self, keys: BTreeSet<Vec<u8>>) -> Result<usize> {
        let [mut before, mut after] = self.states(&keys)?;
        let content = Content::of(&self.table);
        let (mut batch, mut bytes) = (VecDeque::new(), 0);
        for key in keys {
            let before = before.remove(&key).map(with_row_id);
            let after = after.remove(&key).map(with_row_id);
            // Other bytes may have the same values.
            let is_same = match (&before, &after) {
                (None, None) => true,
                (Some((row_id, before)), Some((other, after))) => {
                    before == after
                        || content.bytes(*row_id, before)? == content.bytes(*other, after)?
                }
                _ => false,
            };
            let change = ObjectChange { key, before, after };
            bytes += change.bytes();
            if !is_same {
                batch.push_back(change);
            }
        }
        self.batch = batch;
        Ok(bytes)
    }

    /// The objects of changed entries.
    fn objects(&self, entries: Vec<EntryChange>) -> Result<VecDeque<ObjectChange>> {
        if entries.is_empty() {
            return Ok(VecDeque::new());
        }
        let keys: BTreeSet<Vec<u8>> = entries.iter().map(|entry| entry.key.to_vec()).collect();
        let [mut before, mut after] = self.states(&keys)?;
        let changes = entries.into_iter().map(|entry| {
            let key = entry.key.into_vec();
            let before = before.remove(&key).map(with_row_id);
            let after = after.remove(&key).map(with_row_id);
            match (entry.before.is_some(), entry.after.is_some())
                == (before.is_some(), after.is_some())
            {
                true => Ok(ObjectChange { key, before, after }),
                false => Err(self.misfit()),
            }
        });
        changes.collect()
    }

    fn misfit(&self) -> Error {
        let message = format!(
            "cannot compare commits of {}: the steps do not lead to their objects; a program has \
             changed objects and kept no history",
            self.table.type_name
        );
        Error::new(ErrorKind::Corrupt, message)
    }
}

fn with_row_id((row_id, payload): (Option<RowId>, Vec<u8>)) -> (RowId, Vec<u8>) {
    (row_id.unwrap_or(RowId(0)), payload)
}

/// Whether the file has the nodes of these trees. A root is never there without them.
fn has_trees(store: &FileStore, roots: &[Root]) -> Result<bool> {
    let roots = roots.iter().filter(|root| **root != Root::EMPTY);
    let addresses: Vec<_> = roots.map(Root::address).collect();
    Ok(store.get_many(&addresses)?.iter().all(Option::is_some))
}

impl Iterator for ObjectDiff {
    type Item = Result<ObjectChange>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        if read.is_err() {
            self.keys = Keys::Ended;
            self.batch.clear();
        }
        read.transpose()
    }
}

impl std::fmt::Debug for ObjectDiff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ObjectDiff").finish_non_exhaustive()
    }
}
