//! The trees of commits without objects that were forgotten.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::storage::{NamedTable, WriteTransaction};

use super::commit::{Commit, CommitTable};
use super::log::load;
use super::make::NODE_BYTES;
use super::store::{FileStore, has_trees};
use crate::received::{ObjectKeys, changes_between, has_part};
use crate::steps::{CommitId, Presence};
use crate::tree::{Edit, Trees};

/// The objects to take out of the trees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Erased<'e> {
    pub(crate) objects: &'e ObjectKeys,
    /// When the tables had the objects.
    pub(crate) presence: &'e Presence,
}

/// Gives each commit that has one of some objects a tree without these objects, and notes in the
/// commit that it has lost objects. The received changes must still have the objects. Returns how
/// many commits had one of them.
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
    let mut pass = Pass {
        trees,
        presence: erased.presence,
        having: HashMap::new(),
    };
    // Order: each commit after its parents.
    for id in ids.into_iter().rev() {
        let mut commit = load(writer, id)?;
        let before = commit.clone();
        for of in commit.tables.iter_mut().filter(|of| !of.is_forgotten) {
            if let Some(keys) = erased.objects.get(&of.name) {
                pass.take(writer, &before, of, keys)?;
            }
        }
        if !pass.having.contains_key(&id) {
            continue;
        }
        writer.put_named(NamedTable::Commits, id.as_bytes(), &commit.to_row())?;
        if store.new_bytes() > NODE_BYTES {
            store.write(writer)?;
        }
    }
    store.write(writer)?;
    Ok(pass.having.len() as u64)
}

/// A pass over all commits, each after its parents.
struct Pass<'p> {
    trees: &'p Trees,
    presence: &'p Presence,
    /// The objects that commits had, by the names of the tables.
    having: HashMap<CommitId, HashMap<String, BTreeSet<Vec<u8>>>>,
}

impl Pass<'_> {
    /// Takes objects out of a table of a commit.
    fn take(
        &mut self,
        writer: &mut dyn WriteTransaction,
        commit: &Commit,
        of: &mut CommitTable,
        keys: &BTreeSet<Vec<u8>>,
    ) -> Result<()> {
        let kept = match of.kept() {
            Some(root) if has_trees(writer, [root])? => Some(root),
            _ => None,
        };
        let mut having = BTreeSet::new();
        for key in keys {
            let has_object = match &kept {
                Some(root) => self.trees.get(root, key)?.is_some(),
                None => self.had_object(writer, commit, (&of.name, key))?,
            };
            if has_object {
                having.insert(key.clone());
            }
        }
        if having.is_empty() {
            return Ok(());
        }
        let edits = having.iter().map(|key| Edit::delete(key.as_slice()));
        let rest = kept
            .map(|root| self.trees.apply(&root, edits))
            .transpose()?;
        (of.has_forgotten_objects, of.rest) = (true, rest);
        let of_commit = self.having.entry(commit.id).or_default();
        of_commit.insert(of.name.clone(), having);
        Ok(())
    }

    /// Whether a commit without a tree has an object: from the steps, or from the received changes
    /// and the first parent.
    fn had_object(
        &self,
        writer: &mut dyn WriteTransaction,
        commit: &Commit,
        (table, key): (&str, &[u8]),
    ) -> Result<bool> {
        if commit.last_step.is_some() || !has_part(writer, commit.id, 0)? {
            let place = (commit.id, commit.last_step);
            return Ok(self.presence.in_commit((table, key), place));
        }
        let mut changed = None;
        changes_between(writer, commit.id, table, (key, key), &mut |change| {
            changed = Some(change.2.is_some());
            Ok(())
        })?;
        let had = |id| Some(self.having.get(id)?.get(table)?.contains(key));
        let of_parent = || commit.parents.first().and_then(had).unwrap_or(false);
        Ok(changed.unwrap_or_else(of_parent))
    }
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
