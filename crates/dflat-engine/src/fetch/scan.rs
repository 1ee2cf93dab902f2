//! Runs a plan: the rows that qualify, in the order in which it gives them.

use std::ops::ControlFlow;

use dflat_model::{Query, Table};

use super::control::Watch;
use super::{Control, Plan, corrupt};
use crate::error::Result;
use crate::object::Malformed;
use crate::query::{evaluate, is_after};
use crate::storage::{Row, ScanPlan, Snapshot};

/// What to do with a row that qualifies.
pub(super) type Visit<'v> = dyn FnMut(Row<'_>) -> Result<ControlFlow<()>, Malformed> + 'v;

/// Calls `visit` with each row that qualifies, until it breaks.
pub(super) fn scan(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    (query, plan): (&Query, &Plan),
    control: &Control,
    visit: &mut Visit<'_>,
) -> Result<()> {
    let mut watch = Watch::new(control, table);
    watch.check()?;
    for source in plan.sources() {
        let mut failure = None;
        let mut ended = false;
        snapshot.scan(&ScanPlan { table, source }, &mut |row| {
            if let Err(error) = watch.row() {
                failure = Some(error);
                return ControlFlow::Break(());
            }
            let step = qualifies(query, plan, row).and_then(|qualifies| {
                if qualifies {
                    visit(row)
                } else {
                    Ok(ControlFlow::Continue(()))
                }
            });
            let step = step.unwrap_or_else(|_| {
                failure = Some(corrupt(table, row.row_id));
                ControlFlow::Break(())
            });
            ended = step.is_break();
            step
        })?;
        if let Some(error) = failure {
            return Err(error);
        }
        if ended {
            break;
        }
    }
    Ok(())
}

fn qualifies(query: &Query, plan: &Plan, row: Row<'_>) -> Result<bool, Malformed> {
    if let Some(residual) = &plan.residual
        && evaluate(residual, row.payload)? != Some(true)
    {
        return Ok(false);
    }
    match &query.after {
        None => Ok(true),
        Some(cursor) => is_after(&query.order, cursor, (row.row_id, row.payload)),
    }
}
