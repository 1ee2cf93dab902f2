//! Plans how a query reaches its rows.
//!
//! Compared with a scan of all rows, a plan has at most two more costs. It may reach an eighth of
//! the rows by a key before it reads all of them (`selectivity.rs`). If several keys can serve the
//! query and none is certain to be better, planning counts entries of each, until one has no more,
//! or has more than [`PROBE_MAX`] (`race.rs`). For a query
//! that wants only some rows, planning also reads some rows, which may be enough.

mod candidate;
mod choose;
mod conjuncts;
mod cursor;
mod implied;
mod lists;
mod nulls;
mod planner;
mod purpose;
mod race;
mod ranges;
mod row_order;

use std::ops::Bound;

use dflat_model::{Direction, Field, Predicate, Query, RowId, Table, Value};

use smallvec::{SmallVec, smallvec};

use super::skipping;
use crate::error::Result;
use crate::object::field_value;
use crate::query::tested_field;
use crate::storage::{IndexState, Key, KeyScan, Row, Source};
pub use candidate::PROBE_MAX;
pub(super) use lists::{VALUES_MIN, longest_list, without_lists};
use planner::Planner;
pub use purpose::Probe;
pub(super) use purpose::{NeededValues, Purpose};
pub use row_order::RowOrder;

/// The way to the rows of a query, and the condition that is left to check on each.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The rows to scan.
    pub access: AccessPath,
    /// The part of the predicate that the access does not guarantee.
    pub residual: Option<Predicate>,
    /// The order in which rows come.
    pub order: RowOrder,
    /// Whether the query's order is that of row ids.
    pub by_row_id: bool,
    /// Foreign rows, by ascending id: their index entries are not reliable, so these rows are
    /// checked one by one first, and scans of keys skip them.
    pub foreign_rows: Vec<RowId>,
}

/// Which rows to scan.
#[derive(Clone, Debug, PartialEq)]
pub enum AccessPath {
    /// No rows: the predicate can't be true.
    Nothing,
    /// All rows, or those after a row id.
    Rows(Option<RowId>),
    /// Ranges of a key.
    Key(KeyAccess),
    /// Rows that are in at least one of several accesses, by ascending row id.
    Union(Vec<KeyAccess>),
    /// Rows that are in all of several accesses, by ascending row id.
    Intersection(Vec<KeyAccess>),
}

/// Ranges of a key, disjoint and in the order of the key, except that the range of NULL may be at
/// the other end.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyAccess {
    /// The key.
    pub key: Key,
    /// The ranges, in the order in which they are scanned.
    pub ranges: SmallVec<[KeyRange; 1]>,
    /// The direction in which they are scanned.
    pub direction: Direction,
}

/// Values of the first parts of a key.
pub type Values = SmallVec<[Value; 2]>;

/// A range of a key; see [`KeyScan`].
#[derive(Clone, Debug, PartialEq)]
pub struct KeyRange {
    /// Values of the first parts.
    pub prefix: Values,
    /// The lower bound of the next part.
    pub lower: Bound<Value>,
    /// The upper bound of the next part.
    pub upper: Bound<Value>,
    /// The row id after which the rows of this prefix start.
    pub after: Option<RowId>,
}

impl Plan {
    /// Plans a query, given the states of the table's indexes. Without states, no index is used.
    ///
    /// `probe` is called only if there is a choice, and counts at most [`PROBE_MAX`] rows.
    ///
    /// # Errors
    /// Those of `probe`.
    pub fn new(
        table: &Table,
        query: &Query,
        states: &[IndexState],
        probe: &mut dyn Probe,
    ) -> Result<Self> {
        Self::for_purpose(table, (query, Purpose::default()), states, probe)
    }

