//! Queries that are cancelled while they run: each plan ends soon, and the rows before the end are
//! those of the full query.

use std::ops::ControlFlow;
use std::time::Instant;

use dflat_engine::fetch::{self, Cancellation, Control};
use dflat_engine::object::Object;
use dflat_engine::storage::{Indexes, Row, ScanPlan, Snapshot};
use dflat_engine::{ErrorKind, Result};
use dflat_model::{Query, Table};

use super::Run;
use super::ask::answer;
use super::side::Side;
use super::tree::Types;
use crate::random::Random;

/// The largest number of rows that are visited after a query was cancelled, as documented.
const ROWS_MAX: usize = 64;

impl Run {
    /// Ends a query at once, by its deadline, and after some of the rows that it visits.
    pub(super) fn end_early(&self, query: &Query, random: &mut Random) {
        let expected = answer(Types(&self.table.types), &self.objects, query);
        let after = *random.pick(&[0, 1, 2, 7, 60, 130, 500]);
        for side in &self.sides {
            let overdue = Control {
                deadline: Some(Instant::now()),
                ..side.control().clone()
            };
            let found = side.run(query, &overdue, &mut Stop::never());
            match found {
                // A query for no rows visits no row, so it can't notice the end.
                Ok(found) => assert!(found.is_empty() && query.limit == Some(0), "{query}"),
                Err(error) => {
                    assert_eq!(
                        error.kind(),
                        ErrorKind::DeadlineExceeded,
                        "{query}: {error}"
                    );
                }
            }
            let mut stop = Stop::after(after);
            let stopped = Control {
                cancellation: Some(stop.cancellation.clone()),
                ..side.control().clone()
            };
            match side.run(query, &stopped, &mut stop) {
                Ok(found) => {
                    self.check(&found, &expected, query, "not given up in time");
                    assert!(after > 0 || query.limit == Some(0), "{query}");
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled, "{query}: {error}"),
            }
            assert!(
                stop.visited <= after + ROWS_MAX,
                "{} rows visited, though given up after {after}: {query}",
                stop.visited
            );
        }
    }
}

impl Side {
    fn run(&self, query: &Query, control: &Control, stop: &mut Stop) -> Result<Vec<Object>> {
        let table = self.table();
        let view = fetch::view_for(table, query);
        self.engine().read(table, view, |snapshot, origin| {
            let mut stopping = Stopping { snapshot, stop };
            fetch::fetch(&mut stopping, table, query, control, origin)
        })
    }
}

/// Cancels a query after some rows.
struct Stop {
    cancellation: Cancellation,
    after: usize,
    visited: usize,
}

impl Stop {
    fn after(rows: usize) -> Self {
        let stop = Self {
            after: rows,
            ..Self::never()
        };
        if rows == 0 {
            stop.cancellation.cancel();
        }
        stop
    }

    fn never() -> Self {
        Self {
            cancellation: Cancellation::new(),
            after: usize::MAX,
            visited: 0,
        }
    }
}

/// Counts the rows that are visited.
struct Stopping<'s> {
    snapshot: &'s mut dyn Snapshot,
    stop: &'s mut Stop,
}

impl Snapshot for Stopping<'_> {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let stop = &mut *self.stop;
        self.snapshot.scan(plan, &mut |row| {
            stop.visited += 1;
            if stop.visited == stop.after {
                stop.cancellation.cancel();
            }
            visit(row)
        })
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        self.snapshot.indexes(table)
    }
}
