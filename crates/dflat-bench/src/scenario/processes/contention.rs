//! Several processes that count at the same time: each transaction reads an object and raises a
//! number in it. Children of this program are the processes.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use dflat::{Durability, Workspace};

use super::super::sides::{Sides, TABLE_NAMES, initial_sum};
use super::super::update::update;
use crate::floor::Floor;
use crate::measure::{Report, Settings};
use crate::workload::{BenchDoc, BenchDocV2, BenchDocV3, BenchDocV4, Doc, titles};
use crate::{Result, check};

/// Says which side a child process is.
const SIDE: &str = "DFLAT_BENCH_COUNTER";
/// Where a child process finds its file.
const PATH: &str = "DFLAT_BENCH_COUNTER_PATH";
/// The table and the object that a child process counts in.
const PLACE: &str = "DFLAT_BENCH_COUNTER_PLACE";

/// The number of objects of a table, and of tables. Processes beyond the number of tables share
/// these, and count in other objects.
const OBJECTS: usize = 8;
const TABLES: usize = TABLE_NAMES.len();

/// The maximum number of runs, because each run makes many transactions.
const RUNS_MAX: usize = 5;

/// A number of processes, and whether all of them count in the same object.
#[derive(Clone, Copy)]
struct Configuration {
    processes: usize,
    is_shared: bool,
}

/// The reports in order: for each configuration the time of a run, and the longest time of a
/// transaction in the run.
const NAMES: [&str; 12] = [
    "count_shared_2",
    "count_shared_2_longest",
    "count_shared_4",
    "count_shared_4_longest",
    "count_shared_8",
    "count_shared_8_longest",
    "count_apart_2",
    "count_apart_2_longest",
    "count_apart_4",
    "count_apart_4_longest",
    "count_apart_8",
    "count_apart_8_longest",
];

/// A tenth as many transactions as there are objects, shared among 2, 4 and 8 processes. All count
/// in one object, or each in an object of its own. The floor begins each transaction with
/// `BEGIN IMMEDIATE`.
pub(in super::super) fn count(settings: &Settings) -> Result<Vec<Report>> {
    let transactions = (settings.objects / 10)
        .max(OBJECTS)
        .next_multiple_of(OBJECTS);
    settings.with_runs_max(RUNS_MAX).compare_steps(
        &NAMES,
        |_| run("ours", settings, transactions),
        |_| run("floor", settings, transactions),
    )
}

/// Runs all configurations on a new file.
fn run(side: &str, settings: &Settings, transactions: usize) -> Result<Vec<Duration>> {
    let few = Settings {
        objects: OBJECTS,
        ..settings.clone()
    };
    let mut sides = Sides::filled(&few, Durability::Normal)?;
    sides.fill::<BenchDocV2>(OBJECTS, 1)?;
    sides.fill::<BenchDocV3>(OBJECTS, 2)?;
    sides.fill::<BenchDocV4>(OBJECTS, 3)?;
    let path = match side {
        "ours" => sides.ours_path.clone(),
        _ => sides.floor_path.clone(),
    };
    let mut times = Vec::new();
    for is_shared in [true, false] {
        for processes in [2, 4, 8] {
            let configuration = Configuration {
                processes,
                is_shared,
            };
            times.extend(run_processes(side, &path, configuration, transactions)?);
        }
    }
    let sum = count_of::<BenchDoc>(side, &mut sides, 0)?
        + count_of::<BenchDocV2>(side, &mut sides, 1)?
        + count_of::<BenchDocV3>(side, &mut sides, 2)?
        + count_of::<BenchDocV4>(side, &mut sides, 3)?;
    check(
        "the sum of the counters",
        &sum,
        &i64::try_from(6 * transactions)?,
    )?;
    Ok(times)
}

/// How often the objects of a table were counted.
fn count_of<T: Doc>(side: &str, sides: &mut Sides, table: usize) -> Result<i64> {
    let before = initial_sum::<T>(OBJECTS);
    let sum: i64 = if side == "ours" {
        let objects = sides.workspace.fetch::<T>().all()?;
        objects
            .iter()
            .map(|object| i64::from(object.priority()))
            .sum()
    } else {
        let mut objects = sides.floor.fetch_owned::<T>(table, |_| true)?;
        let priorities = objects.iter_mut().map(|(_, data)| *T::priority_of(data));
        priorities.map(i64::from).sum()
    };
    Ok(sum - before)
}

