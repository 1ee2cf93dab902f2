//! The difference between two versions of a list, by positions.

use dflat_model::Table;

use super::super::matching::Interest;
use super::positions::{Positions, ascending};
use crate::object::Object;

/// The move of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The position in the old list.
    pub from: usize,
    /// The position in the new list.
    pub to: usize,
}

/// A change of a list in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Remove the element at this position.
    Remove(usize),
    /// Insert the new list's element of this position at the same position.
    Insert(usize),
    /// Replace the element at this position by the new list's.
    Update(usize),
}

/// The positions by which a new list differs from an old one.
///
/// Every element of the old list is deleted, moved or kept. Every element of the new list is
/// inserted, moved or kept. Kept elements have the same order in both lists. Moved and kept
/// elements may have new values as well: they are updated.
///
/// All positions are ascending. To change a list in place, remove the deleted and moved elements
/// from the back to the front, insert the inserted and moved ones from the front to the back, and
/// then replace the updated ones. [`steps`](Self::steps) gives these changes one by one.
///
/// # Examples
/// ```
/// use dflat_engine::observe::Difference;
/// let mut list = vec!['a', 'b', 'c'];
/// let new = ['d', 'c', 'a'];
/// let difference = Difference::between(&list, &new, |c| *c, |a, b| a == b);
/// difference.apply(&mut list, |position| new[position]);
/// assert_eq!(list, new);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    pub(super) deleted: Positions,
    pub(super) inserted: Positions,
    pub(super) moved: Vec<Move>,
    pub(super) updated: Positions,
}

impl Difference {
    /// The positions in the old list of the elements that the new list lacks, ascending.
    #[must_use]
    pub const fn deleted(&self) -> &Positions {
        &self.deleted
    }

    /// The positions in the new list of the elements that the old list lacks, ascending.
    #[must_use]
    pub const fn inserted(&self) -> &Positions {
        &self.inserted
    }

    /// The elements of both lists that changed their order relative to kept ones, by ascending new
    /// position.
    #[must_use]
    pub fn moved(&self) -> &[Move] {
        &self.moved
    }

    /// The positions in the new list of the elements that have other values than in the old list,
    /// ascending. Moved elements can be among them.
    #[must_use]
    pub const fn updated(&self) -> &Positions {
        &self.updated
    }

