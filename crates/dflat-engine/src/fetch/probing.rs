//! Finds out from a snapshot what plans would read.

use std::ops::ControlFlow;

use dflat_model::{Query, Table};

use super::collect::Collector;
use super::plan::Probe;
use super::scan::{PlanRun, Reads, qualified};
use super::{AccessPath, Control, KeyAccess, selectivity};
use crate::error::Result;
use crate::object::{Object, Origin};
use crate::query::Condition;
use crate::storage::{Row, Snapshot};

/// Probes the plans of a query in a snapshot.
pub(super) struct Probing<'p> {
    pub(super) snapshot: &'p mut dyn Snapshot,
    pub(super) table: &'p Table,
    pub(super) query: &'p Query,
    pub(super) control: &'p Control,
    /// The origin of the objects, if the objects of the query are wanted.
    pub(super) origin: Option<Origin>,
    /// The objects of the query, if all of them were read to choose the plan.
    pub(super) found: Option<Vec<Object>>,
}

impl Probe for Probing<'_> {
    fn size(&mut self, access: &KeyAccess, max: usize) -> Result<Option<usize>> {
        selectivity::size(self.snapshot, self.table, access, max, self.control)
    }

    fn has_enough(&mut self, access: &AccessPath, wanted: usize, max: usize) -> Result<bool> {
        let query = self.query;
        let condition = query.predicate.as_ref().map(Condition::new);
        let mut collector = self.origin.map(|origin| {
            let mut collector = Collector::new(self.table, query, true, origin);
            collector.obey(self.control);
            collector
        });
        let (mut seen, mut found) = (0, 0);
        let mut note = |row: Row<'_>| {
            let visited = qualified(query, condition.as_ref(), row, &mut |row| {
                found += 1;
                match &mut collector {
                    Some(collector) => collector.push(row),
                    None => Ok(ControlFlow::Continue(())),
                }
            });
            // The plan that is chosen may not reach this row, if it is damaged.
            if visited.is_err() {
                collector = None;
            }
            found >= wanted
        };
        let mut run = PlanRun::new(self.snapshot, self.table, self.control, Reads::Payloads);
        run.access(access, &[], &mut |row| {
            seen += 1;
            match note(row) || seen >= max {
                true => Ok(ControlFlow::Break(())),
                false => Ok(ControlFlow::Continue(())),
            }
        })?;
        let is_enough = found >= wanted;
        if let Some(collector) = collector.filter(|_| is_enough) {
            self.found = Some(collector.finish()?);
        }
        Ok(is_enough)
    }
}
