//! Which live queries a commit concerns, and by which of its rows.

use std::collections::HashMap;

use dflat_model::{Field, Query, ValueRef};

use super::anchor::{Anchor, Atom, anchor, hash};
use super::intervals::Intervals;
use super::merge::{Row, Rows, Touched, after, before};
use crate::object::{Object, field_value};
use crate::query::{Condition, is_after};

/// Up to so many pairs of queries and rows are looked at one by one.
const PAIRS_MIN: usize = 16;

/// With so many times more queries than rows, each row asks for its queries rather than each query
/// for its rows. Measured: with as many queries by a key as rows, both cost the same.
const QUERIES_PER_ROW: usize = 1;

/// The anchors of live queries, by field.
#[derive(Default)]
pub(super) struct Matcher {
    fields: Vec<FieldIndex>,
    /// The queries that have to see every row.
    unanchored: Vec<u32>,
    anchored: usize,
}

struct FieldIndex {
    field: Field,
    /// By the hash of a value: the queries that ask for it.
    points: HashMap<u64, Vec<u32>>,
    intervals: Intervals,
}

impl FieldIndex {
    fn is_empty(&self) -> bool {
        self.points.is_empty() && self.intervals.is_empty()
    }
}

/// How a live query is found.
pub(super) enum Found {
    /// It sees every row.
    Always,
    /// By these values.
    By(Anchor),
}

impl Found {
    pub(super) fn of(query: &Query) -> Self {
        let anchor = query.predicate.as_ref().and_then(anchor);
        anchor.map_or(Self::Always, Self::By)
    }

    fn atoms(&self) -> &[Atom] {
        match self {
            Self::Always => &[],
            Self::By(anchor) => &anchor.atoms,
        }
    }
}

impl Matcher {
    pub(super) fn insert(&mut self, slot: u32, found: &Found) {
        if let Found::Always = found {
            self.unanchored.push(slot);
            return;
        }
        self.anchored += 1;
        for Atom { field, interval } in found.atoms() {
            let place = self.fields.iter().position(|index| index.field == *field);
            let place = place.unwrap_or_else(|| {
                self.fields.push(FieldIndex {
                    field: field.clone(),
                    points: HashMap::new(),
                    intervals: Intervals::default(),
                });
                self.fields.len() - 1
            });
            let Some(index) = self.fields.get_mut(place) else {
                continue;
            };
            if interval.is_point() {
                index
                    .points
                    .entry(hash(interval.low.as_ref()))
                    .or_default()
                    .push(slot);
            } else {
                index.intervals.insert(interval.clone(), slot);
            }
        }
    }

    pub(super) fn remove(&mut self, slot: u32, found: &Found) {
        if let Found::Always = found {
            self.unanchored.retain(|other| *other != slot);
            return;
        }
        self.anchored -= 1;
        for Atom { field, interval } in found.atoms() {
            let index = self.fields.iter_mut().find(|index| index.field == *field);
            let Some(index) = index else { continue };
            if interval.is_point() {
                let hash = hash(interval.low.as_ref());
                if let Some(slots) = index.points.get_mut(&hash) {
                    slots.retain(|other| *other != slot);
                    if slots.is_empty() {
                        index.points.remove(&hash);
                    }
                }
            } else {
                index.intervals.remove(interval, slot);
            }
        }
        self.fields.retain(|index| !index.is_empty());
    }

    /// The queries that a commit may concern, each with what is known of the rows.
    pub(super) fn hits(&mut self, rows: Rows<'_>) -> Hits {
        let pairs = rows.len().saturating_mul(self.anchored);
        if pairs <= PAIRS_MIN || rows.len().saturating_mul(QUERIES_PER_ROW) > self.anchored {
            return Hits::Any;
        }
        let mut hits = Vec::new();
        for index in &mut self.fields {
            index.intervals.tidy();
            for row in all(rows) {
                for (side, state) in [before(rows, row), after(rows, row)]
                    .into_iter()
                    .enumerate()
                {
                    let Some(object) = state else { continue };
                    let value = value(object, &index.field);
                    let mut hit = |slot| hits.push((slot, side, row));
                    if let Some(slots) = index.points.get(&hash(value)) {
                        slots.iter().copied().for_each(&mut hit);
                    }
                    index.intervals.stab(value, &mut hit);
                }
            }
        }
        hits.sort_unstable();
        hits.dedup();
        Hits::Of(hits)
    }

    pub(super) fn unanchored(&self) -> &[u32] {
        &self.unanchored
    }
}

/// The queries that a commit may concern.
pub(super) enum Hits {
    /// Each has to look for its rows.
    Any,
    /// These, in order, each with the side and the row.
    Of(Vec<(u32, usize, Row)>),
}

fn all(rows: Rows<'_>) -> std::ops::Range<Row> {
    0..Row::try_from(rows.len()).unwrap_or(Row::MAX)
}

fn value<'a>(object: &'a Object, field: &'a Field) -> ValueRef<'a> {
    // Objects are verified, so that every value can be read.
    field_value(object.payload(), field).unwrap_or(ValueRef::Null)
}

