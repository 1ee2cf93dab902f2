//! Finds out from a snapshot what plans would read.

use std::ops::ControlFlow;

use dflat_model::{Query, RowId, Table};

use super::collect::Collector;
use super::plan::{Probe, RowOrder};
use super::scan::{PlanRun, Reads, is_among, qualified};
use super::{AccessPath, Control, KeyAccess, selectivity};
use crate::error::{ErrorKind, Result};
use crate::object::{Malformed, Object, Origin};
use crate::query::Condition;
use crate::storage::{Row, Snapshot};

/// Reading so many bytes more takes as long as reading one more row: the file has them in further
/// pages.
const ROW_BYTES: usize = 4096;

/// Probes the plans of a query in a snapshot.
pub(super) struct Probing<'p> {
    pub(super) snapshot: &'p mut dyn Snapshot,
    pub(super) table: &'p Table,
    pub(super) query: &'p Query,
    pub(super) control: &'p Control,
    pub(super) foreign_rows: &'p [RowId],
    /// Whether a number of any rows is wanted.
    pub(super) is_any: bool,
    /// The origin of the objects, if the objects of the query are wanted.
    pub(super) origin: Option<Origin>,
    /// The objects of the query, if all of them were read to choose the plan.
    pub(super) found: Option<Vec<Object>>,
}

impl Probe for Probing<'_> {
    fn size(&mut self, access: &KeyAccess, max: usize) -> Result<Option<usize>> {
        // Ranges without a row take time as well.
        if access.ranges.len() > max {
            return Ok(None);
        }
        selectivity::size(self.snapshot, self.table, access, max, self.control)
    }

    fn has_enough(
        &mut self,
        (access, order): (&AccessPath, RowOrder),
        wanted: usize,
        max: usize,
    ) -> Result<bool> {
        let query = self.query;
        let (foreign_rows, order) = match access {
            AccessPath::Key(_) if !self.foreign_rows.is_empty() => {
                (self.foreign_rows, order.behind_foreign_rows(query))
            }
            _ => (&[][..], order),
        };
        let is_counted = self.is_any || order.is_sorted();
        if !is_counted && order == RowOrder::Any {
            return Ok(false);
        }
        // The objects show when further rows come too late in the order.
        let is_collected = !is_counted || (self.origin.is_some() && !self.is_any);
        let mut trial = Trial {
            query,
            condition: query.predicate.as_ref().map(Condition::new),
            foreign_rows,
            collector: is_collected.then(|| {
                let origin = self.origin.unwrap_or_default();
                let mut collector = Collector::new(self.table, query, order, origin);
                collector.obey(self.control);
                collector
            }),
            wanted: is_counted.then_some(wanted),
            found: 0,
            cost: 0,
            max,
            is_enough: false,
            is_damaged: false,
        };
        let mut run = PlanRun::new(self.snapshot, self.table, self.control, Reads::Payloads);
        trial.run(&mut run, (access, order))?;
        let is_enough = trial.is_enough && !trial.is_damaged;
        if let (Some(_), Some(collector), true) = (self.origin, trial.collector, is_enough) {
            self.found = Some(collector.finish()?);
        }
        Ok(is_enough)
    }
}

/// Reads the first rows of an access, to see whether they are enough.
struct Trial<'t> {
    query: &'t Query,
    condition: Option<Condition<'t>>,
    foreign_rows: &'t [RowId],
    collector: Option<Collector<'t>>,
    /// The number of rows that are enough, unless the collector knows that.
    wanted: Option<usize>,
    found: usize,
    /// The cost of what was read, and the largest one, in rows.
    cost: usize,
    max: usize,
    is_enough: bool,
    /// Whether a row was damaged. A plan that does not reach this row may be found.
    is_damaged: bool,
}

impl Trial<'_> {
    fn run(
        &mut self,
        run: &mut PlanRun<'_>,
        (access, order): (&AccessPath, RowOrder),
    ) -> Result<()> {
        let (foreign_rows, presorted) = (self.foreign_rows, order.presorted());
        let query = self.query;
        let mut take = |row: Row<'_>| self.take(row);
        match run.foreign_rows(foreign_rows, query, presorted, &mut take) {
            Ok(true) => return Ok(()),
            Ok(false) => self.is_enough = false,
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                self.is_damaged = true;
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        let AccessPath::Key(access) = access else {
            run.access(access, &[], &mut |row| Ok(self.visit(row)))?;
            return Ok(());
        };
        for source in access.sources() {
            let before = self.cost;
            let is_over = run.source(source, |row| Ok(self.visit(row)))?;
            // Ranges without a row take time as well.
            self.cost = self.cost.max(before + 1);
            if is_over || self.cost >= self.max {
                break;
            }
        }
        Ok(())
    }

    /// Breaks if the trial is over.
    fn visit(&mut self, row: Row<'_>) -> ControlFlow<()> {
        if is_among(self.foreign_rows, row.row_id) {
            return ControlFlow::Continue(());
        }
        self.cost += 1 + row.payload.len() / ROW_BYTES;
        let (query, condition) = (self.query, self.condition.take());
        let visited = qualified(query, condition.as_ref(), row, &mut |row| self.take(row));
        self.condition = condition;
        self.is_damaged = visited.is_err();
        match visited {
            Ok(ControlFlow::Continue(())) if self.cost < self.max => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }

    /// Takes a row that qualifies; breaks if there are enough.
    fn take(&mut self, row: Row<'_>) -> Result<ControlFlow<()>, Malformed> {
        self.found += 1;
        let flow = match &mut self.collector {
            Some(collector) => collector.push(row)?,
            None => ControlFlow::Continue(()),
        };
        let is_counted = self.wanted.is_some_and(|wanted| self.found >= wanted);
        self.is_enough = flow.is_break() || is_counted;
        match self.is_enough {
            true => Ok(ControlFlow::Break(())),
            false => Ok(ControlFlow::Continue(())),
        }
    }
}
