//! The syntax tree.

use dflat_model::{Arithmetic, Comparison, Direction};

use super::{Literal, Placeholder, Span};

/// A part of a condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The part.
    pub kind: NodeKind,
    /// Its place.
    pub span: Span,
    /// The token that stands for the part in messages of Rust's compiler: its first token, or its
    /// operator.
    pub anchor: Span,
    /// Whether the part is a value, and not a field or a condition.
    pub is_value: bool,
    /// The number of nested parts; 1 for a part that has none.
    pub depth: usize,
}

/// The kinds of parts.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// Conditions joined by `||`, with the places of the operators between them.
    Or(Vec<Node>, Vec<Span>),
    /// Conditions joined by `&&`, with the places of the operators between them.
    And(Vec<Node>, Vec<Span>),
    /// `!` and a condition.
    Not(Box<Node>),
    /// `-` and a value.
    Negative(Box<Node>),
    /// A comparison of a field with a field or a value.
    Compare {
        /// The left side.
        left: Box<Node>,
        /// The operator.
        operator: Comparison,
        /// The place of the operator.
        operator_span: Span,
        /// The right side.
        right: Box<Node>,
    },
    /// A field, `in`, and a list of values.
    In {
        /// The field.
        operand: Box<Node>,
        /// The place of `in`.
        operator_span: Span,
        /// The list.
        values: Box<Node>,
    },
    /// A computation.
    Arithmetic {
        /// The left side.
        left: Box<Node>,
        /// The operator.
        operator: Arithmetic,
        /// The place of the operator.
        operator_span: Span,
        /// The right side.
        right: Box<Node>,
    },
    /// A part in parentheses.
    Group(Box<Node>),
    /// A bare name: a field, or in text the value of an enum.
    Name(String),
    /// Names joined by `::`, such as `Color::Red`.
    Path(Vec<String>),
    /// `true` or `false`.
    Boolean(bool),
    /// A number or a string. Text only.
    Literal(Literal),
    /// A placeholder. Text only.
    Placeholder(Placeholder),
    /// Values in brackets. Text only.
    List(Vec<Node>),
    /// Values joined by `|`. Text only.
    Union(Vec<Node>),
    /// A Rust expression: the tokens of the node's place. The macro only.
    Rust,
    /// A nested field, or a method.
    Call(Box<Call>),
}

/// A dot and a name after a part: a nested field, or a method.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The part before the dot.
    pub receiver: Node,
    /// The name.
    pub name: String,
    /// The place of the name.
    pub name_span: Span,
    /// The type of `::<Type>`, its place with the `::` and the angle brackets.
    pub type_argument: Option<(Vec<String>, Span)>,
    /// The arguments.
    pub arguments: Arguments,
}

/// The arguments of a method.
#[derive(Clone, Debug, PartialEq)]
pub enum Arguments {
    /// No parentheses.
    None,
    /// Values. Text only.
    Values(Vec<Node>),
    /// The condition of `any` and `all`.
    Condition(Node),
    /// Rust expressions: the tokens at this place. The macro only.
    Rust(Span),
}

/// A term of an order.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderTerm {
    /// The value to order by.
    pub key: Node,
    /// The direction; ascending without a word.
    pub direction: Direction,
    /// Whether objects without a value are first; `None` without the words.
    pub nulls_first: Option<bool>,
}
