//! Queries and aggregates by conditions and fields as text.

use dflat_condition::{ConditionError, Parameters, fields, orders, predicate};
use dflat_engine::{Error, Result};
use dflat_model::{Direction, Expression, Query, Table, Value};
use dflat_workspace::domain_of;

use super::fetch::{RawSource, fetch};
use super::query::QueryHandle;
use super::value::{GivenValue, RawParameter, RawValue};
use crate::boundary::{In, List, Out, OutHandle, Text, export, invalid};
use crate::buffer::BufferHandle;
use crate::number;
use crate::table::TableHandle;

/// The error of a text: one line, with the column and the nearest name.
fn unreadable(what: &str, table: &Table, error: &ConditionError) -> Error {
    let name = &table.type_name;
    invalid(format!("cannot read {what} of {name}: {error}"))
}

/// The values of `?1`, `?2` and so on.
fn parameters(values: &[RawValue<'_>]) -> Result<Parameters> {
    let mut parameters = Parameters::new();
    for (value, number) in values.iter().zip(1_usize..) {
        parameters.set(number, value.get()?.to_value());
    }
    Ok(parameters)
}

/// The values of numbered and named placeholders.
fn named_parameters(given: &[RawParameter<'_>]) -> Result<Parameters> {
    let mut parameters = Parameters::new();
    for (parameter, number) in given.iter().zip(1_usize..) {
        match parameter.name()? {
            "" => parameters.set(number, parameter.get()?),
            name => parameters.set(name, parameter.get()?),
        }
    }
    Ok(parameters)
}

fn parse(table: &Table, condition: &str, order: &str, parameters: &Parameters) -> Result<Query> {
    let whole = condition.trim().is_empty();
    let predicate = (!whole).then(|| predicate(condition, table, parameters));
    let predicate = predicate.transpose();
    let order = orders(order, table, parameters);
    Ok(Query {
        predicate: predicate.map_err(|error| unreadable("a condition", table, &error))?,
        order: order.map_err(|error| unreadable("an order", table, &error))?,
        ..Query::default()
    })
}

/// The only expression of a text.
fn one_field(table: &Table, text: &str) -> Result<Expression> {
    let read = fields(text, table, &Parameters::new());
    let mut read = read.map_err(|error| unreadable("a field", table, &error))?;
    match (read.pop(), read.is_empty()) {
        (Some(expression), true) => Ok(expression),
        _ => Err(invalid(format!("field: {text:?} is not one field"))),
    }
}

fn aggregate(
    source: RawSource<'_>,
    query: In<'_, QueryHandle>,
    aggregate: i32,
    field: &str,
) -> Result<Value> {
    let fetch = fetch(source, query)?;
    let expression = one_field(&fetch.table, field)?;
    let domain = || {
        let name = &fetch.table.type_name;
        let verb = if aggregate == number::MEAN {
            "average"
        } else {
            "sum"
        };
        let error = || {
            invalid(format!(
                "cannot {verb} {field} of {name}: it has no numbers"
            ))
        };
        domain_of(&expression).ok_or_else(error)
    };
    match aggregate {
        number::SUM => fetch.sum(&expression, domain()?),
        number::MEAN => fetch.mean(&expression, domain()?),
        number::SMALLEST | number::LARGEST => {
            let direction = match aggregate {
                number::SMALLEST => Direction::Ascending,
                _ => Direction::Descending,
            };
            let extreme = fetch.extreme(&expression, direction)?;
            Ok(extreme.unwrap_or(Value::Null))
        }
        _ => Err(invalid(format!("aggregate: {aggregate} is no aggregate"))),
    }
}

export! {
    fn dflat_query_parse(
        table: In<'_, TableHandle>,
        condition: Text<'_>,
        order: Text<'_>,
        parameters: List<'_, RawValue<'_>>,
        parameters_count: usize,
        query: OutHandle<'_, QueryHandle>,
    ) {
        query.begin()?;
        let table = &table.get()?.0;
        let (condition, order) = (condition.get("condition")?, order.get("order")?);
        let values = self::parameters(parameters.get(parameters_count, "parameters")?)?;
        let parsed = parse(table, condition, order, &values)?;
        query.set(QueryHandle::new(table.clone(), parsed));
    }

    fn dflat_query_parse_with(
        table: In<'_, TableHandle>,
        condition: Text<'_>,
        order: Text<'_>,
        parameters: List<'_, RawParameter<'_>>,
        parameters_count: usize,
        query: OutHandle<'_, QueryHandle>,
    ) {
        query.begin()?;
        let table = &table.get()?.0;
        let (condition, order) = (condition.get("condition")?, order.get("order")?);
        let given = parameters.get(parameters_count, "parameters")?;
        let parsed = parse(table, condition, order, &named_parameters(given)?)?;
        query.set(QueryHandle::new(table.clone(), parsed));
    }

    fn dflat_aggregate(
        source: RawSource<'_>,
        query: In<'_, QueryHandle>,
        aggregate: i32,
        field: Text<'_>,
        value: Out<'_, GivenValue>,
        text: OutHandle<'_, BufferHandle>,
    ) {
        text.begin_if_wanted();
        value.begin("value", GivenValue::NULL)?;
        text.begin()?;
        let found = self::aggregate(source, query, aggregate, field.get("field")?)?;
        if let Value::Text(found) = &found {
            text.set(BufferHandle(found.as_bytes().to_vec()));
        }
        value.set(GivenValue::of(&found));
    }
}
