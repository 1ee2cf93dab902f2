//! Records of CSV as objects.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use csv::{ByteRecord, Reader, ReaderBuilder};
use dflat_condition::suggestion;
use dflat_model::{Element, FieldLayout, Shape, Table, TypeDescriptor};
use dflat_workspace::JsonType;
use serde::de::DeserializeSeed;
use serde_json::{Map, Value};

use super::line::{Line, explained};
use super::quotes::{Quotes, Watched};
use crate::failure::Failure;
use crate::object::root_fields;
use crate::record::counted;

/// A column of the input.
enum Column {
    Value(FieldLayout),
    /// The type codes of a field that holds unions, by its name in JSON.
    Tag(String),
}

/// The input as CSV.
pub(super) struct CommaSeparated {
    reader: Reader<Watched>,
    quotes: Quotes,
    table: Table,
    columns: Vec<Column>,
    /// The byte and the line at which the reader began to count.
    start: (u64, u64),
}

impl CommaSeparated {
    /// Reads the names of the columns. Continues a file at a place.
    pub(super) fn open(input: Input, table: Table, place: (u64, u64)) -> Result<Self, Failure> {
        let builder = || {
            let mut builder = ReaderBuilder::new();
            builder.flexible(true).has_headers(false);
            builder
        };
        let mut names = ByteRecord::new();
        let quotes = Quotes::default();
        let (reader, start) = match input {
            Input::Stream(stream) => {
                let mut reader = builder().from_reader(Watched::new(stream, &quotes));
                read(&mut reader, &mut names)?;
                (reader, (0, 0))
            }
            Input::File(mut file) => {
                let failed = |error: std::io::Error| {
                    Failure::file(format!("cannot read the input: {error}"))
                };
                let again = file.try_clone().map_err(failed)?;
                let again = Watched::new(Box::new(again), &Quotes::default());
                let mut reader = builder().from_reader(again);
                read(&mut reader, &mut names)?;
                let first = (reader.position().byte(), reader.position().line() - 1);
                let start = if place.0 == 0 { first } else { place };
                file.seek(SeekFrom::Start(start.0)).map_err(failed)?;
                let file = Watched::new(Box::new(file), &quotes);
                (builder().from_reader(file), start)
            }
        };
        let columns = columns(&names, &table)?;
        Ok(Self {
            reader,
            quotes,
            table,
            columns,
            start,
        })
    }

    pub(super) fn place(&self) -> (u64, u64) {
        let position = self.reader.position();
        let (byte, line) = self.start;
        (byte + position.byte(), line + position.line() - 1)
    }

    pub(super) fn next(&mut self) -> Result<Option<Line>, Failure> {
        let mut record = ByteRecord::new();
        let number = self.place().1 + 1;
        if !read(&mut self.reader, &mut record)? {
            return Ok(None);
        }
        // Empty lines stand before a record.
        let number = record
            .position()
            .map_or(number, |position| self.start.1 + position.line());
        let texts: Result<Vec<&str>, _> = record.iter().map(str::from_utf8).collect();
        let object = match texts {
            // The rest of the input became one value.
            Ok(_) if self.quotes.is_one_open_at_end() => Err("a quote is not closed".to_owned()),
            Ok(texts) => self.object(&texts),
            Err(_) => Err("the line is not UTF-8".to_owned()),
        };
        Ok(Some(Line {
            number,
            text: text_of(&record),
            object: object.map(|payload| (self.table.clone(), payload)),
        }))
    }

