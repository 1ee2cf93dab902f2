//! What a transaction has changed so far.

use std::collections::HashMap;
use std::mem;

use dflat_model::{CommitSeq, RowId, Table};
use smallvec::SmallVec;

use crate::change_set::{ChangeSet, RowChange, TableChanges};
use crate::object::Object;

/// The changes of a transaction, a row once, in the order tables were first changed.
#[derive(Default)]
pub(super) struct WriteSet {
    tables: SmallVec<[ChangedTable; 1]>,
    /// How many marks are set.
    marks: usize,
    /// What changes to rows that had been changed before replaced, while a mark is set.
    replaced: Vec<Replaced>,
}

/// A state of a write set to return to. The default one is that of no changes.
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

/// The changes to one table: a list in the order they were made. Most transactions change rows in
/// ascending order, which keeps the list sorted; the first that does not makes an index of it.
struct ChangedTable {
    table: Table,
    rows: SmallVec<[(RowId, RowChange); 1]>,
    /// Positions in `rows`, once they are not in ascending order.
    positions: Option<Box<Positions>>,
    /// Whether a row was changed more than once.
    repeated: bool,
    /// Whether objects after the changes share memory.
    is_attached: bool,
}

/// Where rows stand in a list. In memory of its own: a write set is moved about, and few need it.
struct Positions(HashMap<RowId, usize>);

impl WriteSet {
    /// What the transaction made of a row: `None` if it did not touch it, `Some(None)` if it
    /// deleted it.
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

    /// Notes a change. The state before is that of the first change of the row.
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

    /// Notes that an object was written, which shares memory with others if it `is_attached`, and
    /// what was there before.
    #[inline]
    pub(super) fn note_written(
        &mut self,
        table: &Table,
        row_id: RowId,
        before: Option<Object>,
        (object, is_attached): (Object, bool),
    ) {
        let after = Some(object);
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
        if self.marks > 0
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
        self.tables.push(ChangedTable {
            table: table.clone(),
            rows: SmallVec::new(),
            positions: None,
            repeated: false,
            is_attached: false,
        });
        self.tables.len() - 1
    }

    /// Marks this state, to keep or to undo what is changed from here on.
    pub(super) fn mark(&mut self) -> Mark {
        self.marks += 1;
        Mark {
            rows: self.tables.iter().map(|table| table.rows.len()).collect(),
            replaced: self.replaced.len(),
        }
    }

    /// Removes the latest mark.
    pub(super) fn release(&mut self) {
        self.marks = self.marks.saturating_sub(1);
        if self.marks == 0 {
            self.replaced.clear();
        }
    }

    /// Forgets what was changed since a mark, and gives it.
    pub(super) fn undo(&mut self, mark: &Mark) -> Self {
        let mut undone = Self::default();
        let since = mark.replaced.min(self.replaced.len());
        let replaced = self.replaced.split_off(since);
        // In order of time: the first state noted of a row is that at the mark.
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
        self.tables.truncate(mark.rows.len());
        // Order: what was first changed since is gone, so that these are the older rows.
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

    /// The tables changed.
    pub(super) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().map(|changed| &changed.table)
    }

    /// The largest row id inserted, by table, of those that were deleted again, too.
    pub(super) fn largest_inserted(&self) -> impl Iterator<Item = (&Table, RowId)> {
        self.tables.iter().filter_map(|changed| {
            let inserted = changed
                .rows
                .iter()
                .filter(|(_, change)| change.before.is_none());
            let largest = inserted.map(|(row_id, _)| *row_id).max()?;
            Some((&changed.table, largest))
        })
    }

    /// The rows changed, by table, in the order of their first change.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&Table, &[(RowId, RowChange)])> {
        self.tables
            .iter()
            .map(|changed| (&changed.table, changed.rows.as_slice()))
    }

    /// How many rows were changed, or inserted and deleted.
    pub(super) fn len(&self) -> usize {
        self.tables.iter().map(|changed| changed.rows.len()).sum()
    }

    /// Whether nothing changed in the end.
    pub(super) fn is_empty(&self) -> bool {
        self.tables
            .iter()
            .flat_map(|changed| &changed.rows)
            .all(is_undone)
    }

    /// The change set of the commit.
    pub(super) fn into_change_set(self, seq: CommitSeq) -> ChangeSet {
        let tables = self.tables.into_iter().map(ChangedTable::into_changes);
        ChangeSet {
            seq,
            tables: tables.filter(|changes| !changes.rows.is_empty()).collect(),
        }
    }
}

impl ChangedTable {
    /// Whether rows are in ascending order, and all of them before this one.
    #[inline]
    fn is_behind_all(&self, row_id: RowId) -> bool {
        self.positions.is_none() && self.rows.last().is_none_or(|(last, _)| *last < row_id)
    }

    /// Where the change of a row stands.
    fn position(&self, row_id: RowId) -> Option<usize> {
        match &self.positions {
            Some(positions) => positions.0.get(&row_id).copied(),
            None => self
                .rows
                .binary_search_by_key(&row_id, |(row_id, _)| *row_id)
                .ok(),
        }
    }

    /// Notes a change; where the row stands and what was known of it, if it was changed before.
    fn note(&mut self, row_id: RowId, change: RowChange) -> Option<(usize, Option<Object>)> {
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
    fn split_off(&mut self, rows: usize) -> Vec<(RowId, RowChange)> {
        let taken: Vec<_> = self.rows.drain(rows.min(self.rows.len())..).collect();
        if let Some(positions) = &mut self.positions {
            for (row_id, _) in &taken {
                positions.0.remove(row_id);
            }
        }
        taken
    }

    fn into_changes(self) -> TableChanges {
        let Self {
            table,
            mut rows,
            positions,
            repeated,
            is_attached,
        } = self;
        rows.retain(|row| !is_undone(row));
        if positions.is_some() {
            rows.sort_unstable_by_key(|(row_id, _)| *row_id);
        }
        TableChanges {
            table,
            rows,
            repeated,
            is_attached,
        }
    }
}

/// Whether a row was inserted and deleted: nobody will ever have seen it.
fn is_undone((_, change): &(RowId, RowChange)) -> bool {
    change.before.is_none() && change.after.is_none()
}
