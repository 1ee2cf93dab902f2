//! Generated code against that of Google's `flatc` on the crate `flatbuffers`, by instructions.
//!
//! ```text
//! cargo bench -p dflat-codegen            instructions of each, counted by callgrind
//! cargo bench -p dflat-codegen -- --quick the same with fewer rounds
//! ```
//!
//! Both sides encode one value, verify its payload and read every field once. The benchmark fails
//! if the code of this library takes more instructions.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops at the first failure"
)]

mod callgrind;
mod official;
mod ours;

use std::process::ExitCode;

use callgrind::{Work, does_work, instructions};

/// The work that is counted, on either side.
const WORKS: [(&str, [Work; 2]); 2] = [
    ("encode", [ours::encode, official::encode]),
    ("verify and read", [ours::read, official::read]),
];

const SIDES: [&str; 2] = ["ours", "official"];

fn compare(rounds: u64) -> ExitCode {
    let [ours, official] = SIDES;
    println!("{:<18}{ours:>10}{official:>10}{:>8}", "", "ratio");
    let mut within = true;
    for (work, _) in WORKS {
        let [ours, official] = SIDES.map(|side| instructions(work, side, rounds, |_, _| true));
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
    let find = |work: &str, side: &str| {
        let (_, sides) = WORKS.iter().find(|(name, _)| *name == work)?;
        let side = SIDES.iter().position(|name| *name == side)?;
        Some(sides[side])
    };
    if does_work(&words, find) {
        return ExitCode::SUCCESS;
    }
    // Each side reads the payload of the other side as the same values.
    let sums = [ours::payload(), official::payload()].map(|payload| {
        assert_eq!(ours::sum(&payload), official::sum(&payload));
        ours::sum(&payload)
    });
    assert_eq!(sums[0], sums[1]);
    let quick = words.contains(&"--quick");
    compare(if quick { 200 } else { 10_000 })
}
