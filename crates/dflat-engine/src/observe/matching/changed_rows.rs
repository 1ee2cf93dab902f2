//! The rows that a commit changed in a table.

use std::cmp::Ordering;

use dflat_model::{Order, RowId};
use smallvec::SmallVec;

use crate::change_set::RowChange;
use crate::object::Object;
use crate::query::compare_rows;

/// A row of a change set, by its position among the changes.
pub(in super::super) type Row = u32;

/// The changes to a table, by ascending row id.
pub(in super::super) type Rows<'c> = &'c [(RowId, RowChange)];

/// A list of changed rows. For most live queries, a commit changes one object.
pub(in super::super) type RowList = SmallVec<[Row; 2]>;

/// The rows of a change set that concern a live query, each list ascending or in the query's order.
#[derive(Default)]
pub(in super::super) struct ChangedRows {
    /// The rows that met the condition before the change.
    pub(in super::super) before: RowList,
    /// The rows that meet it after the change.
    pub(in super::super) after: RowList,
}

impl ChangedRows {
    /// Keeps the rows whose states `meets` accepts.
    pub(in super::super) fn retain(&mut self, rows: Rows<'_>, meets: impl Fn(&Object) -> bool) {
        self.before
            .retain(|row| before(rows, *row).is_some_and(&meets));
        self.after
            .retain(|row| after(rows, *row).is_some_and(&meets));
    }

    /// Sorts the rows, which must be in order of row id, by an order.
    pub(in super::super) fn sorted(mut self, order: &[Order], rows: Rows<'_>) -> Self {
        if !order.is_empty() {
            sort(order, &mut self.before, |row| before(rows, row));
            sort(order, &mut self.after, |row| after(rows, row));
        }
        self
    }
}

fn sort<'c>(order: &[Order], list: &mut [Row], state: impl Fn(Row) -> Option<&'c Object>) {
    list.sort_by(|a, b| match (state(*a), state(*b)) {
        (Some(a), Some(b)) => compare(order, a, b),
        _ => a.cmp(b),
    });
}

pub(in super::super) fn before<'c>(rows: Rows<'c>, row: Row) -> Option<&'c Object> {
    rows.get(row as usize)?.1.before.as_ref()
}

pub(in super::super) fn after<'c>(rows: Rows<'c>, row: Row) -> Option<&'c Object> {
    rows.get(row as usize)?.1.after.as_ref()
}

/// Compares two objects as an order does.
pub(in super::super) fn compare(order: &[Order], a: &Object, b: &Object) -> Ordering {
    if order.is_empty() {
        return a.row_id().cmp(&b.row_id());
    }
    // Objects are verified, so that every key can be read.
    let rows = ((a.row_id(), a.payload()), (b.row_id(), b.payload()));
    compare_rows(order, rows.0, rows.1).unwrap_or(Ordering::Equal)
}
