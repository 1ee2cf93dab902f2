//! The number of live queries from which it pays to find them by the values in their conditions,
//! rather than to match each with every changed row.

use std::time::{Duration, Instant};

use dflat::{ChangeRequest, Predicate, Subscription, Workspace};

use crate::Result;
use crate::scenario::insert_all;
use crate::workload::{BenchDoc, number};

/// The numbers of queries, and the numbers of rows that a commit changes.
const QUERIES: [usize; 5] = [1, 2, 4, 8, 16];
const ROWS: [usize; 4] = [1, 4, 16, 64];

/// The best times of a commit while there are live queries that it does not concern.
#[derive(Clone, Copy, Debug)]
pub struct Crossover {
    /// The number of queries.
    pub queries: usize,
    /// The number of rows that the commit changes.
    pub rows: usize,
    /// The time with queries that are each matched with every row.
    pub one_by_one: Duration,
    /// The time with queries that are found by the value in their condition.
    pub by_value: Duration,
}

/// Measures all sizes. Each time is the best of `commits` commits.
///
/// # Errors
/// If a commit fails.
pub fn measure(commits: usize) -> Result<Vec<Crossover>> {
    let sizes = QUERIES
        .iter()
        .flat_map(|queries| ROWS.map(|rows| (*queries, rows)));
    let crossovers = sizes.map(|(queries, rows)| {
        let one_by_one = Side::new(queries, rows, |i| !BenchDoc::PRIORITY.ne(unmet(i)))?;
        let by_value = Side::new(queries, rows, |i| BenchDoc::PRIORITY.eq(unmet(i)))?;
        let mut best = [Duration::MAX; 2];
        for _ in 0..commits {
            for (best, side) in best.iter_mut().zip([&one_by_one, &by_value]) {
                *best = side.commit()?.min(*best);
            }
        }
        let [one_by_one, by_value] = best;
        Ok(Crossover {
            queries,
            rows,
            one_by_one,
            by_value,
        })
    });
    crossovers.collect()
}

/// A priority that no object has.
fn unmet(i: usize) -> i32 {
    -1 - number(i)
}

struct Side {
    workspace: Workspace,
    _subscriptions: Vec<Subscription>,
}

impl Side {
    fn new(
        queries: usize,
        rows: usize,
        condition: impl Fn(usize) -> Predicate<BenchDoc>,
    ) -> Result<Self> {
        let workspace = Workspace::in_memory();
        insert_all::<BenchDoc>(&workspace, rows).wait()?;
        let subscribe = |i| {
            let query = workspace.fetch().filter(condition(i));
            workspace.subscribe(query, |_| ())
        };
        let subscriptions = (0..queries).map(subscribe).collect::<dflat::Result<_>>()?;
        workspace.settle()?;
        Ok(Self {
            workspace,
            _subscriptions: subscriptions,
        })
    }

    /// Changes every object. Returns the time from the end of the handler until all deliveries are
    /// made.
    fn commit(&self) -> Result<Duration> {
        let changed = self
            .workspace
            .perform_changes_blocking([BenchDoc::TABLE], |tx| {
                for object in &tx.fetch::<BenchDoc>().all()? {
                    if let Some(mut request) = ChangeRequest::change(tx, object)? {
                        request.priority = (request.priority + 1) % 1000;
                        tx.submit(request)?;
                    }
                }
                Ok(Instant::now())
            });
        Ok(changed?.elapsed())
    }
}
