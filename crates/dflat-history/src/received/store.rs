//! The parts of changes in the file.

use std::ops::ControlFlow;

use dflat_engine::storage::{NamedTable, Snapshot, WriteTransaction};
use dflat_engine::{Error, ErrorKind, Result};

use super::part::{Part, PartWriter};
use crate::commit_id::CommitId;

/// The name of a part: the id of the commit, and the number of the part.
pub(super) fn name(commit: CommitId, number: u32) -> Vec<u8> {
    let mut name = commit.as_bytes().to_vec();
    name.extend(number.to_be_bytes());
    name
}

/// The commit that a part of this name belongs to.
pub(crate) fn commit_of(name: &[u8]) -> Option<CommitId> {
    let (commit, number) = name.split_first_chunk()?;
    (number.len() == 4).then(|| CommitId::from_bytes(*commit))
}

/// Whether the file has a part of a commit. If it has one, it has all parts before.
///
/// # Errors
/// The errors of reading.
pub(crate) fn has_part(snapshot: &mut dyn Snapshot, commit: CommitId, number: u32) -> Result<bool> {
    let mut is_there = false;
    snapshot.named(NamedTable::Received, &[&name(commit, number)], &mut |_| {
        is_there = true;
        ControlFlow::Break(())
    })?;
    Ok(is_there)
}

/// Stores a part of the changes of a commit. The parts have numbers from 0 on, and a commit without
/// changes has one part. The last part belongs into the transaction that stores the commit: parts
/// without their commit may be deleted as garbage.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if the bytes are no part; [`ErrorKind::Busy`] if the part before was
/// deleted as garbage meanwhile, so that the parts have to be stored again from the first one on;
/// otherwise the errors of reading and writing.
pub fn put_part(
    writer: &mut dyn WriteTransaction,
    commit: CommitId,
    number: u32,
    bytes: &[u8],
) -> Result<()> {
    if Part::read(bytes, None).is_none() {
        return Err(damaged(commit, number));
    }
    if let Some(before) = number.checked_sub(1)
        && !has_part(writer, commit, before)?
    {
        let message = format!(
            "cannot store part {number} of commit {commit}: the part before was deleted as garbage"
        );
        return Err(Error::new(ErrorKind::Busy, message));
    }
    writer.put_named(NamedTable::Received, &name(commit, number), bytes)
}

/// Deletes all parts of a commit.
///
/// # Errors
/// The errors of reading and writing.
pub fn delete_parts(writer: &mut dyn WriteTransaction, commit: CommitId) -> Result<()> {
    let mut end = 0;
    while has_part(writer, commit, end)? {
        end += 1;
    }
    // Order: the last one first, so that all parts before a part are there.
    for number in (0..end).rev() {
        writer.delete_named(NamedTable::Received, &name(commit, number))?;
    }
    Ok(())
}

/// Deletes the changes of a table from all parts. The parts stay, with the changes of other tables.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if a part is damaged; otherwise the errors of reading and writing.
pub(crate) fn without_table(writer: &mut dyn WriteTransaction, table: &str) -> Result<()> {
    let mut below = None;
    loop {
        let mut found = None;
        writer.all_named(NamedTable::Received, below, &mut |row| {
            found = Some((row.id, row.name.to_vec(), shorter(row.bytes, table)));
            ControlFlow::Break(())
        })?;
        let Some((id, name, bytes)) = found else {
            return Ok(());
        };
        below = Some(id);
        match bytes {
            Some(Some(bytes)) => writer.put_named(NamedTable::Received, &name, &bytes)?,
            Some(None) => {}
            None => {
                let message = "cannot read the changes of a received commit: they are damaged";
                return Err(Error::new(ErrorKind::Corrupt, message));
            }
        }
    }
}

/// A part without the changes of a table; no bytes if it has none of them. `None` if it is damaged.
#[expect(
    clippy::option_option,
    reason = "a damaged part is not one without changes"
)]
fn shorter(bytes: &[u8], table: &str) -> Option<Option<Vec<u8>>> {
    let part = Part::read(bytes, None)?;
    if !part.changes().any(|(of, ..)| of == table) {
        return Some(None);
    }
    let mut writer = PartWriter::new();
    for (of, key, payload) in part.changes().filter(|(of, ..)| *of != table) {
        writer.push(of, key, payload);
    }
    Some(Some(writer.finish(part.is_last())))
}

/// The error of a part that cannot be read.
pub(super) fn damaged(commit: CommitId, number: u32) -> Error {
    let message =
        format!("cannot read the changes of commit {commit}: part {number} is damaged or missing");
    Error::new(ErrorKind::Corrupt, message)
}
