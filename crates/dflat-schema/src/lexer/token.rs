//! The tokens of the schema language.

use std::ops::Range;

/// A token and its position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) range: Range<usize>,
    /// Whether the token is the first of its line; error recovery uses this.
    pub(crate) first_on_line: bool,
}

/// The kind of a token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    /// A name or a keyword. Keywords are not reserved: a field may have the name of a keyword.
    Name(String),
    /// An integer without its sign.
    Integer(i128),
    /// A float without its sign.
    Float(f64),
    /// A string, with its escapes decoded.
    Text(String),
    /// One of `{ } ( ) [ ] : ; , = . + -`.
    Symbol(char),
    /// A token that was reported already; the parser does not report it again.
    Invalid,
    /// The end of the file, which is always the last token.
    End,
}

impl TokenKind {
    /// Describes the token in a message, such as `` `Monster` `` or `end of file`.
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
