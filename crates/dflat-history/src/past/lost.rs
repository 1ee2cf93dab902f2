//! Scans that need a state that the history lacks.

use std::ops::Bound;

use dflat_engine::Result;
use dflat_engine::storage::{Key, ScanPlan, Source};
use dflat_model::{RowId, key};

use super::overlay::PastTable;
use super::ranges::bounds;
use crate::steps::unnoted;

/// Fails if a scan may need a row whose state is lost.
///
/// # Errors
/// [`ErrorKind::NotFound`](dflat_engine::ErrorKind::NotFound).
pub(super) fn check(past: &PastTable, plan: &ScanPlan<'_>) -> Result<()> {
    match past.unnoted() {
        None if past.lost().is_empty() => Ok(()),
        None => check_lost(past, plan),
        Some(step) => match is_known(past, plan) {
            true => Ok(()),
            false => {
                check_lost(past, plan)?;
                Err(unnoted(plan.table, step))
            }
        },
    }
}

/// Whether a scan needs only rows that the overlay has, although all others are lost.
fn is_known(past: &PastTable, plan: &ScanPlan<'_>) -> bool {
    match &plan.source {
        Source::RowIds(row_ids) => row_ids.iter().all(|row_id| {
            let state = past.rows().get(row_id);
            state.is_some_and(|state| state.lost().is_none())
        }),
        Source::PrimaryKey(parts) => {
            let key = key::encode(parts.iter().copied());
            past.row_with_key(&key).is_some()
        }
        _ => false,
    }
}

/// Fails if a scan may need one of the rows whose keys are known and whose states are lost.
fn check_lost(past: &PastTable, plan: &ScanPlan<'_>) -> Result<()> {
    let fail = |row_id: &RowId| {
        let lost = past.rows().get(row_id).and_then(|state| state.lost());
        lost.map_or(Ok(()), |lost| Err(lost.error(plan.table)))
    };
    let with_keys = |bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>)| {
        let mut row_ids = past.lost().range(bounds).flat_map(|(_, row_ids)| row_ids);
        row_ids.try_for_each(fail)
    };
    match &plan.source {
        Source::Rows => with_keys((Bound::Unbounded, Bound::Unbounded)),
        Source::RowsAfter(after) => {
            let mut row_ids = past.lost().values().flatten();
            row_ids
                .by_ref()
                .filter(|row_id| *row_id > after)
                .try_for_each(fail)
        }
        Source::RowIds(row_ids) => row_ids.iter().try_for_each(fail),
        Source::PrimaryKey(parts) => {
            let key = key::encode(parts.iter().copied());
            with_keys((Bound::Included(key.clone()), Bound::Included(key)))
        }
        Source::Key(range) | Source::Entries(range) => match range.key {
            Key::Primary => match bounds(range) {
                (start, end) if start < end => {
                    with_keys((Bound::Included(start), Bound::Excluded(end)))
                }
                _ => Ok(()),
            },
            // The rows of the overlay are among those that the caller examines one by one.
            Key::Index(_) => Ok(()),
        },
    }
}
