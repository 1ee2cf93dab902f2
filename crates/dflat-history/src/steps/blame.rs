//! The steps that have changed one object.

use std::collections::BTreeSet;

use dflat_engine::Result;
use dflat_engine::object::field_value;
use dflat_model::record::{Before, Change, RowRecord};
use dflat_model::{RowId, Table, ValueRef};

use super::reverse::each_row;
use super::state::unnoted_tables;
use super::{Backwards, Step, StepSource};

/// A step that has changed an object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Blame {
    /// The step.
    pub step: Step,
    /// The change.
    pub change: BlameChange,
}

/// A change of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlameChange {
    /// The object was inserted.
    Inserted,
    /// The object was updated.
    Updated,
    /// The object was deleted.
    Deleted,
    /// A program may have changed the object, and has prevented that this was noted.
    Unnoted,
}

/// A primary key.
struct Wanted<'w> {
    table: &'w Table,
    key: &'w [ValueRef<'w>],
}

impl Wanted<'_> {
    /// Whether the object had the key after a change, or before it.
    fn is_of(&self, row: &RowRecord<'_>) -> bool {
        row.key == self.key
            || match row.change {
                // If an update changes the key, its record has the whole object before the update.
                Change::Updated(Before::Object(before)) => self.is_key_of(before),
                _ => false,
            }
    }

    fn is_key_of(&self, payload: &[u8]) -> bool {
        let mut fields = self.table.primary_key.iter().zip(self.key);
        fields.all(|(field, part)| field_value(payload, field).is_ok_and(|value| value == *part))
    }
}

/// The steps that have changed the object with a primary key, the latest one first. `row_id` is
/// that of the object, if it exists. If the object had another key before, its steps are among
/// them; and so are those of an object that had the key before, up to the step that deleted it or
/// gave it another key.
///
/// # Errors
/// The errors of reading steps.
pub fn blame(
    mut source: impl StepSource,
    table: &Table,
    key: &[ValueRef<'_>],
    row_id: Option<RowId>,
) -> Result<Vec<Blame>> {
    let wanted = Wanted { table, key };
    let mut row_ids: BTreeSet<RowId> = row_id.into_iter().collect();
    let mut blamed = Vec::new();
    let mut steps = Backwards::below(None);
    while let Some(stored) = steps.next(&mut source)? {
        let is_unnoted = unnoted_tables(&stored)?
            .iter()
            .any(|name| *name == table.name);
        let mut found = is_unnoted.then_some(BlameChange::Unnoted);
        each_row(&stored, &mut |name, row| {
            if name != table.name || !(row_ids.contains(&row.row_id) || wanted.is_of(row)) {
                return Ok(());
            }
            let change = match row.change {
                Change::Inserted => BlameChange::Inserted,
                Change::Updated(_) => BlameChange::Updated,
                Change::Deleted(_) => BlameChange::Deleted,
                Change::Mended => return Ok(()),
            };
            row_ids.insert(row.row_id);
            found = Some(change);
            Ok(())
        })?;
        if let Some(change) = found {
            let step = stored.step()?;
            blamed.push(Blame { step, change });
        }
    }
    Ok(blamed)
}
