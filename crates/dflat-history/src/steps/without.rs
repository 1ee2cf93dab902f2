//! The objects of steps by their keys, and steps without some of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::{Bound, ControlFlow};

use dflat_engine::Result;
use dflat_engine::object::field_value;
use dflat_engine::storage::{Snapshot, StepId, WriteTransaction};
use dflat_model::record::{Before, Change, RecordError, Replacement, RowRecord, replace_rows};
use dflat_model::{Table, ValueRef, key};

use super::backwards::unreadable;
use super::reverse::each_row;
use super::{Note, StoredStep};
use crate::commit_id::CommitId;
use crate::received::ObjectKeys;

/// When the tables had some objects, as the changed steps tell.
#[derive(Debug, Default)]
pub(crate) struct Presence {
    /// Whether there was an object with a key before the change of a step.
    before: BTreeMap<String, BTreeMap<Vec<u8>, BTreeMap<StepId, bool>>>,
    /// The latest steps that have set the objects to those of commits.
    set: BTreeMap<CommitId, StepId>,
    /// The number of changes that were deleted.
    pub(crate) changes: u64,
}

impl Presence {
    /// Whether the tables had an object when they had the objects of a commit that closes a step,
    /// or to whose objects they were set.
    pub(crate) fn in_commit(
        &self,
        (table, key): (&str, &[u8]),
        (id, last): (CommitId, Option<StepId>),
    ) -> bool {
        let step = self.set.get(&id).copied().max(last);
        let before = self.before.get(table).and_then(|keys| keys.get(key));
        let later = step.zip(before).and_then(|(step, before)| {
            let later = (Bound::Excluded(step), Bound::Unbounded);
            before.range(later).next()
        });
        later.is_some_and(|(_, was_there)| *was_there)
    }
}

/// Deletes objects from all steps. A state with an object becomes one without a row, so a change of
/// another key to its key becomes a deletion, and a change of its key to another one an insertion.
/// Steps stay, also those without changes. The tables have none of the objects now.
///
/// # Errors
/// [`ErrorKind::Corrupt`](dflat_engine::ErrorKind::Corrupt) for a step that cannot be read;
/// otherwise the errors of reading and writing.
pub(crate) fn without_objects(
    writer: &mut dyn WriteTransaction,
    tables: &[Table],
    objects: &ObjectKeys,
) -> Result<Presence> {
    let mut presence = Presence::default();
    let mut wanted: Vec<Wanted<'_>> = objects
        .iter()
        .filter_map(|(name, keys)| {
            let table = tables.iter().find(|table| table.name == *name)?;
            let rows = keys.iter().map(|key| (key.as_slice(), 0)).collect();
            Some(Wanted { table, rows })
        })
        .collect();
    let mut below = None;
    while let Some((id, note, record)) = next(writer, below)? {
        below = Some(id);
        if let Some(commit) = Note::from_bytes(&note).and_then(|note| note.commit()) {
            presence.set.entry(commit).or_insert(id);
        }
        let mut shorter: Option<Vec<u8>> = None;
        for of in &mut wanted {
            let record = shorter.as_deref().unwrap_or(&record);
            let without = of.without(id, record, &mut presence);
            let without = without.map_err(|error| unreadable(id, &error))?;
            shorter = without.or(shorter);
        }
        if let Some(shorter) = shorter {
            writer.replace_step(id, Some(&shorter))?;
        }
    }
    Ok(presence)
}

/// The objects of a table that are to be deleted from the steps.
struct Wanted<'w> {
    table: &'w Table,
    /// How many rows have a key; during a transaction, it moves from one row to another.
    rows: HashMap<&'w [u8], i64>,
}

impl Wanted<'_> {
    /// A record without the objects; `None` if it has none of them.
    fn without(
        &mut self,
        id: StepId,
        record: &[u8],
        presence: &mut Presence,
    ) -> std::result::Result<Option<Vec<u8>>, RecordError> {
        let (table, rows) = (self.table, &mut self.rows);
        let mut touched: BTreeSet<Vec<u8>> = BTreeSet::new();
        let shorter = replace_rows(record, &table.name, &mut |row| {
            let had = had(row, table);
            let (before, after) = keys(row, had.as_deref());
            let mut is_wanted = |key: Option<Vec<u8>>, change: i64| {
                let key = key.filter(|key| rows.contains_key(key.as_slice()));
                if let Some(count) = key.as_deref().and_then(|key| rows.get_mut(key)) {
                    *count += change;
                }
                let is_wanted = key.is_some();
                touched.extend(key);
                is_wanted
            };
            let (before, after) = (is_wanted(before, 1), is_wanted(after, -1));
            presence.changes += u64::from(before || after);
            replacement(row, had, (before, after))
        })?;
        for key in touched {
            let was_there = rows.get(key.as_slice()).is_some_and(|rows| *rows > 0);
            let of_table = presence.before.entry(table.name.to_string()).or_default();
            of_table.entry(key).or_default().insert(id, was_there);
        }
        Ok(shorter)
    }
}

/// Visits the encoded keys of the objects that a step has changed, those before and those after.
///
/// # Errors
/// [`ErrorKind::Corrupt`](dflat_engine::ErrorKind::Corrupt) for a step that cannot be read.
pub(crate) fn each_key(
    step: &StoredStep,
    tables: &[Table],
    visit: &mut dyn FnMut(&Table, &[u8]) -> Result<()>,
) -> Result<()> {
    each_row(step, &mut |name, row| {
        let Some(table) = tables.iter().find(|table| table.name == name) else {
            return Ok(());
        };
        let (before, after) = keys(row, had(row, table).as_deref());
        let after = after.filter(|after| before.as_ref() != Some(after));
        let mut keys = before.iter().chain(&after);
        keys.try_for_each(|key| visit(table, key))
    })
}

/// The encoded keys of the object of a row before its change and after it, with `had` as the key
/// before, if that is another one.
fn keys(row: &RowRecord<'_>, had: Option<&[ValueRef<'_>]>) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let encoded = |parts: &[ValueRef<'_>]| Some(key::encode(parts.iter().copied()));
    match row.change {
        Change::Inserted => (None, encoded(&row.key)),
        Change::Deleted(_) => (encoded(&row.key), None),
        Change::Updated(_) => (encoded(had.unwrap_or(&row.key)), encoded(&row.key)),
        Change::Mended => (None, None),
    }
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
