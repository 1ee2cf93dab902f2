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

/// The program that types the values that it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Typist {
    /// The user's shell, which types them without quotes.
    System,
    /// `dflat shell`, which adds quotes if a value needs them.
    Own,
}

impl Typist {
    /// Whether a value that completes a text is typed safely: text of a file is no part of a
    /// command that the user's shell runs.
    fn may_type(self, value: &str, current: &str) -> bool {
        // The user has typed the beginning, perhaps in quotes.
        let added = value.strip_prefix(current).unwrap_or(value);
        match self {
            Self::Own => true,
            Self::System => added
                .chars()
                .all(|c| c.is_alphanumeric() || "_-.,:/@%+=".contains(c)),
        }
    }
}

/// The definition of the command line, with the values that complete these words.
pub(crate) fn command(words: &[OsString], typist: Typist) -> clap::Command {
    let place = Arc::new(Place::of(words));
    with_values(Arguments::command(), &place, typist)
}

fn with_values(command: clap::Command, place: &Arc<Place>, typist: Typist) -> clap::Command {
    let command = command.mut_args(|argument| with_value(argument, place, typist));
    command.mut_subcommands(|inner| with_values(inner, place, typist))
}

/// A function that lists the values for the beginning of one.
type Lister = fn(&Place, &str) -> Vec<String>;

fn with_value(argument: Arg, place: &Arc<Place>, typist: Typist) -> Arg {
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
        let current = current.to_str();
        let found = current.map(|current| lister(&place, current));
        let found = found.unwrap_or_default().into_iter();
        let current = current.unwrap_or_default();
        let found = found.filter(|value| typist.may_type(value, current));
        // A name of a hostile file is not typed.
        let found = found.filter(|value| !value.contains(controls_terminal));
        found.map(CompletionCandidate::new).collect::<Vec<_>>()
    }))
}
