//! The objects to set in a merge, and those that need a decision.

use std::collections::{BTreeMap, BTreeSet};

use dflat_engine::Result;
use dflat_engine::storage::Snapshot;
use dflat_model::{RowId, Table, key};

use super::base::{Bases, Roots, root};
use super::conflict::{ConflictReason, ObjectConflict};
use super::object::{MergedObject, Three, merge_object};
use super::payloads;
use super::set::{MergedFrom, ObjectToSet, row_of};
use crate::chunk::Address;
use crate::commits::{CommitId, Content};
use crate::compare::KeyedStates;
use crate::tree::{Edit, MergeCase};

/// Decisions about objects, by table and key: the payload to set, or none to delete the object.
pub(super) type Decisions = BTreeMap<(String, Vec<u8>), Option<Vec<u8>>>;

/// The changes of one table in a merge.
#[derive(Debug, Default)]
pub(super) struct TableMerge {
    /// The objects to set.
    pub(super) objects: Vec<ObjectToSet>,
    /// The edits of our tree.
    pub(super) edits: Vec<Edit>,
    /// The objects that need a decision.
    pub(super) conflicts: Vec<ObjectConflict>,
}

/// The sides of a merge.
pub(super) struct Sides<'s> {
    pub(super) base: &'s Roots,
    pub(super) ours: &'s Roots,
    pub(super) theirs: &'s Roots,
    /// Their commit.
    pub(super) commit: CommitId,
    pub(super) decisions: &'s Decisions,
}

/// An entry that is not ours alone: the hashes before, of ours and of theirs.
struct Entry {
    key: Vec<u8>,
    base: Option<Address>,
    ours: Option<Address>,
    theirs: Option<Address>,
    /// Whether only they have changed it.
    is_theirs: bool,
}

/// Merges the objects of a table, of which the present state is ours.
///
/// # Errors
/// [`Corrupt`](dflat_engine::ErrorKind::Corrupt) if the history does not fit the objects; otherwise
/// the errors of reading.
pub(super) fn merge_table(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    bases: &Bases<'_>,
    sides: &Sides<'_>,
) -> Result<TableMerge> {
    let entries = entries(table, bases, sides)?;
    let mut merge = TableMerge::default();
    if entries.is_empty() {
        return Ok(merge);
    }
    let keys: BTreeSet<Vec<u8>> = entries.iter().map(|entry| entry.key.clone()).collect();
    let mut commits = vec![sides.commit];
    commits.extend(&bases.used);
    let (states, mut payloads) = payloads::read(snapshot, table, &keys, &commits)?;
    payloads.add(&bases.made);
    let (Some(present), Some(of_theirs)) = (states.first(), states.get(1)) else {
        return Ok(merge);
    };
    let merger = Merger {
        table,
        content: Content::of(table),
        present,
        of_theirs,
    };
    for entry in entries {
        let (current, their) = merger.states(&entry)?;
        let base = match entry.is_theirs {
            true => None,
            false => payloads.get(table, entry.base)?,
        };
        let decision = sides
            .decisions
            .get(&(table.name.to_string(), entry.key.clone()));
        let target = match decision {
            Some(decision) => Ok(decision.clone()),
            None if entry.is_theirs => Ok(their.clone()),
            None => merger.merge(
                &entry,
                Three {
                    base,
                    ours: current.as_ref().map(|(_, payload)| payload.as_slice()),
                    theirs: their.as_deref(),
                },
            )?,
        };
        let merged = (!entry.is_theirs).then(|| MergedFrom {
            base: base.map(<[u8]>::to_vec),
            theirs: their,
        });
        match target {
            Ok(target) => merger.set(&entry, (current, merged), target, &mut merge)?,
            Err(conflict) => merge.conflicts.push(conflict),
        }
    }
    Ok(merge)
}

