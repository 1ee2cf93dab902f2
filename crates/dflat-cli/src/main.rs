//! The command line of the Dflat object database.

mod arguments;
mod change;
mod display;
mod failure;
mod file;
mod generate;
mod object;
mod record;
mod see;
mod transfer;
mod upkeep;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use arguments::{Arguments, Command};
use failure::Outcome;

fn main() -> ExitCode {
    let command = Arguments::command();
    let given = arguments::with_info(&command, std::env::args_os().collect::<Vec<OsString>>());
    let parsed = command
        .try_get_matches_from(given)
        .and_then(|matches| Arguments::from_arg_matches(&matches));
    let outcome = match parsed {
        Ok(arguments) => run(&arguments.command),
        Err(error) => {
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            // If the terminal is gone, the message cannot be shown anywhere.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    failure::end(outcome)
}

fn run(command: &Command) -> Outcome {
    match command {
        Command::Info(arguments) => see::info(arguments),
        Command::Types(arguments) => see::types(arguments),
        Command::Schema(arguments) => see::schema(arguments),
        Command::Stats(arguments) => see::stats(arguments),
        Command::Get(arguments) => see::get(arguments),
        Command::Query(arguments) => see::query(arguments),
        Command::Count(arguments) => see::count(arguments),
        Command::Explain(arguments) => see::explain(arguments),
        Command::Watch(arguments) => see::watch(arguments),
        Command::Insert(arguments) => change::insert(arguments),
        Command::Upsert(arguments) => change::upsert(arguments),
        Command::Set(arguments) => change::set(arguments),
        Command::Delete(arguments) => change::delete(arguments),
        Command::Dict(arguments) => change::dict(arguments),
        Command::Export(arguments) => transfer::export(arguments),
        Command::Import(arguments) => transfer::import(arguments),
        Command::Copy(arguments) => transfer::copy(arguments),
        Command::Diff(arguments) => transfer::diff(arguments),
        Command::Backup(arguments) => upkeep::backup(arguments),
        Command::Compact(arguments) => upkeep::compact(arguments),
        Command::Check(arguments) => upkeep::check(arguments),
        Command::Repair(arguments) => upkeep::repair(arguments),
        Command::Salvage(arguments) => upkeep::salvage(arguments),
        Command::Purge(arguments) => upkeep::purge(arguments),
        Command::Completions(arguments) => generate::completions(arguments.shell),
        Command::Man(arguments) => generate::man(&arguments.folder),
    }
}
