//! Text to tokens.

use super::literal::{number, quoted, raw_quoted};
use super::{Delimiter, Parsed, Placeholder, Span, SyntaxError, Token, TokenKind};

/// Splits text into tokens.
///
/// # Errors
/// A character that begins no token, a string without its end, or a malformed number.
pub fn tokens(text: &str) -> Parsed<Vec<Token>> {
    let mut lexer = Lexer {
        text,
        at: 0,
        placeholders: 0,
    };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next()? {
        tokens.push(token);
    }
    Ok(tokens)
}

/// The text, and the position up to which it is read.
pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
    /// The largest number of a placeholder.
    placeholders: usize,
}

/// Whether a character can begin a word.
pub(super) fn begins_word(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

/// Whether a character can continue a word.
pub(super) fn continues_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

impl<'t> Lexer<'t> {
    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) const fn at(&self) -> usize {
        self.at
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn advance(&mut self, bytes: usize) {
        self.at += bytes;
    }

    pub(super) const fn span_from(&self, start: usize) -> Span {
        Span {
            start,
            end: self.at,
        }
    }

    /// Reads the characters that meet a condition.
    pub(super) fn take_while(&mut self, accepts: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !accepts(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn next(&mut self) -> Parsed<Option<Token>> {
        self.take_while(char::is_whitespace);
        let start = self.at;
        let Some(first) = self.peek() else {
            return Ok(None);
        };
        let kind = match first {
            '"' => TokenKind::Literal(quoted(self)?),
            'r' if self.begins_raw_string() => TokenKind::Literal(raw_quoted(self)?),
            'r' if self.begins_raw_word() => {
                self.at += 2;
                TokenKind::Word(self.take_while(continues_word).to_owned())
            }
            '0'..='9' => TokenKind::Literal(number(self)?),
            '?' => TokenKind::Placeholder(self.placeholder()?),
            ':' if self.begins_named_placeholder() => {
                self.at += 1;
                let name = self.take_while(continues_word);
                TokenKind::Placeholder(Placeholder::Name(name.to_owned()))
            }
            c if begins_word(c) => TokenKind::Word(self.take_while(continues_word).to_owned()),
            _ => self.punctuation(first)?,
        };
        let span = self.span_from(start);
        Ok(Some(Token { kind, span }))
    }

    fn begins_raw_string(&self) -> bool {
        let after = self.rest().trim_start_matches('r');
        let hashes = after.trim_start_matches('#');
        self.rest().len() - after.len() == 1 && hashes.starts_with('"')
    }

    fn begins_raw_word(&self) -> bool {
        let after = self.rest().strip_prefix("r#");
        after.is_some_and(|after| after.starts_with(begins_word))
    }

    fn begins_named_placeholder(&self) -> bool {
        let is_separator = self.text.get(..self.at).is_some_and(|t| t.ends_with(':'));
        let after = self.rest().strip_prefix(':');
        !is_separator && after.is_some_and(|after| after.starts_with(begins_word))
    }

    fn placeholder(&mut self) -> Parsed<Placeholder> {
        let start = self.at;
        self.at += 1;
        let digits = self.take_while(|c| c.is_ascii_digit());
        let number = match digits {
            "" => Some(self.placeholders + 1),
            digits => digits.parse().ok(),
        };
        match number {
            Some(number) if (1..=u16::MAX.into()).contains(&number) => {
                self.placeholders = self.placeholders.max(number);
                Ok(Placeholder::Number(number))
            }
            _ => Err(SyntaxError::new(
                "the number of a placeholder is from 1 to 65535",
                self.span_from(start),
            )),
        }
    }

    fn punctuation(&mut self, first: char) -> Parsed<TokenKind> {
        let start = self.at;
        self.at += first.len_utf8();
        let is_mark = |c: char| "|&=!<>+-*/%.,:;".contains(c);
        Ok(match first {
            '(' => TokenKind::Open(Delimiter::Parenthesis),
            ')' => TokenKind::Close(Delimiter::Parenthesis),
            '[' => TokenKind::Open(Delimiter::Bracket),
            ']' => TokenKind::Close(Delimiter::Bracket),
            c if is_mark(c) => TokenKind::Mark(c, self.peek().is_some_and(is_mark)),
            '\'' => {
                let error = SyntaxError::new("a string is in double quotes", self.span_from(start));
                return Err(error);
            }
            '{' | '}' => {
                let message = "braces are for Rust values in the macro `query!`";
                let error = SyntaxError::new(message, self.span_from(start));
                return Err(error.with_help("write a literal, or a placeholder such as `?1`"));
            }
            other => {
                let message = format!("unexpected character `{}`", other.escape_debug());
                return Err(SyntaxError::new(message, self.span_from(start)));
            }
        })
    }
}
