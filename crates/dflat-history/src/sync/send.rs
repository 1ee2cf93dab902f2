//! Sends commits with their changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dflat_engine::engine::Engine;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;
use dflat_model::record::ByteDifference;

use super::named::Named;
use super::wire::{Channel, Item, MARKS_MAX, Message, Sent};
use crate::chunk::{Address, ChunkStore};
use crate::commits::{Commit, CommitId, FileStore, Mark, Marks, collections, ensure_trees, load};
use crate::compare::{KeyedStates, objects_at};
use crate::tree::{EntryChange, Root, Trees};

/// A part of the changes of a commit is sent once it has so many bytes.
const PART_BYTES: usize = 256 << 10;

/// The bytes of objects that are read at once, and the limits of their number. The steps of the
/// file are read once for each such batch.
const BATCH_BYTES: usize = 4 << 20;
const CHANGES_MIN: usize = 16;
const CHANGES_MAX: usize = 4096;

/// Sends commits.
pub(super) struct Sender<'s> {
    engine: &'s Engine,
    /// All versioned tables of the file.
    tables: &'s [Table],
    trees: Trees,
    batch: Vec<Event>,
    /// The number of changes in the batch, and the number that is to fit.
    changes: usize,
    changes_max: usize,
    part: Vec<u8>,
    /// The table of the latest change of the part.
    part_table: Option<usize>,
    /// The number of changes that were sent.
    pub(super) sent: u64,
}

/// A piece of the exchange whose objects are not read yet.
enum Event {
    /// A commit begins.
    Begin(Commit),
    Change(Outgoing),
    /// The commit has no more changes.
    End,
}

/// The change of an object.
struct Outgoing {
    commit: CommitId,
    /// The first parent.
    parent: Option<CommitId>,
    /// The number of the table in the commit.
    number: usize,
    table: Table,
    entry: EntryChange,
    /// The parent that has the object as it is after the change.
    of_parent: Option<usize>,
}

/// The keys of the objects to read, by commit.
type Keys = BTreeMap<CommitId, BTreeSet<Vec<u8>>>;

/// The objects of a batch by their tables and commits.
type Objects = BTreeMap<String, BTreeMap<CommitId, KeyedStates>>;

impl<'s> Sender<'s> {
    pub(super) fn new(engine: &'s Engine, tables: &'s [Table]) -> Self {
        Self {
            engine,
            tables,
            trees: Trees::new(FileStore::new(engine) as Arc<dyn ChunkStore>),
            batch: Vec::new(),
            changes: 0,
            changes_max: CHANGES_MIN,
            part: Vec::new(),
            part_table: None,
            sent: 0,
        }
    }

    /// Sends commits, each after its parents, and the descriptors of their types. `allowed` are the
    /// types that the receiver takes.
    ///
    /// # Errors
    /// - [`ErrorKind::InvalidArgument`] if a commit has another type.
    /// - [`ErrorKind::Busy`] if garbage that was collected meanwhile had a tree that was needed.
    /// - [`ErrorKind::Corrupt`] if the history does not fit the objects.
    /// - Otherwise the errors of reading and of the connection.
    pub(super) fn send(
        &mut self,
        channel: &mut Channel<'_>,
        ids: &[CommitId],
        allowed: &[String],
    ) -> Result<()> {
        let before = self.engine.read_history(collections)?;
        self.send_all(channel, ids, allowed).map_err(|error| {
            let now = self.engine.read_history(collections);
            match error.kind() {
                ErrorKind::Corrupt if now.is_ok_and(|now| now != before) => {
                    let message = "cannot sync: garbage was collected meanwhile; sync again";
                    Error::with_source(ErrorKind::Busy, message, error)
                }
                _ => error,
            }
        })
    }

