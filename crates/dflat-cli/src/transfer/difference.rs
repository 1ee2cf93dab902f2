//! Differences, as text, JSON lines and CSV.

use std::io::Write;

use dflat_engine::fetch::key_of;
use dflat_engine::object::Object;
use dflat_model::{Table, Value};
use serde_json::json;

use crate::arguments::Format;
use crate::display::{Alignment, Entries, escaped, write_json};
use crate::failure::Failure;
use crate::record::{Cell, RecordWriter, json_failure};

/// The fields of an object that differ, with their values in both files.
pub(crate) type Fields = Vec<(String, (Cell, Cell))>;

/// A kind of difference, and its mark for people.
#[derive(Clone, Copy)]
struct Kind(&'static str, &'static str);

/// Prints differences.
pub(crate) struct Printer<W: Write> {
    out: Out<W>,
    differences: u64,
}

enum Out<W: Write> {
    Text(W),
    Jsonl(W),
    Csv(RecordWriter<W>),
}

impl<W: Write> Printer<W> {
    pub(crate) fn new(format: Format, out: W) -> Result<Self, Failure> {
        let out = match format {
            Format::Table => Out::Text(out),
            Format::Jsonl => Out::Jsonl(out),
            Format::Csv => {
                let names = ["change", "type", "key", "field", "before", "after"];
                let columns = names.map(|name| (name.to_owned(), Alignment::Left));
                Out::Csv(RecordWriter::new(format, out, columns.to_vec())?)
            }
        };
        Ok(Self {
            out,
            differences: 0,
        })
    }

    /// An object that only the first file has.
    pub(crate) fn removed(
        &mut self,
        object: (&Table, &Object),
        fields: Vec<(String, Cell)>,
    ) -> Result<(), Failure> {
        let fields = given(fields).map(|(name, cell)| (name, (cell, Cell::Missing)));
        self.print(Kind("removed", "-"), object, &fields.collect::<Fields>())
    }

    /// An object that only the second file has.
    pub(crate) fn added(
        &mut self,
        object: (&Table, &Object),
        fields: Vec<(String, Cell)>,
    ) -> Result<(), Failure> {
        let fields = given(fields).map(|(name, cell)| (name, (Cell::Missing, cell)));
        self.print(Kind("added", "+"), object, &fields.collect::<Fields>())
    }

    /// An object with these other values. Without one, nothing is printed.
    pub(crate) fn changed(
        &mut self,
        object: (&Table, &Object),
        fields: &Fields,
    ) -> Result<(), Failure> {
        match fields.is_empty() {
            true => Ok(()),
            false => self.print(Kind("changed", "~"), object, fields),
        }
    }

    /// Writes the rest, and returns whether there was a difference.
    pub(crate) fn end(self) -> Result<bool, Failure> {
        match self.out {
            Out::Text(mut out) | Out::Jsonl(mut out) => out.flush()?,
            Out::Csv(writer) => writer.end()?,
        }
        Ok(self.differences > 0)
    }

    fn print(
        &mut self,
        Kind(change, mark): Kind,
        (table, object): (&Table, &Object),
        fields: &Fields,
    ) -> Result<(), Failure> {
        self.differences += 1;
        let key = key_of(table, object)?;
        let key: Vec<String> = key
            .iter()
            .map(|part| match part {
                Value::Text(text) => text.to_string(),
                part => part.to_string(),
            })
            .collect();
        match &mut self.out {
            Out::Text(out) => {
                let (name, key) = (escaped(&table.type_name), key.join(", "));
                writeln!(out, "{mark} {name} {}", escaped(&key))?;
                for (name, (before, after)) in fields {
                    let name = escaped(name);
                    match change {
                        "removed" => writeln!(out, "    {name}: {}", before.shown())?,
                        "added" => writeln!(out, "    {name}: {}", after.shown())?,
                        _ => {
                            writeln!(out, "    {name}: {} -> {}", shown(before), shown(after))?;
                        }
                    }
                }
            }
            Out::Jsonl(out) => {
                let fields = fields.iter();
                let fields = fields.map(|(name, (before, after))| {
                    let values = json!([before, after]);
                    (name.clone(), values)
                });
                let fields: serde_json::Map<_, _> = fields.collect();
                let entries = [
                    ("change", json!(change)),
                    ("type", json!(table.type_name)),
                    ("key", json!(key)),
                    ("fields", json!(fields)),
                ];
                write_json(&mut *out, &Entries(&entries)).map_err(json_failure)?;
                out.write_all(b"\n")?;
            }
            Out::Csv(writer) => {
                let key = match key.as_slice() {
                    [key] => Cell::Text(key.clone()),
                    key => Cell::of(key),
                };
                for (name, (before, after)) in fields {
                    writer.row(&[
                        Cell::Text(change.to_owned()),
                        Cell::Text(table.type_name.to_string()),
                        key.clone(),
                        Cell::Text(name.clone()),
                        before.clone(),
                        after.clone(),
                    ])?;
                }
            }
        }
        Ok(())
    }
}

/// The fields that have a value.
fn given(fields: Vec<(String, Cell)>) -> impl Iterator<Item = (String, Cell)> {
    let fields = fields.into_iter();
    fields.filter(|(_, cell)| !matches!(cell, Cell::Missing))
}

/// A value for people.
fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Missing => "no value".to_owned(),
        cell => cell.shown(),
    }
}
