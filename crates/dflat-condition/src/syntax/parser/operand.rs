//! Operands: values, fields, groups and methods.

use crate::syntax::operator::{LOOSEST, SUM};
use crate::syntax::{Arguments, Call, Delimiter, Node, NodeKind, Parsed, Span, TokenKind};

use super::{Parser, Source};

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Parsed<Node> {
        let (first, anchor) = (self.at, self.span());
        let (kind, is_value) = match self.peek() {
            Some(TokenKind::Open(Delimiter::Parenthesis)) => return self.group(),
            Some(TokenKind::Open(Delimiter::Bracket)) => (self.list()?, true),
            Some(TokenKind::Rust) => {
                self.at += 1;
                (NodeKind::Rust, true)
            }
            Some(TokenKind::Literal(literal)) => {
                self.at += 1;
                (NodeKind::Literal(literal.clone()), true)
            }
            Some(TokenKind::Placeholder(placeholder)) => {
                self.at += 1;
                (NodeKind::Placeholder(placeholder.clone()), true)
            }
            Some(TokenKind::Word(word)) => {
                self.at += 1;
                match word.as_str() {
                    "true" => (NodeKind::Boolean(true), true),
                    "false" => (NodeKind::Boolean(false), true),
                    _ if self.has("::") => (self.path(word)?, true),
                    _ => (NodeKind::Name(word.clone()), false),
                }
            }
            _ => return self.refuse("expected a field or a value"),
        };
        let depth = match &kind {
            NodeKind::List(parts) => 1 + parts.iter().map(|part| part.depth).max().unwrap_or(0),
            _ => 1,
        };
        self.checked(Node {
            kind,
            span: self.span_from(first),
            anchor,
            is_value,
            depth,
        })
    }

    fn group(&mut self) -> Parsed<Node> {
        let first = self.at;
        self.at += 1;
        let inner = self.binary(LOOSEST)?;
        self.close(Delimiter::Parenthesis)?;
        let (anchor, is_value, depth) = (inner.anchor, inner.is_value, 1 + inner.depth);
        self.checked(Node {
            kind: NodeKind::Group(Box::new(inner)),
            span: self.span_from(first),
            anchor,
            is_value,
            depth,
        })
    }

    /// Consumes the end of a group.
    fn close(&mut self, delimiter: Delimiter) -> Parsed<()> {
        if self.peek() != Some(&TokenKind::Close(delimiter)) {
            return self.refuse(match delimiter {
                Delimiter::Parenthesis => "expected an operator, or `)`",
                Delimiter::Bracket => "expected `,` or `]`",
            });
        }
        self.at += 1;
        Ok(())
    }

    fn list(&mut self) -> Parsed<NodeKind> {
        if self.source == Source::Rust {
            self.skip_group();
            return Ok(NodeKind::Rust);
        }
        self.at += 1;
        let values = self.separated(Delimiter::Bracket)?;
        self.close(Delimiter::Bracket)?;
        Ok(NodeKind::List(values))
    }

    /// Values with commas between them.
    fn separated(&mut self, delimiter: Delimiter) -> Parsed<Vec<Node>> {
        let mut values = Vec::new();
        while self.peek() != Some(&TokenKind::Close(delimiter)) {
            values.push(self.value()?);
            if !self.take(",") {
                break;
            }
        }
        Ok(values)
    }

    /// One value, or several flags with `|` between them.
    fn value(&mut self) -> Parsed<Node> {
        let first = self.at;
        // Rust's arguments may be references.
        self.take("&");
        let value = self.binary(SUM)?;
        if !self.has("|") {
            return Ok(value);
        }
        let anchor = value.anchor;
        let mut depth = value.depth;
        let mut parts = vec![value];
        while self.take("|") {
            let part = self.binary(SUM)?;
            depth = depth.max(part.depth);
            parts.push(part);
        }
        self.checked(Node {
            kind: NodeKind::Union(parts),
            span: self.span_from(first),
            anchor,
            is_value: true,
            depth: depth + 1,
        })
    }

    /// Skips a group with everything in it.
    fn skip_group(&mut self) {
        let mut open = 0_usize;
        while let Some(kind) = self.peek() {
            self.at += 1;
            match kind {
                TokenKind::Open(_) => open += 1,
                TokenKind::Close(_) => open = open.saturating_sub(1),
                _ => {}
            }
            if open == 0 {
                return;
            }
        }
    }

    /// Parses a path such as `Color::Red` after its first word.
    fn path(&mut self, first: &str) -> Parsed<NodeKind> {
        let mut names = vec![first.to_owned()];
        while self.take("::") {
            match self.word() {
                Some(name) => names.push(name),
                None => return self.refuse("expected a name"),
            }
        }
        if self.peek() != Some(&TokenKind::Open(Delimiter::Parenthesis)) {
            return Ok(NodeKind::Path(names));
        }
        if self.source == Source::Text {
            return self.refuse("a function is for the macro `query!` only");
        }
        self.skip_group();
        Ok(NodeKind::Rust)
    }

    /// Parses nested fields and methods.
    pub(super) fn postfix(&mut self, mut base: Node) -> Parsed<Node> {
        while self.has(".") && !self.has("..") {
            self.at += 1;
            let name_span = self.span();
            let Some(name) = self.word() else {
                return self.refuse("expected a field or a method");
            };
            let type_argument = self.type_argument()?;
            let arguments = self.arguments(&name)?;
            let inner = match &arguments {
                Arguments::Values(values) => values.iter().map(|value| value.depth).max(),
                Arguments::Condition(condition) => Some(condition.depth),
                Arguments::None | Arguments::Rust(_) => None,
            };
            let (start, anchor, is_value) = (base.span, base.anchor, base.is_value);
            let depth = 1 + base.depth.max(inner.unwrap_or(0));
            let call = Call {
                receiver: base,
                name,
                name_span,
                type_argument,
                arguments,
            };
            base = self.checked(Node {
                kind: NodeKind::Call(Box::new(call)),
                span: start.to(self.span_from(self.at.saturating_sub(1))),
                anchor,
                is_value,
                depth,
            })?;
        }
        Ok(base)
    }

    /// Parses `::<Type>`, if it is next.
    fn type_argument(&mut self) -> Parsed<Option<(Vec<String>, Span)>> {
        let first = self.at;
        if !self.take("::") {
            return Ok(None);
        }
        if !self.take("<") {
            return self.refuse("expected `<`");
        }
        // A path of Rust may begin at its root.
        self.take("::");
        let mut names = Vec::new();
        loop {
            match self.word() {
                Some(name) => names.push(name),
                None => return self.refuse("expected a type"),
            }
            if !self.take("::") {
                break;
            }
        }
        if !self.take(">") {
            return self.refuse("expected `>`");
        }
        Ok(Some((names, self.span_from(first))))
    }

    fn arguments(&mut self, method: &str) -> Parsed<Arguments> {
        let first = self.at;
        if self.peek() != Some(&TokenKind::Open(Delimiter::Parenthesis)) {
            return Ok(Arguments::None);
        }
        if matches!(method, "any" | "all") {
            self.at += 1;
            let condition = self.binary(LOOSEST)?;
            self.close(Delimiter::Parenthesis)?;
            return Ok(Arguments::Condition(condition));
        }
        if self.source == Source::Rust {
            self.skip_group();
            return Ok(Arguments::Rust(self.span_from(first)));
        }
        self.at += 1;
        let values = self.separated(Delimiter::Parenthesis)?;
        self.close(Delimiter::Parenthesis)?;
        Ok(Arguments::Values(values))
    }
}
