//! Chooses among the keys that can serve a query.

use std::borrow::Cow;
use std::ops::Bound;

use dflat_model::{
    Direction, Expression, Field, IndexDescriptor, Nulls, Order, Predicate, Query, Table, Value,
};
use smallvec::{SmallVec, smallvec};

use super::candidate::{Candidate, FEW, Size};
use super::implied::{guaranteed, is_implied};
use super::intervals::{Interval, Positions, Set};
use super::{AccessPath, KeyAccess, KeyRange, Plan, Values};
use crate::error::Result;
use crate::storage::{IndexState, Key};

/// The most disjunctions that are considered.
const UNIONS_MAX: usize = 8;

pub(super) struct Planner<'a> {
    pub(super) table: &'a Table,
    pub(super) query: &'a Query,
    states: &'a [IndexState],
    /// The conjuncts of the predicate.
    pub(super) parts: &'a [Predicate],
    /// For each key of the order, its value if it is the same for all objects.
    fixed: SmallVec<[Option<Value>; 2]>,
}

/// The ranges of a key, and what they stand for.
struct Ranges {
    access: KeyAccess,
    used: Positions,
    rows_max: Option<usize>,
    /// Whether they leave out a few values of all, so that they are likely most of the rows.
    wide: bool,
}

impl<'a> Planner<'a> {
    pub(super) fn new(table: &'a Table, query: &'a Query, states: &'a [IndexState]) -> Self {
        let parts = match &query.predicate {
            None => &[],
            Some(Predicate::And(parts)) => parts.as_slice(),
            Some(predicate) => std::slice::from_ref(predicate),
        };
        let fixed = query.order.iter().map(|order| {
            let (set, _) = set_of(parts, order.key.as_field()?)?;
            match set.0.as_slice() {
                [one] => one.only().map(|only| Value::clone(only)),
                _ => None,
            }
        });
        Self {
            table,
            query,
            states,
            parts,
            fixed: fixed.collect(),
        }
    }

    pub(super) fn plan(&self, size: &mut Size<'_>) -> Result<Plan> {
        let chosen = self.choose(size)?;
        let sorted = self.is_sorted(&chosen.access);
        Ok(Plan {
            residual: self.residual(&chosen.used),
            access: self.behind_place(chosen.access, sorted),
            sorted,
            apart: Vec::new(),
        })
    }

    /// The conjuncts that are not used.
    fn residual(&self, used: &Positions) -> Option<Predicate> {
        if used.len() == self.parts.len() {
            return None;
        }
        let unused = |(at, part)| used.binary_search(&at).is_err().then_some(part);
        let unused = self.parts.iter().enumerate().filter_map(unused);
        let mut residual: Vec<Predicate> = unused.cloned().collect();
        match residual.len() {
            1 => residual.pop(),
            _ => Some(Predicate::And(residual)),
        }
    }

    fn choose(&self, size: &mut Size<'_>) -> Result<Candidate> {
        let nothing = Candidate {
            access: AccessPath::Nothing,
            used: (0..self.parts.len()).collect(),
            rows_max: Some(0),
        };
        if self.parts.iter().any(is_never_true) {
            return Ok(nothing);
        }
        let mut candidates = Vec::new();
        for key in self.keys(&[]) {
            match self.ranges_of(key, self.parts) {
                None => {}
                Some(ranges) if ranges.access.ranges.is_empty() => return Ok(nothing),
                Some(ranges) if ranges.wide => {}
                Some(ranges) => candidates.push(Candidate {
                    access: AccessPath::Key(ranges.access),
                    used: ranges.used,
                    rows_max: ranges.rows_max,
                }),
            }
        }
        // At most a few rows: no better can be found.
        let few = candidates
            .iter()
            .position(|candidate| candidate.rows_max.is_some_and(|max| max <= FEW));
        if let Some(few) = few {
            return Ok(candidates.swap_remove(few));
        }
        let unions = self.unions(&candidates);
        let alone = unions.is_empty() && candidates.len() == 1;
        if alone && candidates.iter().all(|only| self.is_sorted(&only.access)) {
            return Ok(candidates.swap_remove(0));
        }
        let ordered = self.ordered();
        if alone && ordered.is_none() {
            return Ok(candidates.swap_remove(0));
        }
        candidates.extend(unions);
        let (small, large) = self.smallest(candidates, size)?;
        let large = large.filter(|large| ordered.is_none() || self.is_sorted(&large.access));
        Ok(small.or(large).or(ordered).unwrap_or(Candidate {
            access: AccessPath::Rows(None),
            used: Positions::new(),
            rows_max: None,
        }))
    }

