//! Objects as rows of values, and keys as texts.

use std::collections::HashMap;

use dflat_condition::suggestion;
use dflat_engine::fetch::KeyParts;
use dflat_engine::object::Object;
use dflat_engine::query::compute;
use dflat_model::{
    Element, EnumLayout, Expression, Field, FieldKind, FieldLayout, ROOT_TYPE, Scalar, Shape,
    Table, TypeDescriptor, TypeId, Value, ValueRef,
};
use dflat_workspace::JsonType;
use serde_json::value::RawValue;

use crate::display::{Alignment, write_json};
use crate::failure::Failure;
use crate::record::Cell;

/// A column of a result.
pub(crate) enum Column {
    /// A field of the root table, and the value of an object without it.
    Field(FieldLayout, Cell),
    /// The type codes of a field that holds a union or a vector of unions.
    Tag(String),
    /// A computed value, with its text.
    Value(Expression, String),
}

impl Column {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Field(field, _) => field.name.to_string(),
            Self::Tag(name) | Self::Value(_, name) => name.clone(),
        }
    }

    /// The value of an object without the field.
    pub(crate) fn absent(&self) -> Cell {
        match self {
            Self::Field(_, absent) => absent.clone(),
            Self::Tag(_) | Self::Value(..) => Cell::Missing,
        }
    }

    /// Numbers stand at the right side.
    pub(crate) fn alignment(&self) -> Alignment {
        let is_number = match self {
            Self::Field(field, _) => matches!(
                field.shape,
                Shape::Single(Element::Scalar(scalar)) if scalar != Scalar::Bool
            ),
            Self::Tag(_) => false,
            Self::Value(Expression::Field(field), _) => field.kind != FieldKind::Text,
            Self::Value(..) => true,
        };
        match is_number {
            true => Alignment::Right,
            false => Alignment::Left,
        }
    }
}

/// The columns of all fields of a type.
pub(crate) fn columns(table: &Table) -> Vec<Column> {
    let fields = root_fields(table).iter();
    let columns = fields.flat_map(|field| {
        let is_union = matches!(
            field.shape,
            Shape::Single(Element::Union(_)) | Shape::Vector(Element::Union(_))
        );
        let tag = is_union.then(|| Column::Tag(format!("{}_type", field.name)));
        tag.into_iter().chain([of_field(table, field)])
    });
    columns.collect()
}

/// The column of a field.
pub(crate) fn of_field(table: &Table, field: &FieldLayout) -> Column {
    let element = match field.shape {
        Shape::Single(element) => element,
        Shape::Vector(_) => return Column::Field(field.clone(), Cell::Missing),
    };
    let absent = cell(table, Some(element), field.default.as_ref());
    Column::Field(field.clone(), absent)
}

/// The fields of the root table.
pub(crate) fn root_fields(table: &Table) -> &[FieldLayout] {
    match table.types.get(usize::from(ROOT_TYPE.0)) {
        Some(TypeDescriptor::Table(layout)) => &layout.fields,
        _ => &[],
    }
}

/// The values of an object.
pub(crate) fn row(
    table: &Table,
    object: &Object,
    columns: &[Column],
) -> Result<Vec<Cell>, Failure> {
    let mut json = Vec::new();
    if columns
        .iter()
        .any(|column| !matches!(column, Column::Value(..)))
    {
        write_json(&mut json, &JsonType::of(table).value(object.payload()))
            .map_err(|error| damaged(table, &error.to_string()))?;
    }
    let fields: HashMap<String, &RawValue> = match json.is_empty() {
        true => HashMap::new(),
        false => {
            serde_json::from_slice(&json).map_err(|error| damaged(table, &error.to_string()))?
        }
    };
    let values = columns.iter().map(|column| match column {
        Column::Field(field, absent) => match fields.get(&*field.name) {
            Some(raw) => of_json(raw),
            None => Ok(absent.clone()),
        },
        Column::Tag(name) => fields
            .get(name.as_str())
            .map_or(Ok(Cell::Missing), |raw| of_json(raw)),
        Column::Value(expression, _) => {
            let value = compute(expression, object.payload())
                .map_err(|_| damaged(table, "a value cannot be read"))?;
            Ok(cell(table, element_of(table, expression), value))
        }
    });
    values.collect()
}

fn damaged(table: &Table, why: &str) -> Failure {
    Failure::file(format!(
        "cannot read an object of {}: {why}",
        table.type_name
    ))
}

/// A JSON value as a cell: texts without quotes.
fn of_json(raw: &RawValue) -> Result<Cell, Failure> {
    Ok(match raw.get().starts_with('"') {
        true => serde_json::from_str(raw.get())
            .map(Cell::Text)
            .map_err(|error| Failure::file(error.to_string()))?,
        false => Cell::Json(raw.to_owned()),
    })
}

/// The type of a computed value, if it is that of a field.
fn element_of(table: &Table, expression: &Expression) -> Option<Element> {
    let Expression::Field(field) = expression else {
        return None;
    };
    match field.is_tag() {
        true => table.element_at(field.steps.split_last()?.1),
        false => table.element_at(&field.steps),
    }
}

