//! The proof: a million objects, a thousand live queries, a writer at full speed, and no result
//! that differs from a fresh fetch. Beside it, the same program on plain SQLite, which runs every
//! query again when something has changed. Then live queries follow a writer in another process,
//! which is killed fifty times.
//!
//! ```text
//! cargo run --release -p proof                 about a minute
//! cargo run --release -p proof -- --quick      a few seconds
//! cargo run --release -p proof -- --kills 500  more kills
//! ```
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a program that prints and asserts"
)]

mod killed;
mod load;
mod ours;
mod plain;

mod schema {
    dflat::include_schema!("task");
}

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Parser;

use killed::Kills;
use load::{Load, Outcome, Result, SHOWN};

/// A million objects, a thousand live queries, and a writer at full speed
#[derive(Parser)]
struct Arguments {
    /// Shows in a few seconds that everything works: 20,000 objects, 100 queries
    #[arg(long)]
    quick: bool,
    /// How often the writer in another process is killed
    #[arg(long, value_name = "NUMBER", default_value_t = 50)]
    kills: u32,
    /// Runs one program on this file, for a process of its own
    #[arg(long, hide = true, value_names = ["NAME", "FILE"], num_args = 2)]
    side: Option<Vec<String>>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let load = if arguments.quick {
        Load {
            tasks: 20_000,
            boards: 100,
            time: Duration::from_secs(1),
        }
    } else {
        Load {
            tasks: 1_000_000,
            boards: 1_000,
            time: Duration::from_secs(10),
        }
    };
    if let Some([name, file]) = arguments.side.as_deref() {
        if name == killed::WRITER {
            return killed::write(Path::new(file));
        }
        let run = if name == "dflat" {
            ours::run
        } else {
            plain::run
        };
        println!("{}", serde_json::to_string(&run(&load, Path::new(file))?)?);
        return Ok(());
    }
    println!(
        "{} objects, {} live queries of the first {SHOWN}, a writer at full speed",
        load.tasks, load.boards
    );
    let folder = tempfile::tempdir()?;
    let files = ["dflat", "plain"].map(|name| folder.path().join(name).with_extension("db"));
    let [ours, plain] = [("dflat", &files[0]), ("plain", &files[1])]
        .map(|(name, file)| side(name, file, arguments.quick));
    let (ours, plain) = (ours?, plain?);
    report(&ours, &plain);
    read_with_sql(&files[0])?;
    assert_eq!(
        ours.mismatches, 0,
        "a live result differed from a fresh fetch"
    );
    assert!(ours.shown > 0, "nothing was shown");
    let kills = killed::run(&folder.path().join("killed.db"), arguments.kills)?;
    report_kills(&kills);
    assert_eq!(kills.lost, 0, "an acknowledged commit was lost");
    assert_eq!(kills.mismatches, 0, "a live result is wrong after a kill");
    assert!(kills.followed > 0, "no commit of the writer was delivered");
    Ok(())
}

/// Runs one program in a process of its own, whose memory is its own.
fn side(name: &str, file: &PathBuf, quick: bool) -> Result<Outcome> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--side", name]).arg(file);
    if quick {
        command.arg("--quick");
    }
    let output = command.stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("the program on {name} failed: {}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn report(ours: &Outcome, plain: &Outcome) {
    let line = |what: &str, of: &dyn Fn(&Outcome) -> String| {
        println!("{what:<44}{:>14}{:>14}", of(ours), of(plain));
    };
    println!("{:<44}{:>14}{:>14}", "", "Dflat", "plain SQLite");
    line("live results compared with a fresh fetch", &|o| {
        o.compared.to_string()
    });
    line("mismatches", &|o| o.mismatches.to_string());
    line("changes shown", &|o| o.shown.to_string());
    let ms = |nanoseconds: u64| format!("{:.3} ms", nanoseconds as f64 / 1e6);
    line("from change to shown, 50th percentile", &|o| ms(o.p50));
    line("from change to shown, 99th percentile", &|o| ms(o.p99));
    let rate = |o: &Outcome| o.transactions as f64 / o.seconds;
    line("transactions a second, until shown", &|o| {
        format!("{:.0}", rate(o))
    });
    let memory = |o: &Outcome| o.memory.map(|kib| format!("{} MiB", kib / 1024));
    line("memory", &|o| {
        memory(o).unwrap_or_else(|| "unknown".to_owned())
    });
    let lines = [include_str!("ours.rs"), include_str!("plain.rs")].map(lines_of_code);
    println!("{:<44}{:>14}{:>14}", "lines of code", lines[0], lines[1]);
}

fn report_kills(kills: &Kills) {
    let line = |what: &str, count: &dyn Display| println!("{what:<44}{count:>14}");
    println!("a writer in another process, and live queries that follow it");
    line("kills of the writer", &kills.kills);
    line("acknowledged commits", &kills.acknowledged);
    line("acknowledged commits lost", &kills.lost);
    line("commits delivered one by one", &kills.followed);
    line("deliveries applied as differences", &kills.deliveries);
    line("live results compared with a fresh fetch", &kills.compared);
    line("mismatches", &kills.mismatches);
    line("times the live queries were read again", &kills.renewals);
}

fn lines_of_code(text: &str) -> usize {
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .count()
}

/// Dflat writes plain SQLite files.
fn read_with_sql(file: &Path) -> Result<()> {
    let connection = rusqlite::Connection::open(file)?;
    let sql = "SELECT rowid, __pk0, length(p) FROM task ORDER BY rowid LIMIT 1";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let (row, key, bytes): (i64, i64, i64) = connection.query_row(sql, [], read)?;
    println!("{sql}: row {row}, key {key}, {bytes} bytes of FlatBuffers");
    Ok(())
}
