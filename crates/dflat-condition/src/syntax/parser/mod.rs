//! Parses tokens by operator precedence.

mod cursor;
mod operand;

use dflat_model::Direction;

pub use cursor::{Parser, Source};

use super::operator::{LOOSEST, OPERATORS, Operator, SUM};
use super::{NESTING_MAX, Node, NodeKind, OrderTerm, Parsed, Span, SyntaxError, TokenKind};

impl Parser<'_> {
    /// Parses all tokens as a condition.
    ///
    /// # Errors
    /// The first token that does not belong to a condition, and too many nested parts.
    pub fn condition(mut self) -> Parsed<Node> {
        let condition = self.binary(LOOSEST)?;
        self.finish("expected an operator, or the end of the condition")?;
        Ok(condition)
    }

    /// Parses all tokens as a list of fields or computed values; empty without tokens.
    ///
    /// # Errors
    /// As [`condition`](Self::condition).
    pub fn values(mut self) -> Parsed<Vec<Node>> {
        let mut values = Vec::new();
        while self.at < self.tokens.len() {
            values.push(self.binary(SUM)?);
            if !self.take(",") {
                break;
            }
        }
        self.finish("expected `,`, or the end of the fields")?;
        Ok(values)
    }

    /// Parses all tokens as terms of an order; empty without tokens.
    ///
    /// # Errors
    /// As [`condition`](Self::condition).
    pub fn order(mut self) -> Parsed<Vec<OrderTerm>> {
        let mut terms = Vec::new();
        while self.at < self.tokens.len() {
            terms.push(self.order_term()?);
            if !self.take(",") {
                break;
            }
        }
        self.finish("expected `asc`, `desc`, `nulls first`, `nulls last`, `,`, or the end")?;
        Ok(terms)
    }

    fn order_term(&mut self) -> Parsed<OrderTerm> {
        let key = self.binary(SUM)?;
        let descends = self.take_word("desc") || self.take_word("descending");
        let direction = if descends {
            Direction::Descending
        } else {
            let _ = self.take_word("asc") || self.take_word("ascending");
            Direction::Ascending
        };
        let mut nulls_first = None;
        if self.take_word("nulls") {
            nulls_first = Some(self.take_word("first"));
            if nulls_first == Some(false) && !self.take_word("last") {
                return self.refuse("expected `first` or `last`");
            }
        }
        Ok(OrderTerm {
            key,
            direction,
            nulls_first,
        })
    }

    fn operator(&self) -> Option<(usize, Operator)> {
        if matches!(self.peek(), Some(TokenKind::Word(word)) if word == "in") {
            return Some((1, Operator::In));
        }
        let found = OPERATORS.iter().find(|(text, _)| self.has(text));
        found.map(|(text, operator)| (text.len(), *operator))
    }

    /// Parses operands and the operators that bind at least as tightly as `loosest`.
    fn binary(&mut self, loosest: u8) -> Parsed<Node> {
        let first = self.at;
        let mut left = self.unary()?;
        while let Some((length, operator)) = self.operator() {
            if operator.precedence() < loosest {
                break;
            }
            let span = self.span_of(length);
            self.at += length;
            let right = self.binary(operator.precedence() + 1)?;
            if operator.is_comparison() && self.operator().is_some_and(|o| o.1.is_comparison()) {
                return self.refuse("comparisons can't be chained: join two of them with `&&`");
            }
            let whole = self.span_from(first);
            left = self.join(left, (operator, span), right, whole)?;
        }
        Ok(left)
    }

    fn join(
        &self,
        left: Node,
        (operator, operator_span): (Operator, Span),
        right: Node,
        span: Span,
    ) -> Parsed<Node> {
        let depth = 1 + left.depth.max(right.depth);
        let is_value = left.is_value && right.is_value;
        let part = |kind, anchor, is_value| Node {
            kind,
            span,
            anchor,
            is_value,
            depth,
        };
        let node = match operator {
            Operator::Or | Operator::And => {
                return self.joined(left, operator, operator_span, right);
            }
            Operator::Arithmetic(operator) => {
                let kind = NodeKind::Arithmetic {
                    left: Box::new(left),
                    operator,
                    operator_span,
                    right: Box::new(right),
                };
                part(kind, operator_span, is_value)
            }
            _ if is_value || operator == Operator::In && left.is_value => {
                return Err(self.no_field(left.anchor));
            }
            Operator::In => {
                let anchor = left.anchor;
                let kind = NodeKind::In {
                    operand: Box::new(left),
                    operator_span,
                    values: Box::new(right),
                };
                part(kind, anchor, false)
            }
            Operator::Compare(operator) => {
                let anchor = if left.is_value { &right } else { &left }.anchor;
                let kind = NodeKind::Compare {
                    left: Box::new(left),
                    operator,
                    operator_span,
                    right: Box::new(right),
                };
                part(kind, anchor, false)
            }
        };
        self.checked(node)
    }

    fn no_field(&self, at: Span) -> Box<SyntaxError> {
        match self.source {
            Source::Text => SyntaxError::new("neither side is a field", at),
            Source::Rust => SyntaxError::new(
                "neither side is a field: write a bare name for a field, and braces around a Rust value",
                at,
            ),
        }
    }

    /// Joins conditions. Those of one chain are in one list.
    fn joined(&self, left: Node, operator: Operator, at: Span, right: Node) -> Parsed<Node> {
        let is_value = left.is_value && right.is_value;
        let span = left.span.to(right.span);
        let (mut parts, mut operators, mut depth) = match (operator, left) {
            (
                Operator::And,
                Node {
                    kind: NodeKind::And(parts, operators),
                    depth,
                    ..
                },
            )
            | (
                Operator::Or,
                Node {
                    kind: NodeKind::Or(parts, operators),
                    depth,
                    ..
                },
            ) => (parts, operators, depth),
            (_, left) => {
                let depth = 1 + left.depth;
                (vec![left], Vec::new(), depth)
            }
        };
        depth = depth.max(1 + right.depth);
        parts.push(right);
        operators.push(at);
        let kind = match operator {
            Operator::And => NodeKind::And(parts, operators),
            _ => NodeKind::Or(parts, operators),
        };
        self.checked(Node {
            kind,
            span,
            anchor: at,
            is_value,
            depth,
        })
    }

    /// Refuses a part that nests too deep, so that no function on trees overflows the stack.
    fn checked(&self, node: Node) -> Parsed<Node> {
        if node.depth > NESTING_MAX {
            return Err(too_deep(node.anchor));
        }
        Ok(node)
    }

    fn unary(&mut self) -> Parsed<Node> {
        if self.nesting == NESTING_MAX {
            return Err(too_deep(self.span()));
        }
        self.nesting += 1;
        let node = self.negation();
        self.nesting -= 1;
        node
    }

    fn negation(&mut self) -> Parsed<Node> {
        let first = self.at;
        let anchor = self.span();
        let is_negative = self.take("-");
        if !is_negative && !self.take("!") {
            let base = self.primary()?;
            return self.postfix(base);
        }
        let inner = self.unary()?;
        if is_negative && !inner.is_value {
            let message = "a field can't be negated: write `0 - field`";
            return Err(SyntaxError::new(message, anchor));
        }
        let (is_value, depth) = (inner.is_value, 1 + inner.depth);
        let inner = Box::new(inner);
        let kind = match is_negative {
            true => NodeKind::Negative(inner),
            false => NodeKind::Not(inner),
        };
        self.checked(Node {
            kind,
            span: self.span_from(first),
            anchor,
            is_value,
            depth,
        })
    }
}

fn too_deep(at: Span) -> Box<SyntaxError> {
    SyntaxError::limit(
        format!("the condition nests more than {NESTING_MAX} levels deep"),
        at,
    )
}
