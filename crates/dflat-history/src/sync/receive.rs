//! Receives commits from a peer, which may be hostile.
//!
//! Each object is verified, its key is derived from it, and the tree of each type is computed. A
//! commit is stored only if the trees have the roots that it says, and no branch refers to it
//! before all commits of the exchange are stored.

use std::rc::Rc;
use std::sync::Arc;

use dflat_engine::engine::{Engine, PerformOptions};
use dflat_engine::storage::WriteTransaction;
use dflat_engine::transaction::Transaction;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;

use super::descriptors::Descriptors;
use super::forgotten::{Forgotten, forgotten_here};
use super::incoming::{Incoming, busy_if_collected, check_parents, check_types};
use super::negotiate::Offered;
use super::objects::{Change, ParentObjects};
use super::wire::{Channel, Item, Items, Message, Sent, malformed, too_much};
use crate::chunk::{Address, ChunkStore};
use crate::commits::{
    Commit, CommitId, Content, FileStore, ensure_trees, load, put_incoming, store_commit,
};
use crate::node::KEY_BYTES_MAX;
use crate::received::{delete_parts, put_part};
use crate::steps::prepare;
use crate::tree::{Edit, Root, Trees};

/// The bytes of nodes and objects that are written in one transaction, and the bytes of objects
/// that are in memory at once, if none is larger.
const WRITE_BYTES: usize = 4 << 20;

/// The limits of the number of changes that are taken at once. A message of a hostile peer may
/// refer to any objects of a parent, and their sizes are not known before they are read.
const CHANGES_MIN: usize = 16;
const CHANGES_MAX: usize = 512;

/// A remote and the branch of it whose commits are received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'r> {
    pub(super) remote: &'r str,
    pub(super) branch: &'r str,
    /// Whether commits that have lost objects are taken, and marks of forgotten objects.
    pub(super) accepts_forgotten: bool,
}

/// Receives commits.
pub(super) struct Receiver<'r> {
    engine: &'r Engine,
    /// All versioned tables of the file, and those that are to be.
    tables: &'r [Table],
    source: Source<'r>,
    types: Descriptors,
    store: Arc<FileStore>,
    trees: Trees,
    objects: ParentObjects<'r>,
    forgotten: Forgotten,
    /// The number of collections of garbage before this side has said which commits it has.
    collections: u64,
    /// The number of changes that were received, and the bytes of their objects.
    pub(super) changes: u64,
    bytes: u64,
    /// The number of changes to take at once.
    changes_max: usize,
}

