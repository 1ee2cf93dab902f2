//! A mixed load of any duration, under which memory and file must not grow.
//!
//! Writers create, change and delete objects of three types, alone and together, and abort some of
//! their changes. Readers fetch and hold snapshots. Subscriptions are made and cancelled. Meanwhile
//! a probe measures the time of single commits. The number of objects is bounded, so that growth
//! shows a leak.

mod load;
mod probe;
mod size;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dflat::{Stats, Workspace};

use crate::Result;
use crate::workload::{BenchDoc, BenchDocV2, BenchDocV3};
pub use probe::Latency;
use probe::probe;
pub use size::Size;

/// The settings of a soak.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The duration of the load.
    pub duration: Duration,
    /// The directory in which the file is made.
    pub directory: PathBuf,
}

/// The result of a soak.
#[derive(Clone, Debug)]
pub struct Report {
    /// Commits without other load.
    pub alone: Latency,
    /// Commits under load.
    pub loaded: Latency,
    /// The largest sizes during the second quarter of the measurements.
    pub early: Size,
    /// The largest sizes during the last quarter of the measurements.
    pub late: Size,
    /// The counts of the workspace.
    pub stats: Stats,
    /// The time for which the load lasted.
    pub taken: Duration,
}

/// The number of commits that are timed without other load.
const ALONE: usize = 500;

/// Runs the load.
///
/// # Errors
/// If memory or file have grown, if the stored objects are not those that were written, or if an
/// operation fails.
pub fn run(settings: &Settings) -> Result<Report> {
    let directory = tempfile::tempdir_in(&settings.directory)?;
    let path = directory.path().join("soak.db");
    let workspace = Workspace::open(&path)?;
    let mut alone = Vec::new();
    while alone.len() < ALONE {
        alone.push(probe(&workspace)?);
    }
    let start = Instant::now();
    let stop = AtomicBool::new(false);
    let (loaded, sizes) = thread::scope(|scope| -> Result<_> {
        let (w, stop) = (&workspace, &stop);
        let mut workers = vec![
            scope.spawn(|| load::write::<BenchDoc, BenchDocV2>(w, stop, 1)),
            scope.spawn(|| load::write::<BenchDocV2, BenchDocV3>(w, stop, 2)),
            scope.spawn(|| load::write::<BenchDocV3, BenchDoc>(w, stop, 3)),
            scope.spawn(|| load::read::<BenchDoc>(w, stop)),
            scope.spawn(|| load::read::<BenchDocV3>(w, stop)),
        ];
        workers.push(scope.spawn(|| load::observe::<BenchDocV2>(w, stop)));
        let sampled = sample(w, &path, start, settings.duration);
        // The workers end, even if there was an error.
        stop.store(true, Ordering::Relaxed);
        for worker in workers {
            worker.join().map_err(|_| "a worker panicked")??;
        }
        sampled
    })?;
    let taken = start.elapsed();
    let stats = workspace.stats();
    load::check(&workspace)?;
    workspace.shutdown()?;
    // The sizes are counted, not timed: under other load, a quarter of a short time may have none.
    let quarter = |number: usize| {
        let from = sizes.len() * number / 4;
        let to = (sizes.len() * (number + 1) / 4).max(from + 1);
        let within = &sizes[from..to.min(sizes.len())];
        within.iter().copied().fold(Size::default(), Size::max)
    };
    let (early, late) = (quarter(1), quarter(3));
    late.check_no_larger(early)?;
    Ok(Report {
        alone: Latency::of(alone),
        loaded: Latency::of(loaded),
        early,
        late,
        stats,
        taken,
    })
}

/// Measures the time of a commit, and the sizes, repeatedly. Gives at least one size.
fn sample(
    workspace: &Workspace,
    path: &std::path::Path,
    start: Instant,
    duration: Duration,
) -> Result<(Vec<Duration>, Vec<Size>)> {
    const PAUSE: Duration = Duration::from_millis(4);
    let (mut latencies, mut sizes) = (Vec::new(), Vec::new());
    while start.elapsed() < duration {
        latencies.push(probe(workspace)?);
        if latencies.len().is_multiple_of(8) {
            sizes.push(Size::of(path)?);
        }
        // The pause keeps the measurement itself from being a load.
        thread::sleep(PAUSE);
    }
    sizes.push(Size::of(path)?);
    Ok((latencies, sizes))
}
