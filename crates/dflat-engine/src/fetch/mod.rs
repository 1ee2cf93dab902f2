//! Fetches the objects of a query from a snapshot.
//!
//! The plan names the rows to scan and the residual predicate. That predicate, the order and the
//! limit are applied here, so that every backend gives the same result. An index changes how long a
//! fetch takes and never what it returns.

mod by_key;
mod collect;
mod control;
mod first;
mod group;
mod lookup;
mod plan;
mod probing;
mod remaining;
mod scan;
mod select;
mod selectivity;
mod skipping;
mod total;
mod unordered;

use std::borrow::Cow;
use std::sync::Arc;

use dflat_model::{
    CommitSeq, Cursor, Expression, Field, Predicate, Query, ROOT_TYPE, RowId, Table, Value,
};

use crate::error::{Error, ErrorKind, Result};
use crate::object::{Object, Origin, exceeded_limit};
use crate::query::compute;
use crate::storage::{Indexes, Snapshot, View};

pub use by_key::{KeyParts, find, find_many, get, get_many, key_of, visit};
pub(crate) use by_key::{check_table, find_incomplete, get_incomplete, get_many_incomplete, parts};
use collect::Collector;
pub use control::{Cancellation, Control};
pub use group::{Group, Grouping, Groups, check_groups, groups};
use lookup::Lookup;
use plan::Purpose;
pub use plan::{AccessPath, KeyAccess, KeyRange, PROBE_MAX, Plan, Probe, RowOrder, Values};
use probing::Probing;
pub use select::{aggregate, count, select, value_of};
pub use total::Total;

/// The objects of a query, in order, and the latest commit that they are certain to reflect.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The engine that fetched them.
    pub engine: u64,
    /// The objects.
    pub objects: Arc<Vec<Object>>,
    /// The commit.
    pub seq: CommitSeq,
}

/// The limit on the nesting of conditions in a query, because evaluation is recursive.
pub const PREDICATE_DEPTH_MAX: usize = 256;

/// Refuses a query that can't be run: its condition or order is nested so deeply that evaluating it
/// could overflow the stack, or its cursor position belongs to another order.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] beyond [`PREDICATE_DEPTH_MAX`], or for such a cursor position.
pub fn check(table: &Table, query: &Query) -> Result<()> {
    let refuse = |what: String| {
        let message = format!("cannot query {}: {what}", table.type_name);
        Err(Error::new(ErrorKind::InvalidArgument, message))
    };
    let condition = query.predicate.as_ref().map_or(0, Predicate::depth);
    let order = query.order.iter().map(|order| order.key.depth());
    let depth = order.fold(condition, usize::max);
    if depth > PREDICATE_DEPTH_MAX {
        return refuse(format!(
            "its condition or order is nested {depth} deep, and {PREDICATE_DEPTH_MAX} is the limit"
        ));
    }
    match &query.after {
        Some(cursor)
            if cursor.order != query.order_fingerprint()
                || cursor.keys.len() != query.order.len() =>
        {
            refuse("its cursor position belongs to another order".to_owned())
        }
        _ => Ok(()),
    }
}

/// The view that a query needs. If the query may take several scans, or needs the state of an
/// index, the view shows the same commit to all of them; otherwise it is the cheapest view.
#[must_use]
pub fn view_for(table: &Table, query: &Query) -> View {
    if let Some(lookup) = Lookup::of(table, query)
        && !skipping::is_far(query)
    {
        lookup.view()
    } else if plan::may_take_several_scans(table, query) {
        View::Pinned
    } else {
        View::Latest
    }
}

/// The view that [`aggregate`] needs.
#[must_use]
pub fn view_to_aggregate(table: &Table, query: &Query, expression: &Expression) -> View {
    let field = expression.as_field();
    let is_indexed = field.is_some_and(|field| {
        let mut indexes = table.indexes.iter();
        let is_it = |part: &Field| part.steps == field.steps;
        indexes.any(|index| {
            let condition = index.condition.as_ref();
            index.fields.iter().any(is_it) || condition.is_some_and(|c| c.mentions(&is_it))
        })
    });
    if is_indexed {
        View::Pinned
    } else {
        view_for(table, query)
    }
}

