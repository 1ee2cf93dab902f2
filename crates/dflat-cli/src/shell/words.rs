//! A line as words, with the quotes of a shell.

use std::ffi::OsString;

use clap::{Arg, CommandFactory};

use crate::arguments::Arguments;

/// A word of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// The byte of the line at which the word begins.
    pub(super) start: usize,
}

/// The words of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) words: Vec<Word>,
    /// The quote that is open at the end.
    pub(super) quote: Option<char>,
    /// Whether the line ends with a backslash, so that it continues.
    pub(super) continues: bool,
    /// Whether the last word ends at the end of the line.
    pub(super) is_in_word: bool,
}

impl Words {
    /// Splits a line. Single quotes keep everything; in double quotes a backslash stands before `"`
    /// and `\`, and outside of quotes before any character. A backslash before the end of a line
    /// joins it with the next one.
    pub(super) fn of(line: &str) -> Self {
        let mut words = Vec::new();
        let mut word: Option<Word> = None;
        let (mut quote, mut continues) = (None, false);
        let mut chars = line.char_indices().peekable();
        while let Some((position, c)) = chars.next() {
            if quote.is_none() && c.is_whitespace() {
                words.extend(word.take());
                continue;
            }
            if quote.is_none() && c == '\\' && chars.peek().is_some_and(|(_, next)| *next == '\n') {
                chars.next();
                continue;
            }
            if quote.is_none() && c == '\\' && chars.peek().is_none() {
                continues = true;
                continue;
            }
            let word = word.get_or_insert_with(|| Word {
                text: String::new(),
                start: position,
            });
            match (quote, c) {
                (Some(open), c) if open == c => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (None, '\\') => word.text.extend(chars.next().map(|(_, next)| next)),
                (Some('"'), '\\') => {
                    let escaped = chars.next_if(|(_, next)| matches!(next, '"' | '\\'));
                    word.text.push(escaped.map_or('\\', |(_, next)| next));
                }
                (_, c) => word.text.push(c),
            }
        }
        let is_in_word = word.is_some();
        words.extend(word);
        Self {
            words,
            quote,
            continues,
            is_in_word,
        }
    }

    pub(super) fn into_texts(self) -> Vec<String> {
        self.words.into_iter().map(|word| word.text).collect()
    }
}

/// The arguments of the program for the words of a line: the file stands after the command, with
/// the options of the file that the command takes.
pub(super) fn with_file(words: &[String], file: &[OsString]) -> Vec<OsString> {
    let mut given: Vec<OsString> = words.iter().map(OsString::from).collect();
    let commands = match words.first().map(String::as_str) {
        Some("dict") => 2,
        _ => 1,
    };
    let takes_file = !matches!(
        words.first().map(String::as_str),
        Some("completions" | "man" | "help")
    );
    if takes_file && given.len() >= commands {
        let takes = |word: &&OsString| takes_option(&words[..commands], word);
        given.splice(commands..commands, file.iter().filter(takes).cloned());
    }
    given.insert(0, OsString::from("dflat"));
    given
}

/// Whether a word is no option of the form `--name=value`, or one that the command takes.
fn takes_option(command: &[String], word: &OsString) -> bool {
    let word = word.to_string_lossy();
    let Some((name, _)) = word
        .strip_prefix("--")
        .and_then(|word| word.split_once('='))
    else {
        return true;
    };
    let program = Arguments::command();
    let found = command
        .iter()
        .try_fold(&program, |found, word| found.find_subcommand(word));
    // An unknown command is refused with all of its words.
    found.is_none_or(|found| {
        let mut options = found.get_arguments().filter_map(Arg::get_long);
        options.any(|long| long == name)
    })
}

#[cfg(test)]
mod tests {
    use super::{Words, with_file};

    fn texts(line: &str) -> Vec<String> {
        Words::of(line).into_texts()
    }

    #[test]
    fn words_are_those_of_a_shell() {
        assert_eq!(
            texts(r#"query Task 'a == "x"'  --limit 2"#),
            ["query", "Task", "a == \"x\"", "--limit", "2"]
        );
        assert_eq!(
            texts(r#"a"b c"'d'e\ f "\"\\\n" ''"#),
            ["ab cde f", "\"\\\\n", ""]
        );
        assert_eq!(texts("a \\\nb 'c\nd'"), ["a", "b", "c\nd"]);
        let open = Words::of("query Task 'a ");
        assert_eq!((open.quote, open.is_in_word), (Some('\''), true));
        assert_eq!(open.words[2].start, 11);
        assert!(Words::of("query \\").continues);
        assert!(!Words::of("query ").is_in_word);
    }

    #[test]
    fn file_stands_after_the_command() {
        let given = |line: &str| {
            let given = with_file(&texts(line), &["f.db".into(), "--schema=s.fbs".into()]);
            let given = given.into_iter().map(|word| word.into_string().unwrap());
            given.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(given("get Task 7"), "dflat get f.db --schema=s.fbs Task 7");
        assert_eq!(given("dict get a"), "dflat dict get f.db a");
        assert_eq!(given("unknown a"), "dflat unknown f.db --schema=s.fbs a");
        assert_eq!(given("man x"), "dflat man x");
    }
}