/// A value of a type.
fn cell(table: &Table, element: Option<Element>, value: ValueRef<'_>) -> Cell {
    let ty = |id: TypeId| table.types.get(usize::from(id.0));
    match (element, value) {
        (_, ValueRef::Null) => Cell::Missing,
        (_, ValueRef::Text(text)) => Cell::Text(text.to_owned()),
        (Some(Element::Scalar(Scalar::Bool)), ValueRef::Int(value)) => Cell::of(&(value != 0)),
        // The digits that a `float` needs are fewer than those of the same number as a `double`.
        (Some(Element::Scalar(Scalar::F32)), ValueRef::Float(value)) if value.is_finite() => {
            Cell::of(&(value as f32))
        }
        (Some(Element::Enum(id)), value) => match ty(id) {
            Some(TypeDescriptor::Enum(layout)) => named(layout, value),
            _ => number(value),
        },
        (Some(Element::Union(id)), ValueRef::Int(code)) => match ty(id) {
            Some(TypeDescriptor::Union(layout)) => {
                let mut members = layout.members.iter();
                let member = members.find(|member| i64::from(member.code) == code);
                let name = member.map_or("NONE", |member| &member.name);
                Cell::Text(name.to_owned())
            }
            _ => number(value),
        },
        (_, value) => number(value),
    }
}

/// The value of an enum by its name.
fn named(layout: &EnumLayout, value: ValueRef<'_>) -> Cell {
    let mut values = layout.values.iter();
    match values.find(|known| known.value.as_ref() == value) {
        Some(known) => Cell::Text(known.name.to_string()),
        None => number(value),
    }
}

fn number(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Int(value) => Cell::of(&value),
        ValueRef::UInt(value) => Cell::of(&value),
        ValueRef::Float(value) if value.is_finite() => Cell::of(&value),
        ValueRef::Float(value) if value > 0.0 => Cell::Text("inf".to_owned()),
        ValueRef::Float(_) => Cell::Text("-inf".to_owned()),
        ValueRef::Null => Cell::Missing,
        ValueRef::Text(text) => Cell::Text(text.to_owned()),
    }
}

/// The keys of objects: as many values for each as the primary key has fields.
pub(crate) fn keys(table: &Table, given: &[String]) -> Result<Vec<Vec<Value>>, Failure> {
    let parts = table.primary_key.len();
    if parts == 0 || !given.len().is_multiple_of(parts) {
        let names: Vec<&str> = table.primary_key.iter().map(|key| &*key.name).collect();
        return Err(Failure::usage(format!(
            "the primary key of {} has {parts} values: {}",
            table.type_name,
            names.join(", ")
        )));
    }
    let keys = given.chunks(parts).map(|key| {
        let parts = key.iter().zip(table.primary_key.iter());
        parts
            .map(|(text, field)| part(table, field, text))
            .collect()
    });
    keys.collect()
}

/// The keys as the library takes them.
pub(crate) fn parts_of(keys: &[Vec<Value>]) -> Vec<KeyParts<'_>> {
    let parts = keys.iter().map(|key| key.iter().map(Value::as_ref));
    parts.map(Iterator::collect).collect()
}

/// A value of a key, from text: a number, the name of an enum's value, or the text itself.
fn part(table: &Table, field: &Field, text: &str) -> Result<Value, Failure> {
    let FieldKind::Scalar(scalar) = field.kind else {
        return Ok(Value::text(text));
    };
    if let Some(Element::Enum(id)) = table.element_at(&field.steps)
        && let Some(TypeDescriptor::Enum(layout)) = table.types.get(usize::from(id.0))
    {
        if let Some(known) = layout.values.iter().find(|known| known.name == text) {
            return Ok(known.value.clone());
        }
        if text.parse::<i128>().is_err() {
            let names: Vec<&str> = layout.values.iter().map(|known| &*known.name).collect();
            let help = suggestion(text, "its values are", &names);
            let help = help.map_or_else(String::new, |help| format!("\nhelp: {help}"));
            let (name, ty) = (&field.name, &layout.name);
            return Err(Failure::usage(format!(
                "{name}: {ty} has no value `{text}`{help}"
            )));
        }
    }
    let value = match scalar.integer_range() {
        Some(_) if scalar == Scalar::Bool && text == "true" => Some(Value::Int(1)),
        Some(_) if scalar == Scalar::Bool && text == "false" => Some(Value::Int(0)),
        Some((min, max)) => {
            let number = text.parse::<i128>().ok();
            let number = number.filter(|number| (min..=max).contains(number));
            number.map(|number| match i64::try_from(number) {
                Ok(number) => Value::Int(number),
                Err(_) => Value::UInt(u64::try_from(number).unwrap_or(u64::MAX)),
            })
        }
        None => text.parse().ok().map(|number: f64| match scalar {
            Scalar::F32 => Value::Float(f64::from(number as f32)),
            _ => Value::Float(number),
        }),
    };
    value.ok_or_else(|| {
        let (name, ty) = (&field.name, scalar.name());
        Failure::usage(format!("{name}: `{text}` is no {ty}"))
    })
}
