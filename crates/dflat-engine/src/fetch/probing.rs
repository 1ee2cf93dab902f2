//! Finds out from a snapshot what plans would read.

use std::ops::ControlFlow;

use dflat_model::{Query, Table};

use super::plan::Probe;
use super::scan::{PlanRun, Reads};
use super::{AccessPath, Control, KeyAccess, selectivity};
use crate::error::Result;
use crate::query::{Condition, is_after};
use crate::storage::{Row, Snapshot};

/// Probes the plans of a query in a snapshot.
pub(super) struct Probing<'p> {
    pub(super) snapshot: &'p mut dyn Snapshot,
    pub(super) table: &'p Table,
    pub(super) query: &'p Query,
    pub(super) control: &'p Control,
}

impl Probe for Probing<'_> {
    fn size(&mut self, access: &KeyAccess, max: usize) -> Result<Option<usize>> {
        selectivity::size(self.snapshot, self.table, access, max, self.control)
    }

    fn has_enough(&mut self, access: &AccessPath, wanted: usize, max: usize) -> Result<bool> {
        let query = self.query;
        let condition = query.predicate.as_ref().map(Condition::new);
        let is_found = |row: Row<'_>| {
            if let Some(condition) = &condition
                && condition.holds(row.payload)? != Some(true)
            {
                return Ok(false);
            }
            match &query.after {
                Some(cursor) => is_after(&query.order, cursor, (row.row_id, row.payload)),
                None => Ok(true),
            }
        };
        let (mut seen, mut found) = (0, 0);
        let mut run = PlanRun::new(self.snapshot, self.table, self.control, Reads::Payloads);
        run.access(access, &[], &mut |row| {
            seen += 1;
            // The plan that is chosen may not reach this row, if it is damaged.
            found += usize::from(is_found(row).unwrap_or(false));
            match found >= wanted || seen >= max {
                true => Ok(ControlFlow::Break(())),
                false => Ok(ControlFlow::Continue(())),
            }
        })?;
        Ok(found >= wanted)
    }
}
