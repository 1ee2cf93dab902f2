//! Tokens, from text or from Rust's compiler.

/// A part of the source, from `start` up to `end`.
///
/// In text, the positions are bytes. In the macro `query!`, they are numbers of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first position.
    pub start: usize,
    /// The position after the last.
    pub end: usize,
}

impl Span {
    /// From the start of this span to the end of another.
    #[must_use]
    pub const fn to(self, other: Self) -> Self {
        Self {
            start: self.start,
            end: other.end,
        }
    }
}

/// A token with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// The token.
    pub kind: TokenKind,
    /// Its place.
    pub span: Span,
}

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub enum TokenKind {
    /// A name or a keyword.
    Word(String),
    /// A number or a string. Text only.
    Literal(Literal),
    /// A placeholder. Text only.
    Placeholder(Placeholder),
    /// A literal or a block in braces, whose meaning Rust's compiler knows. The macro only.
    Rust,
    /// One character of an operator, and whether the next character of an operator follows without
    /// a blank.
    Mark(char, bool),
    /// The beginning of a group.
    Open(Delimiter),
    /// The end of a group.
    Close(Delimiter),
}

/// The delimiters of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delimiter {
    /// `( )`
    Parenthesis,
    /// `[ ]`
    Bracket,
}

/// A number or a string.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// An integer without a sign, and the name of the Rust type after it.
    Integer(i128, Option<String>),
    /// A floating-point number without a sign, and the name of the Rust type after it.
    Float(f64, Option<String>),
    /// A string.
    Text(String),
}

/// A place in the text for a value that is given when the condition is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// `?1`, counted from 1. A `?` alone has the number after the largest one before it.
    Number(usize),
    /// `:name`, without the colon.
    Name(String),
}
