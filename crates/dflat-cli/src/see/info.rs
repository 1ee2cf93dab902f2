//! The summary of a file.

use std::fs;
use std::io::Write;

use dflat_engine::dictionary;
use dflat_engine::storage::{IndexState, View};
use dflat_model::IndexDescriptor;
use serde_json::{Value, json};

use super::measure::Sizes;
use super::note_types;
use crate::arguments::{Format, InfoArguments, TypesArguments};
use crate::display::{Alignment, Entries, bytes, escaped, time, write_json};
use crate::failure::{Failure, Found, Outcome};
use crate::file::{FileType, OpenFile, Origin};
use crate::record::{Cell, RecordWriter, json_failure};
use crate::session::Session;

/// Prints the summary of a file.
pub(crate) fn info(arguments: &InfoArguments, session: &Session) -> Outcome {
    let file = session.read(&arguments.file)?;
    note_types(&file.types);
    let mut out = session.out();
    match arguments.format.get() {
        Format::Jsonl => {
            let entries = summary(&file, session)?;
            write_json(&mut out, &Entries(&entries)).map_err(json_failure)?;
            writeln!(out)?;
        }
        Format::Table => {
            print_file(&file, &mut out)?;
            let types: Vec<&FileType> = file.types.iter().collect();
            if !types.is_empty() {
                writeln!(out)?;
                print_types((&file, session), Format::Table, &mut out)?;
                print_indexes(&file, &mut out)?;
            }
        }
        Format::Csv => print_types((&file, session), Format::Csv, &mut out)?,
    }
    out.flush()?;
    file.close()?;
    Ok(Found::Yes)
}

/// Prints the types of a file.
pub(crate) fn types(arguments: &TypesArguments, session: &Session) -> Outcome {
    let file = session.read(&arguments.file)?;
    note_types(&file.types);
    let mut out = session.out();
    print_types((&file, session), arguments.format.get(), &mut out)?;
    out.flush()?;
    file.close()?;
    Ok(Found::Yes)
}

/// The bytes of the write-ahead log, and the time of the last change.
fn log_and_change(file: &OpenFile) -> (u64, Option<String>) {
    let of_file = fs::metadata(&file.path).ok();
    let of_log = fs::metadata(file.log_path()).ok();
    let log_bytes = of_log.as_ref().map_or(0, fs::Metadata::len);
    // An empty log may be made by a reader.
    let of_log = of_log.filter(|log| log.len() > 0);
    let changes = [of_file, of_log].into_iter().flatten();
    let last = changes.filter_map(|found| found.modified().ok()).max();
    (log_bytes, last.map(time))
}

fn dictionary_keys(file: &OpenFile) -> Result<usize, Failure> {
    let fetch = dflat_workspace::Fetch::new(file.source(), dictionary::TABLE);
    Ok(fetch.count()?)
}

fn shown_keys(file: &OpenFile) -> Result<String, Failure> {
    Ok(match dictionary_keys(file)? {
        1 => "1 key".to_owned(),
        keys => format!("{keys} keys"),
    })
}

fn print_file(file: &OpenFile, out: &mut dyn Write) -> Result<(), Failure> {
    let lines = match (&file.pack, &file.server) {
        (_, Some(server)) => vec![
            ("server", file.shown()),
            ("size", bytes(server.size_bytes()?)),
            ("dictionary", shown_keys(file)?),
        ],
        (Some(pack), _) => vec![
            ("pack", file.shown()),
            ("digest", pack.digest().to_string()),
            ("size", bytes(pack.size_bytes())),
        ],
        (None, None) => lines_of_file(file)?,
    };
    for (name, value) in lines {
        writeln!(out, "{name:<16} {}", escaped(&value))?;
    }
    Ok(())
}

/// The names and values of a file that is neither a pack nor a server.
fn lines_of_file(file: &OpenFile) -> Result<Vec<(&'static str, String)>, Failure> {
    let pages = file.workspace.pages()?;
    let (log_bytes, change) = log_and_change(file);
    let size = pages.page_bytes * pages.pages;
    let log = match log_bytes {
        0 => "none".to_owned(),
        length => bytes(length),
    };
    let free = match pages.free_pages {
        0 => "none".to_owned(),
        free => format!("{}, {free} pages", bytes(free * pages.page_bytes)),
    };
    Ok(vec![
        ("file", file.shown()),
        (
            "size",
            format!(
                "{}, {} pages of {}",
                bytes(size),
                pages.pages,
                bytes(pages.page_bytes)
            ),
        ),
        ("unused space", free),
        ("write-ahead log", log),
        (
            "last change",
            change.unwrap_or_else(|| "unknown".to_owned()),
        ),
        ("dictionary", shown_keys(file)?),
    ])
}

