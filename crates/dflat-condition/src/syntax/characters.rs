//! The characters of a text, read from its start to its end.

use super::Span;

/// The text, and the position up to which it is read.
pub(super) struct Characters<'t> {
    text: &'t str,
    at: usize,
}

/// Whether a character can begin a word.
pub(super) fn begins_word(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

/// Whether a character can continue a word.
pub(super) fn continues_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

impl<'t> Characters<'t> {
    pub(super) const fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// The text that is read already.
    pub(super) fn before(&self) -> &'t str {
        self.text.get(..self.at).unwrap_or_default()
    }

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
}
