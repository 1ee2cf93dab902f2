//! Fetching: a query and a snapshot in, objects out.
//!
//! The plan says which rows to scan and what is left to check; the residual predicate, the order
//! and the limit are applied here, on any backend the same. An index changes how long a fetch takes
//! and never what it returns.

mod collect;
mod plan;

use std::ops::ControlFlow;

use dflat_model::{CommitSeq, Predicate, Query, RowId, Table, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::object::{Object, Origin, field_value};
use crate::query::evaluate;
use crate::storage::{Row, ScanPlan, Snapshot, Source, View};

use collect::Collector;
pub use plan::{AccessPath, Plan};

/// The objects of a query, in order, and the latest commit that is certain to be reflected in them.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The engine that fetched them.
    pub engine: u64,
    /// The objects.
    pub objects: Vec<Object>,
    /// The commit.
    pub seq: CommitSeq,
}

/// How deep a query's conditions may stand inside conditions.
pub const PREDICATE_DEPTH_MAX: usize = 256;

/// Refuses a query whose condition is nested so deeply that evaluating it could overflow a stack.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] beyond [`PREDICATE_DEPTH_MAX`].
pub fn check_depth(table: &Table, query: &Query) -> Result<()> {
    let depth = query.predicate.as_ref().map_or(0, Predicate::depth);
    if depth <= PREDICATE_DEPTH_MAX {
        return Ok(());
    }
    let message = format!(
        "cannot query {}: its condition is nested {depth} deep, and {PREDICATE_DEPTH_MAX} is the \
         limit",
        table.type_name
    );
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

/// The view that a query needs: one that shows the same moment to all its scans if it may take more
/// than one, or an index whose state has to be known; else the cheapest.
#[must_use]
pub fn view_for(table: &Table, query: &Query) -> View {
    let several = plan::may_use_index(table, query) || plan::may_scan_twice(table, query);
    if several { View::Pinned } else { View::Latest }
}

/// Fetches the objects of a query.
///
/// # Errors
/// [`ErrorKind::Corrupt`] for a row that a predicate, an order or verification cannot read; else as
/// the backend's scan.
pub fn fetch(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    query: &Query,
    origin: Origin,
) -> Result<Vec<Object>> {
    check_depth(table, query)?;
    let states = match plan::may_use_index(table, query) {
        true => snapshot.index_states(table)?,
        false => Vec::new(),
    };
    let plan = Plan::new(table, query, &states);
    let mut collector = Collector::new(table, query, plan.sorted, origin);
    if query.limit == Some(0) {
        return collector.finish();
    }
    for source in plan.sources() {
        let mut failure = None;
        snapshot.scan(&ScanPlan { table, source }, &mut |row| {
            let step = qualifies(&plan, row).and_then(|qualifies| {
                if qualifies {
                    collector.push(row)
                } else {
                    Ok(ControlFlow::Continue(()))
                }
            });
            step.unwrap_or_else(|_| {
                failure = Some(corrupt(table, row.row_id));
                ControlFlow::Break(())
            })
        })?;
        if let Some(error) = failure {
            return Err(error);
        }
        if collector.is_full() {
            break;
        }
    }
    collector.finish()
}

fn qualifies(plan: &Plan, row: Row<'_>) -> Result<bool, crate::object::Malformed> {
    match &plan.residual {
        None => Ok(true),
        Some(residual) => Ok(evaluate(residual, row.payload)? == Some(true)),
    }
}

/// Fetches the object with a primary key.
///
/// # Errors
/// As [`fetch`].
pub fn get(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    key: &[Value],
    origin: Origin,
) -> Result<Option<Object>> {
    let source = plan::key_source(key);
    one(snapshot, &ScanPlan { table, source }, origin)
}

/// The primary key of an object.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if its bytes are malformed, which verified ones are not.
pub fn key_of(table: &Table, object: &Object) -> Result<Vec<Value>> {
    let parts = table
        .primary_key
        .iter()
        .map(|field| field_value(object.payload(), field));
    let key: Result<Vec<Value>, _> = parts.map(|part| part.map(|part| part.to_value())).collect();
    key.map_err(|_| corrupt(table, object.row_id()))
}

/// Fetches the object with a row id.
///
/// # Errors
/// As [`fetch`].
pub fn find(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    row_id: RowId,
    origin: Origin,
) -> Result<Option<Object>> {
    one(
        snapshot,
        &ScanPlan {
            table,
            source: Source::RowIds(&[row_id]),
        },
        origin,
    )
}

fn one(snapshot: &mut dyn Snapshot, plan: &ScanPlan<'_>, origin: Origin) -> Result<Option<Object>> {
    let mut found = None;
    snapshot.scan(plan, &mut |row| {
        let object = Object::new(plan.table, row.row_id, origin, row.payload);
        found = Some(object.map_err(|_| corrupt(plan.table, row.row_id)));
        ControlFlow::Break(())
    })?;
    found.transpose()
}

/// The error for a row whose bytes are not what the schema says.
#[must_use]
pub fn corrupt(table: &Table, row_id: RowId) -> Error {
    let message = format!(
        "cannot read {}: row {row_id} of table {} is damaged",
        table.type_name, table.name
    );
    Error::new(ErrorKind::Corrupt, message)
}
