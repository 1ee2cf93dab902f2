//! Collects the rows of a scan in a query's order, up to its limit.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use dflat_model::{Order, Query, Table};

use super::control::Control;
use super::corrupt_bytes;
use super::first::FirstRows;
use super::plan::RowOrder;
use crate::error::Result;
use crate::object::{Malformed, Object, ObjectBatch, Origin};
use crate::query::compare_rows;
use crate::storage::Row;

/// Collects qualifying rows.
///
/// Rows that come in the query's order are kept as they come. Other rows are kept and sorted at the
/// end; if there is a limit, only the first ones so far are kept, so that the size of the result
/// bounds the memory. Rows that come sorted by the first keys of the order are needed only up to
/// the first one whose keys are behind those that are kept.
pub(super) struct Collector<'q> {
    table: &'q Table,
    order: &'q [Order],
    /// The number of rows still to be skipped.
    offset: usize,
    limit: Option<usize>,
    /// The order in which rows come.
    rows: RowOrder,
    /// Objects that precede all that are collected from now on.
    before: Vec<Object>,
    batch: ObjectBatch<'q>,
    /// The payloads of the first rows so far, if there is a limit and rows do not come in order.
    first: Option<FirstRows<'q, Box<[u8]>>>,
}

impl<'q> Collector<'q> {
    pub(super) fn new(table: &'q Table, query: &'q Query, rows: RowOrder, origin: Origin) -> Self {
        Self {
            table,
            order: &query.order,
            offset: query.offset,
            limit: query.limit,
            rows,
            before: Vec::new(),
            batch: ObjectBatch::new(table, origin),
            first: None,
        }
    }

    /// Accepts rows that lack required fields, if the control does.
    pub(super) fn obey(&mut self, control: &Control) {
        if control.incomplete {
            self.batch.accept_incomplete();
        }
    }

    /// Prepares for a result that likely has one object.
    pub(super) fn expect_one(&mut self) {
        self.batch.expect_one();
    }

    /// Accepts the rows of the query's window alone, without those before it.
    pub(super) const fn begin_at_window(&mut self) {
        self.offset = 0;
    }

    /// From now on, rows come in any order. If the rows so far came in the query's order, all of
    /// them follow these rows.
    pub(super) fn go_on_unsorted(&mut self) {
        if let Some(first) = &mut self.first {
            first.go_on_unsorted();
        }
        if std::mem::replace(&mut self.rows, RowOrder::Any).is_sorted() {
            self.before = self.batch.take();
            self.limit = self.limit.map(|limit| limit - self.before.len());
        }
    }

    /// Adds a row; breaks when no more rows are needed.
    pub(super) fn push(&mut self, row: Row<'_>) -> Result<ControlFlow<()>, Malformed> {
        match self.limit {
            Some(limit) if !self.rows.is_sorted() => {
                let max = self.offset.saturating_add(limit);
                let presorted = self.rows.presorted();
                let first = self
                    .first
                    .get_or_insert_with(|| FirstRows::new(self.order, presorted, max));
                return first.push(row, |row| Ok(row.payload.into()));
            }
            _ if self.rows.is_sorted() && self.offset > 0 => self.offset -= 1,
            _ => self.batch.push(row.row_id, row.payload)?,
        }
        Ok(if self.is_full() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    }

    /// Whether no further row can change the result.
    fn is_full(&self) -> bool {
        self.rows.is_sorted() && self.limit.is_some_and(|limit| self.batch.len() >= limit)
    }

    pub(super) fn finish(mut self) -> Result<Vec<Object>> {
        if self.rows.is_sorted() {
            return Ok(self.batch.finish());
        }
        let first = self
            .first
            .take()
            .into_iter()
            .flat_map(FirstRows::into_items);
        for (row_id, payload) in first.skip(self.offset) {
            let pushed = self.batch.push(row_id, &payload);
            pushed.map_err(|_| corrupt_bytes(self.table, row_id, &payload))?;
        }
        let mut objects = self.batch.finish();
        if self.limit.is_none() {
            sort(&mut objects, self.order);
            objects.drain(..self.offset.min(objects.len()));
        }
        self.before.append(&mut objects);
        Ok(self.before)
    }
}

/// Sorts objects by an order.
pub(super) fn sort(objects: &mut [Object], order: &[Order]) {
    if order.is_empty() {
        objects.sort_by_key(Object::row_id);
        return;
    }
    objects.sort_by(|a, b| {
        let ordering = compare_rows(order, (a.row_id(), a.payload()), (b.row_id(), b.payload()));
        // Objects are verified, so that every key can be read.
        ordering.unwrap_or(Ordering::Equal)
    });
}
