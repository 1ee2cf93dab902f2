//! Counts the instructions of this library's Rust functions for pieces of work, and compares them
//! with stored counts.
//!
//! ```text
//! cargo bench -p dflat-bench --bench counts            counts, and compares with counts.txt
//! cargo bench -p dflat-bench --bench counts -- --bless counts, and rewrites counts.txt
//! ```
//!
//! Callgrind counts. Functions of libc and of SQLite do not count.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops at the first failure"
)]

#[path = "../../../dflat-codegen/benches/codec/callgrind.rs"]
mod callgrind;
mod work;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use callgrind::{Work, does_work, instructions};
use dflat_bench::counts::{Counts, versions};

/// A piece of work whose instructions are counted.
struct Count {
    name: &'static str,
    work: Work,
    rounds: u64,
    /// The number of times that a round does the work.
    times: u64,
    /// Whether a function of a thread counts; the main thread is the first.
    is_counted: fn(usize, &str) -> bool,
}

const fn count(name: &'static str, work: Work, rounds: u64) -> Count {
    Count {
        name,
        work,
        rounds,
        times: 1,
        is_counted: on_main_thread,
    }
}

const COUNTS: [Count; 13] = [
    count("encode", work::encode, work::ROUNDS),
    count("verify", work::verify_all, work::ROUNDS),
    count("predicate", work::predicate, work::ROUNDS),
    count("insert", work::insert, work::ROUNDS),
    count("update", work::update, work::ROUNDS),
    count("delete", work::delete, work::ROUNDS),
    count("insert, 3 indexes", work::insert_indexed, work::ROUNDS),
    count("commit of one update", work::commit, work::COMMITS),
    count("update, recorded", work::update_recorded, work::ROUNDS),
    count("commit, recorded", work::commit_recorded, work::COMMITS),
    count("get by key", work::get, work::ROUNDS),
    Count {
        times: work::OBJECTS,
        ..count("scan of a row", work::scan, work::SCANS)
    },
    Count {
        is_counted: in_observe,
        ..count("match, 1000 queries", work::matching, work::MATCHES)
    },
];

const SIDE: &str = "ours";
/// How often a count that differs is taken again before the comparison fails.
const RECOUNTS_MAX: usize = 2;

/// Whether a function is of this library, or of Rust's library and compiled for this library. The
/// functions of the benchmark itself count, because small functions are inlined into them. Other
/// threads do not count: they wake up from time to time, more often on a busier machine.
fn on_main_thread(thread: usize, function: &str) -> bool {
    let is_rust = function.contains("::") || function.starts_with("_R");
    thread == 1 && is_rust && !function.contains("dflat_bench::")
}

/// Whether a function updates live queries. The committing thread or the delivering thread calls
/// it, whichever comes first.
fn in_observe(_: usize, function: &str) -> bool {
    function.contains("dflat_engine::observe::")
}

impl Count {
    fn instructions(&self) -> u64 {
        instructions(self.name, SIDE, self.rounds, self.is_counted) / self.times
    }
}

/// Counts all pieces of work, two at a time.
fn count_all() -> Counts {
    let next = AtomicUsize::new(0);
    let counted = Mutex::new(vec![0; COUNTS.len()]);
    let count = || {
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            let Some(count) = COUNTS.get(position) else {
                break;
            };
            let instructions = count.instructions();
            counted.lock().unwrap()[position] = instructions;
        }
    };
    thread::scope(|scope| {
        scope.spawn(count);
        scope.spawn(count);
    });
    let names = COUNTS.iter().map(|count| count.name.to_owned());
    Counts {
        versions: versions().unwrap(),
        counts: names.zip(counted.into_inner().unwrap()).collect(),
    }
}

/// Counts again what differs from the stored counts. The order in which threads deliver changes a
/// count once in many runs; a change of the code changes it in every run.
fn count_again(counts: &mut Counts, stored: &Counts) {
    let differing: Vec<String> = counts
        .differing(stored)
        .iter()
        .map(ToString::to_string)
        .collect();
    for (name, now) in &mut counts.counts {
        let again = COUNTS.iter().find(|count| count.name == name);
        if let Some(count) = again.filter(|_| differing.contains(name)) {
            println!("{name}: {now} differs, so it is counted again");
            *now = count.instructions();
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let find = |name: &str, side: &str| {
        let count = COUNTS.iter().find(|count| count.name == name)?;
        (side == SIDE).then_some(count.work)
    };
    if does_work(&words, find) {
        return ExitCode::SUCCESS;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("counts.txt");
    let mut counts = count_all();
    if words.contains(&"--bless") {
        std::fs::write(path, counts.to_text()).unwrap();
        print!("{}", counts.to_text());
        return ExitCode::SUCCESS;
    }
    let stored = std::fs::read_to_string(path).expect("counts.txt can be read");
    let stored = Counts::parse(&stored).unwrap();
    for _ in 0..RECOUNTS_MAX {
        count_again(&mut counts, &stored);
    }
    let comparison = counts.compare(&stored);
    print!("{}", comparison.text);
    if comparison.passes {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
