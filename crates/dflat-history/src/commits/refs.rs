//! The branches, and the one whose objects the tables have.

use std::ops::ControlFlow;

use dflat_engine::storage::{NamedTable, Snapshot, StepId, WriteTransaction};
use dflat_engine::{Error, ErrorKind, Result};

use crate::bytes::Input;
use crate::past::Place;
use crate::steps::{CommitId, gap_name};

/// The branch of a file without another one.
pub const MAIN: &str = "main";

const HEAD: &[u8] = b"head";
const BRANCH: &str = "branch/";
const COLLECTIONS: &[u8] = b"collections";
const UNCOLLECTED: &[u8] = b"uncollected";
const REBUILDS: &[u8] = b"rebuilds";

/// The branch whose objects the tables have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Head {
    /// The name of the branch.
    pub branch: String,
    /// Its last commit; none before the first one.
    pub commit: Option<CommitId>,
    /// The last step before the objects were committed, or set to those of the commit.
    pub(crate) step: StepId,
}

impl Head {
    /// The place of its commit among the steps.
    #[must_use]
    pub(crate) const fn place(&self) -> Place {
        Place {
            step: Some(self.step),
            commit: self.commit,
            received: Vec::new(),
            named: None,
        }
    }
}

/// A branch: a name for the last of some commits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Branch {
    /// The name.
    pub name: String,
    /// The last commit.
    pub commit: CommitId,
}

/// The bytes of a ref.
///
/// # Errors
/// The errors of reading.
pub(super) fn read(snapshot: &mut dyn Snapshot, name: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut found = None;
    snapshot.named(NamedTable::Refs, &[name], &mut |row| {
        found = Some(row.bytes.to_vec());
        ControlFlow::Break(())
    })?;
    Ok(found)
}

/// The head. A file without commits has an empty branch `main`.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if it is damaged; otherwise the errors of reading.
pub fn head(snapshot: &mut dyn Snapshot) -> Result<Head> {
    let (step, name) = match read(snapshot, HEAD)? {
        None => (0, MAIN.to_owned()),
        Some(bytes) => {
            let mut input = Input(&bytes);
            let step = input.array().map(i64::from_le_bytes);
            let name = String::from_utf8(input.0.to_vec()).ok();
            step.zip(name).ok_or_else(damaged)?
        }
    };
    Ok(Head {
        commit: tip(snapshot, &name)?,
        branch: name,
        step: StepId(step),
    })
}

/// The last commit of a branch.
///
/// # Errors
/// As [`head`].
pub(crate) fn tip(snapshot: &mut dyn Snapshot, branch: &str) -> Result<Option<CommitId>> {
    let bytes = read(snapshot, branch_name(branch).as_bytes())?;
    bytes.map(|bytes| commit_of(&bytes)).transpose()
}

/// Makes a commit the last one of the head's branch.
///
/// # Errors
/// The errors of writing.
pub(crate) fn put_head(writer: &mut dyn WriteTransaction, head: &Head) -> Result<()> {
    if let Some(commit) = head.commit {
        put_branch(writer, &head.branch, commit)?;
    }
    let mut bytes = head.step.0.to_le_bytes().to_vec();
    bytes.extend(head.branch.as_bytes());
    writer.put_named(NamedTable::Refs, HEAD, &bytes)
}

/// Makes a commit the last one of a branch.
///
/// # Errors
/// The errors of writing.
pub(crate) fn put_branch(
    writer: &mut dyn WriteTransaction,
    branch: &str,
    commit: CommitId,
) -> Result<()> {
    let name = branch_name(branch);
    writer.put_named(NamedTable::Refs, name.as_bytes(), commit.as_bytes())
}

/// Deletes a branch; its commits stay.
///
/// # Errors
/// The errors of writing.
pub(crate) fn delete_branch(writer: &mut dyn WriteTransaction, branch: &str) -> Result<()> {
    writer.delete_named(NamedTable::Refs, branch_name(branch).as_bytes())
}

/// All branches that have a commit, by name.
///
/// # Errors
/// As [`head`].
pub fn branches(snapshot: &mut dyn Snapshot) -> Result<Vec<Branch>> {
    all(snapshot, BRANCH)
}

