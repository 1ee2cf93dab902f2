//! Merges changed rows into a sorted list.

use std::sync::Arc;

use dflat_model::Order;

use super::super::matching::{ChangedRows, Row, Rows, after, before, compare};
use super::difference::{Difference, Move, out_of_order};
use super::positions::ascending;
use super::row_merge::{MergedList, RowMerge, find};
use crate::object::Object;

/// Buffers that are reused from one result to the next.
#[derive(Default)]
pub(in super::super) struct Scratch {
    /// By row: its position among the removed rows, from 1; 0 for other rows.
    removed: Vec<u32>,
    /// The lists that were replaced. They are dropped after the new ones were delivered, because
    /// dropping many objects takes time.
    pub(in super::super) replaced: Vec<Arc<Vec<Object>>>,
}

/// A sorted list.
pub(super) struct List<'l> {
    pub(super) objects: &'l [Object],
    pub(super) order: &'l [Order],
}

impl List<'_> {
    /// The first position from `start` on whose object does not come before `object`.
    fn find(&self, start: usize, object: &Object) -> usize {
        find(self.objects, start, |other| {
            compare(self.order, other, object).is_lt()
        })
    }

    /// The positions of the rows before the change; `None` if one is not where its keys say.
    fn positions(&self, rows: Rows<'_>, removed: &[Row]) -> Option<Vec<usize>> {
        let mut positions = Vec::with_capacity(removed.len());
        let mut next = 0;
        for row in removed {
            let (row_id, _) = rows.get(*row as usize)?;
            let is_it = |at: usize| self.objects.get(at).is_some_and(|o| o.row_id() == *row_id);
            if !is_it(next) {
                next = self.find(next, before(rows, *row)?);
                if !is_it(next) {
                    return None;
                }
            }
            positions.push(next);
            next += 1;
        }
        Some(positions)
    }

    /// The list after a change. `same` returns whether the two states of a row have the same
    /// observed values.
    ///
    /// `None` if the list lacks a row that it should have.
    ///
    /// # Cost
    /// In proportion to the list, whose handles are copied, and to the changed rows.
    pub(super) fn merge(
        &self,
        rows: Rows<'_>,
        changed: &ChangedRows,
        scratch: &mut Scratch,
        same: impl Fn(&Object, &Object) -> bool,
    ) -> Option<MergedList> {
        if self.order.is_empty() {
            return RowMerge::new(self.objects, rows, changed).merge(rows, changed, same);
        }
        let left = self.positions(rows, &changed.before)?;
        scratch.removed.resize(rows.len(), 0);
        for (row, index) in changed.before.iter().zip(1..) {
            if let Some(removed) = scratch.removed.get_mut(*row as usize) {
                *removed = index;
            }
        }
        let merged = self.merge_at(rows, changed, &left, &scratch.removed, same);
        for row in &changed.before {
            if let Some(removed) = scratch.removed.get_mut(*row as usize) {
                *removed = 0;
            }
        }
        Some(merged)
    }

    fn merge_at(
        &self,
        rows: Rows<'_>,
        changed: &ChangedRows,
        left: &[usize],
        removed: &[u32],
        same: impl Fn(&Object, &Object) -> bool,
    ) -> MergedList {
        let mut copy = ListCopy::new(self.objects, left, changed.after.len());
        let mut difference = Difference::default();
        let mut survived = vec![false; left.len()];
        let (mut in_place, mut moved) = (Vec::new(), Vec::new());
        let (mut next, mut skipped) = (0, left.iter().copied().peekable());
        for row in &changed.after {
            let Some(object) = after(rows, *row) else {
                continue;
            };
            // Rows that leave need no comparison.
            while skipped
                .next_if(|at| *at <= next)
                .is_some_and(|at| at == next)
            {
                next += 1;
            }
            next = self.find(next, object);
            copy.until(next);
            let to = copy.out.len();
            copy.out.push(object.clone());
            let index = removed.get(*row as usize).copied().unwrap_or_default() as usize;
            let Some((index, from)) = index.checked_sub(1).zip(left.get(index.wrapping_sub(1)))
            else {
                difference.inserted.push(to);
                continue;
            };
            if let Some(survived) = survived.get_mut(index) {
                *survived = true;
            }
            if before(rows, *row).is_none_or(|before| !same(before, object)) {
                difference.updated.push(to);
            }
            // If as many kept rows precede the row as before, it stays between its neighbours.
            let from = *from;
            let stays = from - index == copy.kept;
            let list = if stays { &mut in_place } else { &mut moved };
            list.push(Move { from, to });
        }
        copy.until(self.objects.len());
        let gone = left
            .iter()
            .zip(&survived)
            .filter(|(_, survived)| !**survived);
        difference.deleted = ascending(gone.map(|(at, _)| *at));
        moved.extend(out_of_order(&in_place));
        moved.sort_unstable_by_key(|moved| moved.to);
        difference.moved = moved;
        MergedList {
            objects: copy.out,
            difference,
        }
    }
}

/// A copy of a list without some positions.
struct ListCopy<'l> {
    objects: &'l [Object],
    left: std::iter::Peekable<std::iter::Copied<std::slice::Iter<'l, usize>>>,
    next: usize,
    /// How many objects of the list are in the copy.
    kept: usize,
    out: Vec<Object>,
}

impl<'l> ListCopy<'l> {
    fn new(objects: &'l [Object], left: &'l [usize], more: usize) -> Self {
        Self {
            objects,
            left: left.iter().copied().peekable(),
            next: 0,
            kept: 0,
            out: Vec::with_capacity(objects.len() + more - left.len()),
        }
    }

    /// Copies the objects before a position.
    fn until(&mut self, end: usize) {
        while let Some(skipped) = self.left.next_if(|at| *at < end) {
            self.extend(skipped);
            self.next = skipped + 1;
        }
        self.extend(end);
    }

    fn extend(&mut self, end: usize) {
        if let Some(run) = self.objects.get(self.next..end) {
            self.out.extend_from_slice(run);
            self.kept += run.len();
            self.next = end;
        }
    }
}
