//! Expressions as plain data: the values that conditions compare and orders sort by.

use std::fmt;

use crate::predicate::write_joined;
use crate::{Field, Value, VectorField};

/// A value computed from an object. It is NULL if a part of it is NULL, unless stated otherwise.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// The value of a field.
    Field(Field),
    /// A constant.
    Literal(Value),
    /// A computation with two numbers.
    Arithmetic {
        /// The operator.
        operator: Arithmetic,
        /// The type of numbers for the computation.
        domain: Domain,
        /// The left operand.
        left: Box<Self>,
        /// The right operand.
        right: Box<Self>,
    },
    /// The number of characters (Unicode scalar values) of a string.
    Length(Box<Self>),
    /// The number of members of a vector. It is 0 if the vector is absent, and NULL if the table,
    /// struct or union member around the vector is absent.
    Count(VectorField),
    /// The position, from 0, of a value in a list. If the list does not have the value, it is the
    /// length of the list.
    Position {
        /// The value.
        operand: Box<Self>,
        /// The list.
        values: Vec<Value>,
    },
}

/// The type of numbers for arithmetic. An operand or a result that does not fit is NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// 64-bit signed integers.
    Signed,
    /// 64-bit unsigned integers.
    Unsigned,
    /// Double-precision floating-point numbers. NaN is NULL, and so is an infinite result of finite
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
    /// `/`; the quotient of integers is truncated.
    Divide,
    /// `%`; the result has the sign of the left operand.
    Remainder,
    /// `&`, bit by bit; NULL for floats.
    BitAnd,
}

impl Expression {
    /// The depth of nested computations: 0 for a field or a literal.
    #[must_use]
    pub fn depth(&self) -> usize {
        // An explicit stack, because the depth may exceed a thread's stack.
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

    /// The field, if the expression is a field.
    #[must_use]
    pub const fn as_field(&self) -> Option<&Field> {
        match self {
            Self::Field(field) => Some(field),
            _ => None,
        }
    }

    /// The value, if the expression is a literal.
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