    /// The keys that can be used for objects of which conjuncts are true: the primary key, and the
    /// indexes that are ready and have all of them.
    fn keys(&self, side: &'a [Predicate]) -> impl Iterator<Item = Key> {
        let ready = self.table.indexes.iter().zip(self.states).enumerate();
        let ready = ready.filter(move |(_, (index, state))| {
            let condition = index.condition.as_ref();
            **state == IndexState::Ready
                && condition.is_none_or(|condition| is_implied(condition, &[side, self.parts]))
        });
        std::iter::once(Key::Primary).chain(ready.map(|(position, _)| Key::Index(position)))
    }

    fn index(&self, key: Key) -> Option<&'a IndexDescriptor> {
        match key {
            Key::Primary => None,
            Key::Index(position) => self.table.indexes.get(position),
        }
    }

    pub(super) fn fields(&self, key: Key) -> &'a [Field] {
        match key {
            Key::Primary => &self.table.primary_key,
            Key::Index(_) => self.index(key).map_or(&[], |index| &index.fields),
        }
    }

    /// The ranges of a key in which conditions hold: a value each for its first parts, then a set
    /// of values. No range if they contradict each other; `None` if the key does not help.
    fn ranges_of(&self, key: Key, parts: &[Predicate]) -> Option<Ranges> {
        let fields = self.fields(key);
        let index = self.index(key);
        let is_plain = index.is_some_and(IndexDescriptor::is_plain);
        let condition = index.and_then(|index| index.condition.as_ref());
        let mut prefix = Values::new();
        let mut used = Positions::new();
        let mut open = None;
        for field in fields {
            let values = match is_plain {
                true => set_of(parts, field),
                false => values_of(parts, field),
            };
            let Some((of_field, by)) = values else {
                break;
            };
            used.extend(by);
            let only = match of_field.0.as_slice() {
                [one] => one.only(),
                _ => None,
            };
            match only {
                Some(only) => prefix.push(Value::clone(only)),
                None => {
                    open = Some(of_field);
                    break;
                }
            }
        }
        if used.is_empty() && condition.is_none() {
            return None;
        }
        // All of an index of some objects is a range of all.
        let wide =
            condition.is_none() && prefix.is_empty() && open.as_ref().is_some_and(Set::is_wide);
        if let Some(condition) = condition {
            used.extend(guaranteed(condition, parts));
        }
        used.sort_unstable();
        used.dedup();
        let ranges = match open {
            None => smallvec![KeyRange::of(prefix.clone())],
            Some(set) => set.0.into_iter().map(|part| range(&prefix, part)).collect(),
        };
        let mut access = KeyAccess::new(key, ranges);
        let unique = key == Key::Primary || index.is_some_and(|index| index.unique);
        let single = |range: &KeyRange| {
            range.prefix.len() == fields.len() && !range.prefix.contains(&Value::Null)
        };
        let rows_max = (unique && access.ranges.iter().all(single)).then_some(access.ranges.len());
        let descending = self.order().next().is_some_and(|(_, order)| {
            order.direction == Direction::Descending
                && fields
                    .get(prefix.len())
                    .is_some_and(|field| is_field(&order.key, field))
        });
        if descending {
            access.direction = Direction::Descending;
            access.ranges.reverse();
        }
        Some(Ranges {
            access,
            used,
            rows_max,
            wide,
        })
    }

    /// Disjunctions whose sides each have a key, save those that one key serves as a whole.
    fn unions(&self, candidates: &[Candidate]) -> Vec<Candidate> {
        let served = |position: &usize| {
            candidates
                .iter()
                .any(|c| c.used.binary_search(position).is_ok())
        };
        let union = |part: &Predicate| {
            let Predicate::Or(sides) = part else {
                return None;
            };
            let mut accesses = Vec::new();
            for side in sides {
                let conjuncts = match side {
                    Predicate::And(parts) => parts.as_slice(),
                    side => std::slice::from_ref(side),
                };
                let keys = self.keys(conjuncts);
                let ranges = keys.filter_map(|key| self.ranges_of(key, conjuncts));
                let ranges = ranges.filter(|ranges| !ranges.wide);
                // The one that can have the fewest rows, unknown ones last.
                let best = ranges.min_by_key(|ranges| ranges.rows_max.unwrap_or(usize::MAX))?;
                if !best.access.ranges.is_empty() {
                    accesses.push(best.access);
                }
            }
            Some(Candidate {
                access: AccessPath::Union(accesses),
                used: Positions::new(),
                rows_max: None,
            })
        };
        let parts = self.parts.iter().enumerate();
        let parts = parts.filter(|(position, _)| !served(position));
        parts
            .filter_map(|(_, part)| union(part))
            .take(UNIONS_MAX)
            .collect()
    }

    /// A key whose order is that of the query, if the query wants a part of it.
    fn ordered(&self) -> Option<Candidate> {
        if self.query.limit.is_none() && self.query.after.is_none() {
            return None;
        }
        let (_, first) = self.order().next()?;
        let keys = self.keys(&[]).filter(|key| {
            let field = self.fields(*key).first();
            field.is_some_and(|field| is_field(&first.key, field) && !field.is_tag())
        });
        let candidates = keys.map(|key| {
            if let Some(ranges) = self.ranges_of(key, self.parts) {
                return (AccessPath::Key(ranges.access), ranges.used);
            }
            let mut access = KeyAccess::new(key, smallvec![KeyRange::of(Values::new())]);
            access.direction = first.direction;
            (AccessPath::Key(access), Positions::new())
        });
        let (access, used) = { candidates }.find(|(access, _)| self.is_sorted(access))?;
        Some(Candidate {
            access,
            used,
            rows_max: None,
        })
    }

    /// The keys of the order that are not the same for all objects, with their positions.
    pub(super) fn order(&self) -> impl Iterator<Item = (usize, &'a Order)> {
        let order = self.query.order.iter().enumerate().zip(self.fixed());
        order.filter_map(|(order, fixed)| fixed.is_none().then_some(order))
    }

    /// The value that the condition fixes each key of the order to, if it does.
    pub(super) fn fixed(&self) -> impl Iterator<Item = Option<&Value>> {
        self.fixed.iter().map(Option::as_ref)
    }

    /// Whether an access gives rows in the query's order.
    pub(super) fn is_sorted(&self, access: &AccessPath) -> bool {
        let mut order = self.order().map(|(_, order)| order);
        match access {
            AccessPath::Nothing => true,
            AccessPath::Rows(_) | AccessPath::Union(_) | AccessPath::Intersection(_) => {
                order.next().is_none()
            }
            AccessPath::Key(access) => {
                let fields = self.fields(access.key);
                let fixed = access.fixed_parts();
                let Some(open) = fields.get(fixed..).filter(|open| !open.is_empty()) else {
                    // Equal keys come by row id.
                    return order.next().is_none();
                };
                // Ties within the order go by row id, so the order must name the whole key.
                let named = open.iter().all(|field| {
                    order.next().is_some_and(|order| {
                        order.direction == access.direction
                            && order.nulls == Nulls::Smallest
                            && is_field(&order.key, field)
                    })
                });
                named && order.next().is_none()
            }
        }
    }
}

