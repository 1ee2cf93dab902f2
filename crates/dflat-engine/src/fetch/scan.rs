//! Runs a plan: visits the rows that qualify, in the order of the plan.

use std::ops::ControlFlow;

use dflat_model::{Query, RowId, Table};
use smallvec::SmallVec;

use super::control::ControlChecker;
use super::plan::{AccessPath, KeyAccess, RowOrder};
use super::remaining::RemainingRows;
use super::selectivity::RowCount;
use super::{Control, Plan, corrupt_bytes};
use crate::error::Result;
use crate::object::Malformed;
use crate::query::{Condition, is_after};
use crate::storage::{Row, ScanPlan, Snapshot, Source};

/// Called with each row that qualifies.
pub(super) type Visit<'v> = dyn FnMut(Row<'_>) -> Result<ControlFlow<()>, Malformed> + 'v;

/// The part of the rows that a scan reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// The payloads.
    Payloads,
    /// The values in the index whose ranges the plan has, or the payloads.
    Values,
    /// Row ids alone.
    RowIds,
}

/// Calls `visit` with each row that qualifies, until `visit` breaks.
///
/// Unless payloads are read, the plan must have no residual predicate. If too many rows would be
/// reached by a key, the scan stops, and the result is the scan of the remaining rows.
pub(super) fn scan(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    (query, plan): (&Query, &Plan),
    control: &Control,
    reads: Reads,
    visit: &mut Visit<'_>,
) -> Result<Option<RemainingRows>> {
    let mut run = PlanRun::new(snapshot, table, control, reads);
    run.may_give_up = reads == Reads::Payloads && plan.may_be_given_up(query);
    run.after = behind(query);
    run.checker.check()?;
    let is_over = run.foreign_rows(&plan.foreign_rows, (query, plan.order), visit)?;
    if is_over {
        return Ok(None);
    }
    let condition = plan.residual.as_ref().map(Condition::new);
    let end = run.access(&plan.access, &plan.foreign_rows, &mut |row: Row<'_>| {
        if is_among(&plan.foreign_rows, row.row_id) {
            return Ok(ControlFlow::Continue(()));
        }
        qualified(query, condition.as_ref(), row, visit)
    })?;
    let ScanEnd::GivenUp(mut seen) = end else {
        return Ok(None);
    };
    if !plan.foreign_rows.is_empty() {
        seen.extend(&plan.foreign_rows);
        seen.sort_unstable();
    }
    let sorted = plan.order.is_sorted() && plan.by_row_id;
    Ok(Some(RemainingRows { seen, sorted }))
}

/// The row id after which all rows of a query are, if the query has a cursor position and the order
/// is that of row ids.
pub(super) fn behind(query: &Query) -> Option<RowId> {
    let cursor = query.after.as_ref().filter(|_| query.order.is_empty())?;
    Some(cursor.row_id)
}

/// Whether a row id is in a sorted list.
pub(super) fn is_among(rows: &[RowId], row_id: RowId) -> bool {
    !rows.is_empty() && rows.binary_search(&row_id).is_ok()
}

/// Visits a row if it meets a condition and comes after the query's cursor position.
pub(super) fn qualified(
    query: &Query,
    condition: Option<&Condition<'_>>,
    row: Row<'_>,
    visit: &mut Visit<'_>,
) -> Result<ControlFlow<()>, Malformed> {
    if let Some(condition) = condition
        && condition.holds(row.payload)? != Some(true)
    {
        return Ok(ControlFlow::Continue(()));
    }
    match &query.after {
        Some(cursor) if !is_after(&query.order, cursor, (row.row_id, row.payload))? => {
            Ok(ControlFlow::Continue(()))
        }
        _ => visit(row),
    }
}

/// The state that the scans of a plan share.
pub(super) struct PlanRun<'r> {
    pub(super) snapshot: &'r mut dyn Snapshot,
    table: &'r Table,
    control: &'r Control,
    checker: ControlChecker<'r>,
    reads: Reads,
    /// Whether following a key may be given up.
    may_give_up: bool,
    /// The row id after which all wanted rows are.
    after: Option<RowId>,
}

/// The end of a plan's scans.
#[derive(PartialEq, Eq)]
pub(super) enum ScanEnd {
    /// All rows were visited.
    Done,
    /// The visitor needs no more rows.
    Enough,
    /// There are too many rows. Has the row ids of the visited rows, in order.
    GivenUp(Vec<RowId>),
}

