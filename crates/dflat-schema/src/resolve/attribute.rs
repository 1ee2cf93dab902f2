//! The values of attributes. Whether they may stand where they stand is for `check` to say.

use crate::ast::{Attribute, ValueKind};
use crate::schema::{Span, Storage};

/// The first attribute of a name.
pub(crate) fn find<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a Attribute> {
    attributes
        .iter()
        .find(|attribute| attribute.name.text == name)
}

pub(crate) fn has(attributes: &[Attribute], name: &str) -> bool {
    find(attributes, name).is_some()
}

/// The attribute's text, if it has one.
pub(crate) fn text<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a str> {
    match &find(attributes, name)?.value.as_ref()?.kind {
        ValueKind::Text(text) => Some(text),
        _ => None,
    }
}

/// The attribute's integer, which may stand in quotes, and its place.
pub(crate) fn integer(attributes: &[Attribute], name: &str) -> Option<(i128, Span)> {
    let value = find(attributes, name)?.value.as_ref()?;
    let number = match &value.kind {
        ValueKind::Integer(number) => *number,
        ValueKind::Text(text) => text.parse().ok()?,
        _ => return None,
    };
    Some((number, value.span.clone()))
}

/// The Dflat attributes. One with a text declares an index of some objects, which is none of the
/// field's own.
pub(crate) fn storage(attributes: &[Attribute]) -> Storage {
    let alone = |name| find(attributes, name).is_some_and(|found| found.value.is_none());
    let unique = alone("unique");
    Storage {
        primary: has(attributes, "primary"),
        indexed: unique || alone("indexed"),
        unique,
    }
}
