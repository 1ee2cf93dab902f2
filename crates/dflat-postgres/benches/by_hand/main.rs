//! Measures this crate beside the same work by hand, with `tokio-postgres`, on one server.
//!
//! ```text
//! cargo bench -p dflat-postgres --bench by_hand            all scenarios
//! cargo bench -p dflat-postgres --bench by_hand -- scan    those with this word in their names
//! cargo bench -p dflat-postgres --bench by_hand -- backends    memory, file, pack and server
//! cargo bench -p dflat-postgres --bench by_hand -- latency     from a commit to its delivery
//! ```
//!
//! The server runs on this machine, on a socket, with its defaults for durability. Objects have
//! 1 KiB, a text as their key and one index. By hand, as many bytes are in a table with the key and
//! the indexed number as columns. Each figure is the median of its rounds, which take turns. With
//! `--goals`, a ratio above its goal fails the run.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops at the first failure"
)]

mod backends;
mod by_hand;
mod dflat_side;
mod latency;
#[path = "../../tests/it/process.rs"]
mod process;
#[path = "../../tests/it/server.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod server;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use by_hand::ByHand;
use dflat_side::Dflat;

/// The objects of most scenarios.
const OBJECTS: usize = 10_000;

/// The rounds of a scenario.
const ROUNDS: usize = 7;

/// The work of one side: it returns the number of operations, and prepares itself before the clock
/// starts.
type Work<'w, S> = &'w dyn Fn(&S) -> (usize, Duration);

struct Scenario<'w> {
    name: &'static str,
    /// The largest ratio of this crate's time to the other.
    goal: f64,
    dflat: Work<'w, Dflat>,
    by_hand: Work<'w, ByHand>,
}

/// The time of some work.
fn timed(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn per_operation((count, time): (usize, Duration)) -> f64 {
    time.as_secs_f64() * 1e6 / count as f64
}

const SCENARIOS: [Scenario<'static>; 6] = [
    Scenario {
        name: "get: an object by its key, one after the other",
        goal: 1.2,
        dflat: &|side| (2_000, side.gets(2_000)),
        by_hand: &|side| (2_000, side.gets(2_000)),
    },
    Scenario {
        name: "submit_many: 10,000 new objects in one transaction, beside pipelined inserts",
        goal: 1.3,
        dflat: &|side| (OBJECTS, side.insert_many()),
        by_hand: &|side| (OBJECTS, side.insert_pipelined()),
    },
    Scenario {
        name: "submit: 1,000 new objects in one transaction, one after the other",
        goal: f64::INFINITY,
        dflat: &|side| (1_000, side.insert_each(1_000)),
        by_hand: &|side| (1_000, side.insert_each(1_000)),
    },
    Scenario {
        name: "update_individual: queued transactions, beside a commit each",
        goal: 1.0 / 3.0,
        dflat: &|side| (2_000, side.update_each(2_000)),
        by_hand: &|side| (500, side.update_each(500)),
    },
    Scenario {
        name: "update_alone: a transaction after the other",
        goal: f64::INFINITY,
        dflat: &|side| (200, side.update_alone(200)),
        by_hand: &|side| (200, side.update_each(200)),
    },
    Scenario {
        name: "scan: all 10,000 objects",
        goal: 1.2,
        dflat: &|side| (OBJECTS, side.scan()),
        by_hand: &|side| (OBJECTS, side.scan()),
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut words = arguments.iter().filter(|word| !word.starts_with("--"));
    let word = words.next().map_or("", String::as_str);
    let Some(server) = server::new_server(&["fsync=on", "full_page_writes=on"]) else {
        println!("skipped: the programs of PostgreSQL are missing");
        return ExitCode::SUCCESS;
    };
    match word {
        "backends" => {
            backends::run(&server);
            return ExitCode::SUCCESS;
        }
        "latency" => {
            latency::run(&server);
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    let (dflat, by_hand) = (Dflat::on(&server), ByHand::new(&server));
    println!("| scenario | Dflat | by hand | ratio | goal |\n|---|---|---|---|---|");
    let mut missed = false;
    for scenario in SCENARIOS
        .iter()
        .filter(|scenario| scenario.name.contains(word))
    {
        let (mut own, mut other) = (Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let times = (
                per_operation((scenario.dflat)(&dflat)),
                per_operation((scenario.by_hand)(&by_hand)),
            );
            // The first round prepares statements and fills caches.
            if round > 0 {
                own.push(times.0);
                other.push(times.1);
            }
        }
        let (own, other) = (median(own), median(other));
        let ratio = own / other;
        missed |= ratio > scenario.goal;
        let (name, goal) = (scenario.name, scenario.goal);
        println!("| {name} | {own:.1} µs | {other:.1} µs | {ratio:.2} | {goal:.2} |");
    }
    let must_meet = arguments.iter().any(|argument| argument == "--goals");
    ExitCode::from(u8::from(missed && must_meet))
}
