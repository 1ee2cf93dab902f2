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

/// A row counts once, and once more for each of so many bytes, which the file has in further pages.
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
        let foreign_rows = match access {
            AccessPath::Key(_) => self.foreign_rows,
            _ => &[],
        };
        let order = match (self.is_any, foreign_rows) {
            // Rows in any order are those that are wanted.
            (true, _) => RowOrder::Sorted,
            (false, []) => order,
            (false, _) => order.behind_foreign_rows(query),
        };
        if order == RowOrder::Any || foreign_rows.len() > max {
            return Ok(false);
        }
        // If rows come sorted by the first keys of the order, the collector tells when it has all
        // wanted rows.
        let is_counted = order.is_sorted();
        let collector = (!is_counted || self.origin.is_some()).then(|| {
            let origin = self.origin.unwrap_or_default();
            let mut collector = Collector::new(self.table, query, order, origin);
            collector.obey(self.control);
            collector
        });
        let mut trial = FirstReads {
            query,
            condition: query.predicate.as_ref().map(Condition::new),
            foreign_rows,
            taken: Taken {
                collector,
                wanted: is_counted.then_some(wanted),
                count: 0,
                is_enough: false,
            },
            cost: 0,
            max,
        };
        let mut run = PlanRun::new(self.snapshot, self.table, self.control, Reads::Payloads);
        trial.run(&mut run, (access, order))?;
        let Taken {
            collector,
            is_enough,
            ..
        } = trial.taken;
        if let (Some(_), Some(collector), true) = (self.origin, collector, is_enough) {
            self.found = Some(collector.finish()?);
        }
        Ok(is_enough)
    }
}

/// Reads the first rows of an access, to see whether they are enough.
struct FirstReads<'t> {
    query: &'t Query,
    condition: Option<Condition<'t>>,
    foreign_rows: &'t [RowId],
    taken: Taken<'t>,
    /// The cost of the rows that were read, and the largest cost.
    cost: usize,
    max: usize,
}

/// The rows that qualify.
struct Taken<'t> {
    collector: Option<Collector<'t>>,
    /// The number of rows that are enough, unless the collector tells when there are enough.
    wanted: Option<usize>,
    count: usize,
    is_enough: bool,
}

impl FirstReads<'_> {
    /// Reads rows until there are enough, or no more may be read. A damaged row ends this, too,
    /// because a plan that does not reach the row may be found.
    fn run(
        &mut self,
        run: &mut PlanRun<'_>,
        (access, order): (&AccessPath, RowOrder),
    ) -> Result<()> {
        let mut take = |row: Row<'_>| self.taken.take(row);
        match run.foreign_rows(self.foreign_rows, (self.query, order), &mut take) {
            Ok(true) => return Ok(()),
            // A foreign row behind the wanted ones does not tell that there are enough.
            Ok(false) => self.taken.is_enough = false,
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                self.taken.is_enough = false;
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

    /// Breaks if there are enough rows, no more may be read, or the row is damaged.
    fn visit(&mut self, row: Row<'_>) -> ControlFlow<()> {
        if is_among(self.foreign_rows, row.row_id) {
            return ControlFlow::Continue(());
        }
        self.cost += 1 + row.payload.len() / ROW_BYTES;
        let Self {
            query,
            condition,
            taken,
            ..
        } = self;
        let visited = qualified(query, condition.as_ref(), row, &mut |row| taken.take(row));
        match visited {
            Ok(ControlFlow::Continue(())) if self.cost < self.max => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}

impl Taken<'_> {
    /// Takes a row that qualifies; breaks if there are enough.
    fn take(&mut self, row: Row<'_>) -> Result<ControlFlow<()>, Malformed> {
        self.count += 1;
        let flow = match &mut self.collector {
            Some(collector) => collector.push(row)?,
            None => ControlFlow::Continue(()),
        };
        let is_counted = self.wanted.is_some_and(|wanted| self.count >= wanted);
        self.is_enough = flow.is_break() || is_counted;
        match self.is_enough {
            true => Ok(ControlFlow::Break(())),
            false => Ok(ControlFlow::Continue(())),
        }
    }
}
