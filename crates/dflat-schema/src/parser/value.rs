//! Defaults and the values of attributes.

use super::{Parsed, Parser};
use crate::ast::{Name, Value, ValueKind};
use crate::diagnostic::{Diagnostic, code};
use crate::lexer::TokenKind;
use crate::schema::Span;

type Function = fn(f64) -> f64;

/// flatc's functions on floats; angles in radians unless named otherwise.
const FUNCTIONS: [(&str, Function); 8] = [
    ("deg", f64::to_degrees),
    ("rad", f64::to_radians),
    ("sin", f64::sin),
    ("cos", f64::cos),
    ("tan", f64::tan),
    ("asin", f64::asin),
    ("acos", f64::acos),
    ("atan", f64::atan),
];

impl Parser {
    pub(super) fn value(&mut self) -> Parsed<Value> {
        let mut span = self.span();
        let sign = self.sign();
        let kind = match (self.peek().clone(), sign) {
            (TokenKind::Integer(value), _) => ValueKind::Integer(signed(value, sign)),
            (TokenKind::Float(value), Some('-')) => ValueKind::Float(-value),
            (TokenKind::Float(value), _) => ValueKind::Float(value),
            (TokenKind::Text(text), None) => ValueKind::Text(text),
            (TokenKind::Name(_), _) => {
                let name = self.path("a value")?;
                let kind = self.named(&name, sign)?;
                span.range.end = self.behind_previous().range.end;
                return Ok(Value { kind, span });
            }
            (TokenKind::Symbol('['), None) => return self.vector(&span),
            _ => return Err(self.unexpected("a value")),
        };
        span.range.end = self.span().range.end;
        self.position += 1;
        Ok(Value { kind, span })
    }

    /// An integer with its sign.
    pub(super) fn integer(&mut self, what: &str) -> Parsed<(i128, Span)> {
        let mut span = self.span();
        let sign = self.sign();
        let TokenKind::Integer(value) = *self.peek() else {
            return Err(self.unexpected(what));
        };
        span.range.end = self.span().range.end;
        self.position += 1;
        Ok((signed(value, sign), span))
    }

    fn sign(&mut self) -> Option<char> {
        let TokenKind::Symbol(sign @ ('+' | '-')) = *self.peek() else {
            return None;
        };
        self.position += 1;
        Some(sign)
    }

    /// The value of a name. With a sign, the name must be that of a number.
    fn named(&mut self, name: &Name, sign: Option<char>) -> Parsed<ValueKind> {
        let mut number = match name.text.as_str() {
            "inf" | "infinity" => Some(f64::INFINITY),
            "nan" => Some(f64::NAN),
            _ => None,
        };
        if self.is('(')
            && let Some((_, function)) = FUNCTIONS.iter().find(|(known, _)| *known == name.text)
        {
            number = Some(function(self.argument()?));
        }
        match (number, sign) {
            (Some(number), Some('-')) => Ok(ValueKind::Float(-number)),
            // Without a sign, `inf` may also be a value of an enum.
            (Some(number), _)
                if sign.is_some() || !matches!(name.text.as_str(), "inf" | "nan" | "infinity") =>
            {
                Ok(ValueKind::Float(number))
            }
            (_, None) => Ok(ValueKind::Name(name.text.clone())),
            (_, Some(_)) => {
                let message = format!("expected a number after the sign, found `{}`", name.text);
                self.diagnostics
                    .push(Diagnostic::error(code::SYNTAX, message).at(&name.span, ""));
                Ok(ValueKind::Invalid)
            }
        }
    }

    /// Parses the argument of a function: one number in parentheses.
    fn argument(&mut self) -> Parsed<f64> {
        self.expect('(')?;
        let sign = self.sign();
        let number = match *self.peek() {
            TokenKind::Integer(value) => value as f64,
            TokenKind::Float(value) => value,
            _ => return Err(self.unexpected("a number")),
        };
        self.position += 1;
        self.expect(')')?;
        Ok(if sign == Some('-') { -number } else { number })
    }

    /// Parses `[]`. If the vector has elements, they are reported and skipped.
    fn vector(&mut self, open: &Span) -> Parsed<Value> {
        self.position += 1;
        let mut span = open.clone();
        if self.is(']') {
            span.range.end = self.span().range.end;
            self.position += 1;
            return Ok(Value {
                kind: ValueKind::EmptyVector,
                span,
            });
        }
        self.diagnostics.push(
            Diagnostic::error(
                code::DEFAULT_UNSUPPORTED,
                "the default of a vector can only be empty",
            )
            .at(&span, "this vector has elements")
            .help("write `[]`, or remove the default"),
        );
        let mut depth = 1usize;
        while depth > 0 {
            match self.peek() {
                TokenKind::Symbol('[') => depth += 1,
                TokenKind::Symbol(']') => depth -= 1,
                TokenKind::Symbol(';' | '}') | TokenKind::End => return Err(self.unexpected("`]`")),
                _ => {}
            }
            span.range.end = self.span().range.end;
            self.position += 1;
        }
        Ok(Value {
            kind: ValueKind::Invalid,
            span,
        })
    }
}

/// The value with its sign. An integer is at most `i128::MAX`, so its negation exists.
fn signed(value: i128, sign: Option<char>) -> i128 {
    if sign == Some('-') { -value } else { value }
}
