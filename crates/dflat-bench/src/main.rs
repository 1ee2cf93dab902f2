//! Measures Dflat beside a floor of raw SQLite.
#![allow(clippy::print_stdout, reason = "the table is what the program is for")]

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use clap::Parser;
use dflat_bench::measure::{Report, Settings};
use dflat_bench::scaling::{SCENARIOS, Scaling};
use dflat_bench::scenario::{self, Scenario};
use dflat_bench::{Result, crossover, idle};

/// Measures Dflat beside a floor of raw SQLite.
#[derive(Parser)]
struct Arguments {
    /// Writes one JSON object per line, one for each scenario, to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Runs this scenario; may be given more than once. Defaults to all scenarios.
    #[arg(long, value_name = "NAME")]
    scenario: Vec<String>,
    /// Runs the scenarios whose times have a goal, which only a quiet machine shows.
    #[arg(long, conflicts_with = "scenario")]
    goals: bool,
    /// The number of objects of a table [default: 10000], or of the largest table with `--scaling`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..))]
    objects: Option<u32>,
    /// The number of times that Dflat and the floor are measured [default: 15].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: Option<u32>,
    /// Shows in a few seconds that everything works: 500 objects, 3 runs.
    #[arg(long)]
    quick: bool,
    /// Shows the cost of an object in tables of 1,000 objects to a million, or to `--objects`.
    #[arg(long)]
    scaling: bool,
    /// Counts the bytes of an idle subscription.
    #[arg(long)]
    idle: bool,
    /// Shows the number of live queries from which it pays to find them by the values in their
    /// conditions.
    #[arg(long)]
    crossover: bool,
    /// The directory of database files. Defaults to the system's directory for temporary files.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// The objects of the largest table that `--scaling` makes.
const OBJECTS_MAX: u32 = 1_000_000;

fn main() -> Result<()> {
    if scenario::serve()? {
        return Ok(());
    }
    let arguments = Arguments::parse();
    if arguments.idle {
        for (kind, bytes) in idle::measure()? {
            println!("{kind:<12}{bytes:>6}");
        }
        return Ok(());
    }
    if arguments.crossover {
        return cross_over(if arguments.quick { 3 } else { 2000 });
    }
    let (objects, runs) = if arguments.quick {
        (500, 3)
    } else {
        (10_000, 15)
    };
    let objects = match arguments.scaling && !arguments.quick {
        true => OBJECTS_MAX,
        false => objects,
    };
    let settings = Settings {
        objects: usize::try_from(arguments.objects.unwrap_or(objects))?,
        runs: usize::try_from(arguments.runs.unwrap_or(runs))?,
        directory: arguments.dir.unwrap_or_else(std::env::temp_dir),
    };
    if arguments.scaling {
        return scale(&arguments.scenario, &settings);
    }
    let scenarios = match arguments.goals {
        true => scenario::with_goals(),
        false => chosen(&arguments.scenario)?,
    };
    let mut json = arguments.json.map(create).transpose()?;
    println!("{}", Report::heads());
    for scenario in scenarios {
        for report in scenario.run(&settings)? {
            println!("{}", report.line());
            if let Some(file) = &mut json {
                writeln!(file, "{}", serde_json::to_string(&report)?)?;
            }
        }
    }
    Ok(())
}

/// Prints the cost of a commit while there are queries that it does not concern, for both ways to
/// find them.
fn cross_over(commits: usize) -> Result<()> {
    println!("queries    rows  one by one ns  by value ns");
    for at in crossover::measure(commits)? {
        let (one_by_one, by_value) = (at.one_by_one.as_nanos(), at.by_value.as_nanos());
        let (queries, rows) = (at.queries, at.rows);
        println!("{queries:>7}{rows:>8}{one_by_one:>15}{by_value:>13}");
    }
    Ok(())
}

/// Prints the cost of an object in small and in large tables, for the named scenarios, or for all
/// that read each object once if `names` is empty.
fn scale(names: &[String], settings: &Settings) -> Result<()> {
    println!("{}", Scaling::heads());
    let of_each = || SCENARIOS.map(str::to_owned).to_vec();
    let names = if names.is_empty() {
        of_each()
    } else {
        names.to_vec()
    };
    for scenario in chosen(&names)? {
        println!("{}", Scaling::measure(&scenario, settings)?.lines());
    }
    Ok(())
}

/// The scenarios of these names; all scenarios if there are no names.
fn chosen(names: &[String]) -> Result<Vec<Scenario>> {
    if names.is_empty() {
        return Ok(scenario::ALL.to_vec());
    }
    let find = |name: &String| {
        let found = scenario::ALL.iter().find(|scenario| scenario.name == name);
        found.copied().ok_or_else(|| {
            let known: Vec<&str> = scenario::ALL.iter().map(|scenario| scenario.name).collect();
            format!(
                "there is no scenario {name}; there are {}",
                known.join(", ")
            )
            .into()
        })
    };
    names.iter().map(find).collect()
}

/// Makes a file, and its folder.
fn create(path: PathBuf) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    File::create(path)
}
