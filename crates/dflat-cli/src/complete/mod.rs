//! Completion of command lines: commands and options by their definition, and types, fields,
//! values and keys by the contents of the file.

mod condition;
mod contents;
mod place;

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use clap::{Arg, CommandFactory};
use clap_complete::{ArgValueCompleter, CompletionCandidate};

use crate::arguments::Arguments;
use crate::display::controls_terminal;
use place::Place;

/// The command line that a shell wants to have completed, from the arguments of this program.
pub(crate) fn given(arguments: &[OsString]) -> &[OsString] {
    let start = arguments.iter().position(|word| word == "--");
    start.map_or(&[], |start| &arguments[start + 1..])
}

/// The definition of the command line, with the values that complete these words.
pub(crate) fn command(words: &[OsString]) -> clap::Command {
    let place = Arc::new(Place::of(words));
    with_values(Arguments::command(), &place)
}

fn with_values(command: clap::Command, place: &Arc<Place>) -> clap::Command {
    let command = command.mut_args(|argument| with_value(argument, place));
    command.mut_subcommands(|inner| with_values(inner, place))
}

/// A function that lists the values for the beginning of one.
type Lister = fn(&Place, &str) -> Vec<String>;

fn with_value(argument: Arg, place: &Arc<Place>) -> Arg {
    let lister: Lister = match argument.get_id().as_str() {
        "type_name" | "types" => contents::types,
        "condition" => condition::words,
        "order" | "select" => condition::fields,
        "keys" if place.is_dictionary => contents::dictionary_keys,
        "key" => contents::dictionary_keys,
        "keys" => contents::keys,
        "rest" => contents::key_or_assignment,
        _ => return argument,
    };
    let place = Arc::clone(place);
    argument.add(ArgValueCompleter::new(move |current: &OsStr| {
        let found = current.to_str().map(|current| lister(&place, current));
        let found = found.unwrap_or_default().into_iter();
        // A name of a hostile file is not typed.
        let found = found.filter(|value| !value.contains(controls_terminal));
        found.map(CompletionCandidate::new).collect::<Vec<_>>()
    }))
}
