//! The names of branches.

use std::rc::Rc;

use dflat_engine::engine::{Engine, PerformOptions};
use dflat_engine::storage::{Snapshot, WriteTransaction};
use dflat_engine::transaction::Transaction;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;

use super::attempt::{Attempt, attempts};
use crate::commits::{
    self, CommitId, delete_branch, delete_remote, put_branch, remote_tip, tip, without_trees,
};

/// The maximum number of bytes of a name.
const NAME_BYTES_MAX: usize = 255;

/// Creates a branch at a commit of the head, which is made if anything has changed since the last
/// one. `tables` are all versioned tables.
///
/// # Errors
/// - [`ErrorKind::AlreadyExists`] if there is a branch of this name.
/// - [`ErrorKind::InvalidArgument`] for a name that is empty, too long or has control characters.
/// - Otherwise those of [`commit`](commits::commit).
pub fn create(engine: &Engine, tables: &[Table], name: &str) -> Result<CommitId> {
    check_name(name)?;
    let commit = commits::commit(engine, tables, None)?;
    write(engine, tables, |writer| {
        check_absent(writer, name)?;
        put_branch(writer, name, commit)
    })?;
    Ok(commit)
}

/// Creates a branch at a commit. `tables` are all versioned tables.
///
/// # Errors
/// - [`ErrorKind::NotFound`] if there is no such commit.
/// - [`ErrorKind::AlreadyExists`] if there is a branch of this name.
/// - [`ErrorKind::InvalidArgument`] for a name that is empty, too long or has control characters.
/// - [`ErrorKind::Corrupt`] if the trees of the commit were collected as garbage, and cannot be
///   built anew.
/// - Otherwise those of [`Engine::perform_here`].
pub fn create_at(engine: &Engine, tables: &[Table], name: &str, commit: CommitId) -> Result<()> {
    check_name(name)?;
    attempts(engine, tables, &format!("create the branch {name}"), || {
        write(engine, tables, |writer| {
            check_absent(writer, name)?;
            let lost = without_trees(writer, tables, [commit])?;
            if !lost.is_empty() {
                return Ok(Attempt::Restore(lost));
            }
            put_branch(writer, name, commit).map(Attempt::Done)
        })
    })
}

fn check_absent(snapshot: &mut dyn Snapshot, name: &str) -> Result<()> {
    if tip(snapshot, name)?.is_none() {
        return Ok(());
    }
    let message = format!("cannot create the branch {name}: it exists");
    Err(Error::new(ErrorKind::AlreadyExists, message))
}

/// Deletes a branch. Its commits stay. A branch of a remote, such as `laptop/main`, is forgotten
/// until the next pull.
///
/// # Errors
/// - [`ErrorKind::NotFound`] if there is no branch of this name.
/// - [`ErrorKind::InvalidArgument`] if the tables have its objects.
/// - Otherwise those of [`Engine::perform_here`].
pub fn delete(engine: &Engine, tables: &[Table], name: &str) -> Result<()> {
    tip_of(engine, name)?;
    write(engine, tables, |writer| {
        if tip(writer, name)?.is_none() {
            return delete_remote(writer, name);
        }
        if commits::head(writer)?.branch == name {
            let message = format!(
                "cannot delete the branch {name}: the file has its objects; check out another one"
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        delete_branch(writer, name)
    })
}

/// The last commit of a branch, or of a branch of a remote, such as `laptop/main`. A branch of this
/// file with the name comes first.
///
/// # Errors
/// [`ErrorKind::NotFound`] if there is no branch of this name; otherwise the errors of reading.
pub fn tip_of(engine: &Engine, name: &str) -> Result<CommitId> {
    engine
        .read_history(|snapshot| any_tip(snapshot, name))?
        .ok_or_else(|| missing(name))
}

/// As [`tip_of`]; `None` if there is no branch of this name.
///
/// # Errors
/// The errors of reading.
pub(super) fn any_tip(snapshot: &mut dyn Snapshot, name: &str) -> Result<Option<CommitId>> {
    match tip(snapshot, name)? {
        Some(tip) => Ok(Some(tip)),
        None => remote_tip(snapshot, name),
    }
}

pub(super) fn missing(name: &str) -> Error {
    let message = format!("there is no branch {name} in the history");
    Error::new(ErrorKind::NotFound, message)
}

/// Writes to the history in a transaction.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] without a table; otherwise those of `write` and of
/// [`Engine::perform_here`].
pub(super) fn write<R>(
    engine: &Engine,
    tables: &[Table],
    write: impl FnOnce(&mut dyn WriteTransaction) -> Result<R>,
) -> Result<R> {
    let Some(first) = tables.first() else {
        let message = "cannot change a branch: no type is versioned";
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    };
    let options = PerformOptions { write_first: true };
    let handler = |transaction: &Rc<Transaction>| transaction.write_history(first, write);
    engine.perform_here([first.clone()], options, handler, |_| ())
}

/// Checks the name of a remote.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] if it is empty, too long, or has a slash or control characters.
pub(crate) fn check_remote(name: &str) -> Result<()> {
    let why = match name {
        "" => "a name has at least one character",
        _ if name.len() > NAME_BYTES_MAX => "a name has at most 255 bytes",
        _ if name.contains(|character: char| character == '/' || character.is_control()) => {
            "a name has no slash and no control characters"
        }
        _ => return Ok(()),
    };
    let message = format!("cannot sync with the remote {name:?}: {why}");
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

/// Checks the name of a branch.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] if it is empty, too long or has control characters.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let why = match name {
        "" => "a name has at least one character",
        _ if name.len() > NAME_BYTES_MAX => "a name has at most 255 bytes",
        _ if name.chars().any(char::is_control) => "a name has no control characters",
        _ => return Ok(()),
    };
    let message = format!("cannot create the branch {name:?}: {why}");
    Err(Error::new(ErrorKind::InvalidArgument, message))
}
