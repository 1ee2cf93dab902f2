//! Runs a mixed load, and fails if memory or file grow.
#![allow(clippy::print_stdout, reason = "the report is what the program is for")]

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use dflat_bench::Result;
use dflat_bench::soak::{self, Settings};

/// Runs a mixed load, and fails if memory or file grow.
#[derive(Parser)]
struct Arguments {
    /// The duration in minutes.
    #[arg(long, value_name = "N", default_value_t = 10)]
    minutes: u64,
    /// Runs for ten seconds only.
    #[arg(long)]
    quick: bool,
    /// The directory of the file. Defaults to the system's directory for temporary files.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let seconds = if arguments.quick {
        10
    } else {
        60 * arguments.minutes
    };
    let report = soak::run(&Settings {
        duration: Duration::from_secs(seconds),
        directory: arguments.dir.unwrap_or_else(std::env::temp_dir),
    })?;
    println!("commit alone:      {}", report.alone);
    println!("commit under load: {}", report.loaded);
    println!("second quarter:    {}", report.early);
    println!("last quarter:      {}", report.late);
    let stats = &report.stats;
    println!(
        "in {} s: {} transactions, {} given up, {} commits, {} deliveries",
        report.taken.as_secs(),
        stats.transactions,
        stats.failed_transactions,
        stats.groups,
        stats.deliveries
    );
    Ok(())
}
