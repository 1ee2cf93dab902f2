//! `cargo xtask long`: the tests that go on for as long as they are told, for long.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::Result;
use crate::ci::{self, AfterFailure, Invocation, Step, Work};

/// A variable of the environment, and its value.
type Variable = (&'static str, &'static str);

/// What the steps do, their commands, and what makes them long.
const STEPS: [(&str, &str, Option<Variable>); 6] = [
    (
        "a thousand kills",
        "cargo test -p dflat-testkit --test it -- kill",
        Some(("DFLAT_KILLS", "1000")),
    ),
    (
        "every call fails",
        "cargo test -p dflat-testkit --test it -- fault_",
        Some(("DFLAT_FAULTS_ALL", "1")),
    ),
    (
        "fuzzers",
        "cargo test -p dflat-testkit --test it -- fuzz_smoke",
        Some(("DFLAT_FUZZ_SECONDS", "1800")),
    ),
    (
        "random work",
        "cargo test -p dflat-testkit --test it -- workload",
        Some(("DFLAT_WORKLOAD_SECONDS", "600")),
    ),
    (
        "orders of threads",
        "cargo test -p dflat-engine --test models --test grouping",
        Some(("DFLAT_MODEL_RUNS", "100000")),
    ),
    (
        "soak",
        "cargo run --release -p dflat-bench --bin soak",
        None,
    ),
];

/// What runs what calls C under valgrind: the tests of the crate that has all of that, and the
/// fuzzers of what comes from outside.
const CHECKED: [(&str, &str); 2] = [
    (
        "memory of the backend",
        "-p dflat-sqlite --lib --tests -- --test-threads 1",
    ),
    (
        "memory of damage",
        "-p dflat-testkit --test it -- --test-threads 1 fuzz_smoke::damaged_payloads \
         fuzz_smoke::damaged_files_give fuzz_smoke::inputs",
    ),
];

/// How valgrind is started: an error of memory fails the run, and so does memory that is lost. It
/// runs one thread at a time, which must not be the same for ever.
const VALGRIND: &str = "target.'cfg(unix)'.runner=['valgrind','--quiet','--fair-sched=yes',\
                        '--error-exitcode=99','--leak-check=full',\
                        '--show-leak-kinds=definite','--errors-for-leak-kinds=definite']";

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
        work: Work::Task("memcheck", memcheck),
    };
    long.chain([memory]).collect()
}

/// Runs tests of what calls C under valgrind.
///
/// # Errors
/// When valgrind is not installed, or finds something, or a test fails.
pub fn memcheck(root: &Path) -> Result<()> {
    let version = Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if !version.is_ok_and(|status| status.success()) {
        let message = "valgrind is not installed: `apt-get install valgrind`, `dnf install \
                       valgrind` or what your system calls it";
        return Err(message.into());
    }
    let steps = CHECKED.map(|(name, line)| Step {
        name,
        // Everything is some thirty times slower.
        work: Work::Program(checked(line).with("DFLAT_PATIENCE_SECONDS", "1200")),
    });
    ci::run(root, &steps, AfterFailure::Stop, std::time::Duration::MAX)
}

fn checked(line: &str) -> Invocation {
    let mut invocation = Invocation::new(&format!("cargo test {line}"));
    let runner = ["--config".to_owned(), VALGRIND.to_owned()];
    invocation.arguments.splice(1..1, runner);
    invocation
}
