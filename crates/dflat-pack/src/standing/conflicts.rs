//! Keys and unique values that an object of the pack has already.

use std::ops::{Bound, ControlFlow};

use dflat_engine::Result;
use dflat_engine::storage::{
    Conflict, Key, KeyScan, RowWrite, ScanPlan, Source, WriteError, WriteTransaction,
};
use dflat_model::{Direction, RowId, Table, ValueRef, key};

use super::union::Union;
use crate::backend::{Entries, behind, index_in, row_id};
use crate::read::Reach;

pub(super) const fn conflict(key: Key) -> WriteError {
    WriteError::Conflict(Conflict { key })
}

/// Fails with a conflict if an object of the pack that is not hidden, and has another row id than
/// `own`, has the key or a unique value of a row.
pub(super) fn check(
    union: &mut Union<'_>,
    file: &mut dyn WriteTransaction,
    (table, own): (&Table, Option<RowId>),
    row: &RowWrite<'_>,
) -> Result<(), WriteError> {
    if let Some(parts) = row.key {
        let found = union.find(&key::encode(parts.iter().copied()))?;
        if found.is_some_and(|(position, _)| Some(row_id(position)) != own) {
            return Err(conflict(Key::Primary));
        }
    }
    for entry in row.entries {
        let index = table.indexes.get(entry.index);
        let Some(index) = index.filter(|index| index.unique && entry.values.can_conflict()) else {
            continue;
        };
        let number = index_in(union.stored.table(), index);
        if let (Some(number), Some(values)) = (number, entry.values.get())
            && has_value(union, number, values, own)?
        {
            // The file may have the row's key, or another value of it.
            let first = first_in_file(file, (table, own), row, entry.index)?;
            return Err(conflict(first.unwrap_or(Key::Index(entry.index))));
        }
    }
    Ok(())
}

/// Whether another object of the pack that is not hidden has values of a unique index.
fn has_value(
    union: &mut Union<'_>,
    number: usize,
    values: &[ValueRef<'_>],
    own: Option<RowId>,
) -> Result<bool> {
    let Some(mut entries) = Entries::new(union.stored, number, union.check_blocks) else {
        return Ok(false);
    };
    let start = key::encode(values.iter().copied());
    let span = entries.span(&start, &behind(start.clone()), None)?;
    let found = entries.ascending(&span, 0, Reach::Ahead, &mut |position| {
        let is_other = Some(row_id(position)) != own && union.is_shown(row_id(position));
        Ok(match is_other {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(found.is_break())
}

/// The first key of a row that another row of the file has, among the primary key and the unique
/// indexes before `index`.
fn first_in_file(
    file: &mut dyn WriteTransaction,
    (table, own): (&Table, Option<RowId>),
    row: &RowWrite<'_>,
    index: usize,
) -> Result<Option<Key>> {
    let mut has_other = |source: Source<'_>| -> Result<bool> {
        let mut is_other = false;
        let plan = ScanPlan {
            table,
            source,
            payload: false,
        };
        file.scan(&plan, &mut |found| {
            is_other |= Some(found.row_id) != own;
            match is_other {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        Ok(is_other)
    };
    if let Some(parts) = row.key
        && !parts.iter().any(|part| part.is_null())
        && has_other(Source::PrimaryKey(parts))?
    {
        return Ok(Some(Key::Primary));
    }
    for entry in row.entries.iter().filter(|entry| entry.index < index) {
        let is_unique = table
            .indexes
            .get(entry.index)
            .is_some_and(|index| index.unique);
        if !is_unique || !entry.values.can_conflict() {
            continue;
        }
        let values = entry.values.to_values().unwrap_or_default();
        let scan = KeyScan {
            key: Key::Index(entry.index),
            prefix: &values,
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
            direction: Direction::Ascending,
            after: None,
        };
        if has_other(Source::Key(scan))? {
            return Ok(Some(Key::Index(entry.index)));
        }
    }
    Ok(None)
}
