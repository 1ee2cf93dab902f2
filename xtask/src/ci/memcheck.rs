//! `cargo xtask memcheck`: code that calls C or reads untrusted bytes, under a memory checker.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::Result;
use crate::ci::{self, AfterFailure, Invocation, Step, Work};

/// The text of `cargo xtask memcheck --help`. The minutes were measured on two cores, with one of
/// them in use.
pub const HELP: &str = "\
Runs the tests of the crate that calls C, and of objects, and the fuzzers of payloads and files,
under valgrind, which must be installed. An access to memory that is not valid fails, and so does
memory that is lost.

Usage: cargo xtask memcheck [--address] [--keep-going] [--list] [--from STEP] [--only STEP]..

Options:
  --address     under the address sanitizer of the nightly compiler, which is faster
  --keep-going  run the other steps too after one has failed
  --list        print the steps and their commands, and run none
  --from STEP   begin with this step
  --only STEP   run this step, and no others but those named so

Steps, and how many minutes each is estimated to take on one idle core, once it is compiled:
            valgrind  --address
  backend       12     2   all tests of `dflat-sqlite`
  payloads       2     1   damaged payloads
  files          2     1   damaged files
  tables         8     2   files whose tables were changed by SQL
  inputs         5     1   inputs that coverage-guided fuzzers found
  objects        1     1   objects that share memory
";

/// The steps: the tests of the crate that contains all calls of C, the fuzzers of untrusted bytes,
/// and the tests of objects that share memory.
const CHECKED: [(&str, &str); 6] = [
    ("backend", "-p dflat-sqlite --lib --tests"),
    (
        "payloads",
        "-p dflat-testkit --test it fuzz_smoke::damaged_payloads",
    ),
    (
        "files",
        "-p dflat-testkit --test it fuzz_smoke::damaged_files_give",
    ),
    ("tables", "-p dflat-testkit --test it fuzz_smoke::tables"),
    ("inputs", "-p dflat-testkit --test it fuzz_smoke::inputs"),
    ("objects", "-p dflat-engine --lib object::"),
];

/// The command line of valgrind. A memory error fails the run, and so does a leak. Valgrind runs
/// one thread at a time; `--fair-sched` gives each thread its turn.
const VALGRIND: &str = "target.'cfg(unix)'.runner=['valgrind','--quiet','--fair-sched=yes',\
                        '--error-exitcode=99','--leak-check=full',\
                        '--show-leak-kinds=definite','--errors-for-leak-kinds=definite']";

/// The program that finds memory errors.
#[derive(Clone, Copy, Debug)]
pub enum Checker {
    /// Valgrind, on the unchanged programs.
    Valgrind,
    /// The address sanitizer of the nightly compiler, on programs compiled with it.
    Address,
}

/// Runs all steps under valgrind.
///
/// # Errors
/// An error if valgrind is not installed, if it reports an error, or if a test fails.
pub fn run(root: &Path) -> Result<()> {
    Checker::Valgrind.find()?;
    let steps = steps(Checker::Valgrind)?;
    ci::run(root, &steps, AfterFailure::Stop, Duration::MAX)
}

/// The steps, under a checker.
///
/// # Errors
/// An error if `rustc` cannot be run.
pub fn steps(checker: Checker) -> Result<Vec<Step>> {
    let target = format!("--target={}", host()?);
    let step = |(name, line): (&'static str, &str)| {
        let line = format!("{line} -- --test-threads 1");
        let invocation = match checker {
            Checker::Valgrind => under_valgrind(&line),
            Checker::Address => under_sanitizer(&target, &line),
        };
        let invocation = invocation
            // Programs are up to thirty times slower.
            .with("DFLAT_PATIENCE_SECONDS", "1200")
            .with("DFLAT_FUZZ_SEEDS", "40");
        Step {
            name,
            work: Work::Program(invocation),
        }
    };
    Ok(CHECKED.map(step).into())
}

impl Checker {
    /// Checks that the program is installed.
    ///
    /// # Errors
    /// An error if the program is not installed; the message says how to install it.
    pub fn find(self) -> Result<()> {
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

/// With an explicit target, build scripts and macros run without the sanitizer.
fn under_sanitizer(target: &str, line: &str) -> Invocation {
    Invocation::new(&format!("rustup run nightly cargo test {target} {line}"))
        .with("RUSTFLAGS", "-Zsanitizer=address")
        // SQLite has two static tables of one name, which is no error.
        .with("ASAN_OPTIONS", "detect_odr_violation=0")
}

/// The target triple of this system.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| "rustc does not say what it compiles for".into())
}
