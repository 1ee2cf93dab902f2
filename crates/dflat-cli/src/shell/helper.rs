//! Completion and continued lines in the editor of the shell.

use std::cell::Cell;
use std::env;
use std::ffi::OsString;

use clap_complete::engine;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper, Result};

use super::words::{Words, with_file};
use crate::complete::{self, Typist};
use crate::display::escaped;

/// The commands of the shell itself.
const OWN: [&str; 2] = [".exit", ".help"];

/// Helps the editor.
pub(super) struct ShellHelper {
    /// The words that stand for the file in the arguments of a command.
    file: Vec<OsString>,
    /// Whether the command that was read last goes on in a line that was not read yet.
    is_incomplete: Cell<bool>,
}

impl ShellHelper {
    pub(super) const fn new(file: Vec<OsString>) -> Self {
        Self {
            file,
            is_incomplete: Cell::new(false),
        }
    }

    /// Whether the input has ended within a command.
    pub(super) const fn is_incomplete(&self) -> bool {
        self.is_incomplete.get()
    }

    /// The values that complete the last of the words, which may be empty.
    fn values(&self, words: &[String]) -> Vec<String> {
        let Some(current) = words.last() else {
            return Vec::new();
        };
        if words.len() == 1 && current.starts_with('.') {
            let own = OWN.iter().filter(|own| own.starts_with(current.as_str()));
            return own.map(|own| (*own).to_owned()).collect();
        }
        let of_help = [".help", ""].map(str::to_owned);
        let words = match words {
            [help, _] if *help == of_help[0] => &words[1..],
            words => words,
        };
        let is_command = words.len() == 1;
        let given = with_file_if(!is_command, words, &self.file);
        let folder = env::current_dir().ok();
        let index = given.len() - 1;
        let mut command = complete::command(&given, Typist::Own);
        let found = engine::complete(&mut command, given, index, folder.as_deref());
        let values = found.unwrap_or_default().into_iter();
        let values = values.filter(|value| !value.is_hide_set());
        let mut values: Vec<String> = values
            .filter_map(|value| value.get_value().to_str().map(str::to_owned))
            .filter(|value| !(is_command && (value.starts_with('-') || value == "shell")))
            .collect();
        // Options are listed once their dashes are typed, or if nothing else fits.
        if current.is_empty() && values.iter().any(|value| !value.starts_with('-')) {
            values.retain(|value| !value.starts_with('-'));
        }
        values.sort();
        values.dedup();
        values
    }
}

/// The arguments with the file, or without it while the command itself is typed.
fn with_file_if(is_wanted: bool, words: &[String], file: &[OsString]) -> Vec<OsString> {
    match is_wanted && !(words.len() == 2 && words[0] == "dict") {
        true => with_file(words, file),
        false => {
            let words = words.iter().map(OsString::from);
            std::iter::once("dflat".into()).chain(words).collect()
        }
    }
}

/// A value as it is typed: in quotes if it needs them, and with the quote that is open.
fn quoted(value: &str, quote: Option<char>) -> String {
    let is_special = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '\\');
    match quote {
        Some('"') => format!("\"{}", value.replace('\\', "\\\\").replace('"', "\\\"")),
        Some(quote) => format!("{quote}{value}"),
        None if value.contains(is_special) => format!("'{}'", value.replace('\'', "'\\''")),
        None => value.to_owned(),
    }
}

impl Completer for ShellHelper {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _context: &Context<'_>,
    ) -> Result<(usize, Vec<Pair>)> {
        let split = Words::of(line.get(..position).unwrap_or(line));
        let quote = split.quote;
        let start = match split.words.last() {
            Some(word) if split.is_in_word => word.start,
            _ => position,
        };
        let is_in_word = split.is_in_word;
        let mut words = split.into_texts();
        if !is_in_word {
            words.push(String::new());
        }
        let values = self.values(&words);
        // After the only value, the next word begins.
        let end = match values.as_slice() {
            [value] if quote.is_none() && !value.ends_with(['=', '/']) => " ",
            _ => "",
        };
        let pairs = values.iter().map(|value| Pair {
            display: escaped(value).into_owned(),
            replacement: format!("{}{end}", quoted(value, quote)),
        });
        Ok((start, pairs.collect()))
    }
}

impl Validator for ShellHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> Result<ValidationResult> {
        let words = Words::of(context.input());
        let is_incomplete = words.quote.is_some() || words.continues;
        self.is_incomplete.set(is_incomplete);
        Ok(match is_incomplete {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Valid(None),
        })
    }
}

impl Hinter for ShellHelper {
    type Hint = String;
}

impl Highlighter for ShellHelper {}

impl Helper for ShellHelper {}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn values_are_quoted_as_they_are_typed() {
        assert_eq!(quoted("Task", None), "Task");
        assert_eq!(quoted("buy milk", None), "'buy milk'");
        assert_eq!(quoted("it's", None), "'it'\\''s'");
        assert_eq!(quoted("done", Some('\'')), "'done");
        assert_eq!(quoted("a\"b", Some('"')), "\"a\\\"b");
    }
}
