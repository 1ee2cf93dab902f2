//! How long a small transaction waits for the upkeep of the file.

use std::thread;
use std::time::{Duration, Instant};

use dflat::{Durability, Reclaim, Workspace};

use super::FILL_TIMES;
use super::ours::delete_all;
use crate::Result;
use crate::floor::Floor;
use crate::measure::{Report, Settings, file};
use crate::scenario::sides::{TABLE_NAMES, insert_all};
use crate::scenario::update::update;
use crate::workload::{BenchDoc, BenchDocV2, Doc};

/// The most runs, because a run fills a large table.
const RUNS_MAX: usize = 5;

/// The most transactions of a run.
const TRANSACTIONS_MAX: usize = 500;

/// The pause between two transactions, which lets upkeep begin a step.
const PAUSE: Duration = Duration::from_millis(1);

/// Gives pages back as soon as no transaction writes.
const RECLAIM: Reclaim = Reclaim::Idle {
    pages: 64,
    percent: 20,
    after: Duration::from_micros(200),
};

/// Fills and empties a large table. Then makes transactions that change one object each, while
/// upkeep copies the log into the file and gives back the space. A time is that of the longest
/// transaction. The floor has the automatic checkpoints that SQLite makes by default, and gives
/// nothing back.
pub(in crate::scenario) fn wait(name: &'static str, settings: &Settings) -> Result<Report> {
    let (count, large) = (
        settings.objects.min(TRANSACTIONS_MAX),
        settings.objects * FILL_TIMES,
    );
    let scratch = settings.scratch()?;
    let (mut run, mut floor_run) = (0, 0);
    settings.with_runs_max(RUNS_MAX).compare(
        name,
        |_| {
            run += 1;
            let builder = Workspace::builder(file(&scratch, "ours", run));
            let workspace = builder.reclaim(RECLAIM).open()?;
            insert_all::<BenchDocV2>(&workspace, count).wait()?;
            let objects = workspace.fetch::<BenchDocV2>().all()?;
            insert_all::<BenchDoc>(&workspace, large).wait()?;
            delete_all::<BenchDoc>(&workspace)?;
            longest(objects.iter(), |object| {
                workspace.perform_changes_blocking([BenchDocV2::TABLE], |tx| update(tx, object))?;
                Ok(())
            })
        },
        |_| {
            floor_run += 1;
            let path = file(&scratch, "floor", floor_run);
            let mut floor = Floor::open(&path, Durability::Normal, &TABLE_NAMES)?;
            floor.insert::<BenchDocV2>(1, (0..count).map(|i| BenchDocV2::data(i, count)))?;
            let mut objects = floor.fetch_owned::<BenchDocV2>(1, |_| true)?;
            floor.insert::<BenchDoc>(0, (0..large).map(|i| BenchDoc::data(i, large)))?;
            let mut row_ids = Vec::new();
            floor.scan(0, |row_id, _| row_ids.push(row_id))?;
            floor.delete(0, &row_ids)?;
            longest(objects.iter_mut(), |object| {
                let one = std::slice::from_mut(object);
                floor.update_each::<BenchDocV2>(1, one, |data| *BenchDocV2::priority_of(data) += 1)
            })
        },
    )
}

/// The time of the longest piece of work, of one for each item.
fn longest<I>(
    items: impl Iterator<Item = I>,
    mut work: impl FnMut(I) -> Result<()>,
) -> Result<Duration> {
    let mut longest = Duration::ZERO;
    for item in items {
        let start = Instant::now();
        work(item)?;
        longest = longest.max(start.elapsed());
        thread::sleep(PAUSE);
    }
    Ok(longest)
}