/// The entries that they have changed, or both.
fn entries(table: &Table, bases: &Bases<'_>, sides: &Sides<'_>) -> Result<Vec<Entry>> {
    let roots = [sides.base, sides.ours, sides.theirs].map(|roots| root(roots, &table.name));
    let mut entries = Vec::new();
    for case in bases.trees.merge(&roots[0], &roots[1], &roots[2])? {
        match case? {
            MergeCase::Ours(_) | MergeCase::Same(_) => {}
            MergeCase::Theirs(change) => entries.push(Entry {
                key: change.key.into_vec(),
                base: change.before,
                ours: change.before,
                theirs: change.after,
                is_theirs: true,
            }),
            MergeCase::Conflict(conflict) => entries.push(Entry {
                key: conflict.key.into_vec(),
                base: conflict.base,
                ours: conflict.ours,
                theirs: conflict.theirs,
                is_theirs: false,
            }),
        }
    }
    // A decision about an object that would have been merged, because of a unique value.
    let decided = sides
        .decisions
        .keys()
        .filter(|(name, _)| *name == *table.name);
    for (_, key) in decided {
        if !entries.iter().any(|entry| entry.key == *key) {
            let find = |root| bases.trees.get(root, key);
            entries.push(Entry {
                base: find(&roots[0])?,
                ours: find(&roots[1])?,
                theirs: find(&roots[2])?,
                key: key.clone(),
                is_theirs: false,
            });
        }
    }
    entries.sort_by(|one, other| one.key.cmp(&other.key));
    Ok(entries)
}

struct Merger<'m> {
    table: &'m Table,
    content: Content<'m>,
    present: &'m KeyedStates,
    of_theirs: &'m KeyedStates,
}

/// A row as it is.
type Row = (RowId, Vec<u8>);

impl Merger<'_> {
    /// Our row and their payload.
    fn states(&self, entry: &Entry) -> Result<(Option<Row>, Option<Vec<u8>>)> {
        let current = row_of(self.present.get(&entry.key).cloned());
        let their = self
            .of_theirs
            .get(&entry.key)
            .map(|(_, payload)| payload.clone());
        let is_there = (entry.ours.is_some(), entry.theirs.is_some());
        match is_there == (current.is_some(), their.is_some()) {
            true => Ok((current, their)),
            false => Err(payloads::misfit(self.table)),
        }
    }

    /// The object with the changes of both, or the conflict.
    fn merge(
        &self,
        entry: &Entry,
        three: Three<'_>,
    ) -> Result<Result<Option<Vec<u8>>, ObjectConflict>> {
        let merged = merge_object(&self.content, three);
        let merged = merged.map_err(|_| payloads::misfit(self.table))?;
        Ok(match merged {
            MergedObject::Payload(payload) => Ok(Some(self.content.bytes(RowId(0), &payload)?)),
            MergedObject::Conflict(reason, fields) => {
                Err(conflict(self.table, &entry.key, three, (reason, fields)))
            }
        })
    }

    fn set(
        &self,
        entry: &Entry,
        (current, merged): (Option<Row>, Option<MergedFrom>),
        target: Option<Vec<u8>>,
        merge: &mut TableMerge,
    ) -> Result<()> {
        let hash = match &target {
            Some(payload) => Some(Address::of(&self.content.bytes(RowId(0), payload)?)),
            None => None,
        };
        if hash != entry.ours {
            merge.edits.push(Edit {
                key: entry.key.clone().into(),
                payload: hash,
            });
            let of_theirs = self
                .of_theirs
                .get(&entry.key)
                .and_then(|(row_id, _)| *row_id);
            let target = target.map(|payload| (of_theirs, payload));
            merge.objects.push(ObjectToSet {
                current,
                target,
                merged: merged.map(Box::new),
            });
        }
        Ok(())
    }
}

/// A conflict about an object.
pub(super) fn conflict(
    table: &Table,
    encoded: &[u8],
    three: Three<'_>,
    (reason, fields): (ConflictReason, Vec<String>),
) -> ObjectConflict {
    let columns: Vec<_> = table
        .primary_key
        .iter()
        .map(|field| field.column_type())
        .collect();
    ObjectConflict {
        table: table.name.to_string(),
        type_name: table.type_name.to_string(),
        key: key::decode(encoded, &columns).unwrap_or_default(),
        reason,
        fields,
        base: three.base.map(<[u8]>::to_vec),
        ours: three.ours.map(<[u8]>::to_vec),
        theirs: three.theirs.map(<[u8]>::to_vec),
        encoded: encoded.to_vec(),
    }
}
