//! The command line of the comparison: see `cargo run --release -- --help`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use dflat_bench_rivals::dictionary::{STORES, WORK, Work};
use dflat_bench_rivals::figures::{self, Figures, ScenarioFigures};
use dflat_bench_rivals::measure::{self, Options};
use dflat_bench_rivals::scenario::{self, ALL};
use dflat_bench_rivals::{Result, usage};

/// Dflat beside other stores that a Rust program can embed.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Measures scenarios, and prints a table.
    Measure(MeasureArguments),
    /// Prints the names of all scenarios, and what each measures.
    List,
    /// The dictionary of Dflat beside SQLite, redb and a JSON file, for more keys or more runs.
    Dictionary {
        /// The number of keys.
        #[arg(long, default_value_t = 40_000, value_parser = at_least_one)]
        keys: usize,
        /// The number of runs.
        #[arg(long, default_value_t = 5, value_parser = at_least_one)]
        runs: usize,
    },
    /// Makes commits in a folder: the process that `syncs_commit` traces.
    #[command(hide = true)]
    Commit {
        #[arg(long)]
        store: String,
        #[arg(long)]
        folder: PathBuf,
        #[arg(long)]
        commits: usize,
    },
}

#[derive(Args)]
struct MeasureArguments {
    /// Measures this scenario; may be given more than once. Defaults to all.
    #[arg(long, value_name = "NAME")]
    scenario: Vec<String>,
    /// Measures this store; may be given more than once. Defaults to all.
    #[arg(long, value_name = "NAME")]
    store: Vec<String>,
    /// The rounds, in each of which every store has a turn, after one to warm up.
    #[arg(long, default_value_t = 7, value_parser = at_least_one)]
    rounds: usize,
    /// A store has no further turn at a scenario after so many seconds.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Leaves out scenarios with more objects.
    #[arg(long, default_value_t = 1_000_000)]
    objects_max: usize,
    /// Shows that everything works: 500 objects, one round.
    #[arg(long)]
    quick: bool,
    /// The folder for the files of the stores. Defaults to the system's folder for temporary files.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Writes the figures to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn at_least_one(text: &str) -> Result<usize> {
    match text.parse()? {
        0 => Err("one is the least".into()),
        number => Ok(number),
    }
}

fn main() -> Result<()> {
    match Arguments::parse().task {
        Task::Measure(arguments) => measure(arguments),
        Task::List => {
            for scenario in ALL {
                println!("{:<24}{}", scenario.name, scenario.about);
            }
            Ok(())
        }
        Task::Dictionary { keys, runs } => dictionary(keys, runs),
        Task::Commit {
            store,
            folder,
            commits,
        } => scenario::commit(&store, &folder, commits),
    }
}

fn measure(arguments: MeasureArguments) -> Result<()> {
    let options = Options {
        scenarios: arguments.scenario,
        stores: arguments.store,
        rounds: if arguments.quick { 1 } else { arguments.rounds },
        time_max: Duration::from_secs(arguments.seconds),
        objects_max: arguments.objects_max,
        quick: arguments.quick,
        folder: arguments.dir.unwrap_or_else(std::env::temp_dir),
    };
    let load = usage::load();
    let scenarios = measure::run(&options)?;
    print(&scenarios);
    if let Some(path) = arguments.json {
        write(&path, &options, load, scenarios)?;
    }
    Ok(())
}

fn write(path: &Path, options: &Options, load: f64, scenarios: Vec<ScenarioFigures>) -> Result<()> {
    let noted = [
        ("rounds", options.rounds.to_string()),
        ("seconds", options.time_max.as_secs().to_string()),
        ("objects_max", options.objects_max.to_string()),
        ("quick", options.quick.to_string()),
    ];
    let figures = Figures {
        machine: figures::machine(load),
        options: BTreeMap::from(noted.map(|(name, value)| (name.to_owned(), value))),
        versions: figures::versions()?,
        stores: figures::stores(),
        scenarios,
    };
    Ok(fs::write(
        path,
        serde_json::to_string_pretty(&figures)? + "\n",
    )?)
}

/// The medians and the ratio to Dflat, a line for each store.
fn print(scenarios: &[ScenarioFigures]) {
    for scenario in scenarios {
        println!("\n{}: {}", scenario.scenario, scenario.about);
        let ours = scenario
            .figures
            .iter()
            .find(|figure| figure.store == "Dflat");
        for figure in &scenario.figures {
            let ratio = ours.map_or(f64::NAN, |ours| figure.median / ours.median);
            println!(
                "  {:<18}{:>16.1}{:>10.2}  min {:.1}, p99 {:.1}, {} runs",
                figure.store, figure.median, ratio, figure.min, figure.p99, figure.runs
            );
        }
    }
}

fn dictionary(keys: usize, runs: usize) -> Result<()> {
    let keys: Vec<String> = (0..keys).map(|i| format!("key{i}")).collect();
    print!("{:<34}", format!("{} keys, ms", keys.len()));
    for (name, _) in STORES {
        print!("{name:>15}");
    }
    println!();
    for work in WORK {
        print!("{:<34}", work.name);
        for time in medians(work, &keys, runs)? {
            print!("{:>15.3}", time.as_secs_f64() * 1e3);
        }
        println!();
    }
    Ok(())
}

/// The median of each store; they take turns, so that a slow minute is shared.
fn medians(work: &Work, keys: &[String], runs: usize) -> Result<Vec<Duration>> {
    let mut times = vec![Vec::new(); STORES.len()];
    for _ in 0..runs {
        for ((_, open), times) in STORES.iter().zip(&mut times) {
            times.push(work.run(*open, keys)?);
        }
    }
    Ok(times
        .into_iter()
        .map(|mut times| {
            times.sort_unstable();
            times[times.len() / 2]
        })
        .collect())
}
