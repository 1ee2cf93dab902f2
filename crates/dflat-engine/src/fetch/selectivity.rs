//! Decides after how many rows a scan gives up following a key, and reads all rows instead, and how
//! many values of a list are looked up.
//!
//! Reaching a row by a key takes as long as reading several rows in sequence. So a scan that has
//! followed a key for some hundred rows finds out how many rows the table has. Once the key has
//! reached an eighth of them, the scan reads all rows instead.
//!
//! The number of rows is estimated from samples of how densely row ids are used. If most samples
//! lie in gaps, which may be of any width, rows are counted instead, without payloads: at most
//! sixteen times the rows reached so far, so that counting costs little compared with following the
//! key.
//!
//! The values of a list are looked up only if the table has eight rows for each value. Before the
//! first look-up, a few row ids are read to find this out, which costs little compared with the
//! look-ups of a short list.

use std::ops::ControlFlow;

use dflat_model::{Query, RowId, Table};

use super::control::ControlChecker;
use super::{AccessPath, Control, KeyAccess, Plan};
use crate::error::Result;
use crate::storage::{ScanPlan, Snapshot, Source};

/// At most one in this many rows of a table is reached by a key.
const ROWS_PER_KEYED_ROW: usize = 8;

/// The number of samples of how densely row ids are used, and of the rows in each. So an estimate
/// visits 256 row ids, and at most 130 more to find the first and the last one. Without samples,
/// 4,096 or more would be counted, if the table has as many.
const SAMPLES: usize = 16;
const SAMPLE_ROWS: usize = 16;

/// A sample lies in a gap if row ids are this many times as dense in another sample.
const GAP: f64 = 8.0;

/// The number of samples, and of the rows in each, that show whether there are rows for the values
/// of a list. If less than half of the row ids are in use, the number of rows is estimated.
const LIST_SAMPLES: usize = 4;
const LIST_SAMPLE_ROWS: usize = 8;

/// The known number of a table's rows.
#[derive(Default)]
pub(super) enum RowCount {
    #[default]
    Unknown,
    /// An estimate, not above the number of row ids from the first to the last.
    Estimated(usize),
    /// The number of rows up to this row id; there may be more behind it.
    Counted(usize, RowId),
}

impl RowCount {
    /// The largest number of rows to reach by a key. If rows are counted, counting ends as soon as
    /// it is certain that `wanted` rows may be reached.
    pub(super) fn rows_max(
        &mut self,
        snapshot: &mut dyn Snapshot,
        table: &Table,
        control: &Control,
        wanted: usize,
    ) -> Result<usize> {
        let mut sample = Sample::new(snapshot, table, control);
        let share = self.share(&mut sample, wanted)?;
        Ok(control.rows_before_count.max(share))
    }

    /// An eighth of the table's rows. Counting ends as soon as this number is certain to reach
    /// `wanted`.
    fn share(&mut self, sample: &mut Sample<'_>, wanted: usize) -> Result<usize> {
        if let Self::Unknown = self {
            *self = match sample.row_count()? {
                Some(rows) => Self::Estimated(rows),
                None => Self::Counted(0, RowId(0)),
            };
        }
        let rows = match self {
            Self::Unknown => 0,
            Self::Estimated(rows) => *rows,
            Self::Counted(rows, last) => {
                let more = wanted
                    .saturating_mul(ROWS_PER_KEYED_ROW)
                    .saturating_sub(*rows);
                if more > 0 {
                    let (found, end) = sample.behind(last.0, more)?;
                    (*rows, *last) = (*rows + found, RowId(end));
                }
                *rows
            }
        };
        Ok(rows / ROWS_PER_KEYED_ROW)
    }
}

/// The number of values of a list that may be looked up, if the longest list has `wanted` values:
/// all of them if the table has eight rows for each.
pub(super) fn values_max(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    control: &Control,
    wanted: usize,
) -> Result<usize> {
    let mut sample = Sample::new(snapshot, table, control);
    let (found, first) = sample.behind(0, 1)?;
    let mut values = if found == 0 { 0 } else { wanted };
    while values > 0 {
        match sample.has_rows(first, values.saturating_mul(ROWS_PER_KEYED_ROW))? {
            Some(true) => break,
            // A shorter list may be short enough.
            Some(false) => values /= 2,
            None => {
                let share = RowCount::default().share(&mut sample, values)?;
                return Ok(values.min(share));
            }
        }
    }
    Ok(values)
}

/// The number of rows after which following the key of a plan is given up; `None` if the plan's
/// ranges do not have more entries.
pub(super) fn is_given_up_after(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    (query, plan): (&Query, &Plan),
    control: &Control,
) -> Result<Option<usize>> {
    let accesses = match &plan.access {
        AccessPath::Key(access) => std::slice::from_ref(access),
        AccessPath::Union(parts) => parts.as_slice(),
        // An intersection is known only after its ranges were read.
        _ => return Ok(None),
    };
    if !plan.may_be_given_up(query) {
        return Ok(None);
    }
    let (mut max, mut count) = (control.rows_before_count, RowCount::default());
    while has_more(snapshot, table, (accesses, max), control)? {
        let next = count.rows_max(snapshot, table, control, max.saturating_mul(2))?;
        if next <= max {
            return Ok(Some(max));
        }
        max = next;
    }
    Ok(None)
}

