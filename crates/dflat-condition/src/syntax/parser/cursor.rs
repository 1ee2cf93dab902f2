//! The position of the parser among its tokens.

use crate::syntax::{Parsed, Span, SyntaxError, Token, TokenKind};

/// The form of a negation.
const NEGATION: &str = "a condition is negated by `!( )`";

/// Where tokens come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// From [text](crate::syntax::tokens).
    Text,
    /// From Rust's compiler. Lists and arguments are Rust expressions.
    Rust,
}

/// Tokens, and the position of the parser.
#[derive(Debug)]
pub struct Parser<'t> {
    pub(super) tokens: &'t [Token],
    pub(super) at: usize,
    /// The end of the source, for errors.
    end: Span,
    pub(super) source: Source,
    pub(super) nesting: usize,
}

impl<'t> Parser<'t> {
    /// Creates a parser. `end` is the place of errors at the end of the tokens.
    #[must_use]
    pub const fn new(tokens: &'t [Token], end: Span, source: Source) -> Self {
        Self {
            tokens,
            at: 0,
            end,
            source,
            nesting: 0,
        }
    }

    pub(super) fn finish(&self, message: &str) -> Parsed<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => self.refuse(message),
        }
    }

    pub(super) fn peek(&self) -> Option<&'t TokenKind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    pub(super) fn span(&self) -> Span {
        self.tokens
            .get(self.at)
            .map_or(self.end, |token| token.span)
    }

    /// The place from a token up to the one before the parser.
    pub(super) fn span_from(&self, first: usize) -> Span {
        let place = |at: usize| self.tokens.get(at).map_or(self.end, |token| token.span);
        place(first).to(place(self.at.saturating_sub(1)))
    }

    pub(super) fn refuse<T>(&self, message: &str) -> Parsed<T> {
        let error = SyntaxError::new(message, self.span());
        Err(match self.hint() {
            Some(help) => error.with_help(help),
            None => error,
        })
    }

    /// The spelling of an operator that other languages spell like the next token.
    pub(super) fn hint(&self) -> Option<&'static str> {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        let before = before.map(|token| &token.kind);
        if matches!(before, Some(TokenKind::Word(word)) if word.eq_ignore_ascii_case("not")) {
            return Some(NEGATION);
        }
        let follows_less = matches!(before, Some(TokenKind::Mark('<', _)));
        Some(match self.peek()? {
            TokenKind::Mark('=', false) => "equality is `==`",
            TokenKind::Mark('>', _) if follows_less => "inequality is `!=`",
            TokenKind::Mark(',', _) => "a list is in brackets, as in `[1, 2]`",
            TokenKind::Mark('&', false) => "conditions are joined by `&&`",
            TokenKind::Mark('|', false) => "conditions are joined by `||`",
            TokenKind::Word(word) => match word.to_ascii_lowercase().as_str() {
                "and" => "conditions are joined by `&&`",
                "or" => "conditions are joined by `||`",
                "not" => NEGATION,
                "is" => "a missing value is found by `.is_null`, and the others by `.is_not_null`",
                "like" => "a pattern is an argument, as in `title.like(\"a%\")`",
                "between" => "the bounds are arguments, as in `priority.between(1, 5)`",
                _ => return None,
            },
            _ => return None,
        })
    }

    /// Whether the next tokens are these characters, without blanks between them.
    pub(super) fn has(&self, operator: &str) -> bool {
        let count = operator.len();
        operator.chars().enumerate().all(|(offset, wanted)| {
            let token = self.tokens.get(self.at + offset).map(|token| &token.kind);
            matches!(token, Some(TokenKind::Mark(found, joined))
                if *found == wanted && (offset + 1 == count || *joined))
        })
    }

    pub(super) fn take(&mut self, operator: &str) -> bool {
        let found = self.has(operator);
        if found {
            self.at += operator.len();
        }
        found
    }

    pub(super) fn take_word(&mut self, wanted: &str) -> bool {
        let found = matches!(self.peek(), Some(TokenKind::Word(word)) if word == wanted);
        self.at += usize::from(found);
        found
    }

    pub(super) fn word(&mut self) -> Option<String> {
        let Some(TokenKind::Word(word)) = self.peek() else {
            return None;
        };
        self.at += 1;
        Some(word.clone())
    }

    pub(super) fn span_of(&self, tokens: usize) -> Span {
        let last = self.tokens.get(self.at + tokens - 1);
        last.map_or(self.end, |last| self.span().to(last.span))
    }
}
