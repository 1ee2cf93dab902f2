//! The objects of a query, in batches and in one of the forms of the output.

use std::io::Write;

use dflat_condition::{Parameters, fields, orders, predicate};
use dflat_engine::fetch::find_many;
use dflat_engine::object::Object;
use dflat_model::{Query, Table};
use dflat_workspace::{JsonType, Source};

use crate::arguments::{ConditionArguments, WindowArguments};
use crate::display::{Alignment, write_json};
use crate::failure::Failure;
use crate::file::{FileType, OpenFile, slots};
use crate::object::{Column, of_field, root_fields};
use crate::record::{Cell, json_failure};
use crate::session::Session;

/// The number of objects in memory at a time.
const BATCH: usize = 256;

/// The query of arguments. Without a window, it has all objects that meet the condition.
pub(super) fn query_of(
    known: &FileType,
    condition: &ConditionArguments,
    window: Option<&WindowArguments>,
) -> Result<Query, Failure> {
    let table = &known.table;
    let none = Parameters::new();
    let mut query = Query::default();
    if let Some(text) = &condition.condition {
        let condition = predicate(text, table, &none);
        query.predicate = Some(condition.map_err(|error| Failure::of_condition(&error, text))?);
    }
    if let Some(window) = window {
        if let Some(text) = &window.order {
            let order = orders(text, table, &none);
            query.order = order.map_err(|error| Failure::of_condition(&error, text))?;
        }
        query.limit = window.limit;
        query.offset = window.offset;
    }
    Ok(query)
}

/// The columns of a list of fields and computed values. A field of the type may hold any value.
pub(super) fn selected(table: &Table, text: &str) -> Result<Vec<Column>, Failure> {
    let parts = separated(text);
    let columns = parts.into_iter().map(|part| {
        let name = part.trim();
        if let Some(field) = root_fields(table).iter().find(|field| field.name == name) {
            return Ok(of_field(table, field));
        }
        let mut values = fields(name, table, &Parameters::new())
            .map_err(|error| Failure::of_condition(&error, name))?;
        match (values.pop(), values.pop()) {
            (Some(value), None) => Ok(Column::Value(value, name.to_owned())),
            _ => Err(Failure::usage(format!("`{text}` has an empty field"))),
        }
    });
    columns.collect()
}

/// The parts of a list, which are separated by commas outside of parentheses and texts.
fn separated(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut depth, mut quote) = (0, 0_usize, None);
    let mut escaped = false;
    for (position, c) in text.char_indices() {
        match (quote, c) {
            (Some(_), '\\') => {
                escaped = !escaped;
                continue;
            }
            (Some(open), c) if c == open && !escaped => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.push(&text[start..position]);
                start = position + 1;
            }
            (None, _) => {}
        }
        escaped = false;
    }
    parts.push(&text[start..]);
    parts
}

/// Calls `visit` with each object of a query, in order. If no key has the order of the query, the
/// row ids and the values of the order are in memory; otherwise only a batch of objects is.
pub(super) fn for_each(
    (file, session): (&OpenFile, &Session),
    table: &Table,
    query: Query,
    visit: &mut dyn FnMut(&Object) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let snapshot = file.workspace.engine().snapshot()?;
    let mut fetch = session.fetch(Source::Snapshot(&snapshot), table);
    fetch.query = query;
    if !fetch.explain()?.sorts {
        for object in fetch.rows()? {
            visit(&object?)?;
        }
        return Ok(());
    }
    let row_ids = fetch.row_ids()?;
    for row_ids in row_ids.chunks(BATCH) {
        let objects = snapshot.read(table, |snapshot, origin| {
            find_many(snapshot, table, row_ids, &fetch.control, origin)
        })?;
        objects.iter().try_for_each(&mut *visit)?;
    }
    Ok(())
}

/// Writes an object as a line of JSON.
pub(super) fn write_object(
    out: &mut dyn Write,
    table: &Table,
    object: &Object,
) -> Result<(), Failure> {
    let mut line = Vec::new();
    let value = JsonType::of(table).value(object.payload());
    write_json(&mut line, &value).map_err(json_failure)?;
    line.push(b'\n');
    Ok(out.write_all(&line)?)
}

/// The columns of objects of a type that nothing describes.
pub(super) fn bare_columns() -> Vec<(String, Alignment)> {
    vec![
        ("row".to_owned(), Alignment::Right),
        ("bytes".to_owned(), Alignment::Right),
        ("fields".to_owned(), Alignment::Left),
    ]
}

/// The values of these columns.
pub(super) fn bare_cells(object: &Object) -> Vec<Cell> {
    let fields = slots(object.payload()).into_iter();
    let fields: Vec<String> = fields
        .map(|(slot, value)| format!("{slot}: {value}"))
        .collect();
    vec![
        Cell::of(&object.row_id().0),
        Cell::of(&object.payload().len()),
        Cell::Text(fields.join(", ")),
    ]
}

/// The fields of an object of such a type.
pub(super) fn bare_row(object: &Object) -> Vec<(String, Cell)> {
    let row = ("row".to_owned(), Cell::of(&object.row_id().0));
    let slots = slots(object.payload()).into_iter();
    let slots = slots.map(|(slot, value)| (format!("slot {slot}"), Cell::Text(value)));
    std::iter::once(row).chain(slots).collect()
}

#[cfg(test)]
mod tests {
    use super::separated;

    #[test]
    fn lists_are_separated_outside_of_parentheses_and_texts() {
        assert_eq!(separated("a, b"), ["a", " b"]);
        assert_eq!(
            separated("f(a, b), 'x,\\',y', \"\\\\\",c"),
            ["f(a, b)", " 'x,\\',y'", " \"\\\\\"", "c"]
        );
        assert_eq!(separated(""), [""]);
    }
}
