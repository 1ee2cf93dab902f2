//! The rows that are left when a scan has given up following a key.

use std::ops::ControlFlow;

use dflat_model::{Query, RowId, Table};

use super::Control;
use super::scan::{PlanRun, Reads, Visit, behind, qualified};
use crate::error::Result;
use crate::query::Condition;
use crate::storage::{Row, Snapshot, Source};

/// The rows that are still to be scanned when following a key was given up: all rows of the table
/// but those that were reached by the key.
pub(super) struct RemainingRows {
    /// The rows that were reached by the key, by row id; if `sorted`, the last one is enough.
    pub(super) seen: Vec<RowId>,
    /// Whether the remaining rows come in the query's order, after those visited before. If not,
    /// and those visited before were in order, the remaining rows still belong after them.
    pub(super) sorted: bool,
}

impl RemainingRows {
    /// Calls `visit` with each row that qualifies, until `visit` breaks.
    pub(super) fn scan(
        self,
        snapshot: &mut dyn Snapshot,
        table: &Table,
        query: &Query,
        control: &Control,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let after = behind(query);
        let condition = query.predicate.as_ref().map(Condition::new);
        let last = self.seen.last().filter(|_| self.sorted).copied();
        let source = match last.max(after) {
            Some(row_id) => Source::RowsAfter(row_id),
            None => Source::Rows,
        };
        let mut seen = self.seen.iter().peekable();
        let mut run = PlanRun::new(snapshot, table, control, Reads::Payloads);
        run.source(source, |row: Row<'_>| {
            while seen.next_if(|seen| **seen < row.row_id).is_some() {}
            match seen.peek() {
                Some(seen) if **seen == row.row_id => Ok(ControlFlow::Continue(())),
                _ => qualified(query, condition.as_ref(), row, visit),
            }
        })?;
        Ok(())
    }
}
