//! Unknown names in errors of JSON, and the names that come nearest.

use dflat_condition::suggestion;
use dflat_model::{Table, TypeDescriptor};

/// The words of an error before an unknown name, and those before a list of known names.
const KINDS: [(&str, &str); 3] = [
    (" has no field `", "its fields are"),
    (" has no value `", "its values are"),
    (" has no member `", "its members are"),
];

/// How to mend an error that names an unknown field, value or member of a type.
pub(crate) fn nearest(table: &Table, error: &str) -> Option<String> {
    let found = KINDS
        .iter()
        .find_map(|(words, list)| Some((error.rfind(words)?, *words, *list)));
    let (position, words, list) = found?;
    let before = &error[..position];
    let ty = before.rsplit(": ").next().unwrap_or(before);
    let (name, _) = error[position + words.len()..].split_once('`')?;
    let names = table.types.iter().find_map(|known| names(known, ty))?;
    suggestion(name, list, &names)
}

/// The names in a type, if it has this name itself.
fn names<'t>(known: &'t TypeDescriptor, ty: &str) -> Option<Vec<&'t str>> {
    let (name, names): (&str, Vec<&str>) = match known {
        TypeDescriptor::Table(layout) => {
            let names = layout.fields.iter().map(|field| &*field.name);
            (&layout.name, names.collect())
        }
        TypeDescriptor::Struct(layout) => {
            let names = layout.fields.iter().map(|field| &*field.name);
            (&layout.name, names.collect())
        }
        TypeDescriptor::Enum(layout) => {
            let names = layout.values.iter().map(|value| &*value.name);
            (&layout.name, names.collect())
        }
        TypeDescriptor::Union(layout) => {
            let names = layout.members.iter().map(|member| &*member.name);
            (&layout.name, names.collect())
        }
    };
    (name == ty).then_some(names)
}
