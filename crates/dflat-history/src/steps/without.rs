//! Steps without one object.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use dflat_engine::Result;
use dflat_engine::object::field_value;
use dflat_engine::storage::{Snapshot, StepId, WriteTransaction};
use dflat_model::record::{Before, Change, Replacement, RowRecord, replace_rows};
use dflat_model::{Table, ValueRef, key};

use super::Note;
use super::backwards::unreadable;
use crate::commit_id::CommitId;

/// When the tables had an object, as the steps say that were changed.
#[derive(Debug, Default)]
pub(crate) struct Presence {
    /// Whether there was an object with the key before the change of a step.
    before: BTreeMap<StepId, bool>,
    /// The latest steps that have set the objects to those of commits.
    set: BTreeMap<CommitId, StepId>,
    /// The number of changes that were deleted.
    pub(crate) changes: u64,
}

impl Presence {
    /// Whether the tables had the object when they had the objects of a commit that closes a step,
    /// or to whose objects they were set.
    pub(crate) fn in_commit(&self, id: CommitId, last: Option<StepId>) -> bool {
        let step = self.set.get(&id).copied().max(last);
        let later = step.and_then(|step| {
            let later = (Bound::Excluded(step), Bound::Unbounded);
            self.before.range(later).next()
        });
        later.is_some_and(|(_, was_there)| *was_there)
    }
}

/// Deletes the object with an encoded key from all steps. A state with the object becomes one
/// without a row, so a change of another key to this one becomes a deletion, and a change of this
/// key to another one an insertion. Steps stay, also those without changes. The tables have no
/// object with the key now.
///
/// # Errors
/// [`ErrorKind::Corrupt`](dflat_engine::ErrorKind::Corrupt) for a step that cannot be read;
/// otherwise the errors of reading and writing.
pub(crate) fn without_object(
    writer: &mut dyn WriteTransaction,
    table: &Table,
    encoded: &[u8],
) -> Result<Presence> {
    let mut presence = Presence::default();
    // How many rows have the key; during a transaction, it moves from one row to another.
    let mut rows = 0_i64;
    let mut below = None;
    while let Some((id, note, record)) = next(writer, below)? {
        below = Some(id);
        if let Some(commit) = Note::from_bytes(&note).and_then(|note| note.commit()) {
            presence.set.entry(commit).or_insert(id);
        }
        let mut touched = 0;
        let shorter = replace_rows(&record, &table.name, &mut |row| {
            let is_wanted = |parts: &[ValueRef<'_>]| key::encode(parts.iter().copied()) == encoded;
            let had = had(row, table);
            let (before, after) = match row.change {
                Change::Inserted => (false, is_wanted(&row.key)),
                Change::Deleted(_) => (is_wanted(&row.key), false),
                Change::Updated(_) => (
                    is_wanted(had.as_ref().unwrap_or(&row.key)),
                    is_wanted(&row.key),
                ),
                Change::Mended => (false, false),
            };
            touched += u64::from(before || after);
            rows += i64::from(before) - i64::from(after);
            replacement(row, had, (before, after))
        });
        let shorter = shorter.map_err(|error| unreadable(id, &error))?;
        if touched > 0 {
            presence.changes += touched;
            presence.before.insert(id, rows > 0);
        }
        if let Some(shorter) = shorter {
            writer.replace_step(id, Some(&shorter))?;
        }
    }
    Ok(presence)
}

/// The key before an update, if the record has the whole object. The difference of an update never
/// hides another key before it.
fn had<'r>(row: &RowRecord<'r>, table: &'r Table) -> Option<Vec<ValueRef<'r>>> {
    let Change::Updated(Before::Object(before)) = row.change else {
        return None;
    };
    let parts = table.primary_key.iter();
    Some(
        parts
            .map(|field| field_value(before, field).unwrap_or(ValueRef::Null))
            .collect(),
    )
}

/// The change of a row, with `had` as its key before, if the object is none before it or after it.
fn replacement<'r>(
    row: &RowRecord<'r>,
    had: Option<Vec<ValueRef<'r>>>,
    (before, after): (bool, bool),
) -> Replacement<'r> {
    match (before, after, row.change) {
        (false, false, _) => Replacement::Same,
        (true, false, Change::Updated(_)) => Replacement::Insertion,
        (false, true, Change::Updated(Before::Object(before))) => Replacement::Deletion {
            key: had.unwrap_or_default(),
            before,
        },
        _ => Replacement::Nothing,
    }
}

/// A row of the table of steps: its id, its note and its record.
type OwnedRow = (StepId, Vec<u8>, Vec<u8>);

fn next(
    snapshot: &mut (dyn WriteTransaction + '_),
    below: Option<StepId>,
) -> Result<Option<OwnedRow>> {
    let mut found = None;
    Snapshot::steps(snapshot, below, &mut |row| {
        found = Some((row.id, row.note.to_vec(), row.record.to_vec()));
        ControlFlow::Break(())
    })?;
    Ok(found)
}
