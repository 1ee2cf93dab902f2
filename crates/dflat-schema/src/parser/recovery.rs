//! Finds the token to go on with after an error.

use super::{Parser, Reported};
use crate::diagnostic::{Diagnostic, code};
use crate::lexer::TokenKind;
use crate::schema::Span;

impl Parser {
    /// Skips to the likely beginning of the next item at the top level of a file.
    pub(super) fn skip_item(&mut self) {
        let mut depth = 0usize;
        while !self.at_end() {
            if depth == 0 && self.token().first_on_line && self.begins_item() {
                return;
            }
            match self.peek() {
                TokenKind::Symbol('{') => depth += 1,
                TokenKind::Symbol('}') if depth <= 1 => {
                    self.position += 1;
                    return;
                }
                TokenKind::Symbol('}') => depth -= 1,
                TokenKind::Symbol(';') if depth == 0 => {
                    self.position += 1;
                    return;
                }
                _ => {}
            }
            self.position += 1;
        }
    }

    /// Skips the rest of a field: past the next `;`, or to the closing brace or the next item.
    pub(super) fn skip_field(&mut self, separator: char) {
        let mut depth = 0usize;
        while !self.at_end() {
            match self.peek() {
                TokenKind::Symbol('(' | '[' | '{') => depth += 1,
                TokenKind::Symbol(')' | ']') => depth = depth.saturating_sub(1),
                TokenKind::Symbol('}') if depth == 0 => return,
                TokenKind::Symbol('}') => depth -= 1,
                TokenKind::Symbol(symbol) if *symbol == separator && depth == 0 => {
                    self.position += 1;
                    return;
                }
                // An unclosed bracket must not swallow the rest of the file.
                _ if self.token().first_on_line && self.begins_item() => return,
                _ => {}
            }
            self.position += 1;
        }
    }

    /// Whether the tokens look like an item at the top level of a file, and not like a field with
    /// the name of a keyword.
    pub(super) fn begins_item(&self) -> bool {
        let TokenKind::Name(keyword) = self.peek() else {
            return false;
        };
        let next = self.peek_at(1);
        match keyword.as_str() {
            "enum" | "union" | "struct" | "table" | "rpc_service" => {
                let after = self.peek_at(2);
                matches!(next, TokenKind::Name(_))
                    && matches!(after, TokenKind::Symbol('{' | '(' | ':'))
            }
            "namespace" | "root_type" => matches!(next, TokenKind::Name(_)),
            "include" | "attribute" | "file_identifier" | "file_extension" => {
                matches!(next, TokenKind::Text(_))
            }
            _ => false,
        }
    }

    /// Reports a brace that is not closed.
    pub(super) fn unclosed(&mut self, open: &Span) -> Reported {
        let found = self.peek().describe();
        let span = self.span();
        self.diagnostics.push(
            Diagnostic::error(code::SYNTAX, format!("expected `}}`, found {found}"))
                .at(&span, "expected `}`")
                .and(open, "to close this"),
        );
        Reported
    }
}
