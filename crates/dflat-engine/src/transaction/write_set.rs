//! The changes of a transaction so far.

use dflat_model::{CommitSeq, RowId, Table};
use smallvec::SmallVec;

use super::changed_table::{ChangedTable, is_undone};
use crate::change_set::{ChangeSet, RowChange, RowRange};
use crate::object::Object;

/// The changes of a transaction. Each row is listed once; the tables are in the order of their
/// first change.
#[derive(Default)]
pub(super) struct WriteSet {
    tables: SmallVec<[ChangedTable; 1]>,
    /// Number of marks that are set.
    marks: usize,
    /// The states that were replaced by changes to rows that had been changed before, while a mark
    /// is set.
    replaced: Vec<Replaced>,
}

/// A state of a write set to return to. The default is the state without changes.
#[derive(Debug, Default)]
pub(super) struct Mark {
    /// How many rows of each table had been changed.
    rows: Vec<usize>,
    replaced: usize,
}

/// The state of a row before it was changed again.
struct Replaced {
    table: usize,
    position: usize,
    after: Option<Object>,
}

impl WriteSet {
    /// The latest state of a listed row: `None` if the row is not in the list, `Some(None)` if the
    /// transaction deleted it.
    #[inline]
    pub(super) fn latest(&self, table: &Table, row_id: RowId) -> Option<Option<&Object>> {
        // Most transactions change one table, from its first row to its last.
        match self.tables.first() {
            None => None,
            Some(first) if first.table.is_same(table) && first.is_behind_all(row_id) => None,
            Some(_) => self.find(table, row_id),
        }
    }

    fn find(&self, table: &Table, row_id: RowId) -> Option<Option<&Object>> {
        let changed = self
            .tables
            .iter()
            .find(|changed| changed.table.is_stored_as(table))?;
        let (_, change) = changed.rows.get(changed.position(row_id)?)?;
        Some(change.after.as_ref())
    }

    /// Notes a change. If the row was changed before, its state before the first change is kept.
    #[inline]
    pub(super) fn note(
        &mut self,
        table: &Table,
        row_id: RowId,
        before: Option<Object>,
        after: Option<Object>,
    ) {
        self.note_change(table, row_id, RowChange { before, after }, false);
    }

    /// Notes that an object was written, and the state of its row before. The object shares memory
    /// with others if it `is_attached`.
    #[inline]
    pub(super) fn note_written(
        &mut self,
        table: &Table,
        row_id: RowId,
        before: Option<Object>,
        (object, is_attached): (&Object, bool),
    ) {
        // Changes since a mark are undone row by row, so they are listed.
        if before.is_none()
            && !self.is_marked()
            && let Some(first) = self.tables.first_mut()
            && first.table.is_same(table)
            && first.append(row_id)
        {
            return;
        }
        let after = Some(object.clone());
        self.note_change(table, row_id, RowChange { before, after }, is_attached);
    }

    #[inline]
    fn note_change(&mut self, table: &Table, row_id: RowId, change: RowChange, is_attached: bool) {
        match self.tables.first_mut() {
            Some(first) if first.table.is_same(table) && first.is_behind_all(row_id) => {
                first.is_attached |= is_attached;
                first.rows.push((row_id, change));
            }
            _ => self.note_anywhere(table, row_id, change, is_attached),
        }
    }

    fn note_anywhere(
        &mut self,
        table: &Table,
        row_id: RowId,
        change: RowChange,
        is_attached: bool,
    ) {
        let position = self
            .tables
            .iter()
            .position(|changed| changed.table.is_stored_as(table));
        let position = position.unwrap_or_else(|| self.add(table));
        let Some(changed) = self.tables.get_mut(position) else {
            return;
        };
        changed.is_attached |= is_attached;
        let replaced = changed.note(row_id, change);
        if self.is_marked()
            && let Some((row, after)) = replaced
        {
            self.replaced.push(Replaced {
                table: position,
                position: row,
                after,
            });
        }
    }

    fn add(&mut self, table: &Table) -> usize {
        self.tables.push(ChangedTable::new(table));
        self.tables.len() - 1
    }

    /// Sets a mark on this state, so that later changes can be kept or undone.
    pub(super) fn mark(&mut self) -> Mark {
        self.marks += 1;
        Mark {
            rows: self.tables.iter().map(|table| table.rows.len()).collect(),
            replaced: self.replaced.len(),
        }
    }

    /// Whether a mark is set.
    pub(super) const fn is_marked(&self) -> bool {
        self.marks > 0
    }

    /// Removes the latest mark.
    pub(super) fn release(&mut self) {
        self.marks = self.marks.saturating_sub(1);
        if self.marks == 0 {
            self.replaced.clear();
        }
    }

