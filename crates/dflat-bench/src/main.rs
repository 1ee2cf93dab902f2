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
    /// Writes a JSON object a line, one for each scenario, to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Runs this scenario; may be given more than once. All by default.
    #[arg(long, value_name = "NAME")]
    scenario: Vec<String>,
    /// How many objects a table has [default: 10000], or the largest with `--scaling`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..))]
    objects: Option<u32>,
    /// How many times ours and the floor are measured [default: 15].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: Option<u32>,
    /// Shows in a few seconds that everything works: 500 objects, 3 runs.
    #[arg(long)]
    quick: bool,
    /// Shows what an object costs in tables of 1,000 objects to a million, or to `--objects`.
    #[arg(long)]
    scaling: bool,
    /// Counts the bytes that a subscription takes which nothing is told.
    #[arg(long)]
    idle: bool,
    /// Shows from how many live queries on it pays to find them by the values they ask for.
    #[arg(long)]
    crossover: bool,
    /// Where database files are made; the system's place for temporary files by default.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// The objects of the largest table that `--scaling` makes.
const OBJECTS_MAX: u32 = 1_000_000;

fn main() -> Result<()> {
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
    let scenarios = chosen(&arguments.scenario)?;
    let mut json = arguments.json.map(File::create).transpose()?;
    println!("{}", Report::heads());
    for scenario in scenarios {
        let report = scenario.run(&settings)?;
        println!("{}", report.line());
        if let Some(file) = &mut json {
            writeln!(file, "{}", serde_json::to_string(&report)?)?;
        }
    }
    Ok(())
}

/// What a commit costs beside queries that it does not concern, whichever way they are found.
fn cross_over(commits: usize) -> Result<()> {
    println!("queries    rows  one by one ns  by value ns");
    for at in crossover::measure(commits)? {
        let (one_by_one, by_value) = (at.one_by_one.as_nanos(), at.by_value.as_nanos());
        let (queries, rows) = (at.queries, at.rows);
        println!("{queries:>7}{rows:>8}{one_by_one:>15}{by_value:>13}");
    }
    Ok(())
}

/// What an object costs in small and in large tables; of all that touch each object once, or of
/// those named.
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

/// The scenarios of these names; all if there are none.
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