/// Checks and plans a query.
fn planned(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    (query, purpose): (&Query, Purpose<'_>),
    control: &Control,
) -> Result<Plan> {
    if let Some(lookup) = Lookup::of(table, query)
        && !purpose.prefers_other(table, query, lookup.key())
        && lookup.is_served(snapshot, table)?
    {
        return Ok(lookup.plan());
    }
    let (plan, _) = chosen(snapshot, table, (query, purpose), control, None)?;
    Ok(plan)
}

/// Checks and plans a query that [`Lookup`] does not serve. With an origin, also returns the
/// objects of the query if all of them were read to choose the plan.
fn chosen(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    (query, purpose): (&Query, Purpose<'_>),
    control: &Control,
    origin: Option<Origin>,
) -> Result<(Plan, Option<Vec<Object>>)> {
    check(table, query)?;
    let indexes = match plan::may_use_index(table, query) {
        true => snapshot.indexes(table)?,
        false => Indexes::default(),
    };
    let (shorter, lists) = without_long_lists(snapshot, table, query, control)?;
    let mut probe = Probing {
        snapshot,
        table,
        query,
        control,
        foreign_rows: &indexes.foreign,
        is_any: purpose.enough.is_some(),
        origin,
        found: None,
    };
    let mut plan = Plan::for_purpose(table, (&shorter, purpose), &indexes.states, &mut probe)?;
    let objects = probe.found;
    plan.check_lists(lists);
    plan.set_foreign_rows(indexes.foreign, query);
    Ok((plan, objects))
}

/// The query without the lists that have too many values to look up in this table, and the
/// conjuncts that have such lists.
fn without_long_lists<'q>(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    query: &'q Query,
    control: &Control,
) -> Result<(Cow<'q, Query>, Vec<Predicate>)> {
    let longest = plan::longest_list(table, query);
    if longest > plan::VALUES_MIN {
        let values_max = selectivity::values_max(snapshot, table, control, longest)?;
        let values_max = values_max.max(plan::VALUES_MIN);
        if longest > values_max {
            let (shorter, lists) = plan::without_lists(query, values_max);
            return Ok((Cow::Owned(shorter), lists));
        }
    }
    Ok((Cow::Borrowed(query), Vec::new()))
}

/// The present plan of a query. If the query will give up following a key, also the number of rows
/// after which it reads all rows instead.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] for a query that can't be run; [`ErrorKind::Cancelled`] and
/// [`ErrorKind::DeadlineExceeded`] as `control` demands; otherwise the errors of reading the states
/// of the indexes.
pub fn explain(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    query: &Query,
    control: &Control,
) -> Result<(Plan, Option<usize>)> {
    let plan = planned(snapshot, table, (query, Purpose::default()), control)?;
    let given_up = selectivity::is_given_up_after(snapshot, table, (query, &plan), control)?;
    Ok((plan, given_up))
}

/// Fetches the objects of a query.
///
/// # Errors
/// [`ErrorKind::Corrupt`] for a row that a predicate, an order or verification cannot read;
/// [`ErrorKind::InvalidArgument`] for a query that can't be run; [`ErrorKind::Cancelled`] and
/// [`ErrorKind::DeadlineExceeded`] as `control` demands; otherwise the errors of the backend's
/// scan.
pub fn fetch(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    query: &Query,
    control: &Control,
    origin: Origin,
) -> Result<Vec<Object>> {
    if query.limit == Some(0) {
        check(table, query)?;
        return Ok(Vec::new());
    }
    if let Some(lookup) = Lookup::of(table, query)
        && !skipping::is_far(query)
        && lookup.is_served(snapshot, table)?
    {
        let mut collector = Collector::new(table, query, RowOrder::Sorted, origin);
        collector.obey(control);
        // Most look-ups find one object.
        collector.expect_one();
        lookup.scan(snapshot, table, query, control, &mut |row| {
            collector.push(row)
        })?;
        return collector.finish();
    }
    let purpose = Purpose::default();
    let (plan, objects) = chosen(snapshot, table, (query, purpose), control, Some(origin))?;
    if let Some(objects) = objects {
        return Ok(objects);
    }
    let mut collector = Collector::new(table, query, plan.order, origin);
    collector.obey(control);
    if plan.skips_entries(query) {
        collector.begin_at_window();
        skipping::scan_window(snapshot, table, (query, &plan), control, &mut |row| {
            collector.push(row)
        })?;
        return collector.finish();
    }
    if plan.is_look_up() {
        collector.expect_one();
    }
    let reads = scan::Reads::Payloads;
    let rest = scan::scan(
        snapshot,
        table,
        (query, &plan),
        control,
        reads,
        &mut |row| collector.push(row),
    )?;
    if let Some(rest) = rest {
        if !rest.sorted {
            collector.go_on_unsorted();
        }
        rest.scan(snapshot, table, query, control, &mut |row| {
            collector.push(row)
        })?;
    }
    collector.finish()
}

/// Fetches the objects of a query, with the commit that they reflect.
///
/// # Errors
/// As [`fetch`].
pub fn fetched(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    query: &Query,
    control: &Control,
    origin: Origin,
) -> Result<Fetched> {
    let objects = fetch(snapshot, table, query, control, origin)?;
    Ok(Fetched {
        engine: origin.engine,
        objects: Arc::new(objects),
        seq: origin.seq,
    })
}

/// The cursor position of an object in a query's order.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] if the object is of another table; [`ErrorKind::Corrupt`] if its
/// bytes are malformed, which verified ones are not.
pub fn cursor_of(table: &Table, query: &Query, object: &Object) -> Result<Cursor> {
    check_table("continue a query of", table, object)?;
    let keys = query
        .order
        .iter()
        .map(|order| compute(&order.key, object.payload()));
    let keys: Result<Vec<Value>, _> = keys.map(|key| key.map(|key| key.to_value())).collect();
    let row_id = object.row_id();
    let keys = keys.map_err(|_| corrupt(table, row_id))?;
    Ok(Cursor {
        order: query.order_fingerprint(),
        keys,
        row_id,
    })
}

/// The error for a row with these bytes, which do not fit the schema, or share parts too often.
#[cold]
pub(crate) fn corrupt_bytes(table: &Table, row_id: RowId, payload: &[u8]) -> Error {
    match exceeded_limit(&table.types, ROOT_TYPE, payload) {
        None => corrupt(table, row_id),
        Some(limit) => {
            let message = format!(
                "cannot read {}: row {row_id} of table {} is damaged: {limit}",
                table.type_name, table.name
            );
            Error::new(ErrorKind::Corrupt, message)
        }
    }
}

/// The error for a row whose bytes do not fit the schema.
#[must_use]
pub fn corrupt(table: &Table, row_id: RowId) -> Error {
    let message = format!(
        "cannot read {}: row {row_id} of table {} is damaged",
        table.type_name, table.name
    );
    Error::new(ErrorKind::Corrupt, message)
}
