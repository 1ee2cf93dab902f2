//! Evaluates predicates on payloads, in place and without allocating.

use std::cell::Cell;

use dflat_model::{Expression, Predicate, Value, ValueRef, VectorField};

use super::arithmetic::arithmetic;
use super::text;
use super::truth::{Truth, combine};
use crate::object::{Malformed, Scope, visits_max};

/// Whether a payload, verified or not, meets a predicate.
///
/// # Errors
/// If a value that the result depends on cannot be read.
pub fn evaluate(predicate: &Predicate, payload: &[u8]) -> Truth {
    holds(predicate, Scope::root(payload)?, &Visits::new(payload))
}

/// The value of an expression in a payload, verified or not.
///
/// # Errors
/// If a value that the expression uses cannot be read.
pub fn compute<'a>(
    expression: &'a Expression,
    payload: &'a [u8],
) -> Result<ValueRef<'a>, Malformed> {
    match expression {
        Expression::Literal(value) => Ok(value.as_ref()),
        _ => value(expression, Scope::root(payload)?),
    }
}

/// The number of members that may still be visited in nested vectors. In a malicious payload many
/// vectors share members; this bound keeps the cost of such a payload near that of one without
/// shared members.
pub(super) struct Visits<'a> {
    payload: &'a [u8],
    /// `None` outside nested vectors.
    left: Cell<Option<usize>>,
}

impl<'a> Visits<'a> {
    pub(super) const fn new(payload: &'a [u8]) -> Self {
        let left = Cell::new(None);
        Self { payload, left }
    }

    fn spend(&self) -> Result<(), Malformed> {
        if let Some(left) = self.left.get() {
            let less = left.checked_sub(1).ok_or(Malformed)?;
            self.left.set(Some(less));
        }
        Ok(())
    }
}

pub(super) fn holds(predicate: &Predicate, scope: Scope<'_>, visits: &Visits<'_>) -> Truth {
    match predicate {
        Predicate::Constant(value) => Ok(Some(*value)),
        Predicate::Compare {
            left,
            operator,
            right,
        } => {
            let ordering = value(left, scope)?.compare(value(right, scope)?);
            Ok(ordering.map(|ordering| operator.accepts(ordering)))
        }
        Predicate::In { operand, values } => is_in(value(operand, scope)?, values),
        Predicate::IsNull(operand) => Ok(Some(value(operand, scope)?.is_null())),
        Predicate::Text {
            operand,
            test,
            pattern,
            ignore_case,
        } => Ok(match value(operand, scope)? {
            ValueRef::Text(text) => Some(text::matches(*test, text, pattern, *ignore_case)),
            _ => None,
        }),
        Predicate::Any { vector, condition } => any(vector, condition, scope, visits),
        Predicate::And(parts) => {
            combine(false, parts.iter().map(|part| holds(part, scope, visits)))
        }
        Predicate::Or(parts) => combine(true, parts.iter().map(|part| holds(part, scope, visits))),
        Predicate::Not(inner) => Ok(holds(inner, scope, visits)?.map(|value| !value)),
    }
}

fn any(
    vector: &VectorField,
    condition: &Predicate,
    scope: Scope<'_>,
    visits: &Visits<'_>,
) -> Truth {
    let Some(members) = scope.members(vector)? else {
        return Ok(None);
    };
    let outermost = visits.left.get().is_none();
    if outermost && let inner @ 1.. = vectors_in(condition) {
        let each = visits_max(visits.payload);
        visits.left.set(Some(each.saturating_mul(inner + 1)));
    }
    let answers = (0..members.len()).map(|index| {
        visits.spend()?;
        holds(condition, members.get(index)?, visits)
    });
    let result = combine(true, answers)?;
    if outermost {
        visits.left.set(None);
    }
    Ok(result)
}

/// The number of conditions on members of vectors within a condition.
fn vectors_in(condition: &Predicate) -> usize {
    match condition {
        Predicate::Any { condition, .. } => 1 + vectors_in(condition),
        Predicate::Not(inner) => vectors_in(inner),
        Predicate::And(parts) | Predicate::Or(parts) => parts.iter().map(vectors_in).sum(),
        _ => 0,
    }
}

fn is_in(value: ValueRef<'_>, values: &[Value]) -> Truth {
    if value.is_null() {
        return Ok(None);
    }
    let equals = |candidate: &Value| {
        let ordering = value.compare(candidate.as_ref());
        Ok(ordering.map(|ordering| ordering.is_eq()))
    };
    combine(true, values.iter().map(equals))
}

#[inline]
pub(super) fn value<'a>(
    expression: &'a Expression,
    scope: Scope<'a>,
) -> Result<ValueRef<'a>, Malformed> {
    match expression {
        Expression::Field(field) => scope.value(field),
        Expression::Literal(value) => Ok(value.as_ref()),
        computed => computed_value(computed, scope),
    }
}

fn computed_value<'a>(
    expression: &'a Expression,
    scope: Scope<'a>,
) -> Result<ValueRef<'a>, Malformed> {
    Ok(match expression {
        Expression::Field(_) | Expression::Literal(_) => return value(expression, scope),
        Expression::Arithmetic {
            operator,
            domain,
            left,
            right,
        } => arithmetic(
            *operator,
            *domain,
            value(left, scope)?,
            value(right, scope)?,
        ),
        Expression::Length(operand) => match value(operand, scope)? {
            ValueRef::Text(text) => ValueRef::from_u64(text.chars().count() as u64),
            _ => ValueRef::Null,
        },
        Expression::Count(vector) => match scope.members(vector)? {
            Some(members) => ValueRef::from_u64(members.len() as u64),
            None => ValueRef::Null,
        },
        Expression::Position { operand, values } => {
            let operand = value(operand, scope)?;
            if operand.is_null() {
                return Ok(ValueRef::Null);
            }
            let is_it = |value: &Value| operand.compare(value.as_ref()).is_some_and(|o| o.is_eq());
            let position = values.iter().position(is_it).unwrap_or(values.len());
            ValueRef::from_u64(position as u64)
        }
    })
}
