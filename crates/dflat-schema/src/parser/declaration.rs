//! Enums, unions, structs and tables.

use super::{Parsed, Parser};
use crate::ast::{Declaration, DeclarationKind, EnumeratorDecl, MemberDecl, Name};
use crate::diagnostic::{Diagnostic, code};
use crate::schema::Span;

impl Parser {
    pub(super) fn declaration(&mut self, keyword: &str, docs: Vec<String>) -> Parsed<()> {
        self.position += 1;
        let article = if matches!(keyword, "enum") { "an" } else { "a" };
        let name = self.name(&format!("the name of {article} {keyword}"))?;
        let base = if keyword == "enum" && self.eat(':') {
            Some(self.type_expr()?)
        } else {
            None
        };
        // A union's type code is a byte; newer versions of flatc allow to declare it.
        if keyword == "union" && self.eat(':') {
            self.union_base()?;
        }
        let (attributes, mut broken) = match self.attributes() {
            Ok(attributes) => (attributes, false),
            Err(reported) if !self.is('{') => return Err(reported),
            Err(_) => (Vec::new(), true),
        };
        let open = self.span();
        self.expect('{')?;
        let kind = match keyword {
            "enum" => {
                let (values, complete) = self.list(&open, ',', Self::enumerator);
                broken |= !complete;
                DeclarationKind::Enum { base, values }
            }
            "union" => {
                let (members, complete) = self.list(&open, ',', Self::member);
                broken |= !complete;
                DeclarationKind::Union { members }
            }
            _ => {
                let (fields, complete) = self.list(&open, ';', Self::field);
                broken |= !complete;
                if keyword == "struct" {
                    DeclarationKind::Struct { fields }
                } else {
                    DeclarationKind::Table { fields }
                }
            }
        };
        let namespace = self.namespace.clone();
        self.ast.declarations.push(Declaration {
            name,
            namespace,
            docs,
            attributes,
            kind,
            broken,
        });
        Ok(())
    }

    /// Parses the items between braces, and returns whether all of them were correct.
    fn list<T>(
        &mut self,
        open: &Span,
        separator: char,
        element: fn(&mut Self) -> Parsed<T>,
    ) -> (Vec<T>, bool) {
        let mut elements = Vec::new();
        let mut complete = true;
        while !self.eat('}') {
            if self.at_end() || self.begins_item() || self.diagnostics.is_full() {
                self.unclosed(open);
                return (elements, false);
            }
            let before = self.position;
            match element(self) {
                Ok(element) => elements.push(element),
                Err(_) => {
                    complete = false;
                    self.skip_field(separator);
                    if self.position == before && !self.is('}') && !self.begins_item() {
                        self.position += 1;
                    }
                }
            }
        }
        (elements, complete)
    }

    fn enumerator(&mut self) -> Parsed<EnumeratorDecl> {
        let docs = self.take_docs();
        let name = self.name("the name of a value")?;
        let value = self.number_after_equals()?;
        let attributes = self.attributes()?;
        self.comma()?;
        Ok(EnumeratorDecl {
            name,
            docs,
            value,
            attributes,
        })
    }

    fn member(&mut self) -> Parsed<MemberDecl> {
        let docs = self.take_docs();
        let first = self.path("the name of a type")?;
        let (alias, path) = if !first.text.contains('.') && self.eat(':') {
            (Some(first), self.path("the name of a type")?)
        } else {
            (None, first)
        };
        let code = self.number_after_equals()?;
        let attributes = self.attributes()?;
        self.comma()?;
        Ok(MemberDecl {
            alias,
            path,
            docs,
            code,
            attributes,
        })
    }

    /// Parses the comma after an item, which the last item need not have.
    fn comma(&mut self) -> Parsed<()> {
        if self.eat(',') || self.is('}') {
            return Ok(());
        }
        // Fields end with `;`, so this is a common mistake: report it and go on after the `;`.
        let expected = "`,` or `}`";
        if self.is(';') {
            self.unexpected(expected);
            self.position += 1;
            return Ok(());
        }
        if self.token().first_on_line && !self.at_end() && !self.begins_item() {
            let after = self.behind_previous();
            let message = format!("expected {expected}, found {}", self.peek().describe());
            self.diagnostics
                .push(Diagnostic::error(code::SYNTAX, message).at(&after, "add `,` here"));
            return Ok(());
        }
        if self.at_end() || self.begins_item() {
            // The list reports that it is not closed, and where it begins.
            return Ok(());
        }
        Err(self.unexpected(expected))
    }

    fn union_base(&mut self) -> Parsed<()> {
        let Name { text, span } = self.path("`ubyte`")?;
        if !matches!(text.as_str(), "ubyte" | "uint8") {
            self.diagnostics.push(
                Diagnostic::error(code::ENUM_BASE, "a union's type code is a `ubyte`")
                    .at(&span, format!("not `{text}`"))
                    .help("remove the base type"),
            );
        }
        Ok(())
    }

    fn number_after_equals(&mut self) -> Parsed<Option<(i128, Span)>> {
        if self.eat('=') {
            self.integer("an integer").map(Some)
        } else {
            Ok(None)
        }
    }
}
