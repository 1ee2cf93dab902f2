//! The command line of the Dflat object database.

mod arguments;
mod change;
mod complete;
mod confirm;
mod dispatch;
mod display;
mod failure;
mod file;
mod generate;
mod mistake;
mod object;
mod pack;
mod progress;
mod record;
mod see;
mod session;
mod shell;
mod steps;
mod transfer;
mod upkeep;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};
use clap_complete::CompleteEnv;

use arguments::{Arguments, Command};
use complete::Typist;
use session::Session;

fn main() -> ExitCode {
    let given = std::env::args_os().collect::<Vec<OsString>>();
    // A shell that completes a command line gives it after `--`.
    let complete = || complete::command(complete::given(&given), Typist::System);
    CompleteEnv::with_factory(complete).complete();
    let command = Arguments::command();
    let given = arguments::with_info(&command, given);
    let parsed = command
        .try_get_matches_from(given)
        .and_then(|matches| Arguments::from_arg_matches(&matches));
    match parsed {
        Ok(arguments) => failure::end(match &arguments.command {
            Command::Shell(arguments) => shell::shell(arguments),
            command => dispatch::run(command, &Session::default()),
        }),
        Err(error) => {
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            // The help is the output of the command; the message of an error has no other place.
            match error.print() {
                Err(unprinted) if code == 0 => failure::end(Err(unprinted.into())),
                _ => ExitCode::from(code),
            }
        }
    }
}
