//! Counts, aggregates and selected values, read from rows without making objects.

use std::ops::ControlFlow;

use dflat_model::{Expression, Query, Table, ValueRef};

use super::first::FirstRows;
use super::plan::{NeededValues, Purpose};
use super::scan::{Reads, scan};
use super::unordered::UnorderedRows;
use super::{Control, Plan, planned, skipping};
use crate::error::Result;
use crate::object::Malformed;
use crate::query::compute;
use crate::storage::{Row, Snapshot};

/// Counts the objects of a query within its window. The order has no effect.
///
/// # Errors
/// As [`fetch`](super::fetch), but objects are not verified.
pub fn count(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    query: &Query,
    control: &Control,
) -> Result<usize> {
    let limit = query.limit.unwrap_or(usize::MAX);
    let enough = query.offset.saturating_add(limit);
    if limit == 0 {
        return Ok(0);
    }
    let mut found = 0;
    let purpose = Purpose {
        enough: query.limit.map(|_| enough),
        ..Purpose::unordered(&[])
    };
    let rows = UnorderedRows::find(snapshot, table, (query, purpose), control)?;
    let is_counted = query.limit.is_none()
        && rows.tally(snapshot, table, control, &mut |_, count| {
            found += count;
        })?;
    if !is_counted {
        found = 0;
        rows.visit(snapshot, table, control, &mut |_| {
            found += 1;
            Ok(if found == enough {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        })?;
    }
    Ok(found.saturating_sub(query.offset))
}

/// Calls `fold` with an expression's value for each object of a query, in no order.
///
/// # Errors
/// As [`count`].
pub fn aggregate(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    query: &Query,
    expression: &Expression,
    control: &Control,
    fold: &mut dyn FnMut(ValueRef<'_>),
) -> Result<()> {
    if query.is_whole() {
        let of = std::slice::from_ref(expression);
        let purpose = Purpose::unordered(of);
        let rows = UnorderedRows::find(snapshot, table, (query, purpose), control)?;
        return rows.visit(snapshot, table, control, &mut |row| {
            fold(value_of(&row, expression)?);
            Ok(ControlFlow::Continue(()))
        });
    }
    let of_row = &mut |row: Row<'_>| Ok(value_of(&row, expression)?.to_value());
    let expressions = std::slice::from_ref(expression);
    let values = select(snapshot, table, query, expressions, control, of_row)?;
    values.iter().for_each(|value| fold(value.as_ref()));
    Ok(())
}

/// The part of a plan's rows that must be read.
pub(super) fn reads(table: &Table, query: &Query, plan: &Plan, needed: NeededValues<'_>) -> Reads {
    match plan.residual.is_some() || query.after.is_some() {
        true => Reads::Payloads,
        false => needed.reads(table, query, (&plan.access, plan.order.is_sorted())),
    }
}

/// The value of an expression in a row that was scanned for it: from the index entry if the row has
/// one, else from the payload.
///
/// # Errors
/// If the payload is damaged.
pub fn value_of<'r>(row: &Row<'r>, expression: &'r Expression) -> Result<ValueRef<'r>, Malformed> {
    let entry = row.entry.zip(expression.as_field());
    match entry.and_then(|(entry, field)| entry.value(field)) {
        Some(value) => Ok(value),
        None => compute(expression, row.payload),
    }
}

/// Reads the values of expressions from each row of a query's result, in order. `read` gets each
/// row and reads it by [`value_of`]; it must not call user code.
///
/// # Errors
/// As [`count`].
///
/// # Memory
/// The items that `read` returns and, unless rows come in order, the keys of the order. With a
/// limit, both are kept for offset plus limit rows at most.
pub fn select<T>(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    query: &Query,
    expressions: &[Expression],
    control: &Control,
    read: &mut dyn FnMut(Row<'_>) -> Result<T, Malformed>,
) -> Result<Vec<T>> {
    if query.limit == Some(0) {
        return Ok(Vec::new());
    }
    let needed = NeededValues::Selected(expressions);
    let purpose = Purpose {
        values: Some(needed),
        enough: None,
    };
    let plan = planned(snapshot, table, (query, purpose), control)?;
    let reads = reads(table, query, &plan, needed);
    let mut items = Vec::new();
    let mut window = Window {
        offset: query.offset,
        limit: query.limit.unwrap_or(usize::MAX),
    };
    let access = (query, &plan);
    if !plan.order.is_sorted() {
        let max = window.offset.saturating_add(window.limit);
        let mut first = FirstRows::new(&query.order, plan.order.presorted(), max);
        let rest = scan(snapshot, table, access, control, reads, &mut |row| {
            first.push(row, &mut *read)
        })?;
        if let Some(rest) = rest {
            first.go_on_unsorted();
            rest.scan(snapshot, table, query, control, &mut |row| {
                first.push(row, &mut *read)
            })?;
        }
        items.extend(first.into_items().skip(window.offset).map(|(_, item)| item));
        return Ok(items);
    }
    let skips = reads == Reads::Payloads && plan.skips_entries(query);
    if skips {
        window.offset = 0;
    }
    let mut take = |row: Row<'_>| window.take(row, read, &mut items);
    if skips {
        skipping::scan_window(snapshot, table, access, control, &mut take)?;
        return Ok(items);
    }
    if let Some(rest) = scan(snapshot, table, access, control, reads, &mut take)? {
        if rest.sorted {
            rest.scan(snapshot, table, query, control, &mut take)?;
        } else {
            let max = window.offset.saturating_add(window.limit);
            let mut first = FirstRows::new(&query.order, 0, max);
            rest.scan(snapshot, table, query, control, &mut |row| {
                first.push(row, &mut *read)
            })?;
            items.extend(first.into_items().skip(window.offset).map(|(_, item)| item));
        }
    }
    Ok(items)
}

/// The rest of a query's window.
#[derive(Clone, Copy)]
struct Window {
    offset: usize,
    limit: usize,
}

impl Window {
    /// Takes the next row in order; breaks when no more rows are needed.
    fn take<T>(
        &mut self,
        row: Row<'_>,
        read: &mut dyn FnMut(Row<'_>) -> Result<T, Malformed>,
        items: &mut Vec<T>,
    ) -> Result<ControlFlow<()>, Malformed> {
        if self.offset > 0 {
            self.offset -= 1;
            return Ok(ControlFlow::Continue(()));
        }
        items.push(read(row)?);
        self.limit -= 1;
        Ok(if self.limit == 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    }
}
