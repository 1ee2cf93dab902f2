//! Types, keys and values of the dictionary in the file.

use dflat_engine::fetch::key_of;
use dflat_model::{Direction, Element, Expression, Nulls, Order, Table, TypeDescriptor, Value};
use dflat_workspace::Fetch;

use super::condition::assignments;
use super::place::Place;
use crate::file::OpenFile;

/// The number of values that are listed, and of objects that are read for them.
const LISTED_MAX: usize = 100;
const READ_MAX: usize = 1000;

/// The names of types: the last parts of their names, or their full names.
pub(super) fn types(place: &Place, current: &str) -> Vec<String> {
    let Some(file) = place.file() else {
        return Vec::new();
    };
    let mut names = Vec::new();
    for known in file.types.iter() {
        let full = &*known.table.type_name;
        let short = full.rsplit('.').next().unwrap_or(full);
        let is_clear = file.types.get(short).is_ok();
        let by = if is_clear && short.starts_with(current) {
            short
        } else {
            full
        };
        if by.starts_with(current) {
            names.push(by.to_owned());
        }
    }
    names
}

/// The values of a key, or assignments after it.
pub(super) fn key_or_assignment(place: &Place, current: &str) -> Vec<String> {
    let Some(file) = place.file() else {
        return Vec::new();
    };
    let Some(table) = place.table(&file) else {
        return Vec::new();
    };
    match place.keys.len() > table.primary_key.len() {
        true => assignments(&table, current),
        false => keys(place, current),
    }
}

/// The values of one field of the primary key, of objects that have the values before it.
pub(super) fn keys(place: &Place, current: &str) -> Vec<String> {
    let found = place.file().and_then(|file| {
        let table = place.table(&file)?;
        stored_keys(&file, &table, &place.keys, current)
    });
    found.unwrap_or_default()
}

fn stored_keys(
    file: &OpenFile,
    table: &Table,
    given: &[String],
    current: &str,
) -> Option<Vec<String>> {
    let parts = table.primary_key.len().max(1);
    let position = given.len().saturating_sub(1);
    let (first, part) = (position - position % parts, position % parts);
    let before = given.get(first..position)?;
    let mut fetch = Fetch::new(file.source(), table.clone());
    fetch.query.limit = Some(READ_MAX);
    let keys = table.primary_key.iter();
    fetch.query.order = keys
        .map(|key| Order {
            key: Expression::Field(key.clone()),
            direction: Direction::Ascending,
            nulls: Nulls::Smallest,
        })
        .collect();
    let mut names: Vec<String> = Vec::new();
    for object in fetch.rows().ok()? {
        let key = key_of(table, &object.ok()?).ok()?;
        let texts: Vec<String> = key
            .iter()
            .enumerate()
            .map(|(part, value)| text(table, part, value))
            .collect();
        let name = texts.get(part)?;
        if texts.get(..part)? == before && name.starts_with(current) && !names.contains(name) {
            names.push(name.clone());
        }
        if names.len() == LISTED_MAX {
            break;
        }
    }
    Some(names)
}

/// A value of a key as it is typed: the value of an enum by its name.
fn text(table: &Table, part: usize, value: &Value) -> String {
    let field = table.primary_key.get(part);
    let element = field.and_then(|field| table.element_at(&field.steps));
    if let Some(Element::Enum(id)) = element
        && let Some(TypeDescriptor::Enum(layout)) = table.types.get(usize::from(id.0))
        && let Some(known) = layout.values.iter().find(|known| known.value == *value)
    {
        return known.name.to_string();
    }
    match value {
        Value::Text(text) => text.to_string(),
        value => value.to_string(),
    }
}

/// The keys of the dictionary.
pub(super) fn dictionary_keys(place: &Place, current: &str) -> Vec<String> {
    let Some(file) = place.file() else {
        return Vec::new();
    };
    let dictionary = file.workspace.dictionary();
    let space = match place.space.as_str() {
        "" => (**dictionary).clone(),
        name => dictionary.namespace(name),
    };
    let entries = space.entries(current).unwrap_or_default().into_iter();
    let names = entries.map(|(name, _)| name.to_string());
    names.take(LISTED_MAX).collect()
}
