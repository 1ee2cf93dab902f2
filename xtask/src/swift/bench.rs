//! `cargo xtask swift --bench`: the scenarios of crates/dflat-bench through Swift, beside Rust.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{Place, run_to_end};
use crate::Result;
use crate::c_library::Profile;
use crate::workspace;

/// The scenarios that both languages have, and the ratio that each may have, if it has a goal. To
/// fetch by a key, Swift makes a query, and Rust does not.
const SCENARIOS: [(&str, Option<f64>); 10] = [
    ("insert_1tx", Some(1.6)),
    ("fetch_all", Some(1.5)),
    ("fetch_scan", None),
    ("fetch_key", None),
    ("update_1tx", Some(1.3)),
    ("update_individual", Some(1.3)),
    ("delete_1tx", Some(1.3)),
    ("subscribe_results", Some(1.3)),
    ("subscribe_objects", Some(1.3)),
    ("subscribe_ranges", Some(1.3)),
];

/// The times for each element, which only Swift has, and the nanoseconds that each may have.
const ELEMENTS: [(&str, u64); 2] = [
    ("first_read_of_an_element", 300),
    ("later_read_of_an_element", 300),
];

/// The number of times that both languages take turns.
const ROUNDS: usize = 3;

type Times = BTreeMap<String, Vec<u64>>;

/// Measures both languages in turn, and prints the medians and their ratios.
pub(super) fn run(place: &Place, quick: bool) -> Result<()> {
    let (objects, runs) = if quick { ("500", "1") } else { ("10000", "5") };
    let library = place.c_library(Profile::Release)?;
    let build = place.folder.join("build-bench");
    let mut swift = place.command("swift", &library);
    swift.args(["build", "-c", "release", "--product", "DflatBenchmarks"]);
    swift.arg("--scratch-path").arg(&build);
    run_to_end(swift.env("DFLAT_SWIFT_BENCH", "1"), "swift build")?;
    let mut rust = workspace::cargo();
    rust.args(["build", "--release", "-p", "dflat-bench"]);
    run_to_end(rust.current_dir(&place.root), "dflat-bench")?;
    let directory = place.folder.join("bench-files");
    std::fs::create_dir_all(&directory)?;
    let (mut of_rust, mut of_swift) = (Times::new(), Times::new());
    for _ in 0..ROUNDS {
        let program = place.target.join("release/dflat-bench");
        measure_rust(&program, &directory, objects, runs, &mut of_rust)?;
        let program = build.join("release/DflatBenchmarks");
        let mut swift = place.command(&program.display().to_string(), &library);
        swift.args([objects, runs]).arg(&directory);
        measure_swift(&mut swift, &mut of_swift)?;
    }
    print(&of_rust, &of_swift)
}

fn measure_rust(
    program: &Path,
    directory: &Path,
    objects: &str,
    runs: &str,
    times: &mut Times,
) -> Result<()> {
    let json = directory.join("rust.json");
    let mut rust = Command::new(program);
    rust.args(["--objects", objects, "--runs", runs]);
    rust.arg("--dir").arg(directory).arg("--json").arg(&json);
    for (scenario, _) in SCENARIOS {
        rust.args(["--scenario", scenario]);
    }
    run_to_end(&mut rust, "dflat-bench")?;
    for line in std::fs::read_to_string(&json)?.lines() {
        let report: Value = serde_json::from_str(line)?;
        let name = workspace::text(&report["scenario"]).to_owned();
        let time = report["ours_ns"].as_u64().ok_or("a report has no time")?;
        times.entry(name).or_default().push(time);
    }
    Ok(())
}

fn measure_swift(swift: &mut Command, times: &mut Times) -> Result<()> {
    let output = swift.output()?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("DflatBenchmarks fails: {errors}").into());
    }
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let (name, time) = line.split_once(' ').ok_or("a line has no time")?;
        times
            .entry(name.to_owned())
            .or_default()
            .push(time.parse()?);
    }
    Ok(())
}

fn print(of_rust: &Times, of_swift: &Times) -> Result<()> {
    println!(
        "{:<28}{:>12}{:>12}{:>8}{:>8}",
        "scenario", "Swift ms", "Rust ms", "ratio", "goal"
    );
    for (name, goal) in SCENARIOS {
        let (swift, rust) = (median(of_swift, name)?, median(of_rust, name)?);
        let (swift, rust) = (swift as f64 / 1e6, rust as f64 / 1e6);
        let goal = goal.map_or_else(String::new, |goal| format!("{goal:.1}"));
        println!(
            "{name:<28}{swift:>12.3}{rust:>12.3}{:>8.2}{goal:>8}",
            swift / rust
        );
    }
    for (name, goal) in ELEMENTS {
        let swift = median(of_swift, name)?;
        println!("{name:<28}{swift:>9} ns{:>12}{:>8}{goal:>5} ns", "", "");
    }
    Ok(())
}

fn median(times: &Times, name: &str) -> Result<u64> {
    let mut sorted = times.get(name).cloned().unwrap_or_default();
    sorted.sort_unstable();
    let middle = sorted.get(sorted.len() / 2).copied();
    middle.ok_or_else(|| format!("{name} was not measured").into())
}
