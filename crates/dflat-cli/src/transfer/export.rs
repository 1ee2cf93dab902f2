//! Objects to JSON lines and CSV.

use std::io::Write;

use dflat_engine::engine::EngineSnapshot;
use dflat_engine::object::Object;
use dflat_model::Table;
use dflat_workspace::{JsonType, Source};
use indicatif::ProgressBar;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::arguments::{ExportArguments, Format, MoveFormat};
use crate::display::write_json;
use crate::failure::{Failure, Found, Outcome};
use crate::object::{columns, row};
use crate::progress;
use crate::record::{RecordWriter, json_failure};
use crate::session::Session;

/// The number of objects between two steps of the progress.
const STEP: u64 = 256;

/// Prints objects.
pub(crate) fn export(arguments: &ExportArguments, session: &Session) -> Outcome {
    let file = session.read(&arguments.file)?;
    let mut tables = Vec::new();
    let chosen = match arguments.types.is_empty() {
        true => file.types.iter().collect(),
        false => file.types.chosen(&arguments.types)?,
    };
    for known in chosen {
        tables.push(file.types.to_write(&known.table.name)?.table.clone());
    }
    let snapshot = file.workspace.engine().snapshot()?;
    let bar = progress::of_objects(|| {
        let counts = tables.iter().map(|table| {
            let fetch = session.fetch(Source::Snapshot(&snapshot), table);
            Ok(fetch.count()? as u64)
        });
        counts.sum()
    })?;
    let mut out = session.out();
    match arguments.format {
        MoveFormat::Csv => {
            let [table] = tables.as_slice() else {
                return Err(Failure::usage("comma-separated values need one type"));
            };
            comma_separated((&snapshot, session), table, &mut out, &bar)?;
        }
        MoveFormat::Jsonl => {
            let is_one = arguments.types.len() == 1;
            for table in &tables {
                lines((&snapshot, session), table, is_one, &mut out, &bar)?;
            }
        }
    }
    out.flush()?;
    bar.finish_and_clear();
    drop(snapshot);
    file.close()?;
    Ok(Found::Yes)
}

/// Calls `visit` with each object of a table.
fn for_each(
    (snapshot, session): (&EngineSnapshot, &Session),
    table: &Table,
    bar: &ProgressBar,
    visit: &mut dyn FnMut(&Object) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let rows = session.fetch(Source::Snapshot(snapshot), table).rows()?;
    for (number, object) in (1_u64..).zip(rows) {
        visit(&object?)?;
        if number % STEP == 0 {
            bar.inc(STEP);
        }
    }
    Ok(())
}

fn lines(
    (snapshot, session): (&EngineSnapshot, &Session),
    table: &Table,
    is_one: bool,
    out: &mut dyn Write,
    bar: &ProgressBar,
) -> Result<(), Failure> {
    let mut line = Vec::new();
    for_each((snapshot, session), table, bar, &mut |object| {
        // JSON is written in small parts, which cost least in memory.
        line.clear();
        let value = JsonType::of(table).value(object.payload());
        let written = match is_one {
            true => write_json(&mut line, &value),
            false => write_json(&mut line, &Typed(&table.type_name, value)),
        };
        written.map_err(json_failure)?;
        line.push(b'\n');
        Ok(out.write_all(&line)?)
    })
}

fn comma_separated(
    (snapshot, session): (&EngineSnapshot, &Session),
    table: &Table,
    out: &mut dyn Write,
    bar: &ProgressBar,
) -> Result<(), Failure> {
    let columns = columns(table);
    let names = columns
        .iter()
        .map(|column| (column.name(), column.alignment()));
    let mut writer = RecordWriter::new(Format::Csv, out, names.collect())?;
    for_each((snapshot, session), table, bar, &mut |object| {
        writer.row(&row(table, object, &columns)?)
    })?;
    writer.end()
}

/// An object and the name of its type.
struct Typed<'a, T>(&'a str, T);

impl<T: Serialize> Serialize for Typed<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("type", self.0)?;
        map.serialize_entry("object", &self.1)?;
        map.end()
    }
}