impl<'r> Receiver<'r> {
    /// `tables` are the types that this side has versioned, and `allowed` those that it takes.
    pub(super) fn new(
        engine: &'r Engine,
        (tables, allowed): (&'r [Table], &[Table]),
        source: Source<'r>,
    ) -> Self {
        let store = FileStore::new(engine);
        Self {
            engine,
            tables,
            source,
            types: Descriptors::of(allowed),
            trees: Trees::new(Arc::clone(&store) as Arc<dyn ChunkStore>),
            store,
            objects: ParentObjects::new(engine),
            forgotten: Forgotten::new(source.accepts_forgotten),
            collections: 0,
            changes: 0,
            bytes: 0,
            changes_max: CHANGES_MIN,
        }
    }

    /// The types as this side has them from now on.
    pub(super) fn tables(&self) -> &[Table] {
        self.types.tables()
    }

    /// Receives the commits that were wanted of an offer, in their order.
    ///
    /// # Errors
    /// - [`ErrorKind::Corrupt`] if the peer sends wrong bytes.
    /// - [`ErrorKind::InvalidArgument`] for a type that is not allowed, and beyond a limit.
    /// - [`ErrorKind::Busy`] if garbage that was collected meanwhile had a commit before them, or a
    ///   node of its trees.
    /// - Otherwise the errors of the connection, of reading and of writing.
    pub(super) fn receive(&mut self, channel: &mut Channel<'_>, offered: &Offered) -> Result<()> {
        self.collections = offered.collections;
        let received = self.receive_all(channel, offered);
        received.map_err(|error| busy_if_collected(self.engine, self.collections, error))
    }

    fn receive_all(&mut self, channel: &mut Channel<'_>, offered: &Offered) -> Result<()> {
        let mut ids = offered.wanted.iter();
        loop {
            match channel.expect()? {
                Message::Descriptor(bytes) => self.types.take(&bytes)?,
                Message::Marks { key, marks } => {
                    let max = channel.limits.commits;
                    self.forgotten.take_marks(max, (key, marks))?;
                }
                Message::Commit(bytes) => {
                    let tables = (self.tables, self.types.tables());
                    self.forgotten.apply(channel, self.engine, tables)?;
                    let Some(id) = ids.next() else {
                        return Err(malformed("a commit that was not wanted"));
                    };
                    self.commit(channel, *id, &bytes)?;
                }
                Message::Done if ids.len() == 0 => return Ok(()),
                _ => return Err(malformed("another message than a commit")),
            }
        }
    }

    fn commit(&mut self, channel: &mut Channel<'_>, id: CommitId, bytes: &[u8]) -> Result<()> {
        let mut incoming = self.begin(id, bytes)?;
        let received = self.changes(channel, &mut incoming);
        if received.is_err() && incoming.is_begun {
            // The error of the exchange is the one to report.
            let _ = self.write(|writer| delete_parts(writer, id));
        }
        received
    }

    /// Checks a commit by itself.
    fn begin(&mut self, id: CommitId, bytes: &[u8]) -> Result<Incoming> {
        let commit = Commit::from_wire(bytes)?;
        if commit.id != id {
            return Err(malformed("a commit has another id than was offered"));
        }
        let collections = self.engine.read_history(|snapshot| {
            check_parents(snapshot, &commit, self.collections)?;
            self.forgotten.read(snapshot)
        })?;
        for of in &commit.tables {
            self.types.table(&of.name)?;
        }
        for parent in &commit.parents {
            ensure_trees(self.engine, self.types.tables(), *parent)?;
        }
        // Order: after the trees, because those of commits with forgotten objects have new roots.
        let parents = self.engine.read_history(|snapshot| {
            let parents = commit.parents.iter().map(|parent| load(snapshot, *parent));
            parents.collect::<Result<Vec<Commit>>>()
        })?;
        check_types(&commit, &parents, |name| self.types.table(name).is_ok())?;
        Ok(Incoming::new(commit, parents, collections))
    }

    fn changes(&mut self, channel: &mut Channel<'_>, incoming: &mut Incoming) -> Result<()> {
        let mut has_begun = false;
        loop {
            match channel.expect()? {
                Message::Rest { number, root } if !has_begun => {
                    let commit = &mut incoming.commit;
                    self.forgotten.take_rest(commit, number, root)?;
                }
                Message::Changes { is_last, bytes } => {
                    has_begun = true;
                    self.part(channel, incoming, &bytes)?;
                    if is_last {
                        return self.end(incoming);
                    }
                }
                _ => return Err(malformed("another message than the changes of a commit")),
            }
        }
    }

    /// Writes the changes and nodes so far, if they are many.
    fn write_some(&self, incoming: &mut Incoming) -> Result<()> {
        if incoming.parts.bytes() + self.store.new_bytes() < WRITE_BYTES {
            return Ok(());
        }
        let id = incoming.commit.id;
        let parts = incoming.parts.take(false);
        incoming.is_begun = true;
        self.write(|writer| {
            incoming.check_same(writer)?;
            for (number, part) in &parts {
                put_part(writer, id, *number, part)?;
            }
            self.store.write(writer)
        })
    }

    /// Takes a part of the changes: those of one table after those of another.
    fn part(&mut self, channel: &Channel<'_>, incoming: &mut Incoming, bytes: &[u8]) -> Result<()> {
        let mut number = None;
        let mut changes = Vec::new();
        for item in Items(bytes) {
            match item? {
                Item::Table(next) => {
                    self.table(channel, incoming, (number, &changes))?;
                    changes.clear();
                    number = Some(next);
                }
                Item::Change(key, sent) => {
                    let Some(number) = number else {
                        return Err(malformed("a change without its type"));
                    };
                    incoming.check_order(number, key)?;
                    self.changes += 1;
                    if self.changes > channel.limits.changes {
                        let what = format!("more than {} changes", channel.limits.changes);
                        return Err(too_much(&what));
                    }
                    let change = Change { key, sent };
                    if !self.takes(incoming, number, &change)? {
                        continue;
                    }
                    changes.push(change);
                    if changes.len() >= self.changes_max {
                        self.table(channel, incoming, (Some(number), &changes))?;
                        changes.clear();
                    }
                }
            }
        }
        self.table(channel, incoming, (number, &changes))
    }

    /// Whether a change is taken. The deletion of an object that was forgotten is none, and any
    /// other change of it is refused, unless it was forgotten on the other side, too, or a parent
    /// has an object with its key: a program has inserted that one since.
    fn takes(&self, incoming: &Incoming, number: usize, change: &Change<'_>) -> Result<bool> {
        let Some(of) = incoming.commit.tables.get(number) else {
            return Ok(true);
        };
        if !self.forgotten.has(&of.name, change.key) {
            return Ok(true);
        }
        for parent in &incoming.parents {
            let root = parent.root(&of.name);
            if self.trees.get(&root, change.key)?.is_some() {
                return Ok(true);
            }
        }
        match change.sent {
            Sent::Deleted => Ok(false),
            _ => Err(forgotten_here(
                &incoming.commit,
                &of.name,
                "it has an object",
            )),
        }
    }

    /// Takes changes of one table.
    fn table(
        &mut self,
        channel: &Channel<'_>,
        incoming: &mut Incoming,
        (number, changes): (Option<usize>, &[Change<'_>]),
    ) -> Result<()> {
        let Some(number) = number else {
            return Ok(());
        };
        let Some(of) = incoming.commit.tables.get(number) else {
            return Err(malformed("a change of a type that the commit lacks"));
        };
        let name = of.name.clone();
        let table = self.types.table(&name)?.clone();
        let parents = &incoming.parents;
        self.objects.fetch(&self.trees, parents, &table, changes)?;
        let content = Content::of(&table);
        let before = self.bytes;
        let mut edits = Vec::with_capacity(changes.len());
        for change in changes {
            let parents = &incoming.parents;
            let payload = self.objects.after(&self.trees, parents, &table, change)?;
            if let Some(payload) = &payload {
                self.check(channel, (&table, &content), change.key, payload)?;
                self.bytes += payload.len() as u64;
                if self.bytes > channel.limits.bytes {
                    let what = format!("objects of more than {} bytes", channel.limits.bytes);
                    return Err(too_much(&what));
                }
            }
            let hash = payload.as_deref().map(Address::of);
            if let (Some(hash), Some(payload)) = (hash, &payload) {
                self.objects.keep(hash, payload);
            }
            incoming.parts.push(&name, change.key, payload.as_deref());
            edits.push(Edit {
                key: change.key.into(),
                payload: hash,
            });
        }
        let root = incoming.roots.entry(name).or_insert(Root::EMPTY);
        *root = self.trees.apply(root, edits)?;
        let bytes = usize::try_from(self.bytes - before).unwrap_or(usize::MAX);
        let fitting = WRITE_BYTES.saturating_mul(changes.len()) / bytes.max(1);
        self.changes_max = fitting.clamp(CHANGES_MIN, CHANGES_MAX);
        self.write_some(incoming)
    }

    /// Checks an object.
    fn check(
        &self,
        channel: &Channel<'_>,
        (table, content): (&Table, &Content<'_>),
        key: &[u8],
        payload: &[u8],
    ) -> Result<()> {
        if payload.len() > channel.limits.object_bytes {
            return Err(too_much(&format!("an object of {} bytes", payload.len())));
        }
        self.types.verify(table, payload)?;
        if content.key(payload).as_deref() != Some(key) || key.len() > KEY_BYTES_MAX {
            let why = format!("an object of {} has another key", table.type_name);
            return Err(malformed(&why));
        }
        Ok(())
    }

    /// Checks the roots, and stores the commit.
    fn end(&mut self, incoming: &mut Incoming) -> Result<()> {
        incoming.check_roots(&self.trees)?;
        let parts = incoming.parts.take(true);
        let commit = &incoming.commit;
        let Source { remote, branch, .. } = self.source;
        self.write(|writer| {
            incoming.check_same(writer)?;
            for (number, part) in &parts {
                put_part(writer, commit.id, *number, part)?;
            }
            self.store.write(writer)?;
            store_commit(writer, commit)?;
            put_incoming(writer, (remote, branch), commit.id)
        })?;
        self.objects.pass(commit);
        Ok(())
    }

    fn write(&self, write: impl FnOnce(&mut dyn WriteTransaction) -> Result<()>) -> Result<()> {
        write_history(self.engine, self.types.tables(), write)
    }
}

/// Writes to the history.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] if no type is versioned; otherwise those of
/// [`Engine::perform_here`].
pub(super) fn write_history<R>(
    engine: &Engine,
    tables: &[Table],
    write: impl FnOnce(&mut dyn WriteTransaction) -> Result<R>,
) -> Result<R> {
    let Some(first) = tables.first() else {
        let message = "cannot sync: no type is versioned";
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    };
    let options = PerformOptions { write_first: true };
    let handler = |transaction: &Rc<Transaction>| {
        prepare(transaction, tables)?;
        transaction.write_history(first, write)
    };
    engine.perform_here(tables.iter().cloned(), options, handler, |_| ())
}
