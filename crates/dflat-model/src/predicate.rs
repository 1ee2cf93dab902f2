//! Predicates as plain data: a tree that can be printed, sent, planned and evaluated anywhere.
//!
//! Logic is SQL's, three-valued: a comparison with NULL is UNKNOWN, `and` is false if either side
//! is false, `or` true if either is true, and a row qualifies on true only.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use crate::{Expression, Value, VectorField};

/// A condition on an object, or on a member of a vector.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// True or false whatever the object.
    Constant(bool),
    /// A comparison of two values; UNKNOWN if one is NULL.
    Compare {
        /// The left side.
        left: Expression,
        /// The operator.
        operator: Comparison,
        /// The right side.
        right: Expression,
    },
    /// Whether a value is one of several; UNKNOWN if it is NULL.
    In {
        /// The value.
        operand: Expression,
        /// The values.
        values: Vec<Value>,
    },
    /// Whether there is no value; never UNKNOWN.
    IsNull(Expression),
    /// A test of a string; UNKNOWN if it is NULL.
    Text {
        /// The string.
        operand: Expression,
        /// The test.
        test: TextTest,
        /// What it is tested for.
        pattern: Cow<'static, str>,
        /// Whether upper and lower case are the same.
        ignore_case: bool,
    },
    /// Whether a condition holds for a member of a vector, in which its paths start: false without
    /// members, UNKNOWN if it is true for none and UNKNOWN for one, or if what should hold the
    /// vector is absent.
    Any {
        /// The vector.
        vector: VectorField,
        /// The condition.
        condition: Box<Self>,
    },
    /// All conditions hold.
    And(Vec<Self>),
    /// At least one condition holds.
    Or(Vec<Self>),
    /// The condition does not hold.
    Not(Box<Self>),
}

/// A test of a string.
///
/// With `ignore_case`, two characters are the same if the lower case of their upper case is, by
/// Unicode's mappings of one character to one, whatever the locale: an accented letter is its
/// capital, the three forms of the Greek sigma are one, and the German sharp s is not `ss`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextTest {
    /// Equals the pattern.
    Equal,
    /// Begins with the pattern.
    StartsWith,
    /// Ends with the pattern.
    EndsWith,
    /// Has the pattern somewhere.
    Contains,
    /// Matches the pattern as a whole: `%` stands for any characters, `_` for one, and a backslash
    /// takes the meaning from the character behind it.
    Like,
}

impl Predicate {
    /// Both conditions; a conjunction's parts are kept in one list.
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

    /// Either condition; a disjunction's parts are kept in one list.
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

    /// How deep conditions and computations stand in one another: 1 for a comparison of fields.
    #[must_use]
    pub fn depth(&self) -> usize {
        // A stack of its own: the depth may be what a thread's stack can't hold.
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

    /// The opposite; UNKNOWN stays UNKNOWN.
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
    /// The operator that holds where this one does not.
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

    /// Whether the operator holds for two values that compare so.
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
