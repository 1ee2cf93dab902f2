//! Splits the string of an attribute that declares indexes into tokens with their positions.

use crate::ast::Value;
use crate::schema::Span;

/// A token, and its position in the file.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Span,
}

/// The kind of a token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    /// A dotted name or a keyword.
    Name(String),
    Integer(i128),
    Float(f64),
    Text(String),
    /// `, ; ( ) [ ] == != < <= > >=`
    Symbol(&'static str),
    /// Text that is not part of any token.
    Unknown(String),
    /// The end of the text, which is always the last token.
    End,
}

impl TokenKind {
    /// Describes the token in a message.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Name(name) | Self::Unknown(name) => format!("`{name}`"),
            Self::Integer(value) => format!("`{value}`"),
            Self::Float(value) => format!("`{value:?}`"),
            Self::Text(_) => "a string".to_owned(),
            Self::Symbol(symbol) => format!("`{symbol}`"),
            Self::End => "the end of the text".to_owned(),
        }
    }
}

/// The operators and punctuation, longer ones first.
const SYMBOLS: [&str; 12] = [
    "==", "!=", "<=", ">=", "<", ">", ",", ";", "(", ")", "[", "]",
];

/// Splits the text of an attribute into tokens.
pub(super) fn tokens(value: &Value, text: &str) -> Vec<Token> {
    // If the string has escapes, offsets in its text are not offsets in the file.
    let is_verbatim = value.span.range.len() == text.len() + 2;
    let span = |start: usize, end: usize| {
        let mut span = value.span.clone();
        if is_verbatim {
            let first = span.range.start + 1;
            span.range = first + start..first + end;
        }
        span
    };
    let mut tokens = Vec::new();
    let mut offset = 0;
    while let Some(first) = text[offset..].chars().next() {
        if first.is_whitespace() {
            offset += first.len_utf8();
            continue;
        }
        let (kind, length) = token(&text[offset..], first);
        tokens.push(Token {
            kind,
            span: span(offset, offset + length),
        });
        offset += length;
    }
    tokens.push(Token {
        kind: TokenKind::End,
        span: span(text.len(), text.len()),
    });
    tokens
}

/// The first token of a text, and its length.
fn token(rest: &str, first: char) -> (TokenKind, usize) {
    let length_of =
        |belongs: &dyn Fn(char) -> bool| rest.find(|c: char| !belongs(c)).unwrap_or(rest.len());
    if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
        return (TokenKind::Symbol(symbol), symbol.len());
    }
    if first.is_ascii_alphabetic() || first == '_' {
        let length = length_of(&|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        return (TokenKind::Name(rest[..length].to_owned()), length);
    }
    if first.is_ascii_digit() || matches!(first, '-' | '+' | '.') {
        let length = length_of(&|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.'));
        return (number(&rest[..length]), length);
    }
    if first == '\'' || first == '"' {
        let body = &rest[1..];
        if let Some(end) = body.find(first) {
            return (TokenKind::Text(body[..end].to_owned()), end + 2);
        }
    }
    let length = first.len_utf8();
    (TokenKind::Unknown(rest[..length].to_owned()), length)
}

fn number(digits: &str) -> TokenKind {
    match (digits.parse::<i128>(), digits.parse::<f64>()) {
        (Ok(value), _) => TokenKind::Integer(value),
        (_, Ok(value)) if value.is_finite() => TokenKind::Float(value),
        _ => TokenKind::Unknown(digits.to_owned()),
    }
}
