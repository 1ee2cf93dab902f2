//! The grammar: tokens in, a syntax tree out.
//!
//! The macro `query!` and conditions as text share the parser. They differ in their tokens only:
//! the macro has Rust expressions as values, and text has literals and placeholders.

mod characters;
mod lexer;
mod literal;
mod operator;
mod parser;
mod token;
mod tree;

pub use lexer::tokens;
pub use parser::{Parser, Source};
pub use token::{Delimiter, Literal, Placeholder, Span, Token, TokenKind};
pub use tree::{Arguments, Call, Node, NodeKind, OrderTerm};

/// The limit on nested parts: parentheses, negations, chains of fields and of computations.
pub const NESTING_MAX: usize = 64;

/// Why tokens are no condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The place.
    pub span: Span,
    /// The message: lower case, without a full stop.
    pub message: String,
    /// How to mend it.
    pub help: Option<String>,
    /// Whether the source exceeds a limit.
    pub is_limit: bool,
}

/// The result of reading a part. The error is in a box, so that a nested call needs little stack.
pub type Parsed<T> = Result<T, Box<SyntaxError>>;

impl SyntaxError {
    /// Creates an error without help.
    #[must_use]
    pub fn new(message: impl Into<String>, span: Span) -> Box<Self> {
        Box::new(Self {
            span,
            message: message.into(),
            help: None,
            is_limit: false,
        })
    }

    /// Adds how to mend it.
    #[must_use]
    pub fn with_help(mut self: Box<Self>, help: impl Into<String>) -> Box<Self> {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn limit(message: String, span: Span) -> Box<Self> {
        let mut error = Self::new(message, span);
        error.is_limit = true;
        error
    }
}
