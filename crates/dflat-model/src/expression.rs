//! Expressions: what conditions compare and orders sort by, as plain data.

use std::fmt;

use crate::predicate::write_joined;
use crate::{Field, Value, VectorField};

/// A value computed from an object. NULL if a part of it is, unless its docs say otherwise.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// The value of a field.
    Field(Field),
    /// The same value whatever the object.
    Literal(Value),
    /// A computation with two numbers.
    Arithmetic {
        /// What is computed.
        operator: Arithmetic,
        /// The numbers it is computed in.
        domain: Domain,
        /// The left side.
        left: Box<Self>,
        /// The right side.
        right: Box<Self>,
    },
    /// The number of characters (Unicode scalar values) of a string.
    Length(Box<Self>),
    /// The number of members of a vector: 0 for an absent one, NULL if what should hold it is
    /// absent.
    Count(VectorField),
    /// The position, from 0, of a value in a list; the length of the list if it is not there.
    Position {
        /// The value.
        operand: Box<Self>,
        /// The list.
        values: Vec<Value>,
    },
}

/// The numbers that arithmetic is done in. What does not fit, as the result or as an operand, is
/// NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// 64-bit signed integers.
    Signed,
    /// 64-bit unsigned integers.
    Unsigned,
    /// Double-precision floating-point numbers: NaN is NULL, and so is an infinity of finite
    /// operands.
    Float,
}

/// An arithmetic operator. Overflow and division by zero give NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`; of integers, without the fraction.
    Divide,
    /// `%`; has the sign of the left side.
    Remainder,
    /// `&`, bit by bit; of floats NULL.
    BitAnd,
}

impl Expression {
    /// How deep computations stand inside computations: 0 for a field or a literal.
    #[must_use]
    pub fn depth(&self) -> usize {
        // A stack of its own: the depth may be what a thread's stack can't hold.
        let mut deepest = 0;
        let (mut next, mut open) = (Some((self, 0)), Vec::new());
        while let Some((expression, depth)) = next.take().or_else(|| open.pop()) {
            deepest = deepest.max(depth);
            match expression {
                Self::Field(_) | Self::Literal(_) | Self::Count(_) => {}
                Self::Arithmetic { left, right, .. } => {
                    open.push((left, depth + 1));
                    open.push((right, depth + 1));
                }
                Self::Length(operand) | Self::Position { operand, .. } => {
                    open.push((operand, depth + 1));
                }
            }
        }
        deepest
    }

    /// The field, if it is nothing but one.
    #[must_use]
    pub const fn as_field(&self) -> Option<&Field> {
        match self {
            Self::Field(field) => Some(field),
            _ => None,
        }
    }

    /// The value, if it is a literal.
    #[must_use]
    pub const fn as_literal(&self) -> Option<&Value> {
        match self {
            Self::Literal(value) => Some(value),
            _ => None,
        }
    }
}

impl From<Field> for Expression {
    fn from(field: Field) -> Self {
        Self::Field(field)
    }
}

impl From<Value> for Expression {
    fn from(value: Value) -> Self {
        Self::Literal(value)
    }
}

impl fmt::Display for Arithmetic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::BitAnd => "&",
        })
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(field) => field.fmt(f),
            Self::Literal(value) => value.fmt(f),
            Self::Arithmetic {
                operator,
                left,
                right,
                ..
            } => write!(f, "({left} {operator} {right})"),
            Self::Length(operand) => write!(f, "len({operand})"),
            Self::Count(vector) => write!(f, "len({vector})"),
            Self::Position { operand, values } => {
                write!(f, "position({operand}, [")?;
                write_joined(f, values, ", ")?;
                f.write_str("])")
            }
        }
    }
}