/// The time of a run, and the longest time of a transaction.
fn run_processes(
    side: &str,
    path: &Path,
    configuration: Configuration,
    transactions: usize,
) -> Result<[Duration; 2]> {
    let Configuration {
        processes,
        is_shared,
    } = configuration;
    let places = (0..processes).map(|process| match is_shared {
        true => (0, 0),
        false => (process % TABLES, process),
    });
    let children: Result<Vec<Counter>> = places
        .map(|place| Counter::start(side, path, place))
        .collect();
    let mut children = children?;
    let start = Instant::now();
    for child in &mut children {
        writeln!(child.input, "{}", transactions / processes)?;
    }
    let mut longest = Duration::ZERO;
    for child in &mut children {
        longest = longest.max(child.next()?);
    }
    let time = start.elapsed();
    for child in children {
        child.end()?;
    }
    Ok([time, longest])
}

/// A child process that counts.
struct Counter {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Counter {
    fn start(side: &str, path: &Path, (table, object): (usize, usize)) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .env(SIDE, side)
            .env(PATH, path)
            .env(PLACE, format!("{table} {object}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or("the child has no input")?;
        let output = child.stdout.take().ok_or("the child has no output")?;
        let mut counter = Self {
            child,
            input,
            lines: BufReader::new(output).lines(),
        };
        counter.next()?;
        Ok(counter)
    }

    /// The longest time of a transaction, when the child has made all its transactions.
    fn next(&mut self) -> Result<Duration> {
        let line = self.lines.next().ok_or("the child has ended")??;
        Ok(Duration::from_nanos(line.parse()?))
    }

    fn end(mut self) -> Result<()> {
        drop(self.input);
        check("a child", &self.child.wait()?.success(), &true)
    }
}

/// Does the work of a child process of this scenario, if this process is one. Returns whether it
/// is.
pub(in super::super) fn serve() -> Result<bool> {
    let (Ok(side), Some(path)) = (std::env::var(SIDE), std::env::var_os(PATH)) else {
        return Ok(false);
    };
    let (path, place) = (Path::new(&path), std::env::var(PLACE)?);
    let (table, object) = place.split_once(' ').ok_or("no place")?;
    let (table, object): (usize, usize) = (table.parse()?, object.parse()?);
    match table {
        0 => serve_table::<BenchDoc>(&side, path, table, object),
        1 => serve_table::<BenchDocV2>(&side, path, table, object),
        2 => serve_table::<BenchDocV3>(&side, path, table, object),
        _ => serve_table::<BenchDocV4>(&side, path, table, object),
    }?;
    Ok(true)
}

fn serve_table<T: Doc>(side: &str, path: &Path, table: usize, object: usize) -> Result<()> {
    let titles = titles(OBJECTS);
    let title = titles.get(object).ok_or("no such object")?;
    if side == "ours" {
        let workspace = Workspace::open(path)?;
        serve_each(|| {
            let raised = workspace.perform_changes_blocking_retrying([T::TABLE], |tx| {
                match tx.get::<T>(title.as_str())? {
                    Some(object) => update(tx, &object),
                    None => Ok(false),
                }
            });
            check("an update", &raised?, &true)
        })?;
        workspace.shutdown()?;
    } else {
        let mut floor = Floor::open(path, Durability::Normal, &TABLE_NAMES)?;
        serve_each(|| floor.update_key::<T>(table, title, |data| *T::priority_of(data) += 1))?;
    }
    Ok(())
}

/// Says that the process is ready. Then reads how often to count, counts, and says the longest time
/// of a transaction, until the input ends.
fn serve_each(mut count: impl FnMut() -> Result<()>) -> Result<()> {
    say(Duration::ZERO)?;
    for line in std::io::stdin().lock().lines() {
        let mut longest = Duration::ZERO;
        for _ in 0..line?.parse::<usize>()? {
            let start = Instant::now();
            count()?;
            longest = longest.max(start.elapsed());
        }
        say(longest)?;
    }
    Ok(())
}

fn say(time: Duration) -> Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}", time.as_nanos())?;
    Ok(output.flush()?)
}