    /// Whether both lists are the same.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.deleted.is_empty()
            && self.inserted.is_empty()
            && self.moved.is_empty()
            && self.updated.is_empty()
    }

    /// The changes that turn the old list into the new one in place, in this order. Each position
    /// is valid in the list that the steps before it produced.
    pub fn steps(&self) -> impl Iterator<Item = Step> {
        let removed = self.left().into_iter().rev().map(Step::Remove);
        let inserted = self.come().into_iter().map(Step::Insert);
        let updated = self.updated.iter().map(Step::Update);
        removed.chain(inserted).chain(updated)
    }

    /// Turns the old list into the new one. `make` returns the new list's element at the position
    /// of an inserted or updated element; all others are taken from the old list.
    ///
    /// # Cost
    /// In proportion to the lists.
    pub fn apply<E>(&self, list: &mut Vec<E>, mut make: impl FnMut(usize) -> E) {
        let mut old: Vec<Option<E>> = std::mem::take(list).into_iter().map(Some).collect();
        let mut take = |position: usize| old.get_mut(position).and_then(Option::take);
        for position in &self.deleted {
            take(position);
        }
        let moved: Vec<_> = self
            .moved
            .iter()
            .map(|moved| (moved.to, take(moved.from)))
            .collect();
        let mut kept = old.into_iter().flatten();
        let mut inserted = self.inserted.iter().peekable();
        let mut moved = moved.into_iter().peekable();
        loop {
            let at = list.len();
            if inserted.next_if_eq(&at).is_some() {
                list.push(make(at));
            } else if let Some((_, element)) = moved.next_if(|(to, _)| *to == at) {
                list.extend(element);
            } else if let Some(element) = kept.next() {
                list.push(element);
            } else {
                break;
            }
        }
        for position in &self.updated {
            if let Some(element) = list.get_mut(position) {
                *element = make(position);
            }
        }
    }

    /// The difference between a first and a third list, if `self` is the difference between the
    /// first and the second, and `next` between the second and the third.
    ///
    /// # Cost
    /// In proportion to the positions in both, and a logarithm of their number.
    #[must_use]
    pub fn compose(&self, next: &Self) -> Self {
        let (first, second) = (PositionMap::new(self), PositionMap::new(next));
        let deleted = next.deleted.iter().filter_map(|at| first.origin(at));
        let deleted = sorted(self.deleted.iter().chain(deleted));
        let survived = self.inserted.iter().filter_map(|at| second.place(at));
        let inserted = sorted(next.inserted.iter().chain(survived));
        let earlier = self.moved.iter().filter_map(|moved| {
            let to = second.place(moved.to)?;
            Some(Move { to, ..*moved })
        });
        let later = next.moved.iter().filter_map(|moved| {
            let from = first.origin(moved.from)?;
            Some(Move { from, ..*moved })
        });
        let mut moved: Vec<Move> = earlier.chain(later).collect();
        moved.sort_unstable_by_key(|moved| moved.to);
        moved.dedup();
        let earlier = self.updated.iter().filter_map(|at| second.place(at));
        let mut updated = sorted(next.updated.iter().chain(earlier));
        updated.dedup();
        let (deleted, inserted) = (ascending(deleted), ascending(inserted));
        updated.retain(|at| !inserted.contains(*at));
        Self {
            deleted,
            inserted,
            moved,
            updated: ascending(updated),
        }
    }

    /// The difference between `old` and `new`. Elements are identified by a key that is unique in
    /// each list.
    ///
    /// # Cost
    /// In proportion to the lists without their common beginning and end.
    pub fn between<E, K: std::hash::Hash + Eq>(
        old: &[E],
        new: &[E],
        key: impl Fn(&E) -> K,
        same: impl Fn(&E, &E) -> bool,
    ) -> Self {
        let mut difference = Self::default();
        let alike = |(a, b): &(&E, &E)| key(a) == key(b);
        let front = old.iter().zip(new).take_while(alike).count();
        let (old_rest, new_rest) = (old.get(front..), new.get(front..));
        let (old_rest, new_rest) = (old_rest.unwrap_or_default(), new_rest.unwrap_or_default());
        let back = old_rest
            .iter()
            .rev()
            .zip(new_rest.iter().rev())
            .take_while(alike)
            .count();
        let middle = front..old.len() - back;
        let positions = middle.clone().zip(old.get(middle).unwrap_or_default());
        let mut positions: std::collections::HashMap<K, usize> =
            positions.map(|(at, element)| (key(element), at)).collect();
        let mut survivors = Vec::new();
        for (at, element) in new.iter().enumerate() {
            let from = if at < front {
                Some(at)
            } else if at >= new.len() - back {
                Some(at + old.len() - new.len())
            } else {
                let from = positions.remove(&key(element));
                match from {
                    Some(from) => survivors.push(Move { from, to: at }),
                    None => difference.inserted.push(at),
                }
                from
            };
            if let Some(before) = from.and_then(|from| old.get(from))
                && !same(before, element)
            {
                difference.updated.push(at);
            }
        }
        difference.deleted = ascending(sorted(positions.into_values()));
        difference.moved = out_of_order(&survivors);
        difference
    }

    /// The old positions of deleted and moved elements, ascending.
    fn left(&self) -> Vec<usize> {
        sorted(self.deleted.iter().chain(self.moved.iter().map(|m| m.from)))
    }

    /// The new positions of inserted and moved elements, ascending.
    fn come(&self) -> Vec<usize> {
        sorted(self.inserted.iter().chain(self.moved.iter().map(|m| m.to)))
    }
}

