//! What the backend stores of an object: its key, its index entries, and the storage they need.

use std::sync::Arc;

use dflat_model::{Field, RowId, Table, ValueRef};
use smallvec::SmallVec;

use super::mend::mend;
use crate::error::{Error, ErrorKind, Result};
use crate::object::{field_value, root_text, same_value, text};
use crate::storage::{IndexEntry, IndexState, WriteTransaction};

/// The parts of a primary key, in line for the usual few.
pub(super) type KeyParts<'a> = SmallVec<[ValueRef<'a>; 2]>;

/// The primary key of an object.
#[inline]
pub(super) fn key_parts<'a>(table: &'a Table, payload: &'a [u8]) -> Result<KeyParts<'a>> {
    let mut parts = KeyParts::new();
    for field in table.primary_key.iter() {
        parts.push(read(table, payload, field)?);
    }
    Ok(parts)
}

/// The new primary key, if an update changes it.
pub(super) fn changed_key<'a>(
    table: &'a Table,
    before: &'a [u8],
    after: &'a [u8],
) -> Result<Option<KeyParts<'a>>> {
    let mut changed = false;
    for field in table.primary_key.iter() {
        let same = same_value(before, after, field).map_err(|_| unreadable(table, field))?;
        changed = changed || !same;
    }
    changed.then(|| key_parts(table, after)).transpose()
}

#[inline]
pub(super) fn read<'a>(table: &Table, payload: &'a [u8], field: &'a Field) -> Result<ValueRef<'a>> {
    // Most keys are strings that stand in the root.
    if let Ok(Some(bytes)) = root_text(payload, field)
        && let Ok(text) = text(bytes)
    {
        return Ok(ValueRef::Text(text));
    }
    field_value(payload, field).map_err(|_| unreadable(table, field))
}

fn unreadable(table: &Table, field: &Field) -> Error {
    let message = format!(
        "cannot read {field} of {}: its bytes are damaged",
        table.type_name
    );
    Error::new(ErrorKind::Corrupt, message)
}

/// A table that is ready to be written to in the backend's transaction.
pub(super) struct Prepared {
    table: Table,
    reach: Reach,
    /// Whether no newer code is known to have written to it.
    is_newest: bool,
}

impl Prepared {
    /// How far the indexes of a table are built, if it was prepared as what it is, because no newer
    /// code has written to it.
    #[inline]
    pub(super) fn reach_of(prepared: &[Self], table: &Table) -> Option<Reach> {
        let mut prepared = prepared.iter();
        let ready = prepared.find(|ready| ready.is_newest && ready.table.is_same(table))?;
        Some(ready.reach.clone())
    }

    /// Notes that no newer code is known to have written to a table.
    pub(super) fn note_newest(prepared: &mut [Self], table: &Table) {
        let ready = prepared
            .iter_mut()
            .filter(|ready| ready.table.is_same(table));
        ready.for_each(|ready| ready.is_newest = true);
    }
}

/// How far a table's indexes are built: `None` if all are ready, else the largest row id that each
/// has an entry for. What is behind that is left to the one who builds them.
#[derive(Clone, Default)]
pub(super) struct Reach(Option<Arc<[RowId]>>);

impl Reach {
    pub(super) fn of(states: &[IndexState]) -> Self {
        if states.iter().all(|state| *state == IndexState::Ready) {
            return Self(None);
        }
        let reaches = states.iter().map(|state| match state {
            IndexState::Ready => RowId(i64::MAX),
            IndexState::Incomplete(reach) => *reach,
            IndexState::Missing => RowId(0),
        });
        Self(Some(reaches.collect()))
    }

    /// Whether all indexes are ready.
    pub(super) const fn is_whole(&self) -> bool {
        self.0.is_none()
    }

    /// Leaves the entries to write for a row: one with this id, or a new one.
    pub(super) fn leave(&self, entries: &mut Vec<IndexEntry<'_>>, row_id: Option<RowId>) {
        if let Some(reaches) = &self.0 {
            let row_id = row_id.unwrap_or(RowId(i64::MAX));
            entries.retain(|entry| reaches.get(entry.index).is_some_and(|r| *r >= row_id));
        }
    }
}

/// Makes a table's storage what its descriptor says: creates what is missing, and removes the
/// indexes that its writes would not maintain; once for each transaction of the backend. How far
/// its indexes are built.
pub(super) fn prepare(
    writer: &mut dyn WriteTransaction,
    prepared: &mut Vec<Prepared>,
    table: &Table,
) -> Result<Reach> {
    if let Some(ready) = prepared.iter().find(|ready| ready.table.is_same(table)) {
        return Ok(ready.reach.clone());
    }
    // Another descriptor of the same table has other indexes.
    prepared.retain(|other| other.table.name != table.name);
    // Order: noted first, so that a failure that leaves half of it is undone with the storage.
    prepared.push(Prepared {
        table: table.clone(),
        reach: Reach::default(),
        is_newest: false,
    });
    let reach = Reach::of(&mend(writer, table)?);
    if let Some(last) = prepared.last_mut() {
        last.reach = reach.clone();
    }
    Ok(reach)
}
