//! Objects that meet a condition, and their number.

use std::io::Write;

use super::note_bare;
use super::result::{bare_cells, bare_columns, for_each, query_of, selected, write_object};
use crate::arguments::{CountArguments, Format, QueryArguments};
use crate::display::Alignment;
use crate::failure::{Found, Outcome};
use crate::object::{columns, row};
use crate::record::{Cell, RecordWriter};
use crate::session::Session;

/// Prints the objects of a query.
pub(crate) fn query(arguments: &QueryArguments, session: &Session) -> Outcome {
    let file = session.read(&arguments.condition.file)?;
    let known = file.types.get(&arguments.condition.type_name)?;
    let table = &known.table;
    let query = query_of(known, &arguments.condition, Some(&arguments.window))?;
    let selection = arguments.select.as_deref();
    let selection = selection.map(|text| selected(table, text)).transpose()?;
    let format = arguments.format.get();
    let mut out = session.out();
    let mut found = 0_u64;
    match (format, selection) {
        (_, None) if known.is_bare() => {
            note_bare(known);
            let mut writer = RecordWriter::new(format, &mut out, bare_columns())?;
            for_each((&file, session), table, query, &mut |object| {
                found += 1;
                writer.row(&bare_cells(object))
            })?;
            writer.end()?;
        }
        (Format::Jsonl, None) => for_each((&file, session), table, query, &mut |object| {
            found += 1;
            write_object(&mut out, table, object)
        })?,
        (format, selection) => {
            let columns = selection.unwrap_or_else(|| columns(table));
            let names = columns
                .iter()
                .map(|column| (column.name(), column.alignment()));
            let mut writer = RecordWriter::new(format, &mut out, names.collect())?;
            for_each((&file, session), table, query, &mut |object| {
                found += 1;
                writer.row(&row(table, object, &columns)?)
            })?;
            writer.end()?;
        }
    }
    out.flush()?;
    file.close()?;
    Ok(match arguments.exit_status && found == 0 {
        true => Found::No,
        false => Found::Yes,
    })
}

/// Prints the number of objects of a query.
pub(crate) fn count(arguments: &CountArguments, session: &Session) -> Outcome {
    let file = session.read(&arguments.condition.file)?;
    let known = file.types.get(&arguments.condition.type_name)?;
    let mut fetch = session.fetch(file.source(), &known.table);
    fetch.query = query_of(known, &arguments.condition, None)?;
    let count = fetch.count()?;
    let mut out = session.out();
    match arguments.format.get() {
        Format::Table => writeln!(out, "{count}")?,
        format => {
            let columns = vec![("count".to_owned(), Alignment::Right)];
            let mut writer = RecordWriter::new(format, &mut out, columns)?;
            writer.row(&[Cell::of(&count)])?;
            writer.end()?;
        }
    }
    out.flush()?;
    file.close()?;
    Ok(Found::Yes)
}
