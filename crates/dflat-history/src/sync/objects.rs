//! The objects of parents, to which the changes of a commit refer.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dflat_engine::Result;
use dflat_engine::engine::Engine;
use dflat_engine::storage::Snapshot;
use dflat_model::Table;
use dflat_model::record::ByteDifference;

use super::named::Named;
use super::payloads::LatestPayloads;
use super::wire::{Sent, malformed};
use crate::chunk::Address;
use crate::commits::{Commit, CommitId, load, without_trees};
use crate::compare::objects_at;
use crate::received::has_part;
use crate::tree::Trees;

/// A change whose object is not known yet.
pub(super) struct Change<'m> {
    pub(super) key: &'m [u8],
    pub(super) sent: Sent<'m>,
}

/// The objects of parents. To look one up in a commit that was received, all received commits
/// before it are read, so objects that these have not changed are looked up before them.
pub(super) struct ParentObjects<'r> {
    engine: &'r Engine,
    latest: LatestPayloads,
    /// The commit with a place among the steps that each commit stands on, by table; `None` if
    /// there is none, or its tree of the table is not kept.
    bases: HashMap<CommitId, HashMap<String, Option<Commit>>>,
}

/// An object: the commit to look it up in, and its hash.
type Reference<'p> = (&'p Commit, Address);

impl<'r> ParentObjects<'r> {
    pub(super) fn new(engine: &'r Engine) -> Self {
        Self {
            engine,
            latest: LatestPayloads::default(),
            bases: HashMap::new(),
        }
    }

    /// Keeps an object that was received.
    pub(super) fn keep(&mut self, hash: Address, payload: &[u8]) {
        self.latest.put(hash, payload);
    }

    /// Notes that a commit was received.
    pub(super) fn pass(&mut self, commit: &Commit) {
        let parent = commit.parents.first();
        let bases = parent.and_then(|parent| self.bases.get(parent).cloned());
        if let Some(bases) = bases {
            self.bases.insert(commit.id, bases);
        }
    }

    /// Reads the objects that changes refer to and that are not known yet.
    ///
    /// # Errors
    /// [`Corrupt`](dflat_engine::ErrorKind::Corrupt) if a parent lacks an object; otherwise the
    /// errors of reading.
    pub(super) fn fetch(
        &mut self,
        trees: &Trees,
        parents: &[Commit],
        table: &Table,
        changes: &[Change<'_>],
    ) -> Result<()> {
        let mut wanted: BTreeMap<CommitId, BTreeSet<Vec<u8>>> = BTreeMap::new();
        let mut hashes: BTreeMap<(CommitId, &[u8]), Address> = BTreeMap::new();
        for change in changes {
            let Some((parent, hash)) = referred(trees, parents, table, change)? else {
                continue;
            };
            if self.latest.get(&hash).is_some() {
                continue;
            }
            let place = self.place(trees, table, (parent, hash), change.key)?;
            wanted.entry(place).or_default().insert(change.key.to_vec());
            hashes.insert((place, change.key), hash);
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let wanted: Vec<_> = wanted.into_iter().collect();
        let states = self
            .engine
            .read_history(|snapshot| objects_at(snapshot, table, &wanted))?;
        let named = Named::of(table);
        for ((commit, _), states) in wanted.iter().zip(states) {
            for (key, (_, payload)) in &states {
                if let Some(hash) = hashes.get(&(*commit, key.as_slice())) {
                    let bytes = named.bytes(Some(payload), *hash)?;
                    self.latest.put(*hash, &bytes);
                }
            }
        }
        Ok(())
    }

    /// The object after a change; `None` after a deletion.
    ///
    /// # Errors
    /// [`Corrupt`](dflat_engine::ErrorKind::Corrupt) if a parent lacks an object, or a difference
    /// does not fit it; otherwise the errors of reading.
    pub(super) fn after(
        &self,
        trees: &Trees,
        parents: &[Commit],
        table: &Table,
        change: &Change<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let base = match referred(trees, parents, table, change)? {
            Some(reference) => self.object(table, reference, change.key)?,
            None => Vec::new(),
        };
        Ok(match change.sent {
            Sent::Deleted => None,
            Sent::Whole(payload) => Some(payload.to_vec()),
            Sent::OfParent(_) => Some(base),
            Sent::Difference(difference) => {
                let difference = ByteDifference::decode(difference);
                let payload = difference.and_then(|difference| difference.apply(&base));
                let payload = payload.map_err(|error| malformed(&format!("{error}")))?;
                Some(payload)
            }
        })
    }

    /// An object. It is read again if too many others were read after it.
    fn object(&self, table: &Table, (parent, hash): Reference<'_>, key: &[u8]) -> Result<Vec<u8>> {
        if let Some(payload) = self.latest.get(&hash) {
            return Ok(payload.to_vec());
        }
        let wanted = [(parent.id, BTreeSet::from([key.to_vec()]))];
        let states = self
            .engine
            .read_history(|snapshot| objects_at(snapshot, table, &wanted))?;
        let found = states.first().and_then(|states| states.get(key));
        let found = found.map(|(_, payload)| payload.as_slice());
        Named::of(table).bytes(found, hash)
    }

    /// The commit to look an object up in: the base of the parent, if the object is the same there.
    fn place(
        &mut self,
        trees: &Trees,
        table: &Table,
        (parent, hash): Reference<'_>,
        key: &[u8],
    ) -> Result<CommitId> {
        let bases = self.bases.entry(parent.id).or_default();
        if !bases.contains_key(&*table.name) {
            let found = self
                .engine
                .read_history(|snapshot| base(snapshot, table, parent))?;
            bases.insert(table.name.to_string(), found);
        }
        if let Some(Some(base)) = bases.get(&*table.name)
            && trees.get(&base.root(&table.name), key)? == Some(hash)
        {
            return Ok(base.id);
        }
        Ok(parent.id)
    }
}

/// The object that a change refers to.
fn referred<'p>(
    trees: &Trees,
    parents: &'p [Commit],
    table: &Table,
    change: &Change<'_>,
) -> Result<Option<Reference<'p>>> {
    let number = match change.sent {
        Sent::Deleted | Sent::Whole(_) => return Ok(None),
        Sent::Difference(_) => 0,
        Sent::OfParent(number) => number,
    };
    let missing = || malformed("a change refers to an object that its parent lacks");
    let parent = parents.get(number).ok_or_else(missing)?;
    let hash = trees.get(&parent.root(&table.name), change.key)?;
    Ok(Some((parent, hash.ok_or_else(missing)?)))
}

/// The last of a commit and its first parents that was not received from another file.
fn base(snapshot: &mut dyn Snapshot, table: &Table, commit: &Commit) -> Result<Option<Commit>> {
    let mut commit = commit.clone();
    while has_part(snapshot, commit.id, 0)? {
        let Some(parent) = commit.parents.first() else {
            return Ok(None);
        };
        commit = load(snapshot, *parent)?;
    }
    let lost = without_trees(snapshot, std::slice::from_ref(table), [commit.id])?;
    Ok(lost.is_empty().then_some(commit))
}
