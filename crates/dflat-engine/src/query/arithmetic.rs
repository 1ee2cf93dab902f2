//! Arithmetic of queries. A result that does not fit is NULL, and nothing panics.

use dflat_model::{Arithmetic, Domain, ValueRef};

/// Computes with two numbers. The result is NULL if a number is NULL or does not fit the domain, or
/// if the result is undefined or does not fit.
pub(super) fn arithmetic(
    operator: Arithmetic,
    domain: Domain,
    left: ValueRef<'_>,
    right: ValueRef<'_>,
) -> ValueRef<'static> {
    match domain {
        Domain::Signed => {
            let (ValueRef::Int(left), ValueRef::Int(right)) = (left, right) else {
                return ValueRef::Null;
            };
            signed(operator, left, right).map_or(ValueRef::Null, ValueRef::Int)
        }
        Domain::Unsigned => {
            let result = to_unsigned(left)
                .zip(to_unsigned(right))
                .and_then(|(left, right)| unsigned(operator, left, right));
            result.map_or(ValueRef::Null, ValueRef::from_u64)
        }
        Domain::Float => {
            let result = to_float(left)
                .zip(to_float(right))
                .and_then(|(left, right)| float(operator, left, right));
            result.map_or(ValueRef::Null, ValueRef::from_f64)
        }
    }
}

fn signed(operator: Arithmetic, left: i64, right: i64) -> Option<i64> {
    match operator {
        Arithmetic::Add => left.checked_add(right),
        Arithmetic::Subtract => left.checked_sub(right),
        Arithmetic::Multiply => left.checked_mul(right),
        Arithmetic::Divide => left.checked_div(right),
        // The remainder of the smallest number by -1 is 0, although the quotient does not fit.
        Arithmetic::Remainder => (right != 0).then(|| left.wrapping_rem(right)),
        Arithmetic::BitAnd => Some(left & right),
    }
}

fn unsigned(operator: Arithmetic, left: u64, right: u64) -> Option<u64> {
    match operator {
        Arithmetic::Add => left.checked_add(right),
        Arithmetic::Subtract => left.checked_sub(right),
        Arithmetic::Multiply => left.checked_mul(right),
        Arithmetic::Divide => left.checked_div(right),
        Arithmetic::Remainder => left.checked_rem(right),
        Arithmetic::BitAnd => Some(left & right),
    }
}

fn float(operator: Arithmetic, left: f64, right: f64) -> Option<f64> {
    let result = match operator {
        Arithmetic::Add => left + right,
        Arithmetic::Subtract => left - right,
        Arithmetic::Multiply => left * right,
        Arithmetic::Divide if right == 0.0 => return None,
        Arithmetic::Divide => left / right,
        Arithmetic::Remainder => left % right,
        Arithmetic::BitAnd => return None,
    };
    let overflow = result.is_infinite() && left.is_finite() && right.is_finite();
    (!overflow && !result.is_nan()).then_some(result)
}

fn to_unsigned(value: ValueRef<'_>) -> Option<u64> {
    match value {
        ValueRef::Int(value) => u64::try_from(value).ok(),
        ValueRef::UInt(value) => Some(value),
        _ => None,
    }
}

fn to_float(value: ValueRef<'_>) -> Option<f64> {
    match value {
        ValueRef::Int(value) => Some(value as f64),
        ValueRef::UInt(value) => Some(value as f64),
        ValueRef::Float(value) => Some(value),
        _ => None,
    }
}
