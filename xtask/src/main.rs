//! The program behind `cargo xtask`.

#![allow(clippy::print_stdout, reason = "a program for people at a terminal")]

use std::process::ExitCode;
use std::time::Duration;

use xtask::ci::long::{self, Checker};
use xtask::ci::{self, AfterFailure, STEP_DURATION_MAX, Step, steps};
use xtask::tidy::{self, Mode};
use xtask::{Result, package, workspace};

const HELP: &str = "\
Repository tasks.

Usage: cargo xtask <task> [--help]

Tasks:
  ci             everything that must hold before a change goes in
  long           what continuous integration runs for a moment, for hours
  memcheck       tests of what calls C, under valgrind or the address sanitizer
  tidy           floors, files, markdown, public items, unsafe code, dependencies
  licences       the licences of all dependencies
  package        the published crates, packed and compiled from what was packed
  install-tools  the programs that some tests use: flatc and strace (Debian, as root)
";

const CI_HELP: &str = "\
Runs every check, in order, and ends at the first that fails.

Usage: cargo xtask ci [--keep-going | --list]

Options:
  --keep-going  run the other steps too after one has failed
  --list        print the steps and their commands, and run none
";

const LONG_HELP: &str = "\
Runs the tests that go on for as long as they are told, for long, in order, and ends at the first
that fails: a thousand kills, a fault of every call, fuzzers, random work, orders of threads, a soak,
and `memcheck`. Each is a command with a variable, which can be run alone with other values.

Usage: cargo xtask long [--keep-going | --list]

Options:
  --keep-going  run the other steps too after one has failed
  --list        print the steps and their commands, and run none
";

const MEMCHECK_HELP: &str = "\
Runs the tests of the crate that calls C, and the fuzzers of payloads and files, under valgrind, which
must be installed. An access to memory that is not valid fails, and so does memory that is lost.

Usage: cargo xtask memcheck [--address]

Options:
  --address  under the address sanitizer of the nightly compiler, which is faster
";

const TIDY_HELP: &str = "\
Checks what ARCHITECTURE.md and CONTRIBUTING.md promise and a program can see: floors, the size and
the lines of files, markdown, public items, where `unsafe` stands, paths, dependencies.

Usage: cargo xtask tidy [--bless]

Options:
  --bless  rewrite docs/public-api.txt first
";

const LICENCES_HELP: &str = "\
Checks that the licence of every dependency, on every platform, is one of those allowed.

Usage: cargo xtask licences
";

const PACKAGE_HELP: &str = "\
Packs every crate that is to be published, and compiles what was packed as a workspace of its own.

Usage: cargo xtask package
";

const INSTALL_HELP: &str = "\
Installs Debian's packages `flatbuffers-compiler` and `strace`.

Usage: cargo xtask install-tools
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\n{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<()> {
    let root = workspace::root();
    match words {
        [] | ["--help" | "-h" | "help"] => print(HELP),
        ["ci", "--help" | "-h"] => print(CI_HELP),
        ["long", "--help" | "-h"] => print(LONG_HELP),
        ["memcheck", "--help" | "-h"] => print(MEMCHECK_HELP),
        ["tidy", "--help" | "-h"] => print(TIDY_HELP),
        ["licences", "--help" | "-h"] => print(LICENCES_HELP),
        ["package", "--help" | "-h"] => print(PACKAGE_HELP),
        ["install-tools", "--help" | "-h"] => print(INSTALL_HELP),
        ["ci", options @ ..] => run_steps(&steps::steps(&root)?, options, STEP_DURATION_MAX),
        ["long", options @ ..] => run_steps(&long::steps(), options, Duration::MAX),
        ["memcheck"] => long::memcheck(&root, Checker::Valgrind),
        ["memcheck", "--address"] => long::memcheck(&root, Checker::Address),
        ["tidy"] => steps::check_tidy(&root),
        ["tidy", "--bless"] => steps::report("tidy", &tidy::run(&root, Mode::Bless)?),
        ["licences"] => steps::check_licences(&root),
        ["package"] => package::run(&root),
        ["install-tools"] => steps::install_tools(&root),
        _ => Err(format!("unknown arguments: {}\n\n{HELP}", words.join(" ")).into()),
    }
}

/// Runs steps, or lists them.
fn run_steps(steps: &[Step], options: &[&str], longest: Duration) -> Result<()> {
    let after_failure = match options {
        [] => AfterFailure::Stop,
        ["--keep-going"] => AfterFailure::GoOn,
        ["--list"] => {
            for step in steps {
                println!("{:<20} {}", step.name, step.shell_line());
            }
            return Ok(());
        }
        _ => return Err(format!("unknown options: {}\n\n{HELP}", options.join(" ")).into()),
    };
    ci::run(&workspace::root(), steps, after_failure, longest)
}

fn print(text: &str) -> Result<()> {
    print!("{text}");
    Ok(())
}
