//! The last word of a condition, an order or a list of fields.

use dflat_model::{Element, ROOT_TYPE, Shape, Table, TypeDescriptor};

use super::place::Place;

/// Conditions whose last word is a field, or the value of an enum after a comparison.
pub(super) fn words(place: &Place, current: &str) -> Vec<String> {
    let Some(table) = place.file().and_then(|file| place.table(&file)) else {
        return Vec::new();
    };
    let (before, stem) = last_word(current);
    let compared = ["==", "!="].iter().find_map(|operator| {
        let field = before.trim_end().strip_suffix(operator)?;
        let (_, field) = last_word(field.trim_end());
        values(&table, field)
    });
    let names = compared.unwrap_or_else(|| with_path(&table, stem));
    completed(before, stem, names)
}

/// Lists whose last word is a field.
pub(super) fn fields(place: &Place, current: &str) -> Vec<String> {
    let Some(table) = place.file().and_then(|file| place.table(&file)) else {
        return Vec::new();
    };
    let (before, stem) = last_word(current);
    completed(before, stem, with_path(&table, stem))
}

/// The assignment `path=value`: a path before the sign, and the value of an enum after it.
pub(super) fn assignments(table: &Table, current: &str) -> Vec<String> {
    match current.split_once('=') {
        Some((path, stem)) => {
            let names = values(table, path).unwrap_or_default();
            completed(&format!("{path}="), stem, names)
        }
        None => {
            let names = with_path(table, current).into_iter();
            completed("", current, names.map(|name| format!("{name}=")).collect())
        }
    }
}

/// The text with each name that begins like its last word in place of this word.
fn completed(before: &str, stem: &str, names: Vec<String>) -> Vec<String> {
    let names = names.into_iter().filter(|name| name.starts_with(stem));
    names.map(|name| format!("{before}{name}")).collect()
}

/// A text before its last word, and this word, which may be a path.
fn last_word(text: &str) -> (&str, &str) {
    let is_in_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let start = text.rfind(|c| !is_in_word(c));
    let start = start.map_or(0, |start| {
        start + text[start..].chars().next().map_or(0, char::len_utf8)
    });
    text.split_at(start)
}

/// The paths that end where a path ends, in the same table, struct or union.
fn with_path(table: &Table, stem: &str) -> Vec<String> {
    let (outer, _) = stem.rsplit_once('.').unwrap_or_default();
    let names: Vec<&str> = outer.split('.').filter(|name| !name.is_empty()).collect();
    let Some(ty) = ty(table, at(table, &names)) else {
        return Vec::new();
    };
    let inner: Vec<&str> = match ty {
        TypeDescriptor::Table(layout) => layout.fields.iter().map(|field| &*field.name).collect(),
        TypeDescriptor::Struct(layout) => layout.fields.iter().map(|field| &*field.name).collect(),
        TypeDescriptor::Union(layout) => {
            layout.members.iter().map(|member| &*member.name).collect()
        }
        TypeDescriptor::Enum(_) => Vec::new(),
    };
    let inner = inner.into_iter();
    match outer {
        "" => inner.map(str::to_owned).collect(),
        outer => inner.map(|name| format!("{outer}.{name}")).collect(),
    }
}

/// The names of the values of a field, if it is an enum or a boolean.
fn values(table: &Table, path: &str) -> Option<Vec<String>> {
    let names: Vec<&str> = path.split('.').collect();
    let element = at(table, &names);
    if let Some(Element::Scalar(dflat_model::Scalar::Bool)) = element {
        return Some(["true", "false"].map(str::to_owned).to_vec());
    }
    match ty(table, element)? {
        TypeDescriptor::Enum(layout) => {
            let names = layout.values.iter().map(|value| value.name.to_string());
            Some(names.collect())
        }
        _ => None,
    }
}

/// The element at a path that begins at the root table.
fn at(table: &Table, names: &[&str]) -> Option<Element> {
    let mut element = Element::Table(ROOT_TYPE);
    for name in names {
        element = match ty(table, Some(element))? {
            TypeDescriptor::Table(layout) => {
                let field = layout.fields.iter().find(|field| field.name == *name)?;
                match field.shape {
                    Shape::Single(element) => element,
                    Shape::Vector(_) => return None,
                }
            }
            TypeDescriptor::Struct(layout) => {
                let field = layout.fields.iter().find(|field| field.name == *name)?;
                field.element
            }
            TypeDescriptor::Union(layout) => {
                let member = layout.members.iter().find(|member| member.name == *name)?;
                member.element
            }
            TypeDescriptor::Enum(_) => return None,
        };
    }
    Some(element)
}

fn ty(table: &Table, element: Option<Element>) -> Option<&TypeDescriptor> {
    match element? {
        Element::Table(id) | Element::Struct(id) | Element::Union(id) | Element::Enum(id) => {
            table.types.get(usize::from(id.0))
        }
        Element::Scalar(_) | Element::Text => None,
    }
}

#[cfg(test)]
mod tests {
    use super::last_word;

    #[test]
    fn last_word_of_a_condition_may_be_a_path() {
        assert_eq!(
            last_word("done == false && pri"),
            ("done == false && ", "pri")
        );
        assert_eq!(last_word("spot.x"), ("", "spot.x"));
        assert_eq!(last_word("größe("), ("größe(", ""));
        assert_eq!(last_word(""), ("", ""));
    }
}
