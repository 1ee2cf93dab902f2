//! Predicates as plain data: a tree that can be printed, sent, planned and evaluated anywhere.
//!
//! Logic is SQL's, three-valued: a comparison with NULL is UNKNOWN, `and` is false if either side
//! is false, `or` true if either is true, and a row qualifies on true only.

use std::cmp::Ordering;
use std::fmt;

use crate::{Field, Value};

/// A condition on an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// True or false whatever the object.
    Constant(bool),
    /// A comparison of a field with a value. A NULL value makes it UNKNOWN.
    Compare {
        /// The left side.
        field: Field,
        /// The operator.
        operator: Comparison,
        /// The right side.
        value: Value,
    },
    /// Whether a field is one of several values; UNKNOWN if the field is NULL.
    In {
        /// The field.
        field: Field,
        /// The values.
        values: Vec<Value>,
    },
    /// Whether a field has no value; never UNKNOWN.
    IsNull(Field),
    /// All conditions hold.
    And(Vec<Self>),
    /// At least one condition holds.
    Or(Vec<Self>),
    /// The condition does not hold.
    Not(Box<Self>),
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

    /// How deep conditions stand inside conditions: 1 for a comparison.
    #[must_use]
    pub fn depth(&self) -> usize {
        // A stack of its own: the depth may be what a thread's stack can't hold.
        let mut deepest = 0;
        let mut open = vec![(self, 1)];
        while let Some((predicate, depth)) = open.pop() {
            deepest = deepest.max(depth);
            match predicate {
                Self::And(parts) | Self::Or(parts) => {
                    open.extend(parts.iter().map(|part| (part, depth + 1)));
                }
                Self::Not(inner) => open.push((inner, depth + 1)),
                Self::Constant(_) | Self::Compare { .. } | Self::In { .. } | Self::IsNull(_) => {}
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
    /// Whether the operator holds for two values that compare so.
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

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(value) => value.fmt(f),
            Self::Compare {
                field,
                operator,
                value,
            } => write!(f, "{field} {operator} {value}"),
            Self::In { field, values } => {
                write!(f, "{field} in [")?;
                write_joined(f, values, ", ")?;
                f.write_str("]")
            }
            Self::IsNull(field) => write!(f, "{field} is null"),
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

fn write_joined(
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
