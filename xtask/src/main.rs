//! The program behind `cargo xtask`.

#![allow(clippy::print_stdout, reason = "a program for people at a terminal")]

use std::process::ExitCode;
use std::time::Duration;

use xtask::ci::memcheck::{self, Checker};
use xtask::ci::options::Options;
use xtask::ci::system_sqlite;
use xtask::ci::{self, STEP_DURATION_MAX, Step, long, quick, steps};
use xtask::tidy::{self, Mode};
use xtask::{Result, bench, c_library, cost, package, picture, swift, workspace};

const HELP: &str = "\
Repository tasks.

Usage: cargo xtask <task> [--help]

Tasks:
  ci             everything that must hold before a change goes in
  quick          the checks that find most mistakes, in a few minutes
  long           what continuous integration runs for a moment, for hours
  memcheck       tests of what calls C, under valgrind or the address sanitizer
  tidy           floors, files, sentences, public items, unsafe code, dependencies
  licences       the licences of all dependencies
  package        the published crates, packed and compiled from what was packed
  c-library      the C library with its header, installed into a folder
  swift          the tests and benchmarks of the Swift package
  bench          Dflat beside other stores: figures, and the page of benchmarks
  cost           the crates and the time of a program's first build with Dflat
  picture        the terminal of the example `inbox`, as the picture in README.md
  system-sqlite  the laws, and tests of the backend and of the C library, with the system's SQLite
  install-tools  the programs that some tests use, such as flatc and strace (Debian, as root)
";

const CI_HELP: &str = "\
Runs every check, in order, and ends at the first that fails. At the end, prints the wall time and
the processor time of each step, the slowest last.

Usage: cargo xtask ci [--keep-going] [--list] [--from STEP] [--only STEP]..

Options:
  --keep-going  run the other steps too after one has failed
  --list        print the steps and their commands, and run none
  --from STEP   begin with this step
  --only STEP   run this step, and no others but those named so
";

const TIDY_HELP: &str = "\
Checks the promises of ARCHITECTURE.md and CONTRIBUTING.md that a program can check: floors, the
size of files and folders, the length of lines, arguments in tuples, how sentences begin, Markdown,
public items, places of `unsafe`, paths, dependencies.

Usage: cargo xtask tidy [--bless]

Options:
  --bless  rewrite docs/public-api.txt and the tables of promises first
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
        ["long", "--help" | "-h"] => print(long::HELP),
        ["memcheck", "--help" | "-h"] => print(memcheck::HELP),
        ["tidy", "--help" | "-h"] => print(TIDY_HELP),
        ["licences", "--help" | "-h"] => print(LICENCES_HELP),
        ["package", "--help" | "-h"] => print(PACKAGE_HELP),
        ["install-tools", "--help" | "-h"] => print(INSTALL_HELP),
        ["ci", options @ ..] => run_steps(steps::steps(&root)?, options, STEP_DURATION_MAX),
        ["quick", "--help" | "-h"] => print(quick::HELP),
        ["quick", options @ ..] => run_steps(quick::steps(), options, STEP_DURATION_MAX),
        ["long", options @ ..] => run_steps(long::steps(), options, Duration::MAX),
        ["memcheck", "--address", options @ ..] => run_memcheck(Checker::Address, options),
        ["memcheck", options @ ..] => run_memcheck(Checker::Valgrind, options),
        ["tidy"] => steps::check_tidy(&root),
        ["tidy", "--bless"] => steps::report("tidy", &tidy::run(&root, Mode::Bless)?),
        ["licences"] => steps::check_licences(&root),
        ["package"] => package::run(&root),
        ["c-library", "--help" | "-h"] => print(c_library::HELP),
        ["c-library", folder, options @ ..] => c_library::run(&root, folder, options),
        ["swift", "--help" | "-h"] => print(swift::HELP),
        ["swift"] => swift::run(&root),
        ["swift", "--long"] => swift::run_long(&root),
        ["swift", "--sanitize"] => swift::run_sanitized(&root),
        ["swift", "--bench"] => swift::measure(&root, false),
        ["swift", "--bench", "--quick"] => swift::measure(&root, true),
        ["picture", "--help" | "-h"] => print(picture::HELP),
        ["picture"] => picture::run(&root, false),
        ["picture", "--check"] => picture::run(&root, true),
        ["bench", "--help" | "-h"] => print(bench::HELP),
        ["bench", options @ ..] => bench::run(&root, options),
        ["cost", "--help" | "-h"] => print(cost::HELP),
        ["cost"] => cost::run(&root, false),
        ["cost", "--bless"] => cost::run(&root, true),
        ["system-sqlite", "--help" | "-h"] => print(system_sqlite::HELP),
        ["system-sqlite"] => system_sqlite::tests(&root),
        ["system-sqlite", "--all"] => system_sqlite::all(&root),
        ["install-tools"] => steps::install_tools(&root),
        _ => Err(format!("unknown arguments: {}\n\n{HELP}", words.join(" ")).into()),
    }
}

/// Runs those of the steps that the options name, or lists them.
fn run_steps(steps: Vec<Step>, options: &[&str], longest: Duration) -> Result<()> {
    let options = Options::parse(options)?;
    let steps = options.select(steps)?;
    if options.list {
        for step in &steps {
            println!("{:<20} {}", step.name, step.shell_line());
        }
        return Ok(());
    }
    ci::run(&workspace::root(), &steps, options.after_failure, longest)
}

fn run_memcheck(checker: Checker, options: &[&str]) -> Result<()> {
    checker.find()?;
    run_steps(memcheck::steps(checker)?, options, Duration::MAX)
}

fn print(text: &str) -> Result<()> {
    print!("{text}");
    Ok(())
}
