//! `cargo xtask quick`: the checks that find most mistakes of a change, in a few minutes.

use super::{Invocation, Step, Work};
use crate::ci::steps;

/// The help of the task.
pub const HELP: &str = "\
Runs the checks that find most mistakes of a change: the format, `tidy`, and the tests of the crates
that most changes are in, without fuzzers, faults and programs. `cargo xtask ci` runs everything.

Usage: cargo xtask quick [--keep-going] [--list] [--from STEP] [--only STEP]..

The options are those of `cargo xtask ci`.
";

/// The packages whose tests run, with `--lib` and `--test it` where a package has them.
const TESTS: &str = "cargo test -p dflat-model -p dflat-schema -p dflat-engine -p dflat-sqlite \
                     -p dflat-workspace -p dflat -p xtask --lib --test it";

/// The steps, in order.
pub fn steps() -> Vec<Step> {
    let program = |name, line| Step {
        name,
        work: Work::Program(Invocation::new(line)),
    };
    vec![
        program("format", "cargo fmt --all --check"),
        Step {
            name: "tidy",
            work: Work::Task("tidy", steps::check_tidy),
        },
        program("tests", TESTS),
        program("pages", "cargo test -p first -p guides -p cookbook"),
    ]
}
