//! Checkouts: transactions that give the tables the objects of a commit.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use dflat_engine::engine::{Engine, PerformOptions};
use dflat_engine::storage::Snapshot;
use dflat_engine::transaction::Transaction;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;

use super::attempt::{Attempt, attempts};
use super::names::missing;
use super::payloads::misfit;
use super::set::{ObjectToSet, TableToSet, ToSet, row_of, set_all, with_taken};
use super::start::is_there;
use crate::chunk::ChunkStore;
use crate::commits::{
    self, CommitId, FileStore, Head, check_kept, latest, load, place, put_head, put_place, tip,
    without_trees,
};
use crate::compare::states_at;
use crate::past::{Moment, Place};
use crate::steps::{Note, prepare};
use crate::tree::{Root, Trees};

/// A checkout that was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkout {
    /// The commit that closed the changes of the branch before.
    pub before: CommitId,
    /// The commit whose objects the tables have now.
    pub commit: CommitId,
    /// The number of objects that were changed.
    pub changed: u64,
}

/// Gives the tables the objects of a branch, and makes it the head. Changes since the last commit
/// are committed first. `tables` are all versioned tables.
///
/// # Errors
/// - [`ErrorKind::NotFound`] if there is no branch of this name, or the history of a type was
///   forgotten since its last commit.
/// - [`ErrorKind::InvalidArgument`] if it is a branch of a remote, or if a type of the commit is
///   versioned no more.
/// - [`ErrorKind::AlreadyExists`] if an object that is in no commit has a unique value of one to
///   set.
/// - [`ErrorKind::Busy`] if others change objects again and again.
/// - Otherwise those of [`commit`](commits::commit).
pub fn checkout(engine: &Engine, tables: &[Table], name: &str) -> Result<Checkout> {
    engine.read_history(|snapshot| {
        let commit = own_tip(snapshot, name)?;
        if commits::head(snapshot)?.branch == name {
            return Ok(());
        }
        // Order: before the present state is committed.
        let moment = Moment::Commit(place(snapshot, commit)?);
        check_kept(snapshot, tables, &moment)
    })?;
    attempts(engine, tables, &format!("check out {name}"), || {
        let before = commits::commit(engine, tables, None)?;
        let store = FileStore::new(engine);
        let trees = Trees::new(store as Arc<dyn ChunkStore>);
        let options = PerformOptions { write_first: true };
        let handler =
            |transaction: &Rc<Transaction>| run(transaction, tables, &trees, (name, before));
        engine.perform_here(tables.iter().cloned(), options, handler, |_| ())
    })
}

/// The last commit of a branch of this file.
///
/// # Errors
/// [`ErrorKind::NotFound`] if there is none; [`ErrorKind::InvalidArgument`] if it is a branch of a
/// remote; otherwise the errors of reading.
fn own_tip(snapshot: &mut dyn Snapshot, name: &str) -> Result<CommitId> {
    if let Some(commit) = tip(snapshot, name)? {
        return Ok(commit);
    }
    if commits::remote_tip(snapshot, name)?.is_some() {
        let message = format!(
            "cannot check out {name}: it is a branch of another file; make a branch from it"
        );
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    Err(missing(name))
}

/// Checks out in a transaction, if there are no changes since the commit `before`.
fn run(
    transaction: &Transaction,
    tables: &[Table],
    trees: &Trees,
    (name, before): (&str, CommitId),
) -> Result<Attempt<Checkout>> {
    prepare(transaction, tables)?;
    let Some(first) = tables.first() else {
        return Ok(Attempt::Again);
    };
    let found = transaction.read_to_write(first, |snapshot| {
        if !is_there(snapshot, tables, Some(before))? {
            return Ok(Attempt::Again);
        }
        let commit = own_tip(snapshot, name)?;
        let lost = without_trees(snapshot, tables, [before, commit])?;
        if !lost.is_empty() {
            return Ok(Attempt::Restore(lost));
        }
        let to_set = differences(snapshot, tables, trees, (Some(before), commit))?;
        let to_set = with_taken(snapshot, to_set)?;
        Ok(Attempt::Done((commit, latest(snapshot)?, to_set)))
    })?;
    let (commit, step, to_set) = match found {
        Attempt::Again => return Ok(Attempt::Again),
        Attempt::Restore(ids) => return Ok(Attempt::Restore(ids)),
        Attempt::Done(found) => found,
    };
    let head = Head {
        branch: name.to_owned(),
        commit: Some(commit),
        step,
    };
    let changed = set_to(transaction, first, &to_set, (&head, commit))?;
    Ok(Attempt::Done(Checkout {
        before,
        commit,
        changed,
    }))
}

/// Gives the tables the objects of a commit, and makes it that of the head. Returns how many
/// objects were changed.
///
/// # Errors
/// As [`set_all`].
pub(super) fn set_to(
    transaction: &Transaction,
    first: &Table,
    to_set: &ToSet<'_>,
    (head, commit): (&Head, CommitId),
) -> Result<u64> {
    transaction.set_history_note(&Note::Checkout(commit).to_bytes());
    let changed = set_all(transaction, to_set)?;
    transaction.write_history(first, |writer| {
        put_place(writer, commit, head.step)?;
        put_head(writer, head)
    })?;
    Ok(changed)
}

/// The objects that differ between two commits, of which the tables have the first, or no objects.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if the history does not fit the objects; otherwise the errors of reading.
pub(super) fn differences<'t>(
    snapshot: &mut dyn Snapshot,
    tables: &'t [Table],
    trees: &Trees,
    (from, to): (Option<CommitId>, CommitId),
) -> Result<Vec<TableToSet<'t>>> {
    let place = Moment::Commit(place(snapshot, to)?);
    let from = from.map(|id| load(snapshot, id)).transpose()?;
    let to = load(snapshot, to)?;
    if let Some(of) = to
        .tables
        .iter()
        .find(|of| of.root != Root::EMPTY && !tables.iter().any(|t| t.name == of.name))
    {
        let message = format!("cannot set objects: {} is not versioned", of.name);
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    let mut to_set = Vec::new();
    for table in tables {
        let from = from
            .as_ref()
            .map_or(Root::EMPTY, |from| from.root(&table.name));
        let diff = trees.diff(&from, &to.root(&table.name))?;
        let entries = diff.collect::<Result<Vec<_>>>()?;
        if entries.is_empty() {
            continue;
        }
        let keys: BTreeSet<Vec<u8>> = entries.iter().map(|entry| entry.key.to_vec()).collect();
        let now = Moment::Commit(Place::PRESENT);
        let states = states_at(snapshot, table, &[(now, &keys), (place.clone(), &keys)])?;
        let Ok([mut current, mut target]) = <[_; 2]>::try_from(states) else {
            continue;
        };
        let mut objects = Vec::new();
        for entry in entries {
            let key = entry.key.to_vec();
            let (current, target) = (row_of(current.remove(&key)), target.remove(&key));
            if (entry.before.is_some(), entry.after.is_some())
                != (current.is_some(), target.is_some())
            {
                return Err(misfit(table));
            }
            objects.push(ObjectToSet {
                current,
                target,
                merged: None,
            });
        }
        to_set.push((table, objects));
    }
    Ok(to_set)
}
