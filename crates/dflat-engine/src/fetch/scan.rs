//! Runs a plan: the rows that qualify, in the order in which it gives them.

use std::ops::ControlFlow;

use dflat_model::{Query, RowId, Table};

use super::control::Watch;
use super::plan::{AccessPath, KeyAccess};
use super::{Control, Plan, corrupt};
use crate::error::Result;
use crate::object::Malformed;
use crate::query::{Condition, is_after};
use crate::storage::{Row, ScanPlan, Snapshot, Source};

/// What to do with a row that qualifies.
pub(super) type Visit<'v> = dyn FnMut(Row<'_>) -> Result<ControlFlow<()>, Malformed> + 'v;

/// What is read of the rows of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// Their payloads.
    Payloads,
    /// Their values in the index whose ranges the plan has, or their payloads.
    Values,
    /// Nothing.
    RowIds,
}

/// Calls `visit` with each row that qualifies, until it breaks. Unless payloads are read, the plan
/// must leave nothing to check.
pub(super) fn scan(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    (query, plan): (&Query, &Plan),
    control: &Control,
    reads: Reads,
    visit: &mut Visit<'_>,
) -> Result<()> {
    let mut run = Run {
        snapshot,
        table,
        watch: Watch::new(control, table),
        reads,
    };
    run.watch.check()?;
    let condition = plan.residual.as_ref().map(Condition::new);
    let is_enough = run.access(&plan.access, &mut |row: Row<'_>| {
        if !plan.apart.is_empty() && plan.apart.binary_search(&row.row_id).is_ok() {
            return Ok(ControlFlow::Continue(()));
        }
        qualified(query, condition.as_ref(), row, visit)
    })?;
    if !is_enough && !plan.apart.is_empty() {
        run.reads = Reads::Payloads;
        let condition = query.predicate.as_ref().map(Condition::new);
        run.source(Source::RowIds(&plan.apart), &mut |row: Row<'_>| {
            qualified(query, condition.as_ref(), row, visit)
        })?;
    }
    Ok(())
}

/// Visits a row if a condition holds and it is behind the query's place.
fn qualified(
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

/// Counts the rows of ranges; `None` if there are more than `max`.
pub(super) fn size(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    access: &KeyAccess,
    max: usize,
    control: &Control,
) -> Result<Option<usize>> {
    let mut watch = Watch::new(control, table);
    let mut rows = 0;
    for source in access.sources() {
        let plan = ScanPlan {
            table,
            source,
            payload: false,
        };
        // Ranges without a row take time, too.
        watch.check()?;
        let mut outcome = Ok(());
        snapshot.scan(&plan, &mut |_| {
            rows += 1;
            outcome = watch.row();
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

/// What the scans of a plan share.
struct Run<'r> {
    snapshot: &'r mut dyn Snapshot,
    table: &'r Table,
    watch: Watch<'r>,
    reads: Reads,
}

impl Run<'_> {
    /// Scans what a plan gives access to: whether the visitor has enough.
    fn access(&mut self, access: &AccessPath, visit: &mut Visit<'_>) -> Result<bool> {
        match access {
            AccessPath::Nothing => Ok(false),
            AccessPath::Rows(None) => self.source(Source::Rows, visit),
            AccessPath::Rows(Some(row_id)) => self.source(Source::RowsAfter(*row_id), visit),
            AccessPath::Key(access) => {
                for source in access.sources() {
                    let source = match source {
                        Source::Key(scan) if self.reads == Reads::Values => Source::Entries(scan),
                        source => source,
                    };
                    if self.source(source, &mut *visit)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            AccessPath::Union(parts) => {
                let mut row_ids = Vec::new();
                for part in parts {
                    row_ids.extend(self.row_ids(part)?);
                }
                row_ids.sort_unstable();
                row_ids.dedup();
                self.source(Source::RowIds(&row_ids), visit)
            }
            AccessPath::Intersection(parts) => {
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
                let row_ids = common.unwrap_or_default();
                self.source(Source::RowIds(&row_ids), visit)
            }
        }
    }

    /// Scans one source: whether the visitor has enough.
    fn source(
        &mut self,
        source: Source<'_>,
        mut visit: impl FnMut(Row<'_>) -> Result<ControlFlow<()>, Malformed>,
    ) -> Result<bool> {
        let Self {
            snapshot,
            table,
            watch,
            reads,
        } = self;
        let plan = ScanPlan {
            table,
            source,
            payload: *reads == Reads::Payloads,
        };
        let mut outcome = Ok(false);
        snapshot.scan(&plan, &mut |row| {
            let step = match watch.row() {
                Ok(()) => visit(row).map_err(|_| corrupt(table, row.row_id)),
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