impl ScanEnd {
    const fn of(is_enough: bool) -> Self {
        if is_enough { Self::Enough } else { Self::Done }
    }
}

impl<'r> PlanRun<'r> {
    pub(super) fn new(
        snapshot: &'r mut dyn Snapshot,
        table: &'r Table,
        control: &'r Control,
        reads: Reads,
    ) -> Self {
        Self {
            snapshot,
            table,
            control,
            checker: ControlChecker::new(control, table),
            reads,
            may_give_up: false,
            after: None,
        }
    }

    /// Visits the foreign rows that qualify; true if the visitor needs no more rows. `order` is
    /// that of the rows to come. If they come sorted by the first keys of the query's order, the
    /// visitor breaks at a row that is behind the wanted ones; further foreign rows may still be
    /// wanted.
    pub(super) fn foreign_rows(
        &mut self,
        foreign_rows: &[RowId],
        (query, order): (&Query, RowOrder),
        visit: &mut Visit<'_>,
    ) -> Result<bool> {
        if foreign_rows.is_empty() {
            return Ok(false);
        }
        let reads = std::mem::replace(&mut self.reads, Reads::Payloads);
        let condition = query.predicate.as_ref().map(Condition::new);
        let is_enough = self.source(Source::RowIds(foreign_rows), |row: Row<'_>| {
            let flow = qualified(query, condition.as_ref(), row, visit)?;
            Ok(match order {
                RowOrder::Presorted(_) => ControlFlow::Continue(()),
                RowOrder::Sorted | RowOrder::Any => flow,
            })
        })?;
        self.reads = reads;
        Ok(is_enough)
    }

    /// Scans the rows of an access path.
    pub(super) fn access(
        &mut self,
        access: &AccessPath,
        foreign_rows: &[RowId],
        visit: &mut Visit<'_>,
    ) -> Result<ScanEnd> {
        let row_ids = match access {
            AccessPath::Nothing => return Ok(ScanEnd::Done),
            AccessPath::Rows(None) => return self.source(Source::Rows, visit).map(ScanEnd::of),
            AccessPath::Rows(Some(row_id)) => {
                return self
                    .source(Source::RowsAfter(*row_id), visit)
                    .map(ScanEnd::of);
            }
            AccessPath::Key(access) if self.may_give_up => {
                return self.follow(access, foreign_rows, visit);
            }
            AccessPath::Key(access) => return self.ranges(access, visit).map(ScanEnd::of),
            AccessPath::Union(parts) => self.union(parts)?,
            AccessPath::Intersection(parts) => self.intersection(parts)?,
        };
        let before = match self.after {
            Some(after) => row_ids.partition_point(|row_id| *row_id <= after),
            None => 0,
        };
        let row_ids = &row_ids[before..];
        if self.reads == Reads::RowIds {
            return self.lend(row_ids, visit).map(ScanEnd::of);
        }
        let is_given_up = self.may_give_up
            && row_ids.len() > self.control.rows_before_count
            && row_ids.len() > self.rows_max(&mut RowCount::default(), row_ids.len())?;
        if is_given_up {
            return Ok(ScanEnd::GivenUp(Vec::new()));
        }
        self.source(Source::RowIds(row_ids), visit).map(ScanEnd::of)
    }

    /// Visits rows without reading them; true if the visitor needs no more rows.
    fn lend(&mut self, row_ids: &[RowId], visit: &mut Visit<'_>) -> Result<bool> {
        for row_id in row_ids {
            self.checker.row()?;
            let row = Row {
                row_id: *row_id,
                payload: &[],
                entry: None,
            };
            let visited = visit(row);
            if visited
                .map_err(|_| corrupt_bytes(self.table, *row_id, &[]))?
                .is_break()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Scans ranges; true if the visitor needs no more rows.
    pub(super) fn ranges(&mut self, access: &KeyAccess, visit: &mut Visit<'_>) -> Result<bool> {
        for source in access.sources() {
            let source = match (source, self.reads) {
                (Source::Key(scan), Reads::Values) => Source::Entries(scan),
                (source, _) => source,
            };
            if self.source(source, &mut *visit)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Scans ranges, and gives up if they turn out to have too many rows.
    fn follow(
        &mut self,
        access: &KeyAccess,
        foreign_rows: &[RowId],
        visit: &mut Visit<'_>,
    ) -> Result<ScanEnd> {
        let table = self.table;
        let mut seen: SmallVec<[RowId; 16]> = SmallVec::new();
        let (mut max, mut rest) = (self.control.rows_before_count, None);
        let mut count = RowCount::default();
        loop {
            let access = rest.as_ref().unwrap_or(access);
            let (known, mut behind) = (seen.len(), None);
            for (position, source) in access.sources().enumerate() {
                let is_enough = self.source(source, |row: Row<'_>| {
                    // A foreign row may be anywhere in the key.
                    if is_among(&seen[..known], row.row_id) || is_among(foreign_rows, row.row_id) {
                        return Ok(ControlFlow::Continue(()));
                    }
                    if seen.len() >= max {
                        behind = Some(access.from(table, position, row));
                        return Ok(ControlFlow::Break(()));
                    }
                    seen.push(row.row_id);
                    visit(row)
                })?;
                match (is_enough, &behind) {
                    (true, Some(_)) => break,
                    (true, None) => return Ok(ScanEnd::Enough),
                    (false, _) => {}
                }
            }
            let Some(behind) = behind else {
                return Ok(ScanEnd::Done);
            };
            seen.sort_unstable();
            max = self.rows_max(&mut count, 2 * seen.len())?;
            if seen.len() >= max {
                return Ok(ScanEnd::GivenUp(seen.into_vec()));
            }
            rest = Some(behind);
        }
    }

    /// The largest number of rows to reach by a key, as [`RowCount::rows_max`].
    pub(super) fn rows_max(&mut self, count: &mut RowCount, wanted: usize) -> Result<usize> {
        count.rows_max(self.snapshot, self.table, self.control, wanted)
    }

    /// The row ids of all rows in any of several ranges, in order.
    pub(super) fn union(&mut self, parts: &[KeyAccess]) -> Result<Vec<RowId>> {
        let mut row_ids = Vec::new();
        for part in parts {
            row_ids.extend(self.row_ids(part)?);
        }
        row_ids.sort_unstable();
        row_ids.dedup();
        Ok(row_ids)
    }

    /// The row ids of the rows in all of several ranges, in order.
    pub(super) fn intersection(&mut self, parts: &[KeyAccess]) -> Result<Vec<RowId>> {
        let mut common: Option<Vec<RowId>> = None;
        for part in parts {
            let mut row_ids = self.row_ids(part)?;
            row_ids.sort_unstable();
            common = Some(match common {
                None => row_ids,
                Some(mut common) => {
                    common.retain(|row_id| row_ids.binary_search(row_id).is_ok());
                    common
                }
            });
        }
        Ok(common.unwrap_or_default())
    }

    /// Scans one source; true if the visitor needs no more rows.
    pub(super) fn source(
        &mut self,
        source: Source<'_>,
        mut visit: impl FnMut(Row<'_>) -> Result<ControlFlow<()>, Malformed>,
    ) -> Result<bool> {
        let Self {
            snapshot,
            table,
            checker,
            reads,
            ..
        } = self;
        // Ranges without rows take time as well.
        checker.check()?;
        let plan = ScanPlan {
            table,
            source,
            payload: *reads == Reads::Payloads,
        };
        let mut outcome = Ok(false);
        snapshot.scan(&plan, &mut |row| {
            let step = match checker.row() {
                Ok(()) => visit(row).map_err(|_| corrupt_bytes(table, row.row_id, row.payload)),
                Err(error) => Err(error),
            };
            match step {
                Ok(flow) => {
                    outcome = Ok(flow.is_break());
                    flow
                }
                Err(error) => {
                    outcome = Err(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        outcome
    }

    /// The row ids of ranges.
    fn row_ids(&mut self, access: &KeyAccess) -> Result<Vec<RowId>> {
        let mut row_ids = Vec::new();
        let reads = std::mem::replace(&mut self.reads, Reads::RowIds);
        for source in access.sources() {
            let mut visit = |row: Row<'_>| {
                row_ids.push(row.row_id);
                Ok(ControlFlow::Continue(()))
            };
            self.source(source, &mut visit)?;
        }
        self.reads = reads;
        Ok(row_ids)
    }
}
