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

/// What calls C is run under a checker of memory: the tests of the crate that has all of that, and
/// the fuzzers of what comes from outside.
const CHECKED: [(&str, &str); 2] = [
    (
        "memory of the backend",
        "-p dflat-sqlite --lib --tests -- --test-threads 1",
    ),
    (
        "memory of damage",
        "-p dflat-testkit --test it -- --test-threads 1 fuzz_smoke::damaged_payloads \
         fuzz_smoke::damaged_files fuzz_smoke::tables fuzz_smoke::inputs",
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
        work: Work::Task("memcheck", |root| memcheck(root, Checker::Valgrind)),
    };
    long.chain([memory]).collect()
}

/// What looks for errors of memory.
#[derive(Clone, Copy, Debug)]
pub enum Checker {
    /// Valgrind, on the programs as they are.
    Valgrind,
    /// The address sanitizer of the nightly compiler, on programs that are compiled for it.
    Address,
}

/// Runs tests of what calls C under a checker.
///
/// # Errors
/// When the checker is not installed, or finds something, or a test fails.
pub fn memcheck(root: &Path, checker: Checker) -> Result<()> {
    checker.find()?;
    let target = format!("--target={}", host()?);
    let steps = CHECKED.map(|(name, line)| {
        let invocation = match checker {
            Checker::Valgrind => under_valgrind(line),
            Checker::Address => under_sanitizer(&target, line),
        };
        let invocation = invocation
            // Everything is up to some thirty times slower.
            .with("DFLAT_PATIENCE_SECONDS", "1200")
            .with("DFLAT_FUZZ_SEEDS", "40");
        Step {
            name,
            work: Work::Program(invocation),
        }
    });
    ci::run(root, &steps, AfterFailure::Stop, std::time::Duration::MAX)
}

impl Checker {
    /// Fails if it is not installed.
    fn find(self) -> Result<()> {
        let (line, message) = match self {
            Self::Valgrind => (
                "valgrind --version",
                "valgrind is not installed: `apt-get install valgrind`, `dnf install valgrind` or \
                 what your system calls it",
            ),
            Self::Address => (
                "rustup run nightly cargo --version",
                "the nightly compiler is not installed: `rustup toolchain install nightly`",
            ),
        };
        let mut words = line.split(' ');
        let version = Command::new(words.next().unwrap_or_default())
            .args(words)
            .stdout(Stdio::null())
            .status();
        match version {
            Ok(status) if status.success() => Ok(()),
            _ => Err(message.into()),
        }
    }
}

fn under_valgrind(line: &str) -> Invocation {
    let mut invocation = Invocation::new(&format!("cargo test {line}"));
    let runner = ["--config".to_owned(), VALGRIND.to_owned()];
    invocation.arguments.splice(1..1, runner);
    invocation
}

/// With a target, what runs while compiling is not checked.
fn under_sanitizer(target: &str, line: &str) -> Invocation {
    Invocation::new(&format!("rustup run nightly cargo test {target} {line}"))
        .with("RUSTFLAGS", "-Zsanitizer=address")
        // Two functions of SQLite have a table of the same name.
        .with("ASAN_OPTIONS", "detect_odr_violation=0")
}

/// What the compiler calls this system.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| "rustc does not say what it compiles for".into())
}