    fn object(&self, cells: &[&str]) -> Result<Vec<u8>, String> {
        let (found, expected) = (cells.len(), self.columns.len());
        if found != expected {
            let found = counted(found as u64, "values");
            let message = format!("the line has {found}, and there are {expected} columns");
            return Err(message);
        }
        let mut tags: Vec<(&str, &str)> = Vec::new();
        let mut map = Map::new();
        for (column, cell) in self.columns.iter().zip(cells) {
            if let Column::Tag(name) = column
                && !cell.is_empty()
            {
                tags.push((name, cell));
                let tag = serde_json::from_str(cell).ok().filter(Value::is_array);
                let tag = tag.unwrap_or_else(|| Value::String((*cell).to_owned()));
                map.insert(name.clone(), tag);
            }
        }
        for (column, cell) in self.columns.iter().zip(cells) {
            if let Column::Value(field) = column
                && !cell.is_empty()
            {
                let tag = format!("{}_type", field.name);
                let tag = tags.iter().find(|(name, _)| *name == tag);
                let value = self.value(field, cell, tag.map(|(_, member)| *member));
                let value = value.map_err(|error| format!("{}: {error}", field.name))?;
                map.insert(field.name.to_string(), value);
            }
        }
        let ty = JsonType::of(&self.table);
        let payload = ty.deserialize(Value::Object(map));
        payload.map_err(|error| explained(&self.table, &error))
    }

    /// The value of a cell that is not empty.
    fn value(
        &self,
        field: &FieldLayout,
        cell: &str,
        tag: Option<&str>,
    ) -> serde_json::Result<Value> {
        let is_text = match field.shape {
            Shape::Single(Element::Text) => true,
            Shape::Single(Element::Union(id)) => {
                let ty = self.table.types.get(usize::from(id.0));
                matches!(ty, Some(TypeDescriptor::Union(layout)) if layout.members.iter().any(
                    |member| Some(&*member.name) == tag && member.element == Element::Text
                ))
            }
            Shape::Single(Element::Scalar(_) | Element::Enum(_)) => {
                let parsed = serde_json::from_str(cell).ok();
                let parsed = parsed.filter(|value: &Value| value.is_number() || value.is_boolean());
                return Ok(parsed.unwrap_or_else(|| Value::String(cell.to_owned())));
            }
            _ => false,
        };
        match is_text && !cell.starts_with('"') {
            true => Ok(Value::String(cell.to_owned())),
            false => serde_json::from_str(cell),
        }
    }
}

/// The source of CSV.
pub(super) enum Input {
    Stream(Box<dyn Read>),
    File(File),
}

/// Reads a record. Returns false at the end.
fn read(reader: &mut Reader<Watched>, record: &mut ByteRecord) -> Result<bool, Failure> {
    let read = reader.read_byte_record(record);
    read.map_err(|error| Failure::file(format!("cannot read the input: {error}")))
}

/// A record as a line of CSV.
fn text_of(record: &ByteRecord) -> String {
    let capacity = record.as_slice().len() + 64;
    let mut writer = csv::WriterBuilder::new()
        .buffer_capacity(capacity)
        .from_writer(Vec::new());
    // A vector can always be written.
    let _ = writer.write_byte_record(record);
    let bytes = writer.into_inner().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.strip_suffix('\n').unwrap_or(&text).to_owned()
}

fn columns(names: &ByteRecord, table: &Table) -> Result<Vec<Column>, Failure> {
    let fields = root_fields(table);
    let names: Vec<String> = names
        .iter()
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect();
    let names: Vec<&str> = names
        .iter()
        .map(|name| name.trim_start_matches('\u{feff}'))
        .collect();
    let columns = names.iter().enumerate().map(|(position, &name)| {
        if names[..position].contains(&name) {
            return Err(Failure::usage(format!("the column `{name}` occurs twice")));
        }
        if let Some(field) = fields.iter().find(|field| field.name == name) {
            return Ok(Column::Value(field.clone()));
        }
        let is_tag = name.strip_suffix("_type").is_some_and(|of| {
            fields.iter().any(|field| {
                let shape = field.shape;
                let (Shape::Single(element) | Shape::Vector(element)) = shape;
                field.name == of && matches!(element, Element::Union(_))
            })
        });
        if is_tag {
            return Ok(Column::Tag(name.to_owned()));
        }
        let known: Vec<&str> = fields.iter().map(|field| &*field.name).collect();
        let help = suggestion(name, "its fields are", &known);
        let help = help.map_or_else(String::new, |help| format!("\nhelp: {help}"));
        let ty = &table.type_name;
        Err(Failure::usage(format!(
            "`{ty}` has no field `{name}`{help}"
        )))
    });
    columns.collect()
}
