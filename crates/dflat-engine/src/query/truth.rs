//! Three-valued logic: true, false, or UNKNOWN, as in SQL.

use dflat_model::{Field, IndexCondition, ValueRef};

use crate::object::Malformed;

/// True, false, or UNKNOWN, which is `None`.
pub type Truth = Result<Option<bool>, Malformed>;

/// Combines answers: SQL's OR if `deciding` is true, its AND if it is false.
///
/// The first answer that equals `deciding` is the result, and later ones are not computed. If no
/// answer equals `deciding`, the result is UNKNOWN if an answer is UNKNOWN, and otherwise the
/// opposite of `deciding`.
#[inline]
pub(crate) fn combine<E>(
    deciding: bool,
    answers: impl IntoIterator<Item = Result<Option<bool>, E>>,
) -> Result<Option<bool>, E> {
    let mut result = Some(!deciding);
    for answer in answers {
        match answer? {
            Some(value) if value == deciding => return Ok(Some(deciding)),
            Some(_) => {}
            None => result = None,
        }
    }
    Ok(result)
}

/// Whether an index has an entry for an object whose fields `read` returns. UNKNOWN, like false,
/// means that it has none.
pub(crate) fn admits<'c, E>(
    condition: &'c IndexCondition,
    read: &impl Fn(&'c Field) -> Result<ValueRef<'c>, E>,
) -> Result<Option<bool>, E> {
    match condition {
        IndexCondition::Compare {
            field,
            operator,
            value,
        } => {
            let ordering = read(field)?.compare(value.as_ref());
            Ok(ordering.map(|ordering| operator.accepts(ordering)))
        }
        IndexCondition::IsNull(field) => Ok(Some(read(field)?.is_null())),
        IndexCondition::IsNotNull(field) => Ok(Some(!read(field)?.is_null())),
        IndexCondition::And(parts) => combine(false, parts.iter().map(|part| admits(part, read))),
        IndexCondition::Or(parts) => combine(true, parts.iter().map(|part| admits(part, read))),
    }
}