    fn send_all(
        &mut self,
        channel: &mut Channel<'_>,
        ids: &[CommitId],
        allowed: &[String],
    ) -> Result<()> {
        self.marks(channel)?;
        for table in self.tables {
            if allowed.iter().any(|name| *name == table.name) {
                channel.send(&Message::Descriptor(table.to_bytes()))?;
            }
        }
        for id in ids {
            self.commit(channel, *id, allowed)?;
        }
        self.emit(channel)?;
        channel.send(&Message::Done)?;
        channel.flush()
    }

    fn commit(
        &mut self,
        channel: &mut Channel<'_>,
        id: CommitId,
        allowed: &[String],
    ) -> Result<()> {
        let commit = self.engine.read_history(|snapshot| load(snapshot, id))?;
        for id in commit.parents.iter().chain([&id]) {
            ensure_trees(self.engine, self.tables, *id)?;
        }
        // Order: after the trees, because those of commits with forgotten objects have new roots.
        let (commit, parents) = self.engine.read_history(|snapshot| {
            let parents = commit.parents.iter().map(|parent| load(snapshot, *parent));
            let parents = parents.collect::<Result<Vec<Commit>>>()?;
            Ok((load(snapshot, id)?, parents))
        })?;
        self.batch.push(Event::Begin(commit.clone()));
        for (number, of) in commit.tables.iter().enumerate() {
            let table = self.table(&of.name, allowed)?;
            let parent = parents.first();
            let before = parent.map_or(Root::EMPTY, |parent| parent.root(&of.name));
            for entry in self.trees.diff(&before, &commit.root(&of.name))? {
                let entry = entry?;
                let of_parent = self.same_parent(&parents, &of.name, &entry)?;
                self.batch.push(Event::Change(Outgoing {
                    commit: id,
                    parent: parent.map(|parent| parent.id),
                    number,
                    table: table.clone(),
                    entry,
                    of_parent,
                }));
                self.changes += 1;
                if self.changes >= self.changes_max {
                    self.emit(channel)?;
                }
            }
        }
        self.batch.push(Event::End);
        Ok(())
    }

    fn table(&self, name: &str, allowed: &[String]) -> Result<Table> {
        let found = self.tables.iter().find(|table| table.name == name);
        let why = match found {
            Some(table) if allowed.iter().any(|allowed| allowed == name) => {
                return Ok(table.clone());
            }
            Some(_) => "the other side has not versioned the type, or does not allow it",
            None => "the type is versioned no more on this side",
        };
        let message = format!("cannot sync a commit with objects of {name}: {why}");
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }

