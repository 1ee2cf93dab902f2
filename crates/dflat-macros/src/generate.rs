//! A syntax tree to calls of the methods of typed fields.

use dflat_condition::syntax::{Arguments, Call, Node, NodeKind};
use dflat_model::{Arithmetic, Comparison};
use proc_macro::{Delimiter, Ident, Span, TokenStream, TokenTree};

use crate::tokens::Tokens;
use crate::write::{binary, closure, constant, group, method, punct};

/// Generates the code of a condition.
#[derive(Clone, Copy)]
pub(crate) struct Generator<'t> {
    pub(crate) tokens: &'t Tokens,
    pub(crate) scope: Scope<'t>,
}

/// The meaning of bare names.
#[derive(Clone, Copy)]
pub(crate) enum Scope<'t> {
    /// A bare name is a field of a type.
    Object(&'t TokenStream),
    /// A bare name is a field of a vector's member, which this variable holds.
    Member(&'t Ident),
}

impl Generator<'_> {
    pub(crate) fn node(self, node: &Node) -> TokenStream {
        let span = |place| self.tokens.span(place);
        match &node.kind {
            NodeKind::Or(parts, operators) => self.joined(parts, '|', operators),
            NodeKind::And(parts, operators) => self.joined(parts, '&', operators),
            NodeKind::Not(inner) => self.prefixed('!', node, inner),
            NodeKind::Negative(inner) => self.prefixed('-', node, inner),
            NodeKind::Compare {
                left,
                operator,
                operator_span,
                right,
            } => {
                let (name, exchanged) = methods(*operator);
                match left.is_value {
                    true => self.compared(right, exchanged, left, span(*operator_span)),
                    false => self.compared(left, name, right, span(*operator_span)),
                }
            }
            NodeKind::In {
                operand,
                operator_span,
                values,
            } => self.compared(operand, "in_", values, span(*operator_span)),
            NodeKind::Arithmetic {
                left,
                operator,
                operator_span,
                right,
            } => {
                let (left, right) = (self.node(left), self.node(right));
                binary(left, sign(*operator), right, span(*operator_span))
            }
            NodeKind::Group(inner) => {
                let inner = self.node(inner);
                group(Delimiter::Parenthesis, inner, span(node.span)).into()
            }
            NodeKind::Name(_) => self.name(node),
            NodeKind::Call(call) => self.call(call),
            NodeKind::Rust => match self.tokens.tree(node.span) {
                // The span avoids the warning about unneeded braces.
                Some(TokenTree::Group(block)) if block.delimiter() == Delimiter::Brace => {
                    group(Delimiter::Brace, block.stream(), Span::mixed_site()).into()
                }
                _ => self.tokens.rust(node.span),
            },
            // Literals, placeholders and lists are in text only.
            NodeKind::Path(_)
            | NodeKind::Boolean(_)
            | NodeKind::Literal(_)
            | NodeKind::Placeholder(_)
            | NodeKind::List(_)
            | NodeKind::Union(_) => self.tokens.rust(node.span),
        }
    }

    fn joined(
        self,
        parts: &[Node],
        sign: char,
        operators: &[dflat_condition::syntax::Span],
    ) -> TokenStream {
        let mut parts = parts.iter();
        let first = parts.next().map(|first| self.node(first));
        let rest = parts.zip(operators);
        rest.fold(first.unwrap_or_default(), |left, (right, operator)| {
            binary(left, sign, self.node(right), self.tokens.span(*operator))
        })
    }

    fn prefixed(self, sign: char, node: &Node, inner: &Node) -> TokenStream {
        let mut tokens = TokenStream::from(punct(sign, self.tokens.span(node.anchor)));
        let span = self.tokens.span(inner.anchor);
        tokens.extend([group(Delimiter::Parenthesis, self.node(inner), span)]);
        tokens
    }

    fn compared(self, field: &Node, name: &str, value: &Node, span: Span) -> TokenStream {
        let place = self.tokens.span(field.anchor);
        let receiver = group(Delimiter::Parenthesis, self.node(field), place);
        let name = Ident::new(name, span);
        method(receiver.into(), name, TokenStream::new(), self.node(value))
    }

    fn name(self, node: &Node) -> TokenStream {
        let Some(TokenTree::Ident(name)) = self.tokens.tree(node.span) else {
            return TokenStream::new();
        };
        let empty = TokenStream::new;
        match self.scope {
            Scope::Object(ty) => constant(ty.clone(), name),
            Scope::Member(member) => {
                let member = TokenTree::from(member.clone()).into();
                let called = match name.to_string().as_str() {
                    "it" => Ident::new("clone", name.span()),
                    _ => name.clone(),
                };
                method(member, called, empty(), empty())
            }
        }
    }

    fn call(self, call: &Call) -> TokenStream {
        let Some(TokenTree::Ident(name)) = self.tokens.tree(call.name_span) else {
            return TokenStream::new();
        };
        let of = match &call.type_argument {
            Some((_, place)) => self.tokens.rust(*place),
            None => TokenStream::new(),
        };
        let arguments = match &call.arguments {
            Arguments::None | Arguments::Values(_) => TokenStream::new(),
            Arguments::Rust(place) => match self.tokens.tree(*place) {
                Some(TokenTree::Group(arguments)) => arguments.stream(),
                _ => TokenStream::new(),
            },
            Arguments::Condition(condition) => {
                let member = Ident::new("member", Span::mixed_site());
                let inner = Generator {
                    tokens: self.tokens,
                    scope: Scope::Member(&member),
                };
                closure(&member, inner.node(condition))
            }
        };
        method(self.node(&call.receiver), name.clone(), of, arguments)
    }
}

/// The method of a comparison, and the one for exchanged sides.
const fn methods(operator: Comparison) -> (&'static str, &'static str) {
    match operator {
        Comparison::Equal => ("eq", "eq"),
        Comparison::NotEqual => ("ne", "ne"),
        Comparison::Less => ("lt", "gt"),
        Comparison::LessOrEqual => ("le", "ge"),
        Comparison::Greater => ("gt", "lt"),
        Comparison::GreaterOrEqual => ("ge", "le"),
    }
}

const fn sign(operator: Arithmetic) -> char {
    match operator {
        Arithmetic::Add => '+',
        Arithmetic::Subtract => '-',
        Arithmetic::Multiply => '*',
        Arithmetic::Divide => '/',
        Arithmetic::Remainder => '%',
        Arithmetic::BitAnd => '&',
    }
}