/// The branches whose names in the file begin with this, without it.
///
/// # Errors
/// As [`head`].
pub(super) fn all(snapshot: &mut dyn Snapshot, prefix: &str) -> Result<Vec<Branch>> {
    let (mut found, mut failed) = (Vec::new(), None);
    snapshot.all_named(NamedTable::Refs, None, &mut |row| {
        let name = str::from_utf8(row.name).ok();
        let Some(name) = name.and_then(|name| name.strip_prefix(prefix)) else {
            return ControlFlow::Continue(());
        };
        match commit_of(row.bytes) {
            Ok(commit) => found.push(Branch {
                name: name.to_owned(),
                commit,
            }),
            Err(error) => failed = Some(error),
        }
        ControlFlow::Continue(())
    })?;
    found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    failed.map_or(Ok(found), Err)
}

/// The number of transactions that have deleted nodes.
///
/// # Errors
/// The errors of reading.
pub(crate) fn collections(snapshot: &mut dyn Snapshot) -> Result<u64> {
    count(snapshot, COLLECTIONS)
}

fn count(snapshot: &mut dyn Snapshot, name: &[u8]) -> Result<u64> {
    let bytes = read(snapshot, name)?;
    let count = bytes.and_then(|bytes| bytes.try_into().ok());
    Ok(count.map_or(0, u64::from_le_bytes))
}

/// Counts a transaction that deletes nodes. A tree that is being built may need a node that is
/// there, and is built anew after such a transaction.
///
/// # Errors
/// The errors of reading and writing.
pub(crate) fn count_collection(writer: &mut dyn WriteTransaction) -> Result<()> {
    let count = collections(writer)?.wrapping_add(1);
    writer.put_named(NamedTable::Refs, COLLECTIONS, &count.to_le_bytes())
}

/// The number of transactions that have given commits other trees, or have built trees anew.
///
/// # Errors
/// The errors of reading.
pub(crate) fn rebuilds(snapshot: &mut dyn Snapshot) -> Result<u64> {
    count(snapshot, REBUILDS)
}

/// Counts such a transaction. Its trees may need a node that a collection has found to be garbage
/// before.
///
/// # Errors
/// The errors of reading and writing.
pub(crate) fn count_rebuild(writer: &mut dyn WriteTransaction) -> Result<()> {
    let count = rebuilds(writer)?.wrapping_add(1);
    writer.put_named(NamedTable::Refs, REBUILDS, &count.to_le_bytes())
}

/// Notes that trees with forgotten objects are not collected yet.
///
/// # Errors
/// The errors of reading and writing.
pub(crate) fn put_uncollected(writer: &mut dyn WriteTransaction) -> Result<()> {
    let count = collections(writer)?;
    writer.put_named(NamedTable::Refs, UNCOLLECTED, &count.to_le_bytes())
}

/// This note, if there is one; each forgetting makes another one.
///
/// # Errors
/// The errors of reading.
pub(crate) fn uncollected(snapshot: &mut dyn Snapshot) -> Result<Option<Vec<u8>>> {
    read(snapshot, UNCOLLECTED)
}

/// Deletes this note, if there is no other one meanwhile.
///
/// # Errors
/// The errors of reading and writing.
pub(crate) fn delete_uncollected(writer: &mut dyn WriteTransaction, note: &[u8]) -> Result<()> {
    match uncollected(writer)?.is_some_and(|now| now == note) {
        true => writer.delete_named(NamedTable::Refs, UNCOLLECTED),
        false => Ok(()),
    }
}

/// Whether there is a note of a [gap](crate::steps::end) in the steps of a table.
///
/// # Errors
/// The errors of reading.
pub(crate) fn has_gap(snapshot: &mut dyn Snapshot, table: &str) -> Result<bool> {
    Ok(read(snapshot, gap_name(table).as_bytes())?.is_some())
}

/// Takes the note of a [gap](crate::steps::end). Returns whether there was one.
///
/// # Errors
/// The errors of reading and writing.
pub(super) fn take_gap(writer: &mut dyn WriteTransaction, table: &str) -> Result<bool> {
    let name = gap_name(table);
    let has_gap = has_gap(writer, table)?;
    if has_gap {
        writer.delete_named(NamedTable::Refs, name.as_bytes())?;
    }
    Ok(has_gap)
}

fn branch_name(branch: &str) -> String {
    format!("{BRANCH}{branch}")
}

pub(super) fn commit_of(bytes: &[u8]) -> Result<CommitId> {
    let bytes = bytes.try_into().map_err(|_| damaged())?;
    Ok(CommitId::from_bytes(bytes))
}

fn damaged() -> Error {
    let message = "cannot read a branch of the history: its bytes are damaged";
    Error::new(ErrorKind::Corrupt, message)
}
