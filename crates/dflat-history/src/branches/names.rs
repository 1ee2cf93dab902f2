//! The names of branches.

use std::rc::Rc;

use dflat_engine::engine::{Engine, PerformOptions};
use dflat_engine::storage::{Snapshot, WriteTransaction};
use dflat_engine::transaction::Transaction;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;

use crate::commits::{self, CommitId, delete_branch, put_branch, remote_tip, tip};

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
        if tip(writer, name)?.is_some() {
            let message = format!("cannot create the branch {name}: it exists");
            return Err(Error::new(ErrorKind::AlreadyExists, message));
        }
        put_branch(writer, name, commit)
    })?;
    Ok(commit)
}

/// Deletes a branch. Its commits stay.
///
/// # Errors
/// - [`ErrorKind::NotFound`] if there is no branch of this name.
/// - [`ErrorKind::InvalidArgument`] if the tables have its objects.
/// - Otherwise those of [`Engine::perform_here`].
pub fn delete(engine: &Engine, tables: &[Table], name: &str) -> Result<()> {
    let is_missing = engine
        .read_history(|snapshot| tip(snapshot, name))?
        .is_none();
    if is_missing {
        return Err(missing(name));
    }
    write(engine, tables, |writer| {
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

fn write(
    engine: &Engine,
    tables: &[Table],
    write: impl FnOnce(&mut dyn WriteTransaction) -> Result<()>,
) -> Result<()> {
    let Some(first) = tables.first() else {
        let message = "cannot change a branch: no type is versioned";
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    };
    let options = PerformOptions { write_first: true };
    let handler = |transaction: &Rc<Transaction>| transaction.write_history(first, write);
    engine.perform_here([first.clone()], options, handler, |_| ())
}

fn check_name(name: &str) -> Result<()> {
    let why = match name {
        "" => "a name has at least one character",
        _ if name.len() > NAME_BYTES_MAX => "a name has at most 255 bytes",
        _ if name.chars().any(char::is_control) => "a name has no control characters",
        _ => return Ok(()),
    };
    let message = format!("cannot create the branch {name:?}: {why}");
    Err(Error::new(ErrorKind::InvalidArgument, message))
}
