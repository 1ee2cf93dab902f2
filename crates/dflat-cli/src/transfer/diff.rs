//! The differences between two files, object by object.

use std::cmp::Ordering;
use std::io::{BufWriter, Write, stdout};
use std::iter::Peekable;

use dflat_engine::fetch::key_of;
use dflat_engine::object::Object;
use dflat_model::{Direction, Expression, Nulls, Order, Table, Value};
use dflat_workspace::{Fetch, Rows};
use serde_json::json;

use crate::arguments::{DiffArguments, FileArguments, Format};
use crate::display::{Entries, escaped, write_json};
use crate::failure::{Failure, Found, Outcome};
use crate::file::{FileType, OpenFile};
use crate::object::{Column, columns, row};
use crate::record::{Cell, json_failure};

/// Prints the differences.
pub(crate) fn diff(arguments: &DiffArguments) -> Outcome {
    let left = OpenFile::read(&arguments.file)?;
    let right = OpenFile::read(&FileArguments {
        path: arguments.other.clone(),
        schemas: arguments.file.schemas.clone(),
    })?;
    let mut names: Vec<String> = Vec::new();
    for known in chosen(&left, &arguments.types)
        .into_iter()
        .chain(chosen(&right, &arguments.types))
    {
        let name = known.table.name.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() && !arguments.types.is_empty() {
        // Says which types there are.
        left.types.chosen(&arguments.types)?;
    }
    names.sort();
    let mut printer = Printer {
        out: BufWriter::new(stdout().lock()),
        format: arguments.format.get(),
        differences: 0,
    };
    for name in names {
        let known = left.types.get(&name).or_else(|_| right.types.get(&name))?;
        if known.is_bare() {
            let table = &known.table.name;
            return Err(Failure::usage(format!(
                "nothing describes the type of the table {table}\nhelp: pass its schema with --schema"
            )));
        }
        compare((&left, &right), &known.table, &mut printer)?;
    }
    printer.out.flush()?;
    let differs = printer.differences > 0;
    left.close()?;
    right.close()?;
    Ok(match differs {
        true => Found::No,
        false => Found::Yes,
    })
}

/// The types of a file that have one of the names, or all.
fn chosen<'f>(file: &'f OpenFile, names: &[String]) -> Vec<&'f FileType> {
    match names {
        [] => file.types.iter().collect(),
        names => names
            .iter()
            .filter_map(|name| file.types.get(name).ok())
            .collect(),
    }
}

/// The objects of a table in the order of their keys.
fn ordered<'f>(file: &'f OpenFile, table: &Table) -> Result<Peekable<Rows<'f>>, Failure> {
    let mut fetch = Fetch::new(file.source(), table.clone());
    let keys = table.primary_key.iter();
    fetch.query.order = keys
        .map(|key| Order {
            key: Expression::Field(key.clone()),
            direction: Direction::Ascending,
            nulls: Nulls::Smallest,
        })
        .collect();
    Ok(fetch.rows()?.peekable())
}

/// Prints the differences of the objects of a table. Both lists are in the order of the keys, so
/// that only a batch of each is in memory.
fn compare<W: Write>(
    (left, right): (&OpenFile, &OpenFile),
    table: &Table,
    printer: &mut Printer<W>,
) -> Result<(), Failure> {
    let (mut left, mut right) = (ordered(left, table)?, ordered(right, table)?);
    let columns = columns(table);
    loop {
        let order = match (next_key(&mut left, table)?, next_key(&mut right, table)?) {
            (None, None) => return Ok(()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(left), Some(right)) => order_of(&left, &right),
        };
        match order {
            Ordering::Less => {
                if let Some(object) = left.next() {
                    printer.one("removed", table, &object?, &columns)?;
                }
            }
            Ordering::Greater => {
                if let Some(object) = right.next() {
                    printer.one("added", table, &object?, &columns)?;
                }
            }
            Ordering::Equal => {
                if let (Some(before), Some(after)) = (left.next(), right.next()) {
                    let (before, after) = (before?, after?);
                    if before.payload() != after.payload() {
                        printer.changed(table, (&before, &after), &columns)?;
                    }
                }
            }
        }
    }
}

/// The key of the next object.
fn next_key(rows: &mut Peekable<Rows<'_>>, table: &Table) -> Result<Option<Vec<Value>>, Failure> {
    match rows.peek() {
        Some(Ok(object)) => Ok(Some(key_of(table, object)?)),
        Some(Err(error)) => Err(error.clone().into()),
        None => Ok(None),
    }
}

fn order_of(left: &[Value], right: &[Value]) -> Ordering {
    let parts = left.iter().zip(right);
    let mut orders = parts.map(|(left, right)| left.as_ref().order(right.as_ref()));
    orders
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// A value for people.
fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Missing => "no value".to_owned(),
        cell => cell.shown(),
    }
}

/// Prints differences.
struct Printer<W: Write> {
    out: W,
    format: Format,
    differences: u64,
}

impl<W: Write> Printer<W> {
    /// An object that only one of the files has.
    fn one(
        &mut self,
        change: &str,
        table: &Table,
        object: &Object,
        columns: &[Column],
    ) -> Result<(), Failure> {
        let cells = row(table, object, columns)?;
        let cells = columns.iter().map(Column::name).zip(cells);
        let given: Vec<(String, Cell)> = cells
            .filter(|(_, cell)| !matches!(cell, Cell::Missing))
            .collect();
        let fields = given.iter().map(|(name, cell)| {
            let value = match change {
                "added" => json!([null, cell]),
                _ => json!([cell, null]),
            };
            (name.clone(), value)
        });
        let mark = if change == "added" { "+" } else { "-" };
        let fields = fields.collect();
        let lines = given
            .into_iter()
            .map(|(name, cell)| format!("{name}: {}", cell.shown()));
        self.print((change, mark), table, object, (fields, lines.collect()))
    }

    /// An object that differs.
    fn changed(
        &mut self,
        table: &Table,
        (before, after): (&Object, &Object),
        columns: &[Column],
    ) -> Result<(), Failure> {
        let (left, right) = (row(table, before, columns)?, row(table, after, columns)?);
        let mut fields = serde_json::Map::new();
        let mut lines = Vec::new();
        for ((column, left), right) in columns.iter().zip(left).zip(right) {
            if json!(left) != json!(right) {
                let name = column.name();
                lines.push(format!("{name}: {} -> {}", shown(&left), shown(&right)));
                fields.insert(name, json!([left, right]));
            }
        }
        // The same values can have other bytes.
        match fields.is_empty() {
            true => Ok(()),
            false => self.print(("changed", "~"), table, after, (fields, lines)),
        }
    }

    fn print(
        &mut self,
        (change, mark): (&str, &str),
        table: &Table,
        object: &Object,
        (fields, lines): (serde_json::Map<String, serde_json::Value>, Vec<String>),
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
        if self.format == Format::Jsonl {
            let entries = [
                ("change", json!(change)),
                ("type", json!(table.type_name)),
                ("key", json!(key)),
                ("fields", json!(fields)),
            ];
            write_json(&mut self.out, &Entries(&entries)).map_err(|error| json_failure(&error))?;
            return Ok(self.out.write_all(b"\n")?);
        }
        let key = key.join(", ");
        let (name, key) = (escaped(&table.type_name), escaped(&key));
        writeln!(self.out, "{mark} {name} {key}")?;
        for line in lines {
            writeln!(self.out, "    {line}")?;
        }
        Ok(())
    }
}
