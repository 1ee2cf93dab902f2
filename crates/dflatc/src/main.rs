//! The Dflat schema compiler's command line.

mod arguments;
mod compile;
mod diff;
mod explain;
mod git;
mod report;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use arguments::{Arguments, Command};

/// How a run ends, other than well.
enum Failure {
    /// It was said why.
    Reported,
    /// This is why.
    Message(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Message(format!("cannot write the output: {error}"))
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.command {
        Command::Compile(arguments) => compile::compile(arguments),
        Command::Check(arguments) => compile::check(arguments),
        Command::Diff(arguments) => diff::diff(arguments),
        Command::Explain { code } => explain::explain(code),
        Command::Completions { shell } => completions(*shell),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Failure::Message(message) = failure {
                // Nothing is left to do if standard error is closed.
                let _ = writeln!(io::stderr(), "error: {message}");
            }
            ExitCode::FAILURE
        }
    }
}

fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "dflatc", &mut script);
    Ok(io::stdout().write_all(&script)?)
}
