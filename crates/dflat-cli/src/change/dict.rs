//! The dictionary: small values by key.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::mpsc::sync_channel;

use dflat_condition::suggestion;
use dflat_engine::dictionary::{Dictionary, Event, Pattern, TABLE, Value};
use serde_json::json;

use super::{perform, report};
use crate::arguments::{
    DictArguments, DictCommand, DictPlace, FileArguments, Format, FormatArguments, WriteArguments,
};
use crate::confirm::confirm;
use crate::display::{Alignment, write_json};
use crate::failure::{Failure, Found, Outcome, note};
use crate::file::OpenFile;
use crate::record::{Cell, RecordWriter, json_failure};
use crate::session::Session;

/// Carries out a command on the dictionary.
pub(crate) fn dict(arguments: &DictArguments, session: &Session) -> Outcome {
    match &arguments.command {
        DictCommand::Get {
            place,
            keys,
            format,
        } => get((place, session), keys, format.get()),
        DictCommand::Set {
            place,
            key,
            value,
            write,
        } => set(place, key, value, write),
        DictCommand::Remove {
            place,
            keys,
            yes,
            write,
        } => remove((place, session), keys, *yes, write),
        DictCommand::Watch {
            place,
            key,
            prefix,
            deliveries,
            format,
        } => {
            let pattern = match prefix {
                true => Pattern::Prefix(key.as_str().into()),
                false => Pattern::Key(key.as_str().into()),
            };
            watch((place, session), pattern, *deliveries, format)
        }
        DictCommand::Keys {
            place,
            prefix,
            format,
        } => {
            let file = session.read(&file_of(place))?;
            let columns = ["key", "kind", "value"];
            let columns = columns.map(|name| (name.to_owned(), Alignment::Left));
            let mut writer = RecordWriter::new(format.get(), session.out(), columns.to_vec())?;
            for (key, value) in space(&file, place).entries(prefix)? {
                writer.row(&[
                    Cell::Text(key.to_string()),
                    Cell::Text(kind(&value).to_owned()),
                    cell(&value),
                ])?;
            }
            writer.end()?;
            file.close()?;
            Ok(Found::Yes)
        }
    }
}

fn watch(
    (place, session): (&DictPlace, &Session),
    pattern: Pattern,
    mut left: Option<u64>,
    format: &FormatArguments,
) -> Outcome {
    let file = OpenFile::follow(&file_of(place))?;
    let (sender, events) = sync_channel(1);
    let function = move |event: Event| {
        // The receiver is gone when the command ends.
        let _ = sender.send(event);
    };
    let subscription = space(&file, place).subscribe(pattern, Box::new(function))?;
    let columns = ["key", "value"].map(|name| (name.to_owned(), Alignment::Left));
    let mut writer = RecordWriter::new(format.get(), session.stream(), columns.to_vec())?;
    while left != Some(0) {
        let Some(event) = session.next(&events) else {
            break;
        };
        let value = event.value.as_ref().map_or(Cell::Missing, cell);
        writer.row(&[Cell::Text(event.key.to_string()), value])?;
        writer.flush()?;
        left = left.map(|left| left - 1);
    }
    writer.end()?;
    // Order: a callback that waits for the receiver would make the cancellation wait.
    drop(events);
    subscription.cancel();
    drop(subscription);
    file.close()?;
    Ok(Found::Yes)
}

fn file_of(place: &DictPlace) -> FileArguments {
    FileArguments {
        on: place.on.clone(),
        ..FileArguments::of(place.path.clone())
    }
}

fn space(file: &OpenFile, place: &DictPlace) -> Dictionary {
    let dictionary = file.workspace.dictionary();
    match place.space.as_str() {
        "" => (**dictionary).clone(),
        name => dictionary.namespace(name),
    }
}

