//! The error of a condition, an order or a list of fields as text.

use std::fmt;

use crate::syntax::{Span, SyntaxError};

/// Why text is no condition, order or list of fields of a type.
///
/// `Display` writes one line with the column; [`render`](Self::render) also shows the line of the
/// text with a mark below the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionError {
    kind: ConditionErrorKind,
    span: Span,
    line: usize,
    column: usize,
    message: String,
    help: Option<String>,
}

/// The kinds of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConditionErrorKind {
    /// The text does not follow the grammar.
    Syntax,
    /// The type has no such field, method, union member or enum value.
    UnknownName,
    /// A value or a field has another type than the place needs.
    WrongType,
    /// A number does not fit its field, or a computation with literals has no result.
    OutOfRange,
    /// A placeholder has no value.
    MissingParameter,
    /// The text is too long, or nests too deep.
    TooLarge,
}

/// An error whose line and column are not computed yet.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) kind: ConditionErrorKind,
    pub(crate) span: Span,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

pub(crate) type Checked<T> = Result<T, Box<Problem>>;

impl Problem {
    pub(crate) fn new(
        kind: ConditionErrorKind,
        span: Span,
        message: impl Into<String>,
    ) -> Box<Self> {
        Box::new(Self {
            kind,
            span,
            message: message.into(),
            help: None,
        })
    }

    pub(crate) fn with_help(mut self: Box<Self>, help: Option<String>) -> Box<Self> {
        self.help = help;
        self
    }
}

impl From<Box<SyntaxError>> for Box<Problem> {
    fn from(error: Box<SyntaxError>) -> Self {
        let kind = match error.is_limit {
            true => ConditionErrorKind::TooLarge,
            false => ConditionErrorKind::Syntax,
        };
        Problem::new(kind, error.span, error.message).with_help(error.help)
    }
}

impl ConditionError {
    /// Places a problem in its text.
    pub(crate) fn new(text: &str, problem: Problem) -> Self {
        let Problem {
            kind,
            span,
            message,
            help,
        } = problem;
        let before = text.get(..span.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let in_line = before.get(line_start..).unwrap_or_default();
        Self {
            kind,
            span,
            line: 1 + before.matches('\n').count(),
            column: 1 + in_line.chars().count(),
            // Names of a descriptor may come from a file, and must not control a terminal.
            message: message.chars().map(shown).collect(),
            help: help.map(|help| help.chars().map(shown).collect()),
        }
    }

    /// The kind.
    #[must_use]
    pub const fn kind(&self) -> ConditionErrorKind {
        self.kind
    }

    /// The byte of the text at which the wrong part begins. At the end of the text it is the
    /// length of the text.
    #[must_use]
    pub const fn start(&self) -> usize {
        self.span.start
    }

    /// The byte after the wrong part.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.span.end
    }

    /// The line of the text, from 1.
    #[must_use]
    pub const fn line(&self) -> usize {
        self.line
    }

    /// The column in its line, counted in characters (Unicode scalar values) from 1.
    #[must_use]
    pub const fn column(&self) -> usize {
        self.column
    }

    /// The message, one line in lower case without a full stop.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// How to mend the text, one line: the nearest name, or the values of an enum.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

/// The character that stands for a character in messages: U+FFFD for a control character, and for
/// one that changes the direction of writing.
pub(crate) fn shown(c: char) -> char {
    let changes_direction = matches!(c,
        '\u{61C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
        | '\u{FEFF}');
    match c {
        '\t' => ' ',
        c if c.is_control() || changes_direction => '\u{FFFD}',
        c => c,
    }
}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 1 {
            write!(f, "line {}, ", self.line)?;
        }
        write!(f, "column {}: {}", self.column, self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ConditionError {}
