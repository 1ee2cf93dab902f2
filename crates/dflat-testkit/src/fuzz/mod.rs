//! Fuzzers: ordinary functions of a seed, or of the bytes that a coverage-guided fuzzer makes.
//!
//! - [`predicate`] makes random queries, and compares their results with the model.
//! - [`condition`] writes random queries as text, and damages such text.
//! - [`twin`] makes each query by fields with an index, and by equal fields without an index.
//! - [`payload`] damages the bytes of objects.
//! - [`mod@file`] damages the bytes of files.
//! - [`pack`] damages the bytes of packs and of layers.
//! - [`foreign`] damages records and messages of others, and puts the log of another file beside a
//!   file.
//! - [`repair`] damages files, and repairs or salvages them.
//! - [`tables`] changes the tables of files by SQL.
//! - [`schema`] damages the text of schemas.
//! - [`shape`] makes random schemas, and random queries on objects of them; also while the schemas
//!   change from one opening to the next.
//!
//! The tests run the corpus, which holds each seed that failed once, and then some new seeds;
//! `DFLAT_FUZZ_SEEDS` says how many, and `DFLAT_FUZZ_SECONDS` makes them go on. The folder `fuzz`
//! of the repository wraps some of these functions for `cargo fuzz`; [`archive`](crate::archive)
//! reads the inputs that it found.

pub mod condition;
pub mod file;
pub mod foreign;
pub mod pack;
pub mod payload;
pub mod predicate;
pub mod repair;
pub mod schema;
pub mod shape;
pub mod tables;
pub mod twin;

mod answers;

mod mutate;
mod original;
mod question;

use std::time::{Duration, Instant};

use crate::seeds;

/// Runs the seeds of a fuzzer that failed once, then those from 1 to `count`, and more for as long
/// as `DFLAT_FUZZ_SECONDS` says. `DFLAT_FUZZ_FIRST` is the first seed instead of 1, and
/// `DFLAT_FUZZ_SEEDS` the largest number of seeds.
///
/// # Panics
/// Panics with the seed if one fails; the seed is added to the corpus.
pub fn run(name: &str, count: u64, one: fn(u64)) {
    let file = format!("src/fuzz/corpus/{name}.txt");
    for seed in seeds::kept(&file) {
        seeds::run(&file, seed.parse().unwrap(), one);
    }
    let end = Instant::now() + Duration::from_secs(number_in("DFLAT_FUZZ_SECONDS").unwrap_or(0));
    let first = number_in("DFLAT_FUZZ_FIRST").unwrap_or(1);
    let count = number_in("DFLAT_FUZZ_SEEDS").map_or(count, |most| count.min(most));
    for seed in first.. {
        if seed >= first + count && Instant::now() >= end {
            eprintln!("{name}: {} seeds", seed - first);
            break;
        }
        seeds::run(&file, seed, one);
    }
}

/// The number that a variable of the environment has.
fn number_in(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}