fn get((place, session): (&DictPlace, &Session), keys: &[String], format: Format) -> Outcome {
    let file = session.read(&file_of(place))?;
    let space = space(&file, place);
    let mut found = Vec::new();
    for key in keys {
        match space.get(key)? {
            Some(value) => found.push((key, cell(&value))),
            None => note_missing(&space, key)?,
        }
    }
    let mut out = session.out();
    if format == Format::Table {
        for (_, value) in &found {
            write_json(&mut out, value).map_err(json_failure)?;
            writeln!(out)?;
        }
    } else {
        let columns = ["key", "value"].map(|name| (name.to_owned(), Alignment::Left));
        let mut writer = RecordWriter::new(format, &mut out, columns.to_vec())?;
        for (key, value) in &found {
            writer.row(&[Cell::Text((*key).clone()), value.clone()])?;
        }
        writer.end()?;
    }
    out.flush()?;
    file.close()?;
    Ok(match found.len() == keys.len() {
        true => Found::Yes,
        false => Found::No,
    })
}

/// Says that a key is missing, and which key is the nearest.
fn note_missing(space: &Dictionary, key: &str) -> Result<(), Failure> {
    let entries = space.entries("")?;
    let names: Vec<&str> = entries.keys().map(|name| &**name).collect();
    let help = suggestion(key, "the keys are", &names);
    let help = help.map_or_else(String::new, |help| format!("; {help}"));
    note(&format!("the dictionary has no key {key}{help}"));
    Ok(())
}

fn set(place: &DictPlace, key: &str, text: &str, write: &WriteArguments) -> Outcome {
    let file = OpenFile::write(&file_of(place), write.dry_run)?;
    let space = space(&file, place);
    let value = value(text);
    perform(&file.workspace, &TABLE, |context| {
        context.keys(&space).set(key, Some(&value))
    })?;
    file.close()?;
    report(write, &[("set", 1)])?;
    Ok(Found::Yes)
}

fn remove(
    (place, session): (&DictPlace, &Session),
    keys: &[String],
    yes: bool,
    write: &WriteArguments,
) -> Outcome {
    let file = OpenFile::write_existing(&file_of(place), write.dry_run)?;
    let space = space(&file, place);
    let mut known = Vec::new();
    for key in keys {
        match space.get(key)? {
            Some(_) => known.push(key),
            None => note_missing(&space, key)?,
        }
    }
    let noun = if known.len() == 1 { "key" } else { "keys" };
    let question = format!("remove {} {noun} of the dictionary?", known.len());
    let mut removed = 0;
    if !known.is_empty() && confirm(session, &question, yes || write.dry_run)? {
        perform(&file.workspace, &TABLE, |context| {
            let inside = context.keys(&space);
            known.iter().try_for_each(|key| inside.set(key, None))
        })?;
        removed = known.len() as u64;
    }
    let found = match known.len() == keys.len() {
        true => Found::Yes,
        false => Found::No,
    };
    file.close()?;
    report(write, &[("removed", removed)])?;
    Ok(found)
}

/// The value of a text: `true` and `false`, a number, or a text, with or without quotes.
fn value(text: &str) -> Value {
    use serde_json::Value as Json;
    match serde_json::from_str(text) {
        Ok(Json::Bool(value)) => Value::Bool(value),
        Ok(Json::String(text)) => Value::Text(text.into()),
        Ok(Json::Number(number)) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), ..) => Value::I64(number),
            (_, Some(number), _) => Value::U64(number),
            (_, _, Some(number)) => Value::F64(number),
            _ => Value::Text(text.into()),
        },
        _ => Value::Text(text.into()),
    }
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::I64(_) => "long",
        Value::U64(_) => "ulong",
        Value::F32(_) => "float",
        Value::F64(_) => "double",
        Value::Text(_) => "text",
        Value::Codable(_) => "bytes",
        Value::FlatBuffers { .. } => "FlatBuffers",
    }
}

fn cell(value: &Value) -> Cell {
    let number = |number: f64| match number.is_finite() {
        true => Cell::of(&number),
        false => Cell::Text(number.to_string()),
    };
    match value {
        Value::Bool(value) => Cell::of(value),
        Value::I64(value) => Cell::of(value),
        Value::U64(value) => Cell::of(value),
        Value::F32(value) if value.is_finite() => Cell::of(value),
        Value::F32(value) => number((*value).into()),
        Value::F64(value) => number(*value),
        Value::Text(text) => Cell::Text(text.to_string()),
        Value::Codable(bytes) => Cell::of(&json!({"hex": hexadecimal(bytes)})),
        Value::FlatBuffers { bytes, .. } => Cell::of(&json!({"hex": hexadecimal(bytes)})),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}
