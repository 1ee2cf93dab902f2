//! The differences between two files, object by object.

use std::cmp::Ordering;
use std::io::Write;
use std::iter::Peekable;

use dflat_engine::fetch::key_of;
use dflat_engine::object::Object;
use dflat_model::{Direction, Expression, Nulls, Order, Table, Value};
use dflat_workspace::{Fetch, Rows};
use serde_json::json;

use super::difference::{Fields, Printer};
use crate::arguments::{DiffArguments, FileArguments};
use crate::failure::{Failure, Found, Outcome};
use crate::file::{FileType, OpenFile};
use crate::object::{Column, columns, row};
use crate::record::Cell;
use crate::session::Session;

/// Prints the differences.
pub(crate) fn diff(arguments: &DiffArguments, session: &Session) -> Outcome {
    let left = session.read(&arguments.file)?;
    let right = OpenFile::read(&FileArguments {
        path: arguments.other.clone().unwrap_or_default(),
        schemas: arguments.file.schemas.clone(),
        on: None,
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
    let out = session.out();
    let mut printer = Printer::new(arguments.format.get(), out)?;
    for name in names {
        let (left_table, right_table) = tables(&left, &right, &name)?;
        let sides = sides((&left, left_table), (&right, right_table))?;
        compare(&sides, session, &mut printer)?;
    }
    let differs = printer.end()?;
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

/// The descriptions of a table in both files. If only one of them describes it, the description is
/// that of both.
fn tables<'f>(
    left: &'f OpenFile,
    right: &'f OpenFile,
    name: &str,
) -> Result<(&'f Table, &'f Table), Failure> {
    let described = |file: &'f OpenFile| {
        let known = file.types.iter().find(|known| known.table.name == name);
        known.filter(|known| !known.is_bare())
    };
    let (left, right) = match (described(left), described(right)) {
        (Some(left), Some(right)) => (&left.table, &right.table),
        (Some(known), None) | (None, Some(known)) => (&known.table, &known.table),
        (None, None) => {
            return Err(Failure::usage(format!(
                "nothing describes the type of the table {name}\nhelp: pass its schema with --schema"
            )));
        }
    };
    let keys = |table: &Table| -> Vec<_> {
        let keys = table.primary_key.iter();
        keys.map(|key| (key.name.to_string(), key.kind)).collect()
    };
    match keys(left) == keys(right) {
        true => Ok((left, right)),
        false => Err(Failure::usage(format!(
            "cannot compare {name}: the files have different primary keys of it"
        ))),
    }
}

/// One of the files, as the owner of the objects of a table.
struct Side<'f> {
    file: &'f OpenFile,
    table: &'f Table,
    columns: Vec<Column>,
    /// The places of all columns of both sides among those of this side, or else the value that
    /// stands for the absent field.
    places: Vec<Result<usize, Cell>>,
}

impl Side<'_> {
    /// The values of an object in all columns of both sides.
    fn cells(&self, object: &Object) -> Result<Vec<Cell>, Failure> {
        let own = row(self.table, object, &self.columns)?;
        let cells = self.places.iter().map(|place| match place {
            Ok(place) => own.get(*place).cloned().unwrap_or(Cell::Missing),
            Err(absent) => absent.clone(),
        });
        Ok(cells.collect())
    }

    /// The names and the values of an object that has no counterpart.
    fn fields(&self, object: &Object) -> Result<Vec<(String, Cell)>, Failure> {
        let cells = row(self.table, object, &self.columns)?;
        Ok(self.columns.iter().map(Column::name).zip(cells).collect())
    }

    /// The objects in the order of their keys.
    fn objects(&self) -> Result<Peekable<Rows<'_>>, Failure> {
        let mut fetch = Fetch::new(self.file.source(), self.table.clone());
        let keys = self.table.primary_key.iter();
        fetch.query.order = keys
            .map(|key| Order {
                key: Expression::Field(key.clone()),
                direction: Direction::Ascending,
                nulls: Nulls::Smallest,
            })
            .collect();
        Ok(fetch.rows()?.peekable())
    }
}

