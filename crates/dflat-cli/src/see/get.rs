//! Objects by their keys.

use std::io::Write;

use super::note_bare;
use super::result::{bare_columns, bare_row, write_object};
use crate::arguments::{Format, GetArguments};
use crate::display::Alignment;
use crate::failure::{Found, Outcome, note};
use crate::object::{Column, columns, keys, parts_of, row};
use crate::record::{Cell, RecordWriter};
use crate::session::Session;

/// Prints objects.
pub(crate) fn get(arguments: &GetArguments, session: &Session) -> Outcome {
    let file = session.read(&arguments.file)?;
    let known = file.types.get(&arguments.type_name)?;
    let table = &known.table;
    let keys = keys(table, &arguments.keys)?;
    let parts = parts_of(&keys);
    let found = file.source().get_many(table, &parts)?;
    let mut outcome = Found::Yes;
    let given = arguments.keys.chunks(table.primary_key.len());
    for (key, _) in given.zip(&found).filter(|(_, object)| object.is_none()) {
        let (name, key) = (&table.type_name, key.join(", "));
        note(&format!("there is no {name} with the key {key}"));
        outcome = Found::No;
    }
    if known.is_bare() {
        note_bare(known);
    }
    let mut out = session.out();
    let format = arguments.format.get();
    let objects: Vec<_> = found.into_iter().flatten().collect();
    let columns = columns(table);
    match format {
        Format::Jsonl if !known.is_bare() => {
            for object in &objects {
                write_object(&mut out, table, object)?;
            }
        }
        // One object is easier to read from above to below.
        Format::Table if objects.len() == 1 => {
            let sides = [
                ("field".to_owned(), Alignment::Left),
                ("value".to_owned(), Alignment::Left),
            ];
            let mut writer = RecordWriter::new(format, &mut out, sides.to_vec())?;
            let fields: Vec<(String, Cell)> = match known.is_bare() {
                true => bare_row(&objects[0]),
                false => {
                    let names = columns.iter().map(Column::name);
                    names.zip(row(table, &objects[0], &columns)?).collect()
                }
            };
            for (name, value) in fields {
                writer.row(&[Cell::Text(name), value])?;
            }
            writer.end()?;
        }
        format => {
            let sides = match known.is_bare() {
                true => bare_columns(),
                false => columns
                    .iter()
                    .map(|column| (column.name(), column.alignment()))
                    .collect(),
            };
            let mut writer = RecordWriter::new(format, &mut out, sides)?;
            for object in &objects {
                match known.is_bare() {
                    true => writer.row(&super::result::bare_cells(object))?,
                    false => writer.row(&row(table, object, &columns)?)?,
                }
            }
            writer.end()?;
        }
    }
    out.flush()?;
    file.close()?;
    Ok(outcome)
}
