//! Scans of the present rows and of those of an overlay, in one order.

use std::ops::{Bound, ControlFlow};

use dflat_engine::Result;
use dflat_engine::storage::{Key, ScanPlan, Snapshot, Source};
use dflat_model::{RowId, ValueRef, key};

use super::lost;
use super::overlay::PastTable;
use super::ranges::{self, Visit, row_of};

/// Visits the rows of a plan as they were.
pub(super) fn scan(
    past: &PastTable,
    head: &mut dyn Snapshot,
    plan: &ScanPlan<'_>,
    visit: Visit<'_>,
) -> Result<()> {
    lost::check(past, plan)?;
    match &plan.source {
        Source::Rows => rows(past, head, plan, Bound::Unbounded, visit),
        Source::RowsAfter(after) => rows(past, head, plan, Bound::Excluded(*after), visit),
        Source::RowIds(row_ids) => by_row_id(past, head, plan, row_ids, visit),
        Source::PrimaryKey(parts) => by_key(past, head, plan, parts, visit),
        Source::Key(range) | Source::Entries(range) => match range.key {
            Key::Primary => ranges::scan(past, head, plan, range, visit),
            // The rows of the overlay are among those that the caller examines one by one.
            Key::Index(_) => left(past, head, plan, visit),
        },
    }
}

/// Visits the present rows that are not hidden.
fn left(
    past: &PastTable,
    head: &mut dyn Snapshot,
    plan: &ScanPlan<'_>,
    visit: Visit<'_>,
) -> Result<()> {
    head.scan(plan, &mut |row| match past.hides(row.row_id) {
        true => ControlFlow::Continue(()),
        false => visit(row),
    })
}

fn rows(
    past: &PastTable,
    head: &mut dyn Snapshot,
    plan: &ScanPlan<'_>,
    from: Bound<RowId>,
    visit: Visit<'_>,
) -> Result<()> {
    let of_past = past.rows().range((from, Bound::Unbounded));
    let of_past = of_past.filter_map(|(row_id, state)| Some((*row_id, state.payload()?)));
    let mut of_past = of_past.peekable();
    let mut flow = ControlFlow::Continue(());
    head.scan(plan, &mut |row| {
        while flow.is_continue()
            && let Some((row_id, payload)) = of_past.next_if(|(row_id, _)| *row_id <= row.row_id)
        {
            flow = visit(row_of(row_id, payload));
        }
        if flow.is_continue() && !past.hides(row.row_id) {
            flow = visit(row);
        }
        flow
    })?;
    while flow.is_continue()
        && let Some((row_id, payload)) = of_past.next()
    {
        flow = visit(row_of(row_id, payload));
    }
    Ok(())
}

fn by_row_id(
    past: &PastTable,
    head: &mut dyn Snapshot,
    plan: &ScanPlan<'_>,
    row_ids: &[RowId],
    visit: Visit<'_>,
) -> Result<()> {
    // Runs of rows that are all hidden, or all not.
    for run in row_ids.chunk_by(|one, other| past.hides(*one) == past.hides(*other)) {
        let mut flow = ControlFlow::Continue(());
        if run.first().is_some_and(|first| past.hides(*first)) {
            for row_id in run {
                if let Some(payload) = past.payload(*row_id)
                    && flow.is_continue()
                {
                    flow = visit(row_of(*row_id, payload));
                }
            }
        } else {
            let plan = ScanPlan {
                source: Source::RowIds(run),
                ..plan.clone()
            };
            head.scan(&plan, &mut |row| {
                flow = visit(row);
                flow
            })?;
        }
        if flow.is_break() {
            break;
        }
    }
    Ok(())
}

fn by_key(
    past: &PastTable,
    head: &mut dyn Snapshot,
    plan: &ScanPlan<'_>,
    parts: &[ValueRef<'_>],
    visit: Visit<'_>,
) -> Result<()> {
    let sought = key::encode(parts.iter().copied());
    let first = (sought.clone(), RowId(i64::MIN));
    for (found, row_id) in past.keys().range(first..) {
        if *found != sought {
            break;
        }
        if let Some(payload) = past.payload(*row_id)
            && visit(row_of(*row_id, payload)).is_break()
        {
            return Ok(());
        }
    }
    left(past, head, plan, visit)
}