fn sorted(positions: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut sorted: Vec<_> = positions.collect();
    sorted.sort_unstable();
    sorted
}

/// Maps positions of one list to positions of the other.
struct PositionMap<'d> {
    difference: &'d Difference,
    /// The old positions of deleted and moved elements.
    left: Vec<usize>,
    /// The new positions of inserted and moved elements.
    come: Vec<usize>,
    /// Moves by their old position.
    by_origin: Vec<Move>,
}

impl<'d> PositionMap<'d> {
    fn new(difference: &'d Difference) -> Self {
        let mut by_origin = difference.moved.clone();
        by_origin.sort_unstable_by_key(|moved| moved.from);
        Self {
            difference,
            left: difference.left(),
            come: difference.come(),
            by_origin,
        }
    }

    /// The old position of the element at a new position; `None` if it was inserted.
    fn origin(&self, at: usize) -> Option<usize> {
        match self.come.binary_search(&at) {
            Ok(_) => {
                let moved = &self.difference.moved;
                let found = moved.binary_search_by_key(&at, |moved| moved.to).ok()?;
                moved.get(found).map(|moved| moved.from)
            }
            Err(come) => Some(nth_kept(&self.left, at - come)),
        }
    }

    /// The new position of the element at an old position; `None` if it was deleted.
    fn place(&self, at: usize) -> Option<usize> {
        match self.left.binary_search(&at) {
            Ok(_) => {
                let moved = &self.by_origin;
                let found = moved.binary_search_by_key(&at, |moved| moved.from).ok()?;
                moved.get(found).map(|moved| moved.to)
            }
            Err(left) => Some(nth_kept(&self.come, at - left)),
        }
    }
}

/// The `n`th position, from 0, that is not in an ascending list.
fn nth_kept(skipped: &[usize], n: usize) -> usize {
    // Before skipped[i] there are skipped[i] - i others.
    let mut range = 0..skipped.len();
    while !range.is_empty() {
        let middle = range.start + range.len() / 2;
        match skipped.get(middle) {
            Some(at) if at - middle <= n => range.start = middle + 1,
            _ => range.end = middle,
        }
    }
    n + range.start
}

/// The difference between two lists of a table's objects. An object is updated if its observed
/// values differ.
#[must_use]
pub fn list_difference(
    interest: &Interest,
    table: &Table,
    old: &[Object],
    new: &[Object],
) -> Difference {
    if std::ptr::eq(old, new) {
        return Difference::default();
    }
    let same = |a: &Object, b: &Object| interest.is_same(table, a, b);
    Difference::between(old, new, Object::row_id, same)
}

/// The moves, given by ascending new position, without the largest set of elements that can stay in
/// place: the longest subsequence whose old positions ascend as well.
pub(super) fn out_of_order(moves: &[Move]) -> Vec<Move> {
    if moves.is_sorted_by_key(|moved| moved.from) {
        return Vec::new();
    }
    // `ends` has the last element of the best ascending subsequence of each length, and `before`
    // the predecessor of each element.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(moves.len());
    let from = |index: &usize| moves.get(*index).map(|moved| moved.from);
    for (index, moved) in moves.iter().enumerate() {
        let length = ends.partition_point(|end| from(end) < Some(moved.from));
        before.push(
            length
                .checked_sub(1)
                .and_then(|shorter| ends.get(shorter).copied()),
        );
        ends.truncate(ends.len().max(length));
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut stays = vec![false; moves.len()];
    let mut next = ends.last().copied();
    while let Some(index) = next {
        if let Some(stay) = stays.get_mut(index) {
            *stay = true;
        }
        next = before.get(index).copied().flatten();
    }
    let moving = moves.iter().zip(stays).filter(|(_, stays)| !stays);
    moving.map(|(moved, _)| *moved).collect()
}