/// Rows in the order of a field's values.
type ByValue<'c> = Vec<(ValueRef<'c>, Row)>;

/// The rows of a commit in the order of their values, for queries that look for theirs.
pub(super) struct Sorted<'c> {
    matcher: &'c Matcher,
    rows: Rows<'c>,
    /// By the place of the field in the matcher: what the rows were, and what they are.
    fields: Vec<Option<[ByValue<'c>; 2]>>,
    bits: Vec<u64>,
}

impl<'c> Sorted<'c> {
    pub(super) fn new(matcher: &'c Matcher, rows: Rows<'c>) -> Self {
        Self {
            matcher,
            rows,
            fields: Vec::new(),
            bits: Vec::new(),
        }
    }

    /// The rows that are in an interval of the anchor, on either side, ascending.
    fn within(&mut self, atoms: &[Atom]) -> Touched {
        let mut touched = Touched::default();
        self.bits.resize(self.rows.len().div_ceil(64), 0);
        for (side, list) in [&mut touched.before, &mut touched.after]
            .into_iter()
            .enumerate()
        {
            for atom in atoms {
                self.mark(atom, side);
            }
            drain(&mut self.bits, list);
        }
        touched
    }

    /// Puts the rows of an interval into the set.
    fn mark(&mut self, atom: &Atom, side: usize) {
        let fields = self.matcher.fields.iter();
        let Some(place) = fields
            .enumerate()
            .find(|(_, index)| index.field == atom.field)
        else {
            return;
        };
        let place = place.0;
        self.sort(place);
        let sorted = self.fields.get(place).and_then(Option::as_ref);
        let sorted = sorted.and_then(|sides| sides.get(side));
        let (sorted, interval) = (sorted.map_or(&[][..], Vec::as_slice), &atom.interval);
        let start = sorted.partition_point(|(value, _)| !interval.starts_before(*value));
        let rest = sorted.get(start..).unwrap_or_default();
        let count = rest.partition_point(|(value, _)| interval.ends_after(*value));
        for (_, row) in rest.get(..count).unwrap_or_default() {
            if let Some(word) = self.bits.get_mut(*row as usize / 64) {
                *word |= 1 << (row % 64);
            }
        }
    }

    fn sort(&mut self, place: usize) {
        if self.fields.len() <= place {
            self.fields.resize_with(place + 1, || None);
        }
        let Some(index) = self.matcher.fields.get(place) else {
            return;
        };
        let rows = self.rows;
        if let Some(field @ None) = self.fields.get_mut(place) {
            let side = |state: fn(Rows<'c>, Row) -> Option<&'c Object>| {
                let of = |row| Some((value(state(rows, row)?, &index.field), row));
                let mut values: ByValue<'c> = all(rows).filter_map(of).collect();
                values.sort_unstable_by(|(a, x), (b, y)| a.order(*b).then(x.cmp(y)));
                values
            };
            *field = Some([side(before), side(after)]);
        }
    }
}

/// Takes the rows out of a set, ascending.
fn drain(bits: &mut [u64], rows: &mut Vec<Row>) {
    let count = bits.iter().map(|word| word.count_ones() as usize).sum();
    rows.reserve_exact(count);
    for (index, word) in (0_u32..).zip(bits) {
        let mut left = std::mem::take(word);
        while left != 0 {
            rows.push(index * 64 + left.trailing_zeros());
            left &= left - 1;
        }
    }
}

/// The rows that met or meet a query's condition, ascending: among those known, if it is known
/// which may.
pub(super) fn touched(
    query: &Query,
    found: &Found,
    known: Option<Touched>,
    sorted: &mut Sorted<'_>,
) -> Touched {
    let rows = sorted.rows;
    let (mut touched, exact) = match (known, found) {
        // Two values may have one hash.
        (Some(known), _) => (known, false),
        (None, Found::By(anchor)) => (sorted.within(&anchor.atoms), anchor.exact),
        (None, Found::Always) => {
            let were = all(rows).filter(|row| before(rows, *row).is_some());
            let are = all(rows).filter(|row| after(rows, *row).is_some());
            let (before, after) = (were.collect(), are.collect());
            (Touched { before, after }, query.predicate.is_none())
        }
    };
    if exact && query.after.is_none() {
        return touched;
    }
    let condition = query
        .predicate
        .as_ref()
        .filter(|_| !exact)
        .map(Condition::new);
    let matches = |object: &Object| {
        let payload = object.payload();
        // Objects are verified, so that every value can be read.
        let meets = condition
            .as_ref()
            .is_none_or(|c| c.holds(payload) == Ok(Some(true)));
        let row = (object.row_id(), payload);
        let is_behind = |cursor| is_after(&query.order, cursor, row) == Ok(true);
        meets && query.after.as_ref().is_none_or(is_behind)
    };
    touched
        .before
        .retain(|row| before(rows, *row).is_some_and(matches));
    touched
        .after
        .retain(|row| after(rows, *row).is_some_and(matches));
    touched
}