    /// As [`new`](Self::new), if the rows serve another purpose than reading objects.
    pub(super) fn for_purpose(
        table: &Table,
        query: (&Query, Purpose<'_>),
        states: &[IndexState],
        probe: &mut dyn Probe,
    ) -> Result<Self> {
        Planner::new(table, query, states).plan(probe)
    }

    /// Takes foreign rows out of the plan's scans of keys.
    pub(super) fn set_foreign_rows(&mut self, rows: Vec<RowId>, query: &Query) {
        let uses_keys = match &self.access {
            AccessPath::Nothing | AccessPath::Rows(_) => false,
            AccessPath::Key(_) | AccessPath::Union(_) | AccessPath::Intersection(_) => true,
        };
        if uses_keys && !rows.is_empty() {
            self.order = self.order.behind_foreign_rows(query);
            self.foreign_rows = rows;
        }
    }

    /// Whether the plan's rows are those with one value of a key.
    pub(super) const fn is_look_up(&self) -> bool {
        matches!(self.access, AccessPath::Key(_)) && self.order.is_sorted() && self.by_row_id
    }

    /// Whether following the key may be given up for reading all rows. It may not if the key gives
    /// exactly the wanted rows in order: otherwise all rows would have to be kept and sorted.
    pub(super) fn may_be_given_up(&self, query: &Query) -> bool {
        let is_key = match &self.access {
            AccessPath::Nothing | AccessPath::Rows(_) => false,
            AccessPath::Key(_) | AccessPath::Union(_) | AccessPath::Intersection(_) => true,
        };
        let is_window = query.limit.is_some() && self.residual.is_none();
        let is_exact = is_window && self.order.is_sorted() && !self.by_row_id;
        is_key && !is_exact && !self.skips_entries(query)
    }

    /// The number of scans that the plan takes, unless it is given up.
    #[must_use]
    pub fn scan_count(&self) -> usize {
        match &self.access {
            AccessPath::Nothing => 0,
            AccessPath::Rows(_) => 1,
            AccessPath::Key(access) => access.ranges.len(),
            AccessPath::Union(parts) | AccessPath::Intersection(parts) => parts.len() + 1,
        }
    }
}

impl AccessPath {
    /// All rows by their primary key, which is less to read than the rows.
    pub(super) fn primary() -> Self {
        Self::Key(KeyAccess::new(
            Key::Primary,
            smallvec![KeyRange::of(Values::new())],
        ))
    }
}

impl KeyRange {
    /// Whether all rows of the key are in the range.
    pub(super) fn is_whole(&self) -> bool {
        let Self {
            prefix,
            lower,
            upper,
            after,
        } = self;
        let is_unbounded = matches!((lower, upper), (Bound::Unbounded, Bound::Unbounded));
        prefix.is_empty() && is_unbounded && after.is_none()
    }

    /// The rows that have these values in the first parts.
    #[must_use]
    pub const fn of(prefix: Values) -> Self {
        Self {
            prefix,
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
            after: None,
        }
    }
}

impl KeyAccess {
    /// Ranges of a key, to be scanned in ascending order.
    pub(super) const fn new(key: Key, ranges: SmallVec<[KeyRange; 1]>) -> Self {
        Self {
            key,
            ranges,
            direction: Direction::Ascending,
        }
    }

    /// The part of the access that starts with a row of the range at `position`. It may contain
    /// rows before that row.
    pub(super) fn from(&self, table: &Table, position: usize, row: Row<'_>) -> Self {
        let mut rest = Self {
            ranges: self.ranges.iter().skip(position).cloned().collect(),
            ..self.clone()
        };
        let fields = match self.key {
            Key::Primary => &table.primary_key,
            Key::Index(position) => match table.indexes.get(position) {
                Some(index) => &index.fields,
                None => return rest,
            },
        };
        let Some(range) = rest.ranges.first_mut() else {
            return rest;
        };
        let after = row.row_id.0.checked_sub(1).map(RowId);
        match fields.get(range.prefix.len()..) {
            None | Some([]) => range.after = after.or(range.after),
            // An index stores another value for an empty union than the object has.
            Some([field, ..]) if field.is_tag() => {}
            Some([field, further @ ..]) => {
                let Ok(value) = field_value(row.payload, field) else {
                    return rest;
                };
                let mut equal = KeyRange::of(range.prefix.clone());
                equal.prefix.push(value.to_value());
                equal.after = after.filter(|_| further.is_empty());
                let behind = Bound::Excluded(value.to_value());
                match self.direction {
                    Direction::Ascending => range.lower = behind,
                    Direction::Descending => range.upper = behind,
                }
                rest.ranges.insert(0, equal);
            }
        }
        rest
    }

