//! The time until another process has a commit: a child of this program, which is idle otherwise.

use std::cmp::Reverse;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dflat::{ChangeRequest, Durability, Workspace};

use super::super::sides::Sides;
use crate::floor::Floor;
use crate::measure::{Report, Settings};
use crate::workload::{BenchDoc, Doc};
use crate::{Result, check};

/// Says which side a child process is.
const SIDE: &str = "DFLAT_BENCH_SIDE";
/// Where a child process finds its file.
const PATH: &str = "DFLAT_BENCH_PATH";

/// The most commits of a run.
const COMMITS_MAX: usize = 200;

/// The objects of the table for each commit.
const OBJECTS_A_COMMIT: usize = 50;

/// The maximum number of runs, because each run gives the times of many commits.
const RUNS_MAX: usize = 3;

/// The time without commits before each commit: the child is idle.
const PAUSE: Duration = Duration::from_millis(5);

/// The time between two looks of the floor's child.
const POLL: Duration = Duration::from_millis(10);

/// The number of objects of the result.
const SHOWN: usize = 20;

/// Commits one change after the other. Measures the time from before the change until another
/// process has the new result: of ours, by a subscription; of the floor, by polling `data_version`
/// every 10 ms and reading the result again.
pub(in super::super) fn latency(name: &'static str, settings: &Settings) -> Result<Report> {
    let ours = Sides::filled(settings, Durability::Normal)?;
    let mut floor = Sides::filled(settings, Durability::Normal)?;
    let mut of_ours = Reader::start("ours", &ours.ours_path)?;
    let mut of_floor = Reader::start("floor", &floor.floor_path)?;
    let all = ours.workspace.fetch::<BenchDoc>();
    let first = all.order_by(BenchDoc::PRIORITY.descending()).first()?;
    let first = first.ok_or("there is no object")?;
    let mut owned = floor.floor.fetch_owned::<BenchDoc>(0, |_| true)?;
    owned.sort_by_key(|(_, data)| Reverse(data.priority));
    let commits = (settings.objects / OBJECTS_A_COMMIT).clamp(1, COMMITS_MAX);
    let report = settings.with_runs_max(RUNS_MAX).compare_each(
        name,
        || {
            let change = || -> Result<()> {
                let first = first.clone();
                let changed = ours
                    .workspace
                    .perform_changes([BenchDoc::TABLE], move |tx| {
                        let Some(mut request) = ChangeRequest::change(tx, &first)? else {
                            return Ok(false);
                        };
                        request.priority += 1;
                        tx.submit(request).map(|_| true)
                    });
                check("an update", &changed.wait()?, &true)
            };
            of_ours.times_of(commits, change)
        },
        || {
            let raise = |data: &mut _| *BenchDoc::priority_of(data) += 1;
            let change = || {
                let floor = &mut floor.floor;
                floor.update_each::<BenchDoc>(0, &mut owned[..1], raise)
            };
            of_floor.times_of(commits, change)
        },
    );
    of_ours.end()?;
    of_floor.end()?;
    report
}

/// A child process that has a result, and writes the time of each change of this result.
struct Reader {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Reader {
    fn start(side: &str, path: &Path) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .env(SIDE, side)
            .env(PATH, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or("the child has no input")?;
        let output = child.stdout.take().ok_or("the child has no output")?;
        let mut reader = Self {
            child,
            input,
            lines: BufReader::new(output).lines(),
        };
        reader.next()?;
        Ok(reader)
    }

    /// The time since 1970 of the next change.
    fn next(&mut self) -> Result<Duration> {
        let line = self.lines.next().ok_or("the child has ended")??;
        Ok(Duration::from_nanos(line.parse()?))
    }

    /// The times from before each change until the child has it.
    fn times_of(
        &mut self,
        commits: usize,
        mut change: impl FnMut() -> Result<()>,
    ) -> Result<Vec<Duration>> {
        let time = |_| {
            std::thread::sleep(PAUSE);
            let start = now()?;
            change()?;
            Ok(self.next()?.saturating_sub(start))
        };
        (0..commits).map(time).collect()
    }

    fn end(mut self) -> Result<()> {
        drop(self.input);
        check("a child", &self.child.wait()?.success(), &true)
    }
}

fn now() -> Result<Duration> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?)
}

/// Writes the present time.
fn write_now() -> Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}", now()?.as_nanos())?;
    Ok(output.flush()?)
}

/// Does the work of a child process of this scenario, if this process is one. Returns whether it
/// is.
///
/// # Errors
/// The errors of the work.
pub(in super::super) fn serve() -> Result<bool> {
    let (Ok(side), Some(path)) = (std::env::var(SIDE), std::env::var_os(PATH)) else {
        return Ok(false);
    };
    let path = Path::new(&path);
    if side == "ours" {
        let workspace = Workspace::open(path)?;
        let shown = workspace.fetch::<BenchDoc>();
        let shown = shown.order_by(BenchDoc::PRIORITY.descending()).limit(SHOWN);
        let subscription = workspace.observe(shown)?.call(|_| {
            // Without an output there is no program that measures.
            let _ = write_now();
        })?;
        wait_for_end()?;
        subscription.cancel();
        workspace.shutdown()?;
    } else {
        let path = path.to_owned();
        // Ends with the process.
        std::thread::spawn(move || poll(&path));
        wait_for_end()?;
    }
    Ok(true)
}

/// Waits until the program that measures closes the input.
fn wait_for_end() -> Result<()> {
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}

/// Reads the result after each commit of another process.
fn poll(path: &Path) -> Result<()> {
    let mut floor = Floor::open(path, Durability::Normal, &[BenchDoc::TABLE_NAME])?;
    let mut version = None;
    loop {
        let latest = Some(floor.data_version()?);
        if version != latest {
            version = latest;
            let mut objects = floor.fetch_owned::<BenchDoc>(0, |_| true)?;
            objects.sort_by_key(|(row_id, data)| (Reverse(data.priority), *row_id));
            objects.truncate(SHOWN);
            write_now()?;
        }
        std::thread::sleep(POLL);
    }
}
