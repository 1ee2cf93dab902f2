//! How far a key is followed.
//!
//! A row that is reached by a key takes as long as several that come one after the other. So who
//! follows a key for more than some hundred rows asks how many rows there are, and reads them all
//! instead once the key has given a good share of them.

use std::ops::ControlFlow;

use dflat_model::{Query, RowId, Table};

use super::control::Watch;
use super::{AccessPath, Control, KeyAccess, Plan, scan};
use crate::error::Result;
use crate::storage::{ScanPlan, Snapshot, Source};

/// One of so many rows is reached by a key, and no more.
const SHARE: usize = 8;

/// The places at which it is looked how close together row ids are, and the rows that are looked
/// at there.
const PLACES: i64 = 16;
const ROWS: i64 = 16;

/// The most rows that a plan reaches by a key.
pub(super) fn rows_max(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    control: &Control,
) -> Result<usize> {
    let watch = Watch::new(control, table);
    let mut sample = Sample {
        snapshot,
        table,
        watch,
    };
    Ok(control.patience.max(sample.row_count()? / SHARE))
}

/// The same, if the ranges of a plan have more entries, so that all rows are read in the end.
pub(super) fn is_given_up_after(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    (query, plan): (&Query, &Plan),
    control: &Control,
) -> Result<Option<usize>> {
    let accesses = match &plan.access {
        AccessPath::Key(access) => std::slice::from_ref(access),
        AccessPath::Union(parts) => parts.as_slice(),
        // Which rows ranges have in common is known once they were read.
        _ => return Ok(None),
    };
    if !plan.may_be_given_up(query) {
        return Ok(None);
    }
    if !has_more(snapshot, table, (accesses, control.patience), control)? {
        return Ok(None);
    }
    let max = rows_max(snapshot, table, control)?;
    let has_more = has_more(snapshot, table, (accesses, max), control)?;
    Ok(has_more.then_some(max))
}

/// Whether ranges have more entries than this.
fn has_more(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    (accesses, mut max): (&[KeyAccess], usize),
    control: &Control,
) -> Result<bool> {
    for access in accesses {
        match scan::size(snapshot, table, access, max, control)? {
            Some(entries) => max -= entries,
            None => return Ok(true),
        }
    }
    Ok(false)
}

/// Looks at some of a table's rows.
struct Sample<'s> {
    snapshot: &'s mut dyn Snapshot,
    table: &'s Table,
    watch: Watch<'s>,
}

impl Sample<'_> {
    /// About how many rows there are, told by how close together their ids are at some places.
    fn row_count(&mut self) -> Result<usize> {
        let (found, first) = self.behind(0, 1)?;
        if found == 0 {
            return Ok(0);
        }
        // The oldest rows may be gone.
        let before = first - 1;
        let last = self.last()?;
        let width = (last - before) / PLACES + 1;
        let mut count = 0.0;
        for place in 0..PLACES {
            // Each elsewhere in its part, so that what repeats itself is not mistaken for all.
            let within = width * place + (width as f64 * (place as f64 * 0.618).fract()) as i64;
            let from = before.saturating_add(within).min(i64::MAX - 1);
            let (rows, end) = self.behind(from, ROWS)?;
            let end = if rows < ROWS { last.max(from + 1) } else { end };
            count += rows as f64 / (end - from) as f64 * width as f64;
        }
        Ok(count as usize)
    }

    /// An id beyond which there is no row, not much larger than the last row's.
    fn last(&mut self) -> Result<i64> {
        let (mut low, mut high) = (0, 1);
        while self.behind(high, 1)?.0 > 0 {
            (low, high) = (high, high.saturating_mul(2));
            if high == i64::MAX {
                return Ok(high);
            }
        }
        while high - low > high / 16 + 1 {
            let middle = low + (high - low) / 2;
            if self.behind(middle, 1)?.0 > 0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(high)
    }

    /// Up to `max` rows behind an id: how many there are, and the id of the last.
    fn behind(&mut self, row_id: i64, max: i64) -> Result<(i64, i64)> {
        self.watch.check()?;
        let plan = ScanPlan {
            table: self.table,
            source: Source::RowsAfter(RowId(row_id)),
            payload: false,
        };
        let (mut count, mut end) = (0, row_id);
        self.snapshot.scan(&plan, &mut |row| {
            (count, end) = (count + 1, row.row_id.0);
            if count == max {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        Ok((count, end))
    }
}