fn print_types(
    (file, session): (&OpenFile, &Session),
    format: Format,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let columns = [
        ("type", Alignment::Left),
        ("table", Alignment::Left),
        ("key", Alignment::Left),
        ("objects", Alignment::Right),
        ("bytes", Alignment::Right),
        ("described by", Alignment::Left),
    ];
    let columns = columns.map(|(name, side)| (name.to_owned(), side));
    let mut writer = RecordWriter::new(format, out, columns.to_vec())?;
    for known in file.types.iter() {
        let table = &known.table;
        let sizes = Sizes::of((file, session), table)?;
        let keys: Vec<&str> = table.primary_key.iter().map(|key| &*key.name).collect();
        writer.row(&[
            Cell::Text(table.type_name.to_string()),
            Cell::Text(table.name.to_string()),
            Cell::Text(keys.join(", ")),
            Cell::of(&sizes.objects),
            Cell::of(&sizes.bytes),
            Cell::Text(origin(known)),
        ])?;
    }
    writer.end()
}

fn origin(known: &FileType) -> String {
    match &known.origin {
        Origin::File => "the file".to_owned(),
        Origin::Pack => "the pack".to_owned(),
        Origin::Server => "the server".to_owned(),
        Origin::Schema(path) => path.display().to_string(),
        Origin::Nothing => "nothing".to_owned(),
        Origin::Unusable(_) => "nothing that can be used".to_owned(),
    }
}

fn print_indexes(file: &OpenFile, out: &mut dyn Write) -> Result<(), Failure> {
    let columns = ["index", "type", "unique", "state"];
    let columns = columns.map(|name| (name.to_owned(), Alignment::Left));
    let mut rows = Vec::new();
    for known in file.types.iter() {
        for (index, state) in indexes(file, known)? {
            let unique = if index.unique { "unique" } else { "" };
            rows.push([
                Cell::Text(index.to_string()),
                Cell::Text(known.table.type_name.to_string()),
                Cell::Text(unique.to_owned()),
                Cell::Text(state),
            ]);
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let mut writer = RecordWriter::new(Format::Table, out, columns.to_vec())?;
    for row in rows {
        writer.row(&row)?;
    }
    writer.end()
}

/// The indexes of a type, and the state of each.
fn indexes<'f>(
    file: &OpenFile,
    known: &'f FileType,
) -> Result<Vec<(&'f IndexDescriptor, String)>, Failure> {
    let table = &known.table;
    if table.indexes.is_empty() {
        return Ok(Vec::new());
    }
    let found = file
        .source()
        .read(table, View::Pinned, |snapshot, _| snapshot.indexes(table))?;
    let foreign = match found.foreign.len() {
        0 => String::new(),
        1 => ", 1 row of another program is not in it".to_owned(),
        rows => format!(", {rows} rows of another program are not in it"),
    };
    let states = found.states.iter().map(|state| match state {
        IndexState::Ready => format!("ready{foreign}"),
        IndexState::Incomplete(_) => "incomplete: the next write continues to build it".to_owned(),
        IndexState::Missing => "missing: the next write begins to build it".to_owned(),
    });
    Ok(table.indexes.iter().zip(states).collect())
}

/// The summary as JSON.
fn summary(file: &OpenFile, session: &Session) -> Result<Vec<(&'static str, Value)>, Failure> {
    let mut types = Vec::new();
    for known in file.types.iter() {
        let sizes = Sizes::of((file, session), &known.table)?;
        let indexes = indexes(file, known)?.into_iter().map(|(index, state)| {
            json!({"index": index.to_string(), "unique": index.unique, "state": state})
        });
        let indexes: Vec<Value> = indexes.collect();
        types.push(json!({
            "type": known.table.type_name,
            "table": known.table.name,
            "objects": sizes.objects,
            "bytes": sizes.bytes,
            "described_by": origin(known),
            "indexes": indexes,
        }));
    }
    if let Some(pack) = &file.pack {
        return Ok(vec![
            ("pack", json!(file.shown())),
            ("digest", json!(pack.digest().to_string())),
            ("bytes", json!(pack.size_bytes())),
            ("types", Value::Array(types)),
        ]);
    }
    if let Some(server) = &file.server {
        return Ok(vec![
            ("server", json!(file.shown())),
            ("bytes", json!(server.size_bytes()?)),
            ("dictionary_keys", json!(dictionary_keys(file)?)),
            ("types", Value::Array(types)),
        ]);
    }
    let pages = file.workspace.pages()?;
    let (log_bytes, change) = log_and_change(file);
    Ok(vec![
        ("file", json!(file.shown())),
        ("bytes", json!(pages.page_bytes * pages.pages)),
        ("page_bytes", json!(pages.page_bytes)),
        ("unused_bytes", json!(pages.page_bytes * pages.free_pages)),
        ("log_bytes", json!(log_bytes)),
        ("last_change", json!(change)),
        ("dictionary_keys", json!(dictionary_keys(file)?)),
        ("types", Value::Array(types)),
    ])
}
