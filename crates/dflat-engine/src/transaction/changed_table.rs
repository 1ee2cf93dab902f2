//! What a transaction has changed of one table.

use std::collections::HashMap;
use std::mem;

use dflat_model::{RowId, Table};
use smallvec::SmallVec;

use crate::change_set::{RowChange, TableChanges};
use crate::object::Object;

/// The changes to one table: a list in the order they were made. Most transactions change rows in
/// ascending order, which keeps the list sorted; the first that does not makes an index of it.
pub(super) struct ChangedTable {
    pub(super) table: Table,
    pub(super) rows: SmallVec<[(RowId, RowChange); 1]>,
    /// Positions in `rows`, once they are not in ascending order.
    positions: Option<Box<Positions>>,
    /// Whether a row was changed more than once.
    repeated: bool,
    /// Whether objects after the changes share memory.
    pub(super) is_attached: bool,
    /// The first and the last of the rows that were inserted and taken off the list. What has a row
    /// id between them was inserted by this transaction, because row ids ascend. Such a row is in
    /// the list again, with what it was before, if it was changed after that.
    pub(super) unlisted: Option<(RowId, RowId)>,
    /// How many were taken off, or left out.
    pub(super) unlisted_count: usize,
}

/// Where rows stand in a list. In memory of its own: a write set is moved about, and few need it.
struct Positions(HashMap<RowId, usize>);

impl ChangedTable {
    /// Nothing of a table.
    pub(super) fn new(table: &Table) -> Self {
        Self {
            table: table.clone(),
            rows: SmallVec::new(),
            positions: None,
            repeated: false,
            is_attached: false,
            unlisted: None,
            unlisted_count: 0,
        }
    }

    /// Whether the rows in the list are in ascending order, and all of them before this one.
    #[inline]
    pub(super) fn is_behind_all(&self, row_id: RowId) -> bool {
        self.positions.is_none() && self.rows.last().is_none_or(|(last, _)| *last < row_id)
    }

    /// Takes the rows off the list, if all of them were inserted and not changed since, and nobody
    /// is to be told of them (`kept`).
    pub(super) fn unlist(&mut self, kept: impl Fn(&Table) -> bool) {
        let is_insert =
            |(_, change): &(RowId, RowChange)| change.before.is_none() && change.after.is_some();
        let (Some((first, _)), Some((last, _))) = (self.rows.first(), self.rows.last()) else {
            return;
        };
        if self.repeated
            || self.positions.is_some()
            || kept(&self.table)
            || !self.rows.iter().all(is_insert)
        {
            return;
        }
        let first = self.unlisted.map_or(*first, |(first, _)| first);
        self.unlisted = Some((first, *last));
        self.unlisted_count += self.rows.len();
        self.rows.clear();
    }

    /// Leaves a row out of the list that was inserted behind all others, if they are out of it.
    #[inline]
    pub(super) fn leave_out(&mut self, row_id: RowId) -> bool {
        match &mut self.unlisted {
            Some((_, last)) if self.rows.is_empty() && *last < row_id => {
                *last = row_id;
                self.unlisted_count += 1;
                true
            }
            _ => false,
        }
    }

    /// Puts the rows that are not in the list back, as `find` finds them.
    ///
    /// # Errors
    /// As `find`.
    pub(super) fn relist<E>(
        &mut self,
        mut find: impl FnMut(&Table, RowId) -> Result<Option<Object>, E>,
    ) -> Result<(), E> {
        let Some((first, last)) = self.unlisted else {
            return Ok(());
        };
        // Order: all are found before anything is given up, because a failure must not forget which
        // row ids were used.
        let mut found = Vec::new();
        for row_id in (first.0..=last.0).map(RowId) {
            found.extend(find(&self.table, row_id)?.map(|object| (row_id, object)));
        }
        let listed = mem::take(&mut self.rows);
        (self.positions, self.unlisted, self.unlisted_count) = (None, None, 0);
        for (row_id, object) in found {
            let (before, after) = (None, Some(object));
            self.note(row_id, RowChange { before, after });
        }
        for (row_id, mut change) in listed {
            if first <= row_id && row_id <= last {
                // It was changed after it was taken off, and was inserted by this transaction.
                change.before = None;
            }
            self.note(row_id, change);
        }
        Ok(())
    }

    /// Where the change of a row stands.
    pub(super) fn position(&self, row_id: RowId) -> Option<usize> {
        match &self.positions {
            Some(positions) => positions.0.get(&row_id).copied(),
            None => self
                .rows
                .binary_search_by_key(&row_id, |(row_id, _)| *row_id)
                .ok(),
        }
    }

    /// Notes a change; where the row stands and what was known of it, if it was changed before.
    pub(super) fn note(
        &mut self,
        row_id: RowId,
        change: RowChange,
    ) -> Option<(usize, Option<Object>)> {
        if self.is_behind_all(row_id) {
            self.rows.push((row_id, change));
            return None;
        }
        if let Some(position) = self.position(row_id)
            && let Some((_, known)) = self.rows.get_mut(position)
        {
            self.repeated = true;
            return Some((position, mem::replace(&mut known.after, change.after)));
        }
        let rows = &self.rows;
        let positions = self.positions.get_or_insert_with(|| {
            let ids = rows.iter().map(|(row_id, _)| *row_id);
            let ids = ids.enumerate().map(|(at, row_id)| (row_id, at));
            Box::new(Positions(ids.collect()))
        });
        positions.0.insert(row_id, self.rows.len());
        self.rows.push((row_id, change));
        None
    }

    /// Takes the rows out that were changed after the first `rows`.
    pub(super) fn split_off(&mut self, rows: usize) -> Vec<(RowId, RowChange)> {
        let taken: Vec<_> = self.rows.drain(rows.min(self.rows.len())..).collect();
        if let Some(positions) = &mut self.positions {
            for (row_id, _) in &taken {
                positions.0.remove(row_id);
            }
        }
        taken
    }

    pub(super) fn into_changes(self) -> TableChanges {
        let Self {
            table,
            mut rows,
            positions,
            repeated,
            is_attached,
            unlisted,
            ..
        } = self;
        if unlisted.is_some() {
            rows.clear();
        }
        rows.retain(|row| !is_undone(row));
        if positions.is_some() {
            rows.sort_unstable_by_key(|(row_id, _)| *row_id);
        }
        TableChanges {
            table,
            rows,
            repeated,
            is_attached,
            is_untold: unlisted.is_some(),
        }
    }
}

/// Whether a row was inserted and deleted: nobody will ever have seen it.
pub(super) fn is_undone((_, change): &(RowId, RowChange)) -> bool {
    change.before.is_none() && change.after.is_none()
}
