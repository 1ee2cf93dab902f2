//! `cargo xtask bench`: measures Dflat beside its rivals and its floors, and writes the page.
//!
//! The measuring and the drawing are programs of their own, so that this one is built quickly.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::workspace;

/// The help of the task.
pub const HELP: &str = "\
Measures Dflat beside other stores and beside raw SQLite, and keeps the figures below `target/bench`.

Usage: cargo xtask bench [--quick] [--write] [OPTION..]
       cargo xtask bench --check
       cargo xtask bench --draw FILE

  --quick   few objects and one round: shows that everything works, in some minutes
  --write   takes the figures into `docs/benchmarks`, and rewrites `docs/benchmarks.md`, its charts
            and the table in README; with `--scenario`, takes the figures of these scenarios alone
            into the stored ones; with `--page`, takes none
  --page    measures nothing
  --check   fails if the page, a chart or README differs from the stored figures, if a scenario on
            the page is in no program, or if a rival is ahead in a scenario without a text
  --draw    measures nothing; draws the page below `target/bench` with the floors in a file of
            `dflat-bench --json` and the stored figures of the stores; `--quick` draws it as well

Options for the measuring program, such as `--rounds 5`, `--seconds 2`, `--objects-max 100000`,
`--scenario NAME` and `--store NAME`, are passed on: see
`cargo run --release -- measure --help` in `crates/dflat-bench-rivals`.
";

/// The scenarios of `dflat-bench` on the page.
const FLOORS: [&str; 22] = [
    "insert_1tx",
    "fetch_scan",
    "fetch_all",
    "update_1tx",
    "update_individual",
    "fetch_key",
    "fetch_key_snapshot",
    "delete_1tx",
    "insert_mt4",
    "delete_mt4",
    "subscribe_results",
    "subscribe_objects",
    "subscribe_ranges",
    "fetch_ranges",
    "insert_indexed_1",
    "insert_indexed_3",
    "update_indexed_1",
    "update_indexed_3",
    "first_query",
    "commit_wait",
    "commit_blocking",
    "original_program",
];

/// The manifest of the rivals, which are no part of the workspace.
const RIVALS: &str = "crates/dflat-bench-rivals/Cargo.toml";

/// Runs the task.
///
/// # Errors
/// An error if a program fails, or a check does.
pub fn run(root: &Path, options: &[&str]) -> Result<()> {
    if options == ["--check"] {
        return page(root, &["check".as_ref(), root.as_os_str()]);
    }
    if let ["--draw", file] = *options {
        return draw(root, Path::new(file));
    }
    let has = |option: &str| options.contains(&option);
    if has("--write") && has("--quick") {
        return Err("figures of few objects are not for the page".into());
    }
    if !has("--page") {
        let folder = root.join("target/bench");
        fs::create_dir_all(&folder)?;
        let own = ["--write", "--page"];
        let passed: Vec<&str> = options
            .iter()
            .copied()
            .filter(|o| !own.contains(o))
            .collect();
        if has("--write") && has("--scenario") {
            let run = folder.join("apart.json");
            rivals(root, &run, &passed)?;
            page(root, &["merge".as_ref(), root.as_os_str(), run.as_os_str()])?;
            return page(root, &["write".as_ref(), root.as_os_str()]);
        }
        rivals(root, &folder.join("figures.json"), &passed)?;
        floors(root, &folder.join("floors.jsonl"), has("--quick"))?;
        if has("--quick") {
            draw(root, &folder.join("floors.jsonl"))?;
        }
        if has("--write") {
            for name in ["figures.json", "floors.jsonl"] {
                fs::copy(folder.join(name), root.join("docs/benchmarks").join(name))?;
            }
        }
    }
    if has("--write") {
        page(root, &["write".as_ref(), root.as_os_str()])?;
    }
    Ok(())
}

fn rivals(root: &Path, json: &PathBuf, passed: &[&str]) -> Result<()> {
    let mut cargo = workspace::cargo();
    cargo.args(["run", "--release", "--locked", "--manifest-path", RIVALS]);
    cargo
        .args(["--", "measure", "--json"])
        .arg(json)
        .args(passed);
    succeed(cargo.current_dir(root))
}

fn floors(root: &Path, json: &PathBuf, is_quick: bool) -> Result<()> {
    let mut cargo = workspace::cargo();
    cargo.args([
        "run",
        "--release",
        "--package",
        "dflat-bench",
        "--",
        "--json",
    ]);
    cargo.arg(json);
    if is_quick {
        cargo.arg("--quick");
    }
    for name in FLOORS {
        cargo.args(["--scenario", name]);
    }
    succeed(cargo.current_dir(root))
}

/// Draws the page below `target/bench` with the floors of a file.
fn draw(root: &Path, floors: &Path) -> Result<()> {
    let folder = root.join("target/bench/page");
    let paths = [root, floors, &folder].map(Path::as_os_str);
    page(root, &["draw".as_ref(), paths[0], paths[1], paths[2]])
}

fn page(root: &Path, arguments: &[&OsStr]) -> Result<()> {
    let mut cargo = workspace::cargo();
    cargo.args(["run", "--quiet", "--package", "dflat-bench-page", "--"]);
    succeed(cargo.args(arguments).current_dir(root))
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command:?}: {status}").into())
    }
}
