//! The changes of a transaction to one table.

use std::collections::HashMap;
use std::mem;

use dflat_model::{RowId, Table};
use smallvec::SmallVec;

use crate::change_set::{RowChange, RowRange, TableChanges};
use crate::object::Object;

/// The changes to one table, as a list in the order in which they were made. Most transactions
/// change rows in ascending order, which keeps the list sorted; the first change out of order
/// creates an index of the list.
pub(super) struct ChangedTable {
    pub(super) table: Table,
    pub(super) rows: SmallVec<[(RowId, RowChange); 1]>,
    /// Positions in `rows`, once they are not in ascending order.
    positions: Option<Box<Positions>>,
    /// Whether a row was changed more than once.
    repeated: bool,
    /// Whether objects after the changes share memory.
    pub(super) is_attached: bool,
    /// Rows that this transaction inserted and that are not in the list. If such a row is changed
    /// later, the list has it with its state before that change. No other transaction has a row in
    /// the range, because row ids ascend.
    pub(super) inserted: Option<RowRange>,
    /// How many rows were inserted into the range.
    pub(super) inserted_count: usize,
}

/// Positions of rows in a list. They have memory of their own, because write sets are moved and few
/// need positions.
struct Positions(HashMap<RowId, usize>);

impl ChangedTable {
    /// No changes to a table.
    pub(super) fn new(table: &Table) -> Self {
        Self {
            table: table.clone(),
            rows: SmallVec::new(),
            positions: None,
            repeated: false,
            is_attached: false,
            inserted: None,
            inserted_count: 0,
        }
    }

    /// Whether the rows in the list are in ascending order, and all of them are before this row.
    #[inline]
    pub(super) fn is_behind_all(&self, row_id: RowId) -> bool {
        self.positions.is_none() && self.rows.last().is_none_or(|(last, _)| *last < row_id)
    }

    /// Moves the listed rows into the range, if all of them were inserted and not changed since,
    /// unless the list of this table is `kept`.
    pub(super) fn extend_range(&mut self, kept: impl Fn(&Table) -> bool) {
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
        let first = self.inserted.map_or(*first, |range| range.first);
        self.inserted = Some(RowRange { first, last: *last });
        self.inserted_count += self.rows.len();
        self.rows.clear();
    }

    /// Adds an inserted row to the range, if there is one and the list is empty.
    #[inline]
    pub(super) fn append(&mut self, row_id: RowId) -> bool {
        match &mut self.inserted {
            Some(range) if self.rows.is_empty() && range.last < row_id => {
                range.last = row_id;
                self.inserted_count += 1;
                true
            }
            _ => false,
        }
    }

    /// Lists the rows of the range, as `read` reads them.
    ///
    /// # Errors
    /// The errors of `read`; in that case nothing is changed.
    pub(super) fn list_range<E>(
        &mut self,
        read: impl FnOnce(&Table, RowRange) -> Result<Vec<Object>, E>,
    ) -> Result<(), E> {
        let Some(range) = self.inserted else {
            return Ok(());
        };
        // Order: a failure must not forget which row ids were used.
        let inserted = read(&self.table, range)?;
        let listed = mem::take(&mut self.rows);
        (self.positions, self.inserted, self.inserted_count) = (None, None, 0);
        for object in inserted {
            let (row_id, before) = (object.row_id(), None);
            let after = Some(object);
            self.note(row_id, RowChange { before, after });
        }
        for (row_id, mut change) in listed {
            if range.contains(row_id) {
                change.before = None;
            }
            self.note(row_id, change);
        }
        Ok(())
    }

    /// The position of a row's change in the list.
    pub(super) fn position(&self, row_id: RowId) -> Option<usize> {
        match &self.positions {
            Some(positions) => positions.0.get(&row_id).copied(),
            None => self
                .rows
                .binary_search_by_key(&row_id, |(row_id, _)| *row_id)
                .ok(),
        }
    }

    /// Notes a change. If the row was changed before, returns its position and its state before
    /// this change.
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

    /// Removes and returns the rows of the list after the first `rows`.
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
            inserted,
            ..
        } = self;
        // A row in the range is read as the commit left it, so its later changes are not listed.
        let is_in_range = |row_id| inserted.is_some_and(|range| range.contains(row_id));
        rows.retain(|row| !is_undone(row) && !is_in_range(row.0));
        if positions.is_some() {
            rows.sort_unstable_by_key(|(row_id, _)| *row_id);
        }
        TableChanges {
            table,
            rows,
            inserted,
            repeated,
            is_attached,
        }
    }
}

/// Whether a row was inserted and deleted again: no other transaction ever sees the row.
pub(super) fn is_undone((_, change): &(RowId, RowChange)) -> bool {
    change.before.is_none() && change.after.is_none()
}
