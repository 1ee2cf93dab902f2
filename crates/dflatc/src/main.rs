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

/// Why a run failed.
enum Failure {
    /// The reason was reported already.
    Reported,
    /// A reason that is not reported yet.
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
                // If standard error is closed, the message cannot be shown anywhere.
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
