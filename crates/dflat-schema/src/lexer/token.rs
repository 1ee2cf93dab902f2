//! The tokens of the schema language.

use std::ops::Range;

/// A token and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) range: Range<usize>,
    /// It is the first token of its line; recovery uses that.
    pub(crate) first_on_line: bool,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    /// A name or a keyword: keywords are only such by their place, so that fields may be named so.
    Name(String),
    /// An integer without its sign.
    Integer(i128),
    /// A float without its sign.
    Float(f64),
    /// A string, its escapes replaced.
    Text(String),
    /// One of `{ } ( ) [ ] : ; , = . + -`.
    Symbol(char),
    /// A token that was reported already: silently invalid wherever it stands.
    Invalid,
    /// The end of the file; the last token, always there.
    End,
}

impl TokenKind {
    /// The token for a message, such as `` `Monster` `` or `end of file`.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Name(name) => format!("`{name}`"),
            Self::Integer(value) => format!("`{value}`"),
            Self::Float(value) => format!("`{value:?}`"),
            Self::Text(_) => "a string".to_owned(),
            Self::Symbol(symbol) => format!("`{symbol}`"),
            Self::Invalid => "an invalid token".to_owned(),
            Self::End => "the end of the file".to_owned(),
        }
    }
}
