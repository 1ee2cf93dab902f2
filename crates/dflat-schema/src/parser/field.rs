//! Fields, types and attributes.

use super::{Parsed, Parser};
use crate::ast::{Attribute, FieldDecl, TypeExpr};
use crate::diagnostic::{Diagnostic, code};
use crate::lexer::TokenKind;
use crate::schema::Span;

impl Parser {
    pub(super) fn field(&mut self) -> Parsed<FieldDecl> {
        let docs = self.take_docs();
        let name = self.name("the name of a field or `}`")?;
        self.expect(':')?;
        let ty = self.type_expr()?;
        let default = if self.eat('=') {
            Some(self.value()?)
        } else {
            None
        };
        let attributes = self.attributes()?;
        if self.is('}') {
            // Only the `;` is missing; the field itself is correct.
            let after = self.behind_previous();
            self.diagnostics.push(
                Diagnostic::error(code::SYNTAX, "expected `;`, found `}`")
                    .at(&after, "add `;` here"),
            );
        } else {
            self.end_of_line()?;
        }
        Ok(FieldDecl {
            name,
            docs,
            ty,
            default,
            attributes,
        })
    }

    pub(super) fn type_expr(&mut self) -> Parsed<TypeExpr> {
        let start = self.span().range.start;
        if !self.eat('[') {
            return Ok(TypeExpr::Named(self.path("a type")?));
        }
        if self.is('[') {
            return self.nested_vector(start);
        }
        let element = self.path("a type")?;
        if !self.eat(':') {
            self.expect(']')?;
            return Ok(TypeExpr::Vector(element));
        }
        let (length, _) = self.integer("the length of the array")?;
        let end = self.span().range.end;
        self.expect(']')?;
        Ok(TypeExpr::Array {
            element,
            length,
            span: Span {
                file: self.file,
                range: start..end,
            },
        })
    }

    /// Reports `[[..]]`, of which the first `[` was consumed already, and skips it.
    fn nested_vector(&mut self, start: usize) -> Parsed<TypeExpr> {
        let mut depth = 1usize;
        let mut end = start;
        while depth > 0 {
            match self.peek() {
                TokenKind::Symbol('[') => depth += 1,
                TokenKind::Symbol(']') => depth -= 1,
                TokenKind::Name(_) | TokenKind::Symbol('.' | ':') | TokenKind::Integer(_) => {}
                _ => return Err(self.unexpected("`]`")),
            }
            end = self.span().range.end;
            self.position += 1;
        }
        self.diagnostics.push(
            Diagnostic::error(code::NESTED_VECTOR, "a vector cannot hold vectors")
                .at(
                    &Span {
                        file: self.file,
                        range: start..end,
                    },
                    "",
                )
                .help("wrap the inner vector in a table, and use a vector of this table"),
        );
        Ok(TypeExpr::Invalid)
    }

    /// The attributes in parentheses, if there are any.
    pub(super) fn attributes(&mut self) -> Parsed<Vec<Attribute>> {
        let mut attributes = Vec::new();
        if !self.eat('(') {
            return Ok(attributes);
        }
        while !self.eat(')') {
            let name = match self.peek() {
                TokenKind::Text(_) => self.text("the name of an attribute")?,
                _ => self.name("the name of an attribute or `)`")?,
            };
            let value = if self.eat(':') {
                Some(self.value()?)
            } else {
                None
            };
            attributes.push(Attribute { name, value });
            if !self.eat(',') && !self.is(')') {
                return Err(self.unexpected("`,` or `)`"));
            }
        }
        Ok(attributes)
    }
}
