//! Objects as JSON.

use std::fs;
use std::io::Read;
use std::path::Path;

use dflat_model::Table;
use dflat_workspace::JsonType;
use serde::de::DeserializeSeed;
use serde_json::value::RawValue;

use crate::arguments::InputArguments;
use crate::failure::Failure;
use crate::mistake::nearest;
use crate::session::Session;

/// The payloads of all objects that the arguments give.
pub(super) fn payloads(
    arguments: &InputArguments,
    table: &Table,
    session: &Session,
) -> Result<Vec<Vec<u8>>, Failure> {
    let mut found = Vec::new();
    if arguments.objects.is_empty() {
        read(
            &text(arguments.from.as_deref(), session)?,
            table,
            &mut found,
        )?;
    } else {
        for text in &arguments.objects {
            read(text, table, &mut found)?;
        }
    }
    Ok(found)
}

/// The text of a file, or of standard input.
fn text(path: Option<&Path>, session: &Session) -> Result<String, Failure> {
    let path = path.filter(|path| *path != Path::new("-"));
    let read = match path {
        Some(path) => fs::read_to_string(path),
        None => {
            let mut text = String::new();
            let input = session.stdin("pass the objects, or a file with --from")?;
            input.lock().read_to_string(&mut text).map(|_| text)
        }
    };
    read.map_err(|error| {
        let name = path.map_or_else(
            || "standard input".to_owned(),
            |path| path.display().to_string(),
        );
        Failure::file(format!("cannot read {name}: {error}"))
    })
}

/// Adds the payloads of a text: objects one after the other, and arrays of objects.
fn read(text: &str, table: &Table, found: &mut Vec<Vec<u8>>) -> Result<(), Failure> {
    let values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    for value in values {
        let number = found.len() + 1;
        let value = value.map_err(|error| refused(table, number, &error))?;
        if value.get().starts_with('[') {
            let objects: Vec<&RawValue> = serde_json::from_str(value.get())
                .map_err(|error| refused(table, number, &error))?;
            for object in objects {
                let number = found.len() + 1;
                found.push(payload(object, table).map_err(|error| refused(table, number, &error))?);
            }
        } else {
            found.push(payload(value, table).map_err(|error| refused(table, number, &error))?);
        }
    }
    Ok(())
}

fn refused(table: &Table, number: usize, error: &serde_json::Error) -> Failure {
    let mut error = error.to_string();
    if let Some(help) = nearest(table, &error) {
        error.push_str(&format!("\nhelp: {help}"));
    }
    // The place is that in the object, which most texts have on a line of its own.
    Failure::usage(format!("object {number}: {error}"))
}

/// The payload of an object.
pub(super) fn payload(json: &RawValue, table: &Table) -> serde_json::Result<Vec<u8>> {
    let mut reader = serde_json::Deserializer::from_str(json.get());
    JsonType::of(table).deserialize(&mut reader)
}
