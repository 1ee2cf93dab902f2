//! Evaluates a predicate on a payload by three-valued logic.

use dflat_model::{Field, Predicate, Value};

use crate::object::{Malformed, field_value};

/// Whether a payload, verified or not, meets a predicate: `None` is UNKNOWN.
///
/// # Errors
/// If a field that decides cannot be read.
pub fn evaluate(predicate: &Predicate, payload: &[u8]) -> Result<Option<bool>, Malformed> {
    match predicate {
        Predicate::Constant(value) => Ok(Some(*value)),
        Predicate::Compare {
            field,
            operator,
            value,
        } => {
            let ordering = field_value(payload, field)?.compare(value.as_ref());
            Ok(ordering.map(|ordering| operator.accepts(ordering)))
        }
        Predicate::In { field, values } => is_in(payload, field, values),
        Predicate::IsNull(field) => Ok(Some(field_value(payload, field)?.is_null())),
        Predicate::And(parts) => fold(parts, payload, false),
        Predicate::Or(parts) => fold(parts, payload, true),
        Predicate::Not(inner) => Ok(evaluate(inner, payload)?.map(|value| !value)),
    }
}

/// Evaluates parts until one has the deciding value; UNKNOWN if none has and one is UNKNOWN.
fn fold(parts: &[Predicate], payload: &[u8], deciding: bool) -> Result<Option<bool>, Malformed> {
    let mut result = Some(!deciding);
    for part in parts {
        match evaluate(part, payload)? {
            Some(value) if value == deciding => return Ok(Some(deciding)),
            Some(_) => {}
            None => result = None,
        }
    }
    Ok(result)
}

fn is_in(payload: &[u8], field: &Field, values: &[Value]) -> Result<Option<bool>, Malformed> {
    let value = field_value(payload, field)?;
    if value.is_null() {
        return Ok(None);
    }
    let mut result = Some(false);
    for candidate in values {
        match value.compare(candidate.as_ref()) {
            Some(ordering) if ordering.is_eq() => return Ok(Some(true)),
            Some(_) => {}
            None => result = None,
        }
    }
    Ok(result)
}
