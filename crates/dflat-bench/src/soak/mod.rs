//! A mixed load for as long as one likes, under which memory and file must stay as large as they
//! are.
//!
//! Writers create, change and delete objects of three types, alone and together, and give some of
//! it up again; readers fetch and hold snapshots; subscribers come and go. Beside them a probe
//! takes the time of single commits. The number of objects stays within bounds, so that whatever
//! grows leaks.

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

/// How long the soak is, and where.
#[derive(Clone, Debug)]
pub struct Settings {
    /// For how long there is load.
    pub duration: Duration,
    /// Where the file is made.
    pub directory: PathBuf,
}

/// What was seen.
#[derive(Clone, Debug)]
pub struct Report {
    /// Commits while nothing else happens.
    pub alone: Latency,
    /// Commits under load.
    pub loaded: Latency,
    /// The largest sizes of the second quarter and of the last.
    pub early: Size,
    /// As above.
    pub late: Size,
    /// What the workspace has counted.
    pub stats: Stats,
    /// How long there was load.
    pub taken: Duration,
}

/// How many commits are timed while nothing else happens.
const ALONE: usize = 500;

/// Runs the load.
///
/// # Errors
/// If memory or file have grown, if what is stored is not what was written, or if anything fails.
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
        // Whatever went wrong, they end.
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
    let quarter = |from: u32| {
        let (from, to) = (
            settings.duration * from / 4,
            settings.duration * (from + 1) / 4,
        );
        let within = sizes.iter().filter(|(at, _)| (from..to).contains(at));
        within.fold(Size::default(), |most, (_, size)| most.max(*size))
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

/// Takes the time of a commit, and the sizes, again and again.
#[allow(clippy::type_complexity, reason = "two lists")]
fn sample(
    workspace: &Workspace,
    path: &std::path::Path,
    start: Instant,
    duration: Duration,
) -> Result<(Vec<Duration>, Vec<(Duration, Size)>)> {
    const PAUSE: Duration = Duration::from_millis(4);
    let (mut latencies, mut sizes) = (Vec::new(), Vec::new());
    while start.elapsed() < duration {
        latencies.push(probe(workspace)?);
        if latencies.len().is_multiple_of(8) {
            sizes.push((start.elapsed(), Size::of(path)?));
        }
        // So that it does not become a load of its own.
        thread::sleep(PAUSE);
    }
    Ok((latencies, sizes))
}
