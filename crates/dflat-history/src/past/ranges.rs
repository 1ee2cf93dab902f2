//! Ranges of the primary key.

use std::ops::{Bound, ControlFlow};

use dflat_engine::Result;
use dflat_engine::storage::{KeyScan, Row, ScanPlan, Snapshot, Source};
use dflat_model::{Direction, RowId, Table, Value, key};

use super::overlay::{PastTable, key_of};

pub(super) type Visit<'v> = &'v mut dyn FnMut(Row<'_>) -> ControlFlow<()>;

/// A row of the overlay.
pub(super) const fn row_of(row_id: RowId, payload: &[u8]) -> Row<'_> {
    Row {
        row_id,
        payload,
        entry: None,
    }
}

/// Visits the rows of a range of the primary key in its order.
pub(super) fn scan(
    past: &PastTable,
    head: &mut dyn Snapshot,
    plan: &ScanPlan<'_>,
    range: &KeyScan<'_>,
    visit: Visit<'_>,
) -> Result<()> {
    let (start, end) = bounds(range);
    let (start, end) = ((start, RowId(i64::MIN)), (end, RowId(i64::MIN)));
    let of_past: Box<dyn Iterator<Item = &(Vec<u8>, RowId)>> = match range.direction {
        _ if start >= end => Box::new(std::iter::empty()),
        Direction::Ascending => Box::new(past.keys().range(start..end)),
        Direction::Descending => Box::new(past.keys().range(start..end).rev()),
    };
    let is_wanted = |(_, row_id): &&(Vec<u8>, RowId)| range.after.is_none_or(|a| *row_id > a);
    let mut of_past = of_past.filter(is_wanted).peekable();
    // The order of the present rows is that of their keys, so the scan has to give these.
    let source = match (&plan.source, plan.payload) {
        (Source::Key(range), false) => Source::Entries(range.clone()),
        (source, _) => source.clone(),
    };
    let with_keys = ScanPlan {
        source,
        ..plan.clone()
    };
    let mut flow = ControlFlow::Continue(());
    head.scan(&with_keys, &mut |row| {
        let present = key_of_row(plan.table, &row);
        let is_before = |(key, row_id): &&(Vec<u8>, RowId)| match range.direction {
            Direction::Ascending => (key, *row_id) < (&present, row.row_id),
            Direction::Descending => *key > present || (*key == present && *row_id < row.row_id),
        };
        while flow.is_continue()
            && let Some((_, row_id)) = of_past.next_if(is_before)
        {
            flow = visit_past(past, *row_id, visit);
        }
        if flow.is_continue() && !past.hides(row.row_id) {
            flow = visit(row);
        }
        flow
    })?;
    while flow.is_continue()
        && let Some((_, row_id)) = of_past.next()
    {
        flow = visit_past(past, *row_id, visit);
    }
    Ok(())
}

fn visit_past(past: &PastTable, row_id: RowId, visit: Visit<'_>) -> ControlFlow<()> {
    match past.payload(row_id) {
        Some(payload) => visit(row_of(row_id, payload)),
        None => ControlFlow::Continue(()),
    }
}

/// The encoded primary key of a row of a scan.
fn key_of_row(table: &Table, row: &Row<'_>) -> Vec<u8> {
    let Some(entry) = row.entry else {
        return key_of(table, row.payload);
    };
    let fields = table.primary_key.iter();
    let values: Option<Vec<_>> = fields.map(|field| entry.value(field)).collect();
    match values {
        Some(values) => key::encode(values),
        None => key_of(table, row.payload),
    }
}

/// The encoded bounds of a range: all keys from the first bound to below the second are in it.
pub(super) fn bounds(range: &KeyScan<'_>) -> (Vec<u8>, Vec<u8>) {
    let mut prefix = Vec::new();
    key::append_all(range.prefix.iter().map(Value::as_ref), &mut prefix);
    let at = |value: &Value| {
        let mut key = prefix.clone();
        key::append(value.as_ref(), &mut key);
        key
    };
    let start = match range.lower {
        Bound::Unbounded => prefix.clone(),
        Bound::Included(value) => at(value),
        Bound::Excluded(value) => behind(at(value)),
    };
    let end = match range.upper {
        Bound::Unbounded => behind(prefix),
        Bound::Included(value) => behind(at(value)),
        Bound::Excluded(value) => at(value),
    };
    (start, end)
}

/// The bound behind all keys that begin with encoded values.
fn behind(mut values: Vec<u8>) -> Vec<u8> {
    values.push(key::BEHIND);
    values
}