    /// The number of first parts that have one value in all ranges.
    pub(super) fn fixed_parts(&self) -> usize {
        match self.ranges.as_slice() {
            [] => 0,
            [one] => one.prefix.len(),
            [first, ..] => {
                let shared = |at: usize| {
                    let value = first.prefix.get(at);
                    self.ranges
                        .iter()
                        .all(|range| range.prefix.get(at) == value)
                };
                (0..first.prefix.len()).take_while(|at| shared(*at)).count()
            }
        }
    }

    /// The key's name in messages.
    #[must_use]
    pub fn name(&self, table: &Table) -> String {
        match self.key {
            Key::Primary => "the primary key".to_owned(),
            Key::Index(position) => match table.indexes.get(position) {
                Some(index) => format!("the index on {index}"),
                None => format!("index {position}"),
            },
        }
    }

    /// The scans, in order.
    pub fn sources(&self) -> impl Iterator<Item = Source<'_>> {
        self.scans().map(Source::Key)
    }

    /// The ranges, in order.
    pub(super) fn scans(&self) -> impl Iterator<Item = KeyScan<'_>> {
        self.ranges.iter().map(|range| KeyScan {
            key: self.key,
            prefix: &range.prefix,
            lower: range.lower.as_ref(),
            upper: range.upper.as_ref(),
            direction: self.direction,
            after: range.after,
        })
    }
}

/// Knows no sizes, and finds no rows.
struct Unknown;

impl Probe for Unknown {
    fn size(&mut self, _: &KeyAccess, _: usize) -> Result<Option<usize>> {
        Ok(None)
    }

    fn has_enough(&mut self, _: (&AccessPath, RowOrder), _: usize, _: usize) -> Result<bool> {
        Ok(false)
    }
}

/// Whether a plan of the query can take more than one scan, whatever the sizes of ranges and the
/// states of indexes turn out to be.
pub(super) fn may_take_several_scans(table: &Table, query: &Query) -> bool {
    let has_long_list = longest_list(table, query) > VALUES_MIN;
    if has_long_list || may_use_index(table, query) || skipping::is_far(query) {
        return true;
    }
    // Only the primary key remains: will a union of its ranges be chosen?
    let may_be_union = match &query.predicate {
        Some(Predicate::And(parts)) => parts.iter().any(|part| matches!(part, Predicate::Or(_))),
        predicate => matches!(predicate, Some(Predicate::Or(_))),
    };
    let may = |query: &Query| {
        Plan::new(table, query, &[], &mut Unknown).is_ok_and(|plan| {
            // There may be too many rows with a value of the first parts of the key.
            let is_part = |range: &KeyRange| range.prefix.len() < table.primary_key.len();
            let may_be_many = match &plan.access {
                AccessPath::Key(access) => access.ranges.iter().any(is_part),
                _ => false,
            };
            may_be_many || plan.scan_count() > 1
        })
    };
    // With a window, all rows may be preferred to a range of unknown size. A count ignores windows.
    let whole = || Query {
        predicate: query.predicate.clone(),
        ..Query::default()
    };
    may_be_union || may(query) || (query.predicate.is_some() && may(&whole()))
}

/// Whether an index may serve the query, so that their states have to be known.
pub(super) fn may_use_index(table: &Table, query: &Query) -> bool {
    let indexed = |field: &Field| {
        let is_it = |other: &Field| other.steps == field.steps;
        table.indexes.iter().any(|index| {
            let condition = index.condition.as_ref();
            index.fields.iter().any(is_it) || condition.is_some_and(|c| c.mentions(&is_it))
        })
    };
    if table.indexes.is_empty() {
        return false;
    }
    let windowed = query.limit.is_some() || query.after.is_some();
    let mut keys = query.order.iter().filter_map(|order| order.key.as_field());
    (windowed && keys.any(indexed))
        || query
            .predicate
            .as_ref()
            .is_some_and(|predicate| mentions(predicate, &indexed))
}

fn mentions(predicate: &Predicate, is: &dyn Fn(&Field) -> bool) -> bool {
    match predicate {
        Predicate::And(parts) | Predicate::Or(parts) => parts.iter().any(|p| mentions(p, is)),
        Predicate::Not(inner) => mentions(inner, is),
        test => tested_field(test).is_some_and(is),
    }
}
