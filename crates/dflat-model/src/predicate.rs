//! Predicates as plain data: a tree that can be printed, encoded, planned and evaluated.
//!
//! Logic is three-valued as in SQL: a comparison with NULL is UNKNOWN, `and` is false if either
//! side is false, `or` is true if either side is true, and a row qualifies only if the predicate is
//! true.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::{Expression, Value, VectorField};

/// A condition on an object, or on a member of a vector.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// True or false for every object.
    Constant(bool),
    /// A comparison of two values; UNKNOWN if one of them is NULL.
    Compare {
        /// The left operand.
        left: Expression,
        /// The operator.
        operator: Comparison,
        /// The right operand.
        right: Expression,
    },
    /// Whether a value is in a list; UNKNOWN if the value is NULL.
    In {
        /// The value.
        operand: Expression,
        /// The values. Copies of a condition share them, because a list may be long.
        values: Arc<[Value]>,
    },
    /// Whether a value is NULL; never UNKNOWN.
    IsNull(Expression),
    /// A test of a string; UNKNOWN if the string is NULL.
    Text {
        /// The string.
        operand: Expression,
        /// The test.
        test: TextTest,
        /// The pattern.
        pattern: Cow<'static, str>,
        /// Whether the test ignores case.
        ignore_case: bool,
    },
    /// Whether a condition is true for at least one member of a vector. The condition's paths start
    /// at the member. The result is false without members. It is UNKNOWN if the condition is true
    /// for no member and UNKNOWN for some, or if the table, struct or union member around the
    /// vector is absent.
    Any {
        /// The vector.
        vector: VectorField,
        /// The condition.
        condition: Box<Self>,
    },
    /// True if all conditions are true.
    And(Vec<Self>),
    /// True if at least one condition is true.
    Or(Vec<Self>),
    /// The negation of a condition.
    Not(Box<Self>),
}

/// A test of a string.
///
/// With `ignore_case`, each character is mapped to upper case and then to lower case before it is
/// compared. The mappings are Unicode's of one character to one character, in every locale. So an
/// accented letter equals its capital, the three forms of the Greek sigma are equal, and the German
/// sharp s does not equal `ss`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextTest {
    /// Equals the pattern.
    Equal,
    /// Begins with the pattern.
    StartsWith,
    /// Ends with the pattern.
    EndsWith,
    /// Contains the pattern.
    Contains,
    /// Matches the pattern as a whole: `%` matches any characters, `_` matches one character, and a
    /// backslash escapes the next character.
    Like,
}

impl Predicate {
    /// Joins two conditions by *and*. Parts that are conjunctions are merged into one list.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::And(mut left), Self::And(right)) => {
                left.extend(right);
                Self::And(left)
            }
            (Self::And(mut left), right) => {
                left.push(right);
                Self::And(left)
            }
            (left, Self::And(mut right)) => {
                right.insert(0, left);
                Self::And(right)
            }
            (left, right) => Self::And(vec![left, right]),
        }
    }

    /// Joins two conditions by *or*. Parts that are disjunctions are merged into one list.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Or(mut left), Self::Or(right)) => {
                left.extend(right);
                Self::Or(left)
            }
            (Self::Or(mut left), right) => {
                left.push(right);
                Self::Or(left)
            }
            (left, Self::Or(mut right)) => {
                right.insert(0, left);
                Self::Or(right)
            }
            (left, right) => Self::Or(vec![left, right]),
        }
    }

    /// The depth of nested conditions and computations: 1 for a comparison of fields.
    #[must_use]
    pub fn depth(&self) -> usize {
        // An explicit stack, because the depth may exceed a thread's stack.
        let mut deepest = 0;
        let (mut next, mut open) = (Some((self, 1)), Vec::new());
        while let Some((predicate, depth)) = next.take().or_else(|| open.pop()) {
            deepest = deepest.max(depth);
            match predicate {
                Self::And(parts) | Self::Or(parts) => {
                    open.extend(parts.iter().map(|part| (part, depth + 1)));
                }
                Self::Not(inner)
                | Self::Any {
                    condition: inner, ..
                } => open.push((inner, depth + 1)),
                Self::Constant(_) => {}
                Self::Compare { left, right, .. } => {
                    deepest = deepest.max(depth + left.depth().max(right.depth()));
                }
                Self::In { operand, .. } | Self::IsNull(operand) | Self::Text { operand, .. } => {
                    deepest = deepest.max(depth + operand.depth());
                }
            }
        }
        deepest
    }

    /// Negates the condition; UNKNOWN stays UNKNOWN.
    #[must_use]
    pub fn negate(self) -> Self {
        match self {
            Self::Not(inner) => *inner,
            other => Self::Not(Box::new(other)),
        }
    }
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// The negated operator.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
        }
    }

    /// Whether the comparison is true for two values with this ordering.
    #[inline]
    #[must_use]
    pub fn accepts(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::NotEqual => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        })
    }
}

impl fmt::Display for TextTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "equals",
            Self::StartsWith => "starts with",
            Self::EndsWith => "ends with",
            Self::Contains => "contains",
            Self::Like => "like",
        })
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(value) => value.fmt(f),
            Self::Compare {
                left,
                operator,
                right,
            } => write!(f, "{left} {operator} {right}"),
            Self::Text {
                operand,
                test,
                pattern,
                ignore_case,
            } => {
                let case = if *ignore_case { " ignoring case" } else { "" };
                write!(f, "{operand} {test} {pattern:?}{case}")
            }
            Self::Any { vector, condition } => write!(f, "any({vector}: {condition})"),
            Self::In { operand, values } => {
                write!(f, "{operand} in [")?;
                write_joined(f, values, ", ")?;
                f.write_str("]")
            }
            Self::IsNull(operand) => write!(f, "{operand} is null"),
            Self::And(parts) => write_parts(f, parts, " && "),
            Self::Or(parts) => write_parts(f, parts, " || "),
            Self::Not(inner) => write!(f, "!({inner})"),
        }
    }
}

fn write_parts(f: &mut fmt::Formatter<'_>, parts: &[Predicate], operator: &str) -> fmt::Result {
    f.write_str("(")?;
    write_joined(f, parts, operator)?;
    f.write_str(")")
}

pub(crate) fn write_joined(
    f: &mut fmt::Formatter<'_>,
    items: &[impl fmt::Display],
    separator: &str,
) -> fmt::Result {
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            f.write_str(separator)?;
        }
        item.fmt(f)?;
    }
    Ok(())
}
