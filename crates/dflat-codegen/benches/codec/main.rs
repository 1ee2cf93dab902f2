//! Generated code against that of Google's `flatc` on the crate `flatbuffers`, by instructions.
//!
//! ```text
//! cargo bench -p dflat-codegen            instructions of each, counted by callgrind
//! cargo bench -p dflat-codegen -- --quick the same with fewer rounds
//! ```
//!
//! Both encode one value, and verify its payload and read every field once. The program runs itself
//! under `valgrind --tool=callgrind` with some rounds of work and with twice as many: the
//! difference is what the rounds cost, and the same on every machine. It fails if ours takes more.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops at the first failure"
)]

mod official;
mod ours;

use std::hint::black_box;
use std::process::{Command, ExitCode};

/// Rounds of some work.
type Work = fn(u64);

/// What is counted, on either side.
const WORKS: [(&str, [Work; 2]); 2] = [
    ("encode", [ours::encode, official::encode]),
    ("verify and read", [ours::read, official::read]),
];

const SIDES: [&str; 2] = ["ours", "official"];

/// Instructions of a run of this program that does some rounds of work.
fn instructions(work: &str, side: &str, rounds: u64) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().unwrap())
        .args(["--work", work, side, &rounds.to_string()])
        .output();
    let output = output.expect("valgrind counts the instructions: install it");
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{report}");
    let mut lines = report.lines();
    let count = lines.find_map(|line| line.split_once("Collected : "));
    count.unwrap().1.trim().parse().unwrap()
}

fn compare(rounds: u64) -> ExitCode {
    let [ours, official] = SIDES;
    println!("{:<18}{ours:>10}{official:>10}{:>8}", "", "ratio");
    let mut within = true;
    for (work, _) in WORKS {
        let [ours, official] = SIDES.map(|side| {
            let twice = instructions(work, side, 2 * rounds);
            (twice - instructions(work, side, rounds)) / rounds
        });
        let ratio = ours as f64 / official as f64;
        println!("{work:<18}{ours:>10}{official:>10}{ratio:>8.2}");
        within &= ours <= official;
    }
    if within {
        ExitCode::SUCCESS
    } else {
        println!("ours takes more instructions than the official code");
        ExitCode::FAILURE
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let [_, "--work", work, side, rounds] = words[..] {
        let (_, sides) = WORKS.iter().find(|(name, _)| *name == work).unwrap();
        let side = SIDES.iter().position(|name| *name == side).unwrap();
        sides[side](black_box(rounds.parse().unwrap()));
        return ExitCode::SUCCESS;
    }
    // Each reads what the other wrote as the same values.
    let sums = [ours::payload(), official::payload()].map(|payload| {
        assert_eq!(ours::sum(&payload), official::sum(&payload));
        ours::sum(&payload)
    });
    assert_eq!(sums[0], sums[1]);
    let quick = words.contains(&"--quick");
    compare(if quick { 200 } else { 10_000 })
}
