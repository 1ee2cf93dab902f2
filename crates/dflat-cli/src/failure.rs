//! How a command ends: the exit code, and the message on standard error.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use dflat_condition::ConditionError;
use dflat_workspace::{Error, ErrorKind};

use crate::display::escaped;

/// The result of a command.
pub(crate) type Outcome = Result<Found, Failure>;

/// Whether a command found what it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Exit code 0.
    Yes,
    /// Exit code 1: `get` found no object, or the like.
    No,
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of standard output is gone, which is no error.
    OutputClosed,
    /// Ctrl-C in the shell.
    Interrupted,
    /// A message and its kind.
    Message {
        kind: FailureKind,
        /// May have several lines, each without characters that control a terminal.
        message: String,
    },
}

/// The kind of a failure, which decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// The command line, a condition or a value is wrong.
    Usage,
    /// The file cannot be opened, read or written.
    File,
    /// Another process writes to the file.
    Busy,
    /// An object has the key already, or has changed.
    Conflict,
}

impl FailureKind {
    const fn code(self) -> u8 {
        match self {
            Self::Usage => 2,
            Self::File | Self::Busy => 3,
            Self::Conflict => 4,
        }
    }
}

impl Failure {
    pub(crate) fn usage(message: impl AsRef<str>) -> Self {
        Self::new(FailureKind::Usage, message)
    }

    pub(crate) fn file(message: impl AsRef<str>) -> Self {
        Self::new(FailureKind::File, message)
    }

    /// Whether another process writes to the file.
    pub(crate) const fn is_busy(&self) -> bool {
        matches!(
            self,
            Self::Message {
                kind: FailureKind::Busy,
                ..
            }
        )
    }

    fn new(kind: FailureKind, message: impl AsRef<str>) -> Self {
        let lines = message.as_ref().lines().map(escaped);
        let message = lines.collect::<Vec<_>>().join("\n");
        Self::Message { kind, message }
    }

    /// The error of a text in the condition language, with the place in the text.
    pub(crate) fn of_condition(error: &ConditionError, text: &str) -> Self {
        let rendered = error.render(text);
        let message = rendered.strip_prefix("error: ").unwrap_or(&rendered);
        Self::usage(message)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::Cancelled => return Self::Interrupted,
            ErrorKind::AlreadyExists | ErrorKind::OutOfDate | ErrorKind::KeysExhausted => {
                FailureKind::Conflict
            }
            ErrorKind::InvalidArgument | ErrorKind::WrongType => FailureKind::Usage,
            ErrorKind::Busy => FailureKind::Busy,
            _ => FailureKind::File,
        };
        Self::new(kind, with_help(error.to_string()))
    }
}

/// The message of an error. If SQLite found a damaged page, the commands that help follow.
fn with_help(mut message: String) -> String {
    if message.contains(": the file is damaged") {
        message.push_str(
            "\nhelp: `dflat check` lists the damage, `dflat repair` mends a file that can still be \
             written, and `dflat salvage` saves the readable objects into a new file",
        );
    }
    message
}

/// An error of writing to standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let inner = error.get_ref();
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ if inner.is_some_and(|inner| inner.is::<Interrupted>()) => Self::Interrupted,
            _ => Self::file(format!("cannot write the output: {error}")),
        }
    }
}

/// The error of output after an interruption.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// Prints the message of a failure, and returns the exit code.
pub(crate) fn end(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(Found::Yes) | Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Ok(Found::No) => ExitCode::from(1),
        Err(failure) => {
            show(&failure);
            match failure {
                Failure::Message { kind, .. } => ExitCode::from(kind.code()),
                // As a shell says of a program that Ctrl-C has ended.
                Failure::Interrupted => ExitCode::from(130),
                Failure::OutputClosed => ExitCode::SUCCESS,
            }
        }
    }
}

/// Prints the message of a failure.
pub(crate) fn show(failure: &Failure) {
    match failure {
        Failure::Message { message, .. } => report("error", AnsiColor::Red, message),
        Failure::Interrupted => note("interrupted"),
        Failure::OutputClosed => {}
    }
}

/// Prints a note on standard error.
pub(crate) fn note(message: &str) {
    report("note", AnsiColor::Cyan, &escaped(message));
}

fn report(word: &str, colour: AnsiColor, message: &str) {
    let style: Style = colour.on_default().bold();
    // If standard error is closed, the message cannot be shown anywhere.
    let _ = writeln!(anstream::stderr(), "{style}{word}{style:#}: {message}");
}
