//! Merges changed rows into a list in order of row id, in which no row moves.

use dflat_model::RowId;

use super::super::matching::{ChangedRows, Row, Rows};
use super::difference::Difference;
use crate::object::Object;

/// A list after a change, and its difference from the list before.
pub(super) struct MergedList {
    pub(super) objects: Vec<Object>,
    pub(super) difference: Difference,
}

/// The merge of a list, from the front to the back. Neighbouring rows that leave are removed
/// together, and neighbouring rows that enter are inserted together, which is fast where most of a
/// list changes.
pub(super) struct RowMerge<'l> {
    list: &'l [Object],
    /// Whether every row of the list leaves or is replaced. In this case positions follow from the
    /// changed rows, and the list's objects, which may be anywhere in memory, are not read.
    all: bool,
    /// The number of rows of the list that are merged.
    next: usize,
    objects: Vec<Object>,
    difference: Difference,
}

impl<'l> RowMerge<'l> {
    pub(super) fn new(list: &'l [Object], rows: Rows<'_>, changed: &ChangedRows) -> Self {
        let left = list.len().saturating_sub(changed.before.len());
        let is_at = |object: Option<&Object>, row: Option<&Row>| {
            let row = row.and_then(|row| rows.get(*row as usize));
            object.map(Object::row_id) == row.map(|(row_id, _)| *row_id)
        };
        let all = list.len() == changed.before.len()
            && is_at(list.first(), changed.before.first())
            && is_at(list.last(), changed.before.last());
        Self {
            list,
            all,
            next: 0,
            objects: Vec::with_capacity(left + changed.after.len()),
            difference: Difference::default(),
        }
    }

    /// The list after a change; `None` if the list lacks a row that it should have.
    pub(super) fn merge(
        mut self,
        rows: Rows<'_>,
        changed: &ChangedRows,
        same: impl Fn(&Object, &Object) -> bool,
    ) -> Option<MergedList> {
        let (mut were, mut are) = (changed.before.as_slice(), changed.after.as_slice());
        while !(were.is_empty() && are.is_empty()) {
            let (left, rest) = split_before(were, are.first());
            if !left.is_empty() {
                self.remove(rows, left)?;
                were = rest;
            }
            let (come, rest) = split_before(are, were.first());
            if !come.is_empty() {
                self.insert(rows, come)?;
                are = rest;
            }
            if let (Some((was, rest_were)), Some((is, rest_are))) =
                (were.split_first(), are.split_first())
                && was == is
            {
                self.replace(rows, *is, &same)?;
                (were, are) = (rest_were, rest_are);
            }
        }
        self.keep(self.list.len());
        Some(MergedList {
            objects: self.objects,
            difference: self.difference,
        })
    }

    fn row_id(&self, at: usize) -> Option<RowId> {
        self.list.get(at).map(Object::row_id)
    }

    /// Keeps the rows before a position.
    fn keep(&mut self, end: usize) {
        if let Some(kept) = self.list.get(self.next..end) {
            self.objects.extend_from_slice(kept);
            self.next = end;
        }
    }

    /// Keeps the rows before a row id.
    fn keep_before(&mut self, row_id: RowId) {
        if !self.all && self.row_id(self.next).is_some_and(|next| next < row_id) {
            let at = find(self.list, self.next, |other| other.row_id() < row_id);
            self.keep(at);
        }
    }

    /// Skips a row; `None` if the list lacks it.
    fn pass(&mut self, row_id: RowId) -> Option<()> {
        if !self.all && self.row_id(self.next) != Some(row_id) {
            self.keep_before(row_id);
            self.row_id(self.next).filter(|next| *next == row_id)?;
        }
        self.next += 1;
        Some(())
    }

    fn remove(&mut self, rows: Rows<'_>, left: &[Row]) -> Option<()> {
        if self.all {
            let next = self.next + left.len();
            self.difference.deleted.extend(self.next..next);
            self.next = next;
            return Some(());
        }
        for row in left {
            let (row_id, _) = rows.get(*row as usize)?;
            self.pass(*row_id)?;
            self.difference.deleted.push(self.next - 1);
        }
        Some(())
    }

    fn insert(&mut self, rows: Rows<'_>, mut come: &[Row]) -> Option<()> {
        while let Some(first) = come.first() {
            let (row_id, _) = rows.get(*first as usize)?;
            self.keep_before(*row_id);
            let next = if self.all {
                None
            } else {
                self.row_id(self.next)
            };
            let is_before = |row: &Row| match rows.get(*row as usize) {
                Some((row_id, _)) => next.is_none_or(|next| *row_id < next),
                None => false,
            };
            let count = match come.last() {
                Some(last) if is_before(last) => come.len(),
                _ => come.iter().take_while(|row| is_before(row)).count(),
            };
            // The first row precedes the next one of the list, unless the list has it already.
            let (run, rest) = come.split_at_checked(count).filter(|_| count > 0)?;
            let to = self.objects.len();
            for row in run {
                let after = rows.get(*row as usize)?.1.after.as_ref()?;
                self.objects.push(after.clone());
            }
            self.difference.inserted.extend(to..self.objects.len());
            come = rest;
        }
        Some(())
    }

    fn replace(
        &mut self,
        rows: Rows<'_>,
        row: Row,
        same: impl Fn(&Object, &Object) -> bool,
    ) -> Option<()> {
        let (row_id, change) = rows.get(row as usize)?;
        self.pass(*row_id)?;
        let after = change.after.as_ref()?;
        if change.before.as_ref().is_none_or(|b| !same(b, after)) {
            self.difference.updated.push(self.objects.len());
        }
        self.objects.push(after.clone());
        Some(())
    }
}

/// The rows of an ascending list that come before a row, and the others.
fn split_before<'r>(list: &'r [Row], row: Option<&Row>) -> (&'r [Row], &'r [Row]) {
    let count = match row {
        Some(row) => list.iter().take_while(|other| *other < row).count(),
        None => list.len(),
    };
    list.split_at_checked(count).unwrap_or((list, &[]))
}

/// The first position from `start` on whose object `is_before` rejects.
///
/// # Cost
/// One comparison if it is the first position; otherwise a logarithm of its distance.
pub(super) fn find(objects: &[Object], start: usize, is_before: impl Fn(&Object) -> bool) -> usize {
    let (mut low, mut step) = (start, 1);
    while objects.get(low + step - 1).is_some_and(&is_before) {
        low += step;
        step *= 2;
    }
    let rest = objects.get(low..(low + step - 1).min(objects.len()));
    low + rest.map_or(0, |rest| rest.partition_point(is_before))
}
