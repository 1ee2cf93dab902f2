//! Reads the values of attributes. `check` reports attributes that are not allowed.

use crate::ast::{Attribute, ValueKind};
use crate::schema::{Span, Storage, TimeUnit};
use dflat_model::AutoKey;

/// The first attribute with this name.
pub(crate) fn find<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a Attribute> {
    attributes
        .iter()
        .find(|attribute| attribute.name.text == name)
}

pub(crate) fn has(attributes: &[Attribute], name: &str) -> bool {
    find(attributes, name).is_some()
}

/// The attribute's string, if it has one.
pub(crate) fn text<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a str> {
    match &find(attributes, name)?.value.as_ref()?.kind {
        ValueKind::Text(text) => Some(text),
        _ => None,
    }
}

/// The attribute's integer, which may be in quotes, and its position.
pub(crate) fn integer(attributes: &[Attribute], name: &str) -> Option<(i128, Span)> {
    let value = find(attributes, name)?.value.as_ref()?;
    let number = match &value.kind {
        ValueKind::Integer(number) => *number,
        ValueKind::Text(text) => text.parse().ok()?,
        _ => return None,
    };
    Some((number, value.span.clone()))
}

/// The Dflat attributes of a field. An attribute with a string is left out, because it declares an
/// index of some objects.
pub(crate) fn storage(attributes: &[Attribute]) -> Storage {
    let alone = |name| find(attributes, name).is_some_and(|found| found.value.is_none());
    let unique = alone("unique");
    Storage {
        primary: has(attributes, "primary"),
        indexed: unique || alone("indexed"),
        unique,
        no_indexes: has(attributes, "no_indexes"),
        auto: auto(attributes),
    }
}

/// The value of `auto` for UUIDs.
pub(crate) const UUID_V7: &str = "uuid_v7";

/// How the library assigns a key.
fn auto(attributes: &[Attribute]) -> Option<AutoKey> {
    match find(attributes, "auto")?.value {
        None => Some(AutoKey::Increasing),
        Some(_) => (text(attributes, "auto") == Some(UUID_V7)).then_some(AutoKey::UuidV7),
    }
}

/// The unit of a date and time.
pub(crate) fn time(attributes: &[Attribute]) -> Option<TimeUnit> {
    let name = text(attributes, "time")?;
    TimeUnit::ALL.into_iter().find(|unit| unit.name() == name)
}
