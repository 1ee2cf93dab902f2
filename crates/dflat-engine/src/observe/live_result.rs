//! A query's result that follows the commits.

use std::cmp::Ordering;

use dflat_model::{CommitSeq, Query, RowId, Table};

use crate::change_set::TableChanges;
use crate::error::Result;
use crate::fetch::Fetched;
use crate::object::{Object, equal};
use crate::query::{compare_rows, evaluate, is_after};

/// The result of a query as of the latest commit.
///
/// Without a limit or offset it is kept up to date from the change set alone. With one, a change
/// that may matter fetches it again, because what moves into the window is not in the change set.
pub struct LiveResult {
    table: Table,
    query: Query,
    objects: Vec<Object>,
    /// The engine whose commits it follows, once it is known.
    engine: u64,
    /// A fetch failed, so that `objects` may be out of date.
    stale: bool,
}

impl LiveResult {
    /// A live result that starts from a fetched one, or without one if it could not be fetched.
    #[must_use]
    pub fn new(table: Table, query: Query, fetched: Option<&Fetched>) -> Self {
        let objects = fetched.map(|fetched| fetched.objects.clone());
        let stale = objects.is_none();
        let engine = fetched.map_or(0, |fetched| fetched.engine);
        Self {
            table,
            query,
            objects: objects.unwrap_or_default(),
            engine,
            stale,
        }
    }

    /// Follows a commit: the new result, or `None` if nothing visible changed.
    ///
    /// # Errors
    /// As `refetch`; the result is fetched again at the next commit then.
    pub fn apply(
        &mut self,
        changes: &TableChanges,
        seq: CommitSeq,
        refetch: impl FnOnce(&Table, &Query) -> Result<Fetched>,
    ) -> Result<Option<Fetched>> {
        if !self.stale && !self.concerns(changes) {
            return Ok(None);
        }
        let missed = self.stale;
        let objects = if missed || !self.query.is_whole() {
            self.stale = true;
            let fetched = refetch(&self.table, &self.query)?;
            self.engine = fetched.engine;
            fetched.objects
        } else {
            self.merged(changes)
        };
        self.stale = false;
        // After an error the result is told again even if it is what it was before.
        if !missed && same_objects(&self.table, &self.objects, &objects) {
            return Ok(None);
        }
        self.objects.clone_from(&objects);
        let engine = self.engine;
        Ok(Some(Fetched {
            engine,
            objects,
            seq,
        }))
    }

    /// Whether a changed row was in the result or may be in it now.
    fn concerns(&self, changes: &TableChanges) -> bool {
        let entered = changes.rows.iter().any(|(_, row)| {
            row.after
                .as_ref()
                .is_some_and(|object| self.matches(object))
        });
        if entered {
            return true;
        }
        if self.query.offset > 0 {
            // What is passed over is not in the result, and moves it all the same.
            let before = changes
                .rows
                .iter()
                .filter_map(|(_, row)| row.before.as_ref());
            return before.into_iter().any(|object| self.matches(object));
        }
        self.objects
            .iter()
            .any(|object| is_changed(changes, object.row_id()))
    }

    fn matches(&self, object: &Object) -> bool {
        let payload = object.payload();
        let meets = match &self.query.predicate {
            None => true,
            Some(predicate) => evaluate(predicate, payload) == Ok(Some(true)),
        };
        let row = (object.row_id(), payload);
        let is_behind = |cursor| is_after(&self.query.order, cursor, row) == Ok(true);
        meets && self.query.after.as_ref().is_none_or(is_behind)
    }

    /// The unchanged objects of the result and the changed ones that qualify, in order.
    fn merged(&self, changes: &TableChanges) -> Vec<Object> {
        let kept = self
            .objects
            .iter()
            .filter(|object| !is_changed(changes, object.row_id()));
        let entered = changes
            .rows
            .iter()
            .filter_map(|(_, row)| row.after.as_ref());
        let mut entered: Vec<&Object> = entered.filter(|object| self.matches(object)).collect();
        entered.sort_by(|a, b| self.compare(a, b));
        let mut merged = Vec::with_capacity(self.objects.len() + entered.len());
        let mut entered = entered.into_iter().peekable();
        for object in kept {
            while let Some(next) = entered.next_if(|next| self.compare(next, object).is_lt()) {
                merged.push(next.clone());
            }
            merged.push(object.clone());
        }
        merged.extend(entered.cloned());
        merged
    }

    fn compare(&self, a: &Object, b: &Object) -> Ordering {
        // Objects are verified, so that every key can be read.
        let rows = ((a.row_id(), a.payload()), (b.row_id(), b.payload()));
        compare_rows(&self.query.order, rows.0, rows.1).unwrap_or(Ordering::Equal)
    }
}

fn is_changed(changes: &TableChanges, row_id: RowId) -> bool {
    changes
        .rows
        .binary_search_by_key(&row_id, |(row_id, _)| *row_id)
        .is_ok()
}

/// Whether two results show the same objects with the same values in the same order.
#[must_use]
pub(super) fn same_objects(table: &Table, a: &[Object], b: &[Object]) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| a.row_id() == b.row_id() && equal(&table.types, a.payload(), b.payload()))
}