/// Both files, and the columns of both.
struct Sides<'f> {
    left: Side<'f>,
    right: Side<'f>,
    names: Vec<String>,
    /// Whether both describe the type in the same way, so that equal bytes are equal objects.
    alike: bool,
}

fn sides<'f>(
    (left, left_table): (&'f OpenFile, &'f Table),
    (right, right_table): (&'f OpenFile, &'f Table),
) -> Result<Sides<'f>, Failure> {
    let (of_left, of_right) = (columns(left_table), columns(right_table));
    let mut names: Vec<String> = of_left.iter().map(Column::name).collect();
    for column in &of_right {
        if !names.contains(&column.name()) {
            names.push(column.name());
        }
    }
    let places = |own: &[Column], other: &[Column]| -> Vec<Result<usize, Cell>> {
        let place = |name: &String| {
            let at = |columns: &[Column]| columns.iter().position(|column| column.name() == *name);
            let absent = || at(other).map_or(Cell::Missing, |place| other[place].absent());
            at(own).ok_or_else(absent)
        };
        names.iter().map(place).collect()
    };
    let left_places = places(&of_left, &of_right);
    let right_places = places(&of_right, &of_left);
    Ok(Sides {
        alike: left_table.types == right_table.types,
        left: Side {
            file: left,
            table: left_table,
            columns: of_left,
            places: left_places,
        },
        right: Side {
            file: right,
            table: right_table,
            columns: of_right,
            places: right_places,
        },
        names,
    })
}

/// Prints the differences of the objects of a table. Both lists are in the order of the keys, so
/// that only a batch of each is in memory.
fn compare<W: Write>(
    sides: &Sides<'_>,
    session: &Session,
    printer: &mut Printer<W>,
) -> Result<(), Failure> {
    let table = sides.left.table;
    let (mut left, mut right) = (sides.left.objects()?, sides.right.objects()?);
    loop {
        session.check()?;
        let order = match (
            next_key(&mut left, table)?,
            next_key(&mut right, sides.right.table)?,
        ) {
            (None, None) => return Ok(()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(left), Some(right)) => order_of(&left, &right),
        };
        match order {
            Ordering::Less => {
                if let Some(object) = left.next().transpose()? {
                    printer.removed((table, &object), sides.left.fields(&object)?)?;
                }
            }
            Ordering::Greater => {
                if let Some(object) = right.next().transpose()? {
                    let fields = sides.right.fields(&object)?;
                    printer.added((sides.right.table, &object), fields)?;
                }
            }
            Ordering::Equal => {
                if let (Some(before), Some(after)) = (left.next(), right.next()) {
                    let (before, after) = (before?, after?);
                    if !sides.alike || before.payload() != after.payload() {
                        changed(sides, (&before, &after), printer)?;
                    }
                }
            }
        }
    }
}

/// Prints the fields in which two objects differ. The same values can have other bytes.
fn changed<W: Write>(
    sides: &Sides<'_>,
    (before, after): (&Object, &Object),
    printer: &mut Printer<W>,
) -> Result<(), Failure> {
    let (left, right) = (sides.left.cells(before)?, sides.right.cells(after)?);
    let fields = sides.names.iter().zip(left.into_iter().zip(right));
    let fields = fields
        .filter(|(_, (left, right))| without_empty(json!(left)) != without_empty(json!(right)))
        .map(|(name, values)| (name.clone(), values));
    printer.changed((sides.right.table, after), &fields.collect::<Fields>())
}

/// A value without the empty vectors in it: an absent vector equals an empty one.
fn without_empty(value: serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Array(members) if members.is_empty() => serde_json::Value::Null,
        serde_json::Value::Array(members) => members.into_iter().map(without_empty).collect(),
        serde_json::Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, without_empty(value)))
            .filter(|(_, value)| !value.is_null())
            .collect(),
        value => value,
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
