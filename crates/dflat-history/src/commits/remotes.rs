//! The branches of other files, as this file last saw them.

use dflat_engine::Result;
use dflat_engine::storage::{NamedTable, Snapshot, WriteTransaction};

use super::refs::{Branch, all, commit_of, read};
use crate::steps::CommitId;

const REMOTE: &str = "remote/";
const INCOMING: &str = "incoming/";

/// The name of a branch of a remote: `laptop/main` for the branch `main` of `laptop`. The name of a
/// remote has no slash; that of a branch may have some.
#[must_use]
pub fn remote_name(remote: &str, branch: &str) -> String {
    format!("{remote}/{branch}")
}

/// Notes the last commit that a branch of a remote had.
///
/// # Errors
/// The errors of writing.
pub fn put_remote(
    writer: &mut dyn WriteTransaction,
    (remote, branch): (&str, &str),
    commit: CommitId,
) -> Result<()> {
    let name = format!("{REMOTE}{remote}/{branch}");
    writer.put_named(NamedTable::Refs, name.as_bytes(), commit.as_bytes())
}

/// The last commit that a branch of a remote had, by the [name](remote_name) of both.
///
/// # Errors
/// [`ErrorKind::Corrupt`](dflat_engine::ErrorKind::Corrupt) if it is damaged; otherwise the errors
/// of reading.
pub fn remote_tip(snapshot: &mut dyn Snapshot, name: &str) -> Result<Option<CommitId>> {
    let bytes = read(snapshot, format!("{REMOTE}{name}").as_bytes())?;
    bytes.map(|bytes| commit_of(&bytes)).transpose()
}

/// Forgets a branch of a remote, by the [name](remote_name) of both.
///
/// # Errors
/// The errors of writing.
pub fn delete_remote(writer: &mut dyn WriteTransaction, name: &str) -> Result<()> {
    writer.delete_named(NamedTable::Refs, format!("{REMOTE}{name}").as_bytes())
}

/// The branches of remotes and their last commits, by the [names](remote_name) of both.
///
/// # Errors
/// As [`remote_tip`].
pub fn remotes(snapshot: &mut dyn Snapshot) -> Result<Vec<Branch>> {
    all(snapshot, REMOTE)
}

/// Notes the last commit that an unfinished pull of a branch has received so far.
///
/// # Errors
/// The errors of writing.
pub fn put_incoming(
    writer: &mut dyn WriteTransaction,
    (remote, branch): (&str, &str),
    commit: CommitId,
) -> Result<()> {
    let name = format!("{INCOMING}{remote}/{branch}");
    writer.put_named(NamedTable::Refs, name.as_bytes(), commit.as_bytes())
}

/// Deletes the note of a pull.
///
/// # Errors
/// The errors of writing.
pub fn delete_incoming(
    writer: &mut dyn WriteTransaction,
    (remote, branch): (&str, &str),
) -> Result<()> {
    let name = format!("{INCOMING}{remote}/{branch}");
    writer.delete_named(NamedTable::Refs, name.as_bytes())
}

/// The last commits that unfinished pulls have received, by the [names](remote_name) of remote and
/// branch.
///
/// # Errors
/// As [`remote_tip`].
pub fn incoming(snapshot: &mut dyn Snapshot) -> Result<Vec<Branch>> {
    all(snapshot, INCOMING)
}
