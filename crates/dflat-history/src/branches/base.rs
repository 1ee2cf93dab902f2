//! The state from which two sides of a merge differ.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dflat_engine::Result;
use dflat_engine::storage::Snapshot;
use dflat_model::{RowId, Table};

use super::graph::Graph;
use super::object::{MergedObject, Three, merge_object};
use super::payloads;
use crate::chunk::Address;
use crate::commits::{CommitId, Content, load, without_trees};
use crate::tree::{Edit, MergeCase, MergeConflict, Root, Trees};

/// The roots of the types of a state; those of no objects for other types.
pub(super) type Roots = BTreeMap<String, Root>;

/// The roots of a commit, without those of types that have no objects.
///
/// # Errors
/// As [`load`].
pub(super) fn roots_of(snapshot: &mut dyn Snapshot, id: CommitId) -> Result<Roots> {
    let commit = load(snapshot, id)?;
    let names = commit.tables.iter().map(|table| &table.name);
    let roots = names.map(|name| (name.clone(), commit.root(name)));
    Ok(roots.filter(|(_, root)| *root != Root::EMPTY).collect())
}

pub(super) fn root(roots: &Roots, table: &str) -> Root {
    roots.get(table).copied().unwrap_or(Root::EMPTY)
}

/// Finds common bases. The nodes of virtual ones are made in `trees`, and are not stored.
pub(super) struct Bases<'b> {
    pub(super) graph: &'b Graph,
    pub(super) trees: &'b Trees,
    /// All versioned tables.
    pub(super) tables: &'b [Table],
    /// The commits from which the bases were made.
    pub(super) used: BTreeSet<CommitId>,
    /// The payloads of objects that were merged by fields, by their hashes.
    pub(super) made: HashMap<Address, Vec<u8>>,
    /// The commits whose trees were collected as garbage.
    pub(super) lost: Vec<CommitId>,
    /// The roots of several best common ancestors that were merged. Merges of merges need the same
    /// ones again and again: without this, the time doubles with each round of merges among three
    /// files.
    pub(super) merged: HashMap<Vec<CommitId>, Roots>,
}

impl Bases<'_> {
    /// The roots of the common base of two sets of commits with their ancestors.
    ///
    /// Several best common ancestors are merged one after the other, in the order of their ids.
    /// Where they are in conflict, the object is as it was before both. If the trees of a commit
    /// are [lost](Self::lost), the result is of no use.
    ///
    /// # Errors
    /// The errors of reading.
    pub(super) fn of(
        &mut self,
        snapshot: &mut dyn Snapshot,
        one: &BTreeSet<CommitId>,
        other: &BTreeSet<CommitId>,
    ) -> Result<Roots> {
        let best: Vec<CommitId> = self.graph.bases(one, other).into_iter().collect();
        if let Some(merged) = self.merged.get(&best) {
            return Ok(merged.clone());
        }
        let Some((first, others)) = best.split_first() else {
            return Ok(Roots::new());
        };
        let first = *first;
        let mut roots = self.roots_of(snapshot, first)?;
        let mut ancestors = self.graph.ancestors([first]);
        for next in others.iter().copied() {
            let of_next = self.graph.ancestors([next]);
            let before = self.of(snapshot, &ancestors, &of_next)?;
            let next_roots = self.roots_of(snapshot, next)?;
            if self.lost.is_empty() {
                roots = self.merged(snapshot, &before, (&roots, &next_roots))?;
            }
            ancestors.extend(of_next);
        }
        self.merged.insert(best, roots.clone());
        Ok(roots)
    }

    /// The roots of a commit that is used.
    fn roots_of(&mut self, snapshot: &mut dyn Snapshot, id: CommitId) -> Result<Roots> {
        self.used.insert(id);
        let mut lost = without_trees(snapshot, self.tables, [id])?;
        self.lost.append(&mut lost);
        roots_of(snapshot, id)
    }

    fn merged(
        &mut self,
        snapshot: &mut dyn Snapshot,
        before: &Roots,
        (one, other): (&Roots, &Roots),
    ) -> Result<Roots> {
        let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
        let mut merged = Roots::new();
        for name in names {
            let (before, one) = (root(before, name), root(one, name));
            let (mut edits, mut conflicts) = (BTreeMap::new(), Vec::new());
            for case in self.trees.merge(&before, &one, &root(other, name))? {
                match case? {
                    MergeCase::Theirs(change) => drop(edits.insert(change.key, change.after)),
                    MergeCase::Conflict(conflict) => conflicts.push(conflict),
                    MergeCase::Ours(_) | MergeCase::Same(_) => {}
                }
            }
            self.merge_objects(snapshot, name, conflicts, &mut edits)?;
            let edits = edits
                .into_iter()
                .map(|(key, payload)| Edit { key, payload });
            merged.insert(name.clone(), self.trees.apply(&one, edits)?);
        }
        Ok(merged)
    }

    /// Merges objects by fields.
    fn merge_objects(
        &mut self,
        snapshot: &mut dyn Snapshot,
        name: &str,
        conflicts: Vec<MergeConflict>,
        edits: &mut BTreeMap<Box<[u8]>, Option<Address>>,
    ) -> Result<()> {
        let Some(table) = self.tables.iter().find(|table| table.name == name) else {
            return Ok(());
        };
        if conflicts.is_empty() {
            return Ok(());
        }
        let keys: BTreeSet<Vec<u8>> = conflicts.iter().map(|of| of.key.to_vec()).collect();
        let used: Vec<CommitId> = self.used.iter().copied().collect();
        let (_, mut payloads) = payloads::read(snapshot, table, &keys, &used)?;
        payloads.add(&self.made);
        let content = Content::of(table);
        for conflict in conflicts {
            let three = Three {
                base: payloads.get(table, conflict.base)?,
                ours: payloads.get(table, conflict.ours)?,
                theirs: payloads.get(table, conflict.theirs)?,
            };
            let merged = merge_object(&content, three).map_err(|_| payloads::misfit(table))?;
            let payload = match merged {
                MergedObject::Payload(payload) => {
                    let bytes = content.bytes(RowId(0), &payload)?;
                    let hash = Address::of(&bytes);
                    self.made.insert(hash, bytes);
                    Some(hash)
                }
                MergedObject::Conflict(..) => conflict.base,
            };
            edits.insert(conflict.key, payload);
        }
        Ok(())
    }
}
