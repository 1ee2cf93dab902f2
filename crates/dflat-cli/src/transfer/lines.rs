//! The input as lines or as records of CSV, with their places.

use std::collections::HashMap;
use std::io::{BufRead, Read};

use dflat_model::Table;
use dflat_workspace::JsonType;
use serde::de::DeserializeSeed;
use serde_json::value::RawValue;

use super::comma_separated::CommaSeparated;
use super::line::{LINE_MAX, Line, explained};
use crate::failure::Failure;
use crate::file::Types;

/// The input of an import.
pub(super) enum Input {
    Lines {
        reader: Box<dyn BufRead>,
        /// The type of all lines; otherwise each line names its type.
        table: Option<Table>,
        byte: u64,
        line: u64,
    },
    CommaSeparated(CommaSeparated),
}

impl Input {
    /// The byte and the number of lines up to the place that was read.
    pub(super) fn place(&self) -> (u64, u64) {
        match self {
            Self::Lines { byte, line, .. } => (*byte, *line),
            Self::CommaSeparated(reader) => reader.place(),
        }
    }

    /// The next line that is not empty.
    pub(super) fn next(&mut self, types: &Types) -> Result<Option<Line>, Failure> {
        let (reader, table, byte, line) = match self {
            Self::CommaSeparated(reader) => return reader.next(),
            Self::Lines {
                reader,
                table,
                byte,
                line,
            } => (reader, table, byte, line),
        };
        loop {
            let mut bytes = Vec::new();
            let read = reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut bytes);
            let read =
                read.map_err(|error| Failure::file(format!("cannot read the input: {error}")))?;
            if read == 0 {
                return Ok(None);
            }
            *byte += read as u64;
            *line += 1;
            if read as u64 == LINE_MAX && !bytes.ends_with(b"\n") {
                let most = LINE_MAX >> 20;
                return Err(Failure::usage(format!(
                    "line {line} is too long: at most {most} MiB are allowed"
                )));
            }
            let text = match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => {
                    let text = String::from_utf8_lossy(error.as_bytes());
                    return Ok(Some(Line {
                        number: *line,
                        text: text.trim_end().to_owned(),
                        object: Err("the line is not UTF-8".to_owned()),
                    }));
                }
            };
            // Some programs put a byte order mark before the first line.
            let first = (*line == 1).then(|| text.strip_prefix('\u{feff}'));
            let content = first.flatten().unwrap_or(&text).trim();
            if content.is_empty() {
                continue;
            }
            let object = object(content, table.as_ref(), types);
            return Ok(Some(Line {
                number: *line,
                text: text.trim_end().to_owned(),
                object,
            }));
        }
    }
}

/// The payload of a line.
fn object(text: &str, table: Option<&Table>, types: &Types) -> Result<(Table, Vec<u8>), String> {
    if let Some(table) = table {
        return Ok((table.clone(), payload(text, table)?));
    }
    let named: HashMap<String, &RawValue> =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    let (Some(name), Some(object)) = (named.get("type"), named.get("object")) else {
        return Err("the line has no \"type\" and \"object\"".to_owned());
    };
    let name: String = serde_json::from_str(name.get()).map_err(|error| error.to_string())?;
    let known = types.to_write(&name).map_err(|failure| match failure {
        // The help is the last line.
        Failure::Message { message, .. } => message.replace('\n', "; "),
        Failure::OutputClosed | Failure::Interrupted => format!("the file has no type `{name}`"),
    })?;
    Ok((known.table.clone(), payload(object.get(), &known.table)?))
}

fn payload(text: &str, table: &Table) -> Result<Vec<u8>, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let payload = JsonType::of(table).deserialize(&mut reader);
    let payload = payload.map_err(|error| explained(table, &error))?;
    reader.end().map_err(|error| error.to_string())?;
    Ok(payload)
}
