//! `cargo xtask long`: runs for hours the tests whose duration a variable sets.

use crate::ci::{Invocation, Step, Work, memcheck, system_sqlite};
use crate::swift;

/// The text of `cargo xtask long --help`.
pub const HELP: &str = "\
Runs for hours the tests whose length a variable sets, in order, and ends at the first that fails.
Each step is a command with a variable. The command can be run alone, with another value.

Usage: cargo xtask long [--keep-going] [--list] [--from STEP] [--only STEP]..

Options:
  --keep-going  run the other steps too after one has failed
  --list        print the steps and their commands, and run none
  --from STEP   begin with this step
  --only STEP   run this step, and no others but those named so

Steps, and how many minutes each is estimated to take on one idle core, once it is compiled:
  kills      15   a thousand kills under load, and 50 while indexes are built
  processes  10   3,000 processes that open and close one file, some of which are killed
  programs   10   random programs of several processes, some of which are killed or stopped
  power      10   losses of power at each sync, and between
  calls      30   each call fails, of transactions, maintenance and checkpoints
  building    1   each call of building indexes fails
  fuzzers    55   each fuzzer for 5 minutes
  workload   30   random work beside the model
  trees      10   random edits of trees of versions, each beside a built tree
  threads    11   orders of threads, by the model checker
  soak       11   mixed load, which must not grow
  c          10   calls of the C library in random order, under the address sanitizer too
  races      12   the C programs of the tests under the thread sanitizer of the C compiler
  rivals     20   each scenario of the benchmarks with each store, on few objects
  cuts       10   a connection to a server is cut at each message
  open        2   a transaction of another program stays open for a minute
  packs      15   packs beside other stores, a million objects of 1 KiB and of 120 bytes
  large      15   a pack of 10 GB, built and read with 256 MiB of memory; needs 30 GB of disk
  sqlite     10   more tests on the system's SQLite, by `cargo xtask system-sqlite --all`
  swift      15   `cargo xtask swift --long`
  memory     28   `cargo xtask memcheck`
";

/// A variable of the environment, and its value.
type Variable = (&'static str, &'static str);

/// The names of the steps, their commands, and the variables that set their length.
const STEPS: [(&str, &str, Option<Variable>); 18] = [
    (
        "kills",
        "cargo test --profile long -p dflat-testkit --test it -- kill",
        Some(("DFLAT_KILLS", "1000")),
    ),
    (
        "processes",
        "cargo test --profile long -p dflat-testkit --test it -- short_lived",
        Some(("DFLAT_SHORT_LIVED_PROGRAMS", "1000")),
    ),
    (
        "programs",
        "cargo test --profile long -p dflat-testkit --test it -- random_programs",
        Some(("DFLAT_PROGRAMS_SECONDS", "600")),
    ),
    (
        "power",
        "cargo test --profile long -p dflat-testkit --test it -- loss_of_power",
        Some(("DFLAT_FAULTS_ALL", "1")),
    ),
    (
        "calls",
        "cargo test --profile long -p dflat-testkit --test it -- fault_calls each_call_that_fails \
         failed_call_of_a_commit",
        Some(("DFLAT_FAULTS_ALL", "1")),
    ),
    (
        "building",
        "cargo test --profile long -p dflat-testkit --test it -- each_call_of_building",
        Some(("DFLAT_FAULTS_ALL", "1")),
    ),
    (
        "fuzzers",
        "cargo test --profile long -p dflat-testkit --test it -- fuzz_smoke",
        Some(("DFLAT_FUZZ_SECONDS", "300")),
    ),
    (
        "workload",
        "cargo test --profile long -p dflat-testkit --test it -- workload",
        Some(("DFLAT_WORKLOAD_SECONDS", "600")),
    ),
    (
        "trees",
        "cargo test --profile long -p dflat-history --test it -- sequences",
        Some(("DFLAT_HISTORY_SEQUENCES", "1000000")),
    ),
    (
        "threads",
        "cargo test --profile long -p dflat-engine --test models --test grouping",
        Some(("DFLAT_MODEL_RUNS", "100000")),
    ),
    (
        "soak",
        "cargo run --release -p dflat-bench --bin soak",
        None,
    ),
    (
        "c",
        "cargo test --profile long -p dflat-capi --test it -- calls_in_random_order",
        Some(("DFLAT_CAPI_SEEDS", "100")),
    ),
    (
        "races",
        "cargo test --profile long -p dflat-capi --features thread-sanitizer \
         --target-dir target/thread-sanitizer --test it -- races::",
        Some(("DFLAT_CAPI_SEEDS", "30")),
    ),
    (
        "rivals",
        "cargo test --release --locked --manifest-path crates/dflat-bench-rivals/Cargo.toml",
        None,
    ),
    (
        "cuts",
        "cargo test --profile long -p dflat-postgres --test it -- cuts",
        Some(("DFLAT_FAULTS_ALL", "1")),
    ),
    (
        "open",
        "cargo test --profile long -p dflat-postgres --test it -- open_transaction",
        Some(("DFLAT_OPEN_SECONDS", "60")),
    ),
    (
        "packs",
        "cargo run --release --locked --manifest-path crates/dflat-bench-rivals/Cargo.toml \
         --bin packs -- --folder target",
        None,
    ),
    (
        "large",
        "cargo test --release -p dflat-pack --test it -- large",
        Some(("DFLAT_PACK_OBJECTS", "10000000")),
    ),
];

/// The long steps.
pub fn steps() -> Vec<Step> {
    let long = STEPS.into_iter().map(|(name, line, environment)| {
        let invocation = Invocation::new(line);
        let invocation = match environment {
            Some((name, value)) => invocation.with(name, value),
            None => invocation,
        };
        Step {
            name,
            work: Work::Program(invocation),
        }
    });
    let memory = Step {
        name: "memory",
        work: Work::Task("memcheck", memcheck::run),
    };
    let sqlite = Step {
        name: "sqlite",
        work: Work::Task("system-sqlite --all", system_sqlite::all),
    };
    let swift = Step {
        name: "swift",
        work: Work::Task("swift --long", swift::run_long),
    };
    long.chain([sqlite, swift, memory]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ci::memcheck::Checker;

    /// The help text is the only place with the expected time of a step.
    #[test]
    fn the_help_has_the_minutes_of_each_step() {
        let memory = memcheck::steps(Checker::Valgrind).unwrap();
        for (help, steps) in [(HELP, steps()), (memcheck::HELP, memory)] {
            for step in steps {
                let line = help
                    .lines()
                    .find_map(|line| line.trim_start().strip_prefix(step.name)?.strip_prefix(' '));
                let minutes = line.and_then(|line| line.split_whitespace().next());
                let minutes = minutes.and_then(|minutes| minutes.parse::<u32>().ok());
                assert!(minutes.is_some(), "{}: {line:?}", step.name);
            }
        }
    }
}
