//! Large schemas: the time of the compiler, and the time to compile the generated code.
//!
//! ```text
//! cargo bench -p dflatc            the compiler, whole process, on 1,000 tables of 10 fields
//! cargo bench -p dflatc -- check   also `cargo check` of the code of 100, 300 and 1,000 tables
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops at the first failure"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const RUNS: usize = 21;

/// The number of tables that refer to one another, and to no other tables.
const GROUP: usize = 20;

/// Tables of ten fields, one of each kind.
fn schema(tables: usize) -> String {
    let mut text = "namespace Large;\nenum Kind: byte { A, B, C }\n\
                    struct Point { x: float; y: float; }\n"
        .to_owned();
    for table in 0..tables {
        let group = table - table % GROUP;
        let [next, other] = [table + 1, table * 7 + 3].map(|other| group + other % GROUP);
        writeln!(
            text,
            "table T{table} {{ id: long (primary); name: string; kind: Kind = B; at: Point; \
             score: double = 1.5; tags: [string]; counts: [int]; next: T{next}; \
             others: [T{other}]; active: bool; }}"
        )
        .unwrap();
    }
    text + "root_type T0;\n"
}

fn compile(folder: &Path, tables: usize) -> Duration {
    let start = Instant::now();
    let status = Command::new(env!("CARGO_BIN_EXE_dflatc"))
        .args(["compile", "-o", "out"])
        .arg(format!("t{tables}.fbs"))
        .current_dir(folder)
        .status();
    let elapsed = start.elapsed();
    assert!(status.unwrap().success());
    elapsed
}

/// The whole process, writing its output anew each time.
fn compiler(folder: &Path, tables: usize) {
    let output = folder.join(format!("out/t{tables}.rs"));
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            // Absent on the first run.
            let _ = fs::remove_file(&output);
            compile(folder, tables)
        })
        .collect();
    times.sort_unstable();
    let bytes = fs::metadata(&output).unwrap().len();
    let (least, median) = (times[0], times[RUNS / 2]);
    println!(
        "dflatc, {tables} tables, {} fields: median {median:?}, least {least:?}, {bytes} bytes",
        tables * 10
    );
}

/// The time of `cargo check` for a crate with the generated code alone, after its dependencies.
fn check(folder: &Path, tables: usize) {
    let package = folder.join("check");
    fs::create_dir_all(package.join("src")).unwrap();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let dflat = repository.join("crates/dflat");
    let manifest = format!(
        "[package]\nname = \"check\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n\
         [dependencies]\ndflat = {{ path = {dflat:?}, default-features = false }}\n"
    );
    fs::write(package.join("Cargo.toml"), manifest).unwrap();
    fs::copy(repository.join("Cargo.lock"), package.join("Cargo.lock")).unwrap();
    let cargo = |text: &str| {
        fs::write(package.join("src/lib.rs"), text).unwrap();
        let start = Instant::now();
        let status = Command::new(env!("CARGO"))
            .args(["check", "--offline", "--quiet", "--target-dir", "target"])
            .env_remove("CARGO_TARGET_DIR")
            .env("CARGO_INCREMENTAL", "0")
            .current_dir(&package)
            .status();
        assert!(status.unwrap().success());
        start.elapsed()
    };
    cargo("");
    let code = folder.join(format!("out/t{tables}.rs"));
    let elapsed = cargo(&format!("include!({code:?});\n"));
    let each = elapsed / u32::try_from(tables).unwrap();
    println!("cargo check, {tables} tables: {elapsed:?}, {each:?} a table");
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let sizes = [100, 300, 1_000];
    for tables in sizes {
        let file = folder.path().join(format!("t{tables}.fbs"));
        fs::write(file, schema(tables)).unwrap();
        compiler(folder.path(), tables);
    }
    if std::env::args().any(|argument| argument == "check") {
        for tables in sizes {
            check(folder.path(), tables);
        }
    }
}