    /// The further parent, if there is one, that has the object as it is after the change.
    fn same_parent(
        &self,
        parents: &[Commit],
        table: &str,
        entry: &EntryChange,
    ) -> Result<Option<usize>> {
        let Some(after) = entry.after else {
            return Ok(None);
        };
        for (number, parent) in parents.iter().enumerate().skip(1) {
            if self.trees.get(&parent.root(table), &entry.key)? == Some(after) {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// Sends the batch.
    fn emit(&mut self, channel: &mut Channel<'_>) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        let objects = self.objects(&batch)?;
        let states = objects.values().flat_map(BTreeMap::values);
        let payloads = states.flat_map(KeyedStates::values);
        let bytes: usize = payloads.map(|(_, payload)| payload.len()).sum();
        let fitting = BATCH_BYTES.saturating_mul(self.changes) / bytes.max(1);
        self.changes_max = fitting.clamp(CHANGES_MIN, CHANGES_MAX);
        self.sent += self.changes as u64;
        self.changes = 0;
        let mut named: Option<Named<'_>> = None;
        for event in &batch {
            match event {
                Event::Begin(commit) => begin(channel, commit)?,
                Event::Change(change) => {
                    let known = named.take().filter(|known| known.is_of(&change.table));
                    let named = named.insert(known.unwrap_or_else(|| Named::of(&change.table)));
                    self.add(change, named, &objects)?;
                    if self.part.len() >= PART_BYTES {
                        self.end_part(channel, false)?;
                    }
                }
                Event::End => self.end_part(channel, true)?,
            }
        }
        Ok(())
    }

    /// Sends the marks of forgotten objects.
    fn marks(&self, channel: &mut Channel<'_>) -> Result<()> {
        let marks = self.engine.read_history(Marks::read)?;
        for (key, marks) in marks.by_key() {
            let marks: Vec<Mark> = marks.copied().collect();
            for marks in marks.chunks(MARKS_MAX) {
                let (key, marks) = (*key, marks.to_vec());
                channel.send(&Message::Marks { key, marks })?;
            }
        }
        Ok(())
    }

    fn end_part(&mut self, channel: &mut Channel<'_>, is_last: bool) -> Result<()> {
        self.part_table = None;
        let bytes = std::mem::take(&mut self.part);
        channel.send(&Message::Changes { is_last, bytes })
    }

    /// Reads the objects of a batch.
    fn objects(&self, batch: &[Event]) -> Result<Objects> {
        let mut wanted: BTreeMap<&str, (&Table, Keys)> = BTreeMap::new();
        for event in batch {
            let Event::Change(change) = event else {
                continue;
            };
            if change.of_parent.is_some() || change.entry.after.is_none() {
                continue;
            }
            let (_, of_table) = wanted
                .entry(&change.table.name)
                .or_insert_with(|| (&change.table, Keys::new()));
            let before = change.entry.before.and(change.parent);
            for commit in before.into_iter().chain([change.commit]) {
                let keys = of_table.entry(commit).or_default();
                keys.insert(change.entry.key.to_vec());
            }
        }
        let mut objects = Objects::new();
        for (name, (table, wanted)) in wanted {
            let wanted: Vec<_> = wanted.into_iter().collect();
            let states = self
                .engine
                .read_history(|snapshot| objects_at(snapshot, table, &wanted))?;
            let commits = wanted.iter().map(|(commit, _)| *commit);
            objects.insert(name.to_owned(), commits.zip(states).collect());
        }
        Ok(objects)
    }

    /// Adds a change to the part.
    fn add(&mut self, change: &Outgoing, named: &Named<'_>, objects: &Objects) -> Result<()> {
        if self.part_table != Some(change.number) {
            Item::Table(change.number).encode(&mut self.part);
            self.part_table = Some(change.number);
        }
        let key = &*change.entry.key;
        let Some(after) = change.entry.after else {
            Item::Change(key, Sent::Deleted).encode(&mut self.part);
            return Ok(());
        };
        if let Some(parent) = change.of_parent {
            Item::Change(key, Sent::OfParent(parent)).encode(&mut self.part);
            return Ok(());
        }
        let of_table = objects.get(&*change.table.name);
        let object = |commit: Option<CommitId>, hash: Address| -> Result<Vec<u8>> {
            let found = commit.and_then(|commit| of_table?.get(&commit)?.get(key));
            named.bytes(found.map(|(_, payload)| payload.as_slice()), hash)
        };
        let payload = object(Some(change.commit), after)?;
        let mut difference = Vec::new();
        let is_smaller = match change.entry.before {
            Some(hash) => {
                let before = object(change.parent, hash)?;
                ByteDifference::between(&before, &payload, &mut difference)
            }
            None => false,
        };
        let sent = match is_smaller {
            true => Sent::Difference(&difference),
            false => Sent::Whole(&payload),
        };
        Item::Change(key, sent).encode(&mut self.part);
        Ok(())
    }
}

/// Sends a commit, and which of its types have lost objects.
fn begin(channel: &mut Channel<'_>, commit: &Commit) -> Result<()> {
    channel.send(&Message::Commit(commit.to_bytes()))?;
    for (of, number) in commit.tables.iter().zip(0..) {
        if of.has_forgotten_objects {
            let root = commit.root(&of.name);
            channel.send(&Message::Rest { number, root })?;
        }
    }
    Ok(())
}
