//! Moves branches forward to later commits.

use std::rc::Rc;
use std::sync::Arc;

use dflat_engine::engine::{Engine, PerformOptions};
use dflat_engine::storage::Snapshot;
use dflat_engine::transaction::Transaction;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;

use super::attempt::{Attempt, attempts};
use super::checkout::{differences, set_to};
use super::graph::Graph;
use super::names::{check_name, write};
use super::set::{ToSet, with_taken};
use super::start::{is_there, start};
use crate::chunk::ChunkStore;
use crate::commits::{CommitId, FileStore, Head, head, latest, put_branch, tip, without_trees};
use crate::steps::prepare;
use crate::tree::Trees;

/// Moves the current branch forward to a commit, and gives the tables its objects, in one
/// transaction. Changes since the last commit are committed first. Returns whether the last commit
/// of the branch is the commit, or was before it; otherwise nothing is moved. `tables` are all
/// versioned tables.
///
/// A file without objects and commits takes any commit.
///
/// # Errors
/// - [`ErrorKind::NotFound`] if there is no such commit.
/// - [`ErrorKind::InvalidArgument`] if a type of the commit is not versioned.
/// - [`ErrorKind::AlreadyExists`] if an object that is in no commit has a unique value of one to
///   set.
/// - [`ErrorKind::Busy`] if others change objects again and again.
/// - Otherwise those of [`commit`](crate::commits::commit).
pub fn forward(engine: &Engine, tables: &[Table], to: CommitId) -> Result<bool> {
    attempts(engine, tables, "move the branch forward", || {
        let ours = start(engine, tables)?;
        let trees = Trees::new(FileStore::new(engine) as Arc<dyn ChunkStore>);
        let options = PerformOptions { write_first: true };
        let handler = |transaction: &Rc<Transaction>| run(transaction, tables, &trees, (ours, to));
        engine.perform_here(tables.iter().cloned(), options, handler, |_| ())
    })
}

fn run(
    transaction: &Transaction,
    tables: &[Table],
    trees: &Trees,
    (ours, to): (Option<CommitId>, CommitId),
) -> Result<Attempt<bool>> {
    prepare(transaction, tables)?;
    let Some(first) = tables.first() else {
        return Ok(Attempt::Again);
    };
    let found =
        transaction.read_to_write(first, |snapshot| plan(snapshot, tables, trees, (ours, to)))?;
    match found {
        Attempt::Again => Ok(Attempt::Again),
        Attempt::Restore(ids) => Ok(Attempt::Restore(ids)),
        Attempt::Done(Planned::Nothing(is_there)) => Ok(Attempt::Done(is_there)),
        Attempt::Done(Planned::Set(head, to_set)) => {
            set_to(transaction, first, &to_set, (&head, to))?;
            Ok(Attempt::Done(true))
        }
    }
}

enum Planned<'t> {
    /// Nothing is to be set: the branch has the commit, or cannot have it.
    Nothing(bool),
    Set(Head, ToSet<'t>),
}

fn plan<'t>(
    snapshot: &mut dyn Snapshot,
    tables: &'t [Table],
    trees: &Trees,
    (ours, to): (Option<CommitId>, CommitId),
) -> Result<Attempt<Planned<'t>>> {
    if !is_there(snapshot, tables, ours)? {
        return Ok(Attempt::Again);
    }
    let head = head(snapshot)?;
    if head.commit == Some(to) {
        return Ok(Attempt::Done(Planned::Nothing(true)));
    }
    if let Some(ours) = ours
        && !Graph::read(snapshot)?.ancestors([to]).contains(&ours)
    {
        return Ok(Attempt::Done(Planned::Nothing(false)));
    }
    let lost = without_trees(snapshot, tables, ours.into_iter().chain([to]))?;
    if !lost.is_empty() {
        return Ok(Attempt::Restore(lost));
    }
    let to_set = differences(snapshot, tables, trees, (ours, to))?;
    let head = Head {
        step: latest(snapshot)?,
        commit: Some(to),
        ..head
    };
    let to_set = with_taken(snapshot, to_set)?;
    Ok(Attempt::Done(Planned::Set(head, to_set)))
}

/// Moves a branch forward to a commit, or creates it there, if it is not the current one. Returns
/// whether its last commit is the commit, or was before it; otherwise it is not moved. `tables` are
/// all versioned tables.
///
/// # Errors
/// - [`ErrorKind::NotFound`] if there is no such commit.
/// - [`ErrorKind::InvalidArgument`] for the current branch, and for a name that is empty, too long
///   or has control characters.
/// - [`ErrorKind::Busy`] if others collect garbage again and again.
/// - Otherwise those of [`Engine::perform_here`].
pub fn forward_branch(engine: &Engine, tables: &[Table], name: &str, to: CommitId) -> Result<bool> {
    check_name(name)?;
    let what = format!("move the branch {name} forward");
    attempts(engine, tables, &what, || {
        write(engine, tables, |writer| {
            if head(writer)?.branch == name {
                let message = format!("cannot {what}: the file has its objects");
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
            let lost = without_trees(writer, tables, [to])?;
            if !lost.is_empty() {
                return Ok(Attempt::Restore(lost));
            }
            if let Some(ours) = tip(writer, name)?
                && !Graph::read(writer)?.ancestors([to]).contains(&ours)
            {
                return Ok(Attempt::Done(false));
            }
            put_branch(writer, name, to)?;
            Ok(Attempt::Done(true))
        })
    })
}
