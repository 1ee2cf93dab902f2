//! The program behind `cargo xtask`.

#![allow(clippy::print_stdout, reason = "a program for people at a terminal")]

use std::process::ExitCode;

use xtask::ci::{self, AfterFailure, steps};
use xtask::tidy::{self, Mode};
use xtask::{Result, package, workspace};

const HELP: &str = "\
Repository tasks.

Usage: cargo xtask <task> [--help]

Tasks:
  ci             everything that must hold before a change goes in
  tidy           floors, files, markdown, public items, unsafe code, dependencies
  licences       the licences of all dependencies
  package        the published crates, packed and compiled from what was packed
  install-flatc  the schema compiler that some tests compare ours with (Debian, as root)
";

const CI_HELP: &str = "\
Runs every check, in order, and ends at the first that fails.

Usage: cargo xtask ci [--keep-going | --list]

Options:
  --keep-going  run the other steps too after one has failed
  --list        print the steps and their commands, and run none
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
Installs Debian's package `flatbuffers-compiler`.

Usage: cargo xtask install-flatc
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
        ["tidy", "--help" | "-h"] => print(TIDY_HELP),
        ["licences", "--help" | "-h"] => print(LICENCES_HELP),
        ["package", "--help" | "-h"] => print(PACKAGE_HELP),
        ["install-flatc", "--help" | "-h"] => print(INSTALL_HELP),
        ["ci"] => ci::run(&root, &steps::steps(&root)?, AfterFailure::Stop),
        ["ci", "--keep-going"] => ci::run(&root, &steps::steps(&root)?, AfterFailure::GoOn),
        ["ci", "--list"] => {
            for step in steps::steps(&root)? {
                println!("{:<20} {}", step.name, step.shell_line());
            }
            Ok(())
        }
        ["tidy"] => steps::check_tidy(&root),
        ["tidy", "--bless"] => steps::report("tidy", &tidy::run(&root, Mode::Bless)?),
        ["licences"] => steps::check_licences(&root),
        ["package"] => package::run(&root),
        ["install-flatc"] => steps::install_oracle(&root),
        _ => Err(format!("unknown arguments: {}\n\n{HELP}", words.join(" ")).into()),
    }
}

fn print(text: &str) -> Result<()> {
    print!("{text}");
    Ok(())
}