/// Whether ranges have more entries than this.
fn has_more(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    (accesses, mut max): (&[KeyAccess], usize),
    control: &Control,
) -> Result<bool> {
    for access in accesses {
        match size(snapshot, table, access, max, control)? {
            Some(entries) => max -= entries,
            None => return Ok(true),
        }
    }
    Ok(false)
}

/// Counts the rows of ranges; `None` if there are more than `max`.
pub(super) fn size(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    access: &KeyAccess,
    max: usize,
    control: &Control,
) -> Result<Option<usize>> {
    let mut checker = ControlChecker::new(control, table);
    let mut rows = 0;
    for source in access.sources() {
        let plan = ScanPlan {
            table,
            source,
            payload: false,
        };
        // Ranges without a row take time, too.
        checker.check()?;
        let mut outcome = Ok(());
        snapshot.scan(&plan, &mut |_| {
            rows += 1;
            outcome = checker.row();
            if rows > max || outcome.is_err() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        outcome?;
        if rows > max {
            return Ok(None);
        }
    }
    Ok(Some(rows))
}

/// Samples a table's rows.
struct Sample<'s> {
    snapshot: &'s mut dyn Snapshot,
    table: &'s Table,
    checker: ControlChecker<'s>,
}

impl<'s> Sample<'s> {
    fn new(snapshot: &'s mut dyn Snapshot, table: &'s Table, control: &'s Control) -> Self {
        Self {
            snapshot,
            table,
            checker: ControlChecker::new(control, table),
        }
    }

    /// Whether a table has about `rows` rows, if its first row id is `first`. False if the row ids
    /// end earlier; true if samples show that at least half of the row ids up to there are in use.
    /// `None` if there are many gaps.
    fn has_rows(&mut self, first: i64, rows: usize) -> Result<Option<bool>> {
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        let before = first - 1;
        if self.behind(before.saturating_add(rows - 1), 1)?.0 == 0 {
            return Ok(Some(false));
        }
        let width = rows / LIST_SAMPLES as i64;
        let mut density = 0.0;
        for place in 0..LIST_SAMPLES {
            let within = (width as f64 * (place as f64 * 0.618).fract()) as i64;
            let from = before + width * place as i64 + within;
            let (found, end) = self.behind(from, LIST_SAMPLE_ROWS)?;
            density += found as f64 / (end - from) as f64;
        }
        Ok((2.0 * density >= LIST_SAMPLES as f64).then_some(true))
    }

    /// An estimate of the number of rows, from samples of how densely row ids are used; at most the
    /// number of ids from the first to the last. `None` if most samples lie in gaps, because the
    /// others are no measure then.
    fn row_count(&mut self) -> Result<Option<usize>> {
        let (found, first) = self.behind(0, 1)?;
        if found == 0 {
            return Ok(Some(0));
        }
        // The oldest rows may have been deleted.
        let before = first - 1;
        let last = self.last()?;
        let width = (last - before) / SAMPLES as i64 + 1;
        let mut densities = [0.0; SAMPLES];
        for (place, density) in densities.iter_mut().enumerate() {
            // At a varying distance within each part, so that a regular pattern of row ids does not
            // mislead all samples.
            let within = (width as f64 * (place as f64 * 0.618).fract()) as i64;
            let from = (width * place as i64).saturating_add(within);
            let from = before.saturating_add(from).min(last - 1);
            let (rows, end) = self.behind(from, SAMPLE_ROWS)?;
            let end = if rows < SAMPLE_ROWS {
                last.max(from + 1)
            } else {
                end
            };
            *density = rows as f64 / (end - from) as f64;
        }
        let highest = densities.iter().copied().fold(0.0, f64::max);
        let gaps = densities.iter().filter(|density| **density * GAP < highest);
        if 2 * gaps.count() > SAMPLES {
            return Ok(None);
        }
        let (sum, ids) = (densities.iter().sum::<f64>(), (last - before) as f64);
        Ok(Some((sum * width as f64).min(ids) as usize))
    }

    /// The last row's id.
    fn last(&mut self) -> Result<i64> {
        let (mut low, mut high) = (0, 1);
        while high < i64::MAX && self.behind(high, 1)?.0 > 0 {
            (low, high) = (high, high.saturating_mul(2));
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.behind(middle, 1)?.0 > 0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(high)
    }

    /// Visits up to `max` rows behind a row id: their number, and the id of the last.
    fn behind(&mut self, row_id: i64, max: usize) -> Result<(usize, i64)> {
        let Self {
            snapshot,
            table,
            checker,
        } = self;
        checker.check()?;
        let plan = ScanPlan {
            table,
            source: Source::RowsAfter(RowId(row_id)),
            payload: false,
        };
        let (mut count, mut end) = (0, row_id);
        let mut outcome = Ok(());
        snapshot.scan(&plan, &mut |row| {
            (count, end) = (count + 1, row.row_id.0);
            outcome = checker.row();
            if count == max || outcome.is_err() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        outcome?;
        Ok((count, end))
    }
}
