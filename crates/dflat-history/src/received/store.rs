//! The parts of changes in the file.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use dflat_engine::storage::{NamedTable, Snapshot, WriteTransaction};
use dflat_engine::{Error, ErrorKind, Result};

use super::part::{Change, Part, PartWriter};
use crate::commit_id::CommitId;

/// The encoded keys of objects, by the names of their tables.
pub(crate) type ObjectKeys = BTreeMap<String, BTreeSet<Vec<u8>>>;

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
    without(writer, &|(of, ..)| *of == table).map(drop)
}

/// Deletes the changes of objects from all parts, as [`without_table`] does. Returns how many there
/// were.
///
/// # Errors
/// As [`without_table`].
pub(crate) fn without_objects(
    writer: &mut dyn WriteTransaction,
    objects: &ObjectKeys,
) -> Result<u64> {
    without(writer, &|(of, changed, _)| {
        objects.get(*of).is_some_and(|keys| keys.contains(*changed))
    })
}

/// Whether a change is meant.
type IsMeant<'m> = &'m dyn Fn(&Change<'_>) -> bool;

fn without(writer: &mut dyn WriteTransaction, is_meant: IsMeant<'_>) -> Result<u64> {
    let (mut below, mut count) = (None, 0);
    loop {
        let mut found = None;
        writer.all_named(NamedTable::Received, below, &mut |row| {
            found = Some((row.id, row.name.to_vec(), shorter(row.bytes, is_meant)));
            ControlFlow::Break(())
        })?;
        let Some((id, name, shorter)) = found else {
            return Ok(count);
        };
        below = Some(id);
        match shorter {
            Some((_, 0)) => {}
            Some((bytes, deleted)) => {
                writer.put_named(NamedTable::Received, &name, &bytes)?;
                count += deleted;
            }
            None => {
                let message = "cannot read the changes of a received commit: they are damaged";
                return Err(Error::new(ErrorKind::Corrupt, message));
            }
        }
    }
}

/// A part without some changes, and the number of these. `None` if the part is damaged.
fn shorter(bytes: &[u8], is_meant: IsMeant<'_>) -> Option<(Vec<u8>, u64)> {
    let part = Part::read(bytes, None)?;
    let deleted = part.changes().filter(is_meant).count() as u64;
    let mut writer = PartWriter::new();
    if deleted > 0 {
        for (of, key, payload) in part.changes().filter(|change| !is_meant(change)) {
            writer.push(of, key, payload);
        }
    }
    Some((writer.finish(part.is_last()), deleted))
}

/// The error of a part that cannot be read.
pub(super) fn damaged(commit: CommitId, number: u32) -> Error {
    let message =
        format!("cannot read the changes of commit {commit}: part {number} is damaged or missing");
    Error::new(ErrorKind::Corrupt, message)
}
