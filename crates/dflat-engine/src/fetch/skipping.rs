//! Windows that begin behind many rows: the rows before the window are skipped in a key, so that
//! their objects are not read.

use std::ops::ControlFlow;

use dflat_model::{Query, RowId, Table};

use super::scan::{PlanRun, Reads, Visit};
use super::{AccessPath, Control, Plan};
use crate::error::Result;
use crate::storage::{Row, Snapshot, Source};

/// Whether a query's window begins behind at least as many rows as it may have.
pub(super) fn is_far(query: &Query) -> bool {
    query.offset > 0 && query.limit.is_some_and(|limit| limit <= query.offset)
}

impl Plan {
    /// Whether the rows before the query's window are skipped without reading them. A key must
    /// decide alone which rows the query has, and give their order.
    pub(super) fn skips_entries(&self, query: &Query) -> bool {
        let is_key = match &self.access {
            AccessPath::Nothing | AccessPath::Rows(_) => false,
            AccessPath::Key(_) | AccessPath::Union(_) | AccessPath::Intersection(_) => true,
        };
        let decides = self.residual.is_none() && self.foreign_rows.is_empty();
        is_key && decides && self.order.is_sorted() && query.after.is_none() && is_far(query)
    }
}

/// Calls `visit` with the rows of the query's window, in order, until `visit` breaks. The plan must
/// [skip entries](Plan::skips_entries).
pub(super) fn scan_window(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    (query, plan): (&Query, &Plan),
    control: &Control,
    visit: &mut Visit<'_>,
) -> Result<()> {
    let limit = query.limit.unwrap_or(usize::MAX);
    let mut run = PlanRun::new(&mut *snapshot, table, control, Reads::RowIds);
    let row_ids = match &plan.access {
        AccessPath::Union(parts) => window(run.union(parts)?, query.offset, limit),
        AccessPath::Intersection(parts) => window(run.intersection(parts)?, query.offset, limit),
        access => {
            let (mut before, mut row_ids) = (query.offset, Vec::new());
            run.access(access, &[], &mut |row: Row<'_>| {
                if before > 0 {
                    before -= 1;
                    return Ok(ControlFlow::Continue(()));
                }
                row_ids.push(row.row_id);
                match row_ids.len() >= limit {
                    true => Ok(ControlFlow::Break(())),
                    false => Ok(ControlFlow::Continue(())),
                }
            })?;
            row_ids
        }
    };
    let mut run = PlanRun::new(snapshot, table, control, Reads::Payloads);
    run.source(Source::RowIds(&row_ids), visit)?;
    Ok(())
}

fn window(row_ids: Vec<RowId>, offset: usize, limit: usize) -> Vec<RowId> {
    row_ids.into_iter().skip(offset).take(limit).collect()
}
