//! Reads the changes of received commits.

use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::storage::{NamedTable, Snapshot};

use super::part::{Change, Part};
use super::store::{damaged, name};
use crate::commit_id::CommitId;

/// Visits a change, and says whether the next one is wanted.
type Visit<'v> = &'v mut dyn FnMut(Change<'_>) -> Result<ControlFlow<()>>;

/// Visits the changes of a received commit from its first parent, or from no objects if it has no
/// parent: table, key, and payload, or none if the object was deleted. Tables come in the order of
/// their names, and the objects of a table in the order of their keys. One part is in memory.
///
/// # Errors
/// [`ErrorKind::Corrupt`](dflat_engine::ErrorKind::Corrupt) if a part is damaged or missing;
/// otherwise the errors of reading and those of `visit`.
pub fn each_change(
    snapshot: &mut dyn Snapshot,
    commit: CommitId,
    visit: &mut dyn FnMut(Change<'_>) -> Result<()>,
) -> Result<()> {
    parts(snapshot, (commit, 0), &mut |change| {
        visit(change).map(ControlFlow::Continue)
    })
}

/// As [`each_change`], but only the changes of a table, from the first key to the last one. Of the
/// parts before these changes, a few are read.
///
/// # Errors
/// As [`each_change`].
pub(crate) fn changes_between(
    snapshot: &mut dyn Snapshot,
    commit: CommitId,
    table: &str,
    (first, last): (&[u8], &[u8]),
    visit: &mut dyn FnMut(Change<'_>) -> Result<()>,
) -> Result<()> {
    let start = part_before(snapshot, commit, (table, first))?;
    parts(snapshot, (commit, start), &mut |(name, key, payload)| {
        if (name, key) > (table, last) {
            return Ok(ControlFlow::Break(()));
        }
        if (name, key) >= (table, first) {
            visit((name, key, payload))?;
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// The number of a part before whose first change there is no change of an object or behind it.
fn part_before(
    snapshot: &mut dyn Snapshot,
    commit: CommitId,
    object: (&str, &[u8]),
) -> Result<u32> {
    let (mut low, mut step) = (0_u32, 1_u32);
    let mut high = loop {
        let next = low.saturating_add(step);
        if !begins_before(snapshot, (commit, next), object)? {
            break next;
        }
        (low, step) = (next, step.saturating_mul(2));
    };
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match begins_before(snapshot, (commit, middle), object)? {
            true => low = middle,
            false => high = middle,
        }
    }
    Ok(low)
}

/// Whether the first change of a part is that of an object, or before it. A part may be without
/// changes, if the history of a type was forgotten.
fn begins_before(
    snapshot: &mut dyn Snapshot,
    (commit, number): (CommitId, u32),
    object: (&str, &[u8]),
) -> Result<bool> {
    let mut begins = Ok(false);
    let name = name(commit, number);
    snapshot.named(NamedTable::Received, &[&name], &mut |row| {
        begins = match Part::read(row.bytes, None) {
            None => Err(damaged(commit, number)),
            Some(part) => {
                let mut changes = part.changes();
                let first = changes.next();
                Ok(first.is_some_and(|(table, key, _)| (table, key) <= object))
            }
        };
        ControlFlow::Break(())
    })?;
    begins
}

/// Visits the changes from a part on.
fn parts(
    snapshot: &mut dyn Snapshot,
    (commit, start): (CommitId, u32),
    visit: Visit<'_>,
) -> Result<()> {
    let mut last: Option<(String, Vec<u8>)> = None;
    for number in start.. {
        let mut read = Err(damaged(commit, number));
        let name = name(commit, number);
        snapshot.named(NamedTable::Received, &[&name], &mut |row| {
            read = part(row.bytes, (commit, number), &mut last, visit);
            ControlFlow::Break(())
        })?;
        if read?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Visits the changes of a part. Returns whether to go on with the next one.
fn part(
    bytes: &[u8],
    (commit, number): (CommitId, u32),
    last: &mut Option<(String, Vec<u8>)>,
    visit: Visit<'_>,
) -> Result<ControlFlow<()>> {
    let behind = last.as_ref().map(|(table, key)| (&table[..], &key[..]));
    let part = Part::read(bytes, behind).ok_or_else(|| damaged(commit, number))?;
    let mut at = None;
    for (table, key, payload) in part.changes() {
        if visit((table, key, payload))?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        at = Some((table, key));
    }
    if let Some((table, key)) = at {
        *last = Some((table.to_owned(), key.to_vec()));
    }
    Ok(match part.is_last() {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    })
}
