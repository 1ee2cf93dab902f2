//! The trees of commits without an object that was forgotten.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::storage::{NamedTable, WriteTransaction};
use dflat_model::Table;

use super::commit::{Commit, CommitTable};
use super::log::load;
use super::make::NODE_BYTES;
use super::store::{FileStore, has_trees};
use crate::received::{changes_between, has_part};
use crate::steps::{CommitId, Presence};
use crate::tree::{Edit, Trees};

/// The object to take out of the trees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Erased<'e> {
    pub(crate) table: &'e Table,
    /// The encoded key.
    pub(crate) key: &'e [u8],
    /// When the tables had the object.
    pub(crate) presence: &'e Presence,
}

/// Gives all commits that have an object trees without it, and notes in them that they have lost
/// it. The received changes must still have it. Returns how many commits had it.
///
/// # Errors
/// [`ErrorKind::Corrupt`](dflat_engine::ErrorKind::Corrupt) if a commit, a node or a received
/// change is damaged; otherwise the errors of reading and writing.
pub(crate) fn forget_in_commits(
    writer: &mut dyn WriteTransaction,
    (store, trees): (&FileStore, &Trees),
    erased: &Erased<'_>,
) -> Result<u64> {
    let mut ids = Vec::new();
    writer.all_named(NamedTable::Commits, None, &mut |row| {
        ids.extend(row.name.try_into().map(CommitId::from_bytes));
        ControlFlow::Continue(())
    })?;
    let mut having: BTreeSet<CommitId> = BTreeSet::new();
    // Order: each commit after its parents.
    for id in ids.into_iter().rev() {
        let mut commit = load(writer, id)?;
        let of = commit
            .tables
            .iter()
            .find(|of| of.name == *erased.table.name);
        let Some(of) = of.filter(|of| !of.is_forgotten) else {
            continue;
        };
        let kept = match of.kept() {
            Some(root) if has_trees(writer, [root])? => Some(root),
            _ => None,
        };
        let has_object = match &kept {
            Some(root) => trees.get(root, erased.key)?.is_some(),
            None => had_object(writer, &commit, erased, &having)?,
        };
        if !has_object {
            continue;
        }
        having.insert(id);
        let rest = kept.map(|root| trees.apply(&root, [Edit::delete(erased.key)]));
        let rest = rest.transpose()?;
        let mut of_commit = commit.tables.iter_mut();
        if let Some(of) = of_commit.find(|of| of.name == *erased.table.name) {
            (of.has_forgotten_objects, of.rest) = (true, rest);
        }
        writer.put_named(NamedTable::Commits, id.as_bytes(), &commit.to_row())?;
        if store.new_bytes() > NODE_BYTES {
            store.write(writer)?;
        }
    }
    store.write(writer)?;
    Ok(having.len() as u64)
}

/// Whether a commit without a tree has the object: from the steps, or from the received changes and
/// the first parent.
fn had_object(
    writer: &mut dyn WriteTransaction,
    commit: &Commit,
    erased: &Erased<'_>,
    having: &BTreeSet<CommitId>,
) -> Result<bool> {
    if commit.last_step.is_some() || !has_part(writer, commit.id, 0)? {
        return Ok(erased.presence.in_commit(commit.id, commit.last_step));
    }
    let mut changed = None;
    let (name, between) = (&erased.table.name, (erased.key, erased.key));
    changes_between(writer, commit.id, name, between, &mut |(_, _, payload)| {
        changed = Some(payload.is_some());
        Ok(())
    })?;
    let of_parent = || commit.parents.first().is_some_and(|id| having.contains(id));
    Ok(changed.unwrap_or_else(of_parent))
}

impl CommitTable {
    /// The root of the tree of the objects that the file has of the commit; none if some were
    /// forgotten and the tree of the others is not built yet.
    pub(crate) const fn kept(&self) -> Option<crate::tree::Root> {
        match self.has_forgotten_objects {
            true => self.rest,
            false => Some(self.root),
        }
    }
}