impl KeyAccess {
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
}

/// The part of a key in which the parts behind a prefix lie in an interval.
pub(super) fn range(prefix: &[Value], interval: Interval<'_>) -> KeyRange {
    let mut range = KeyRange::of(prefix.into());
    match interval.only() {
        Some(only) => range.prefix.push(Value::clone(only)),
        None => {
            range.lower = interval.lower.map(Cow::into_owned);
            range.upper = interval.upper.map(Cow::into_owned);
        }
    }
    range
}

/// The values of a field for which conditions on it hold, and the conditions' positions, in order.
pub(super) fn values_of<'q>(parts: &'q [Predicate], field: &Field) -> Option<(Set<'q>, Positions)> {
    let sets = parts.iter().enumerate();
    let sets = sets.filter_map(|(position, part)| Some((position, Set::of(part, field)?)));
    Set::common(sets.collect())
}

/// The same of a field in an index of its own, which has NULL for an empty union, whose type code
/// is 0 to a query.
fn set_of<'q>(parts: &'q [Predicate], field: &Field) -> Option<(Set<'q>, Positions)> {
    if !field.is_tag() {
        return values_of(parts, field);
    }
    let sets = parts.iter().enumerate();
    let sets = sets.filter_map(|(position, part)| {
        let set = Set::of(part, field)?;
        let in_index = set.0.iter().all(admits_members_only);
        in_index.then_some((position, set))
    });
    Set::common(sets.collect())
}

fn admits_members_only(interval: &Interval<'_>) -> bool {
    let (least, included) = match &interval.lower {
        Bound::Included(least) => (least, true),
        Bound::Excluded(least) => (least, false),
        Bound::Unbounded => return false,
    };
    matches!(**least, Value::Int(code) if code > 0 || (code == 0 && !included))
}

/// Whether an expression is nothing but this field.
fn is_field(expression: &Expression, field: &Field) -> bool {
    expression
        .as_field()
        .is_some_and(|other| other.steps == field.steps)
}

/// Whether a conjunct is false or UNKNOWN for every object.
fn is_never_true(part: &Predicate) -> bool {
    match part {
        Predicate::Constant(value) => !value,
        Predicate::Compare { left, right, .. } => [left, right]
            .iter()
            .any(|side| side.as_literal() == Some(&Value::Null)),
        Predicate::In { values, .. } => values.iter().all(|value| *value == Value::Null),
        _ => false,
    }
}