    /// Removes the changes since a mark, and returns them.
    pub(super) fn undo(&mut self, mark: &Mark) -> Self {
        let mut undone = Self::default();
        let since = mark.replaced.min(self.replaced.len());
        let replaced = self.replaced.split_off(since);
        // In order of time: the first replaced state of a row is its state at the mark.
        for Replaced {
            table,
            position,
            after,
        } in &replaced
        {
            let Some(changed) = self.tables.get(*table) else {
                continue;
            };
            let is_older = mark.rows.get(*table).is_some_and(|rows| position < rows);
            if let (true, Some((row_id, change))) = (is_older, changed.rows.get(*position)) {
                undone.note(&changed.table, *row_id, after.clone(), change.after.clone());
            }
        }
        for (position, changed) in self.tables.iter_mut().enumerate() {
            let rows = mark.rows.get(position).copied().unwrap_or(0);
            for (row_id, change) in changed.split_off(rows) {
                undone.note(&changed.table, row_id, change.before, change.after);
            }
        }
        debug_assert!(
            self.tables
                .iter()
                .skip(mark.rows.len())
                .all(|changed| changed.inserted.is_none()),
            "all that is changed since a mark is listed"
        );
        self.tables.truncate(mark.rows.len());
        // Order: rows first changed since the mark are removed by now, so that only older rows
        // remain.
        for old in replaced.into_iter().rev() {
            let changed = self.tables.get_mut(old.table);
            if let Some((_, change)) = changed.and_then(|c| c.rows.get_mut(old.position)) {
                change.after = old.after;
            }
        }
        undone
    }

    /// The changes that undo these.
    pub(super) fn inverse(&self) -> Self {
        let mut inverse = Self::default();
        for (table, rows) in self.rows() {
            for (row_id, RowChange { before, after }) in rows {
                inverse.note(table, *row_id, after.clone(), before.clone());
            }
        }
        inverse
    }

    /// The tables that were changed.
    pub(super) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().map(|changed| &changed.table)
    }

    /// The largest inserted row id of each table. Rows that were deleted again count too.
    pub(super) fn largest_inserted(&self) -> impl Iterator<Item = (&Table, RowId)> {
        self.tables.iter().filter_map(|changed| {
            let inserted = changed
                .rows
                .iter()
                .filter(|(_, change)| change.before.is_none());
            let inserted = inserted.map(|(row_id, _)| *row_id);
            let in_range = changed.inserted.map(|range| range.last);
            Some((&changed.table, inserted.chain(in_range).max()?))
        })
    }

    /// Moves inserted rows from the list into ranges, except for tables whose list is `kept`. A
    /// large transaction that is alone in its commit needs no list of these rows: a failure undoes
    /// them with all its other changes, and the rest of the transaction is not written again
    /// without them.
    pub(super) fn extend_ranges(&mut self, kept: impl Fn(&Table) -> bool) {
        // Changes since a mark are undone row by row, so they are listed.
        if self.is_marked() {
            return;
        }
        let tables = self.tables.iter_mut();
        tables.for_each(|changed| changed.extend_range(&kept));
    }

    /// Whether a table has a range of inserted rows.
    pub(super) fn has_range(&self, table: &Table) -> bool {
        let mut tables = self.tables.iter();
        tables.any(|changed| changed.inserted.is_some() && changed.table.is_stored_as(table))
    }

    /// Whether any table has a range of inserted rows.
    pub(super) fn has_ranges(&self) -> bool {
        self.tables.iter().any(|changed| changed.inserted.is_some())
    }

    /// Lists the rows of all ranges, as `read` reads them.
    ///
    /// # Errors
    /// The errors of `read`.
    pub(super) fn list_ranges<E>(
        &mut self,
        mut read: impl FnMut(&Table, RowRange) -> Result<Vec<Object>, E>,
    ) -> Result<(), E> {
        let mut tables = self.tables.iter_mut();
        tables.try_for_each(|changed| changed.list_range(&mut read))
    }

    /// How many rows are in the list.
    pub(super) fn listed(&self) -> usize {
        self.tables.iter().map(|changed| changed.rows.len()).sum()
    }

    /// The changed rows that are in the list, by table, in the order of their first change.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&Table, &[(RowId, RowChange)])> {
        self.tables
            .iter()
            .map(|changed| (&changed.table, changed.rows.as_slice()))
    }

    /// The changed tables, in the order of their first change.
    pub(super) fn changed_tables(&self) -> &[ChangedTable] {
        &self.tables
    }

    /// Number of rows that were changed, or inserted and deleted again.
    pub(super) fn len(&self) -> usize {
        let in_ranges = self.tables.iter().map(|changed| changed.inserted_count);
        self.listed() + in_ranges.sum::<usize>()
    }

    /// Whether nothing changed in the end.
    pub(super) fn is_empty(&self) -> bool {
        !self.has_ranges()
            && self
                .tables
                .iter()
                .flat_map(|changed| &changed.rows)
                .all(is_undone)
    }

    /// The change set of the commit.
    pub(super) fn into_change_set(self, seq: CommitSeq) -> ChangeSet {
        let tables = self.tables.into_iter().map(ChangedTable::into_changes);
        ChangeSet {
            seq,
            tables: tables
                .filter(|changes| changes.inserted.is_some() || !changes.rows.is_empty())
                .collect(),
            state: None,
        }
    }
}
