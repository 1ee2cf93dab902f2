//! Checkouts: transactions that give the tables the objects of a commit.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use dflat_engine::engine::{Engine, PerformOptions};
use dflat_engine::storage::Snapshot;
use dflat_engine::transaction::Transaction;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;

use super::names::missing;
use super::payloads::misfit;
use super::set::{ObjectToSet, TableToSet, row_of, set_all, with_taken};
use crate::chunk::ChunkStore;
use crate::commits::{
    self, CommitId, FileStore, Head, closed, head, latest, load, place, put_head, tip,
};
use crate::compare::states_at;
use crate::past::{Moment, Place};
use crate::steps::{Note, prepare};
use crate::tree::Trees;

/// How often a checkout begins anew because others have changed objects meanwhile.
const TRIES: u32 = 100;

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
/// - [`ErrorKind::NotFound`] if there is no branch of this name.
/// - [`ErrorKind::InvalidArgument`] if it is a branch of a remote, or if a type of the commit is
///   versioned no more.
/// - [`ErrorKind::AlreadyExists`] if an object that is in no commit has a unique value of one to
///   set.
/// - [`ErrorKind::Busy`] if others change objects again and again.
/// - Otherwise those of [`commit`](commits::commit).
pub fn checkout(engine: &Engine, tables: &[Table], name: &str) -> Result<Checkout> {
    engine.read_history(|snapshot| own_tip(snapshot, name))?;
    for _ in 0..TRIES {
        let before = commits::commit(engine, tables, None)?;
        let store = FileStore::new(engine);
        let trees = Trees::new(store as Arc<dyn ChunkStore>);
        let options = PerformOptions { write_first: true };
        let handler =
            |transaction: &Rc<Transaction>| run(transaction, tables, &trees, (name, before));
        let run = engine.perform_here(tables.iter().cloned(), options, handler, |_| ())?;
        if let Some(done) = run {
            return Ok(done);
        }
    }
    let message = format!("cannot check out {name}: others change objects again and again");
    Err(Error::new(ErrorKind::Busy, message))
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

/// Checks out in a transaction; `None` if there are changes since the commit `before`.
fn run(
    transaction: &Transaction,
    tables: &[Table],
    trees: &Trees,
    (name, before): (&str, CommitId),
) -> Result<Option<Checkout>> {
    prepare(transaction, tables)?;
    let Some(first) = tables.first() else {
        return Ok(None);
    };
    let found = transaction.read_to_write(first, |snapshot| {
        let head = head(snapshot)?;
        let is_committed = head.commit == Some(before) && closed(snapshot, &head.place())?.0 == 0;
        if !is_committed {
            return Ok(None);
        }
        let commit = own_tip(snapshot, name)?;
        let to_set = differences(snapshot, tables, trees, (before, commit))?;
        Ok(Some((
            commit,
            latest(snapshot)?,
            with_taken(snapshot, to_set)?,
        )))
    })?;
    let Some((commit, step, to_set)) = found else {
        return Ok(None);
    };
    transaction.set_history_note(&Note::Checkout(commit).to_bytes());
    let changed = set_all(transaction, &to_set)?;
    let head = Head {
        branch: name.to_owned(),
        commit: Some(commit),
        step,
    };
    transaction.write_history(first, |writer| put_head(writer, &head))?;
    Ok(Some(Checkout {
        before,
        commit,
        changed,
    }))
}

/// The objects that differ between two commits, of which the tables have the first.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if the history does not fit the objects; otherwise the errors of reading.
pub(super) fn differences<'t>(
    snapshot: &mut dyn Snapshot,
    tables: &'t [Table],
    trees: &Trees,
    (from, to): (CommitId, CommitId),
) -> Result<Vec<TableToSet<'t>>> {
    let place = Moment::Commit(place(snapshot, to)?);
    let (from, to) = (load(snapshot, from)?, load(snapshot, to)?);
    if let Some(of) = to
        .tables
        .iter()
        .find(|of| !tables.iter().any(|t| t.name == of.name))
    {
        let message = format!("cannot set objects: {} is versioned no more", of.name);
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    let mut to_set = Vec::new();
    for table in tables {
        let diff = trees.diff(&from.root(&table.name), &to.root(&table.name))?;
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
            objects.push(ObjectToSet { current, target });
        }
        to_set.push((table, objects));
    }
    Ok(to_set)
}
