//! Chooses among the keys that can serve a query.

use dflat_model::{Predicate, Value};
use smallvec::smallvec;

use super::candidate::{Candidate, FEW};
use super::implied::is_implied;
use super::planner::{Planner, is_field};
use super::purpose::{NeededValues, Probe};
use super::{AccessPath, KeyAccess, KeyRange, Plan, RowOrder, Values};
use crate::error::Result;
use crate::query::ConjunctPositions;
use crate::storage::{IndexState, Key};

/// The largest number of disjunctions that are considered as unions: each costs a count of its
/// ranges.
const UNIONS_MAX: usize = 8;

impl<'a> Planner<'a> {
    pub(super) fn plan(&self, probe: &mut dyn Probe) -> Result<Plan> {
        let chosen = self.choose(probe)?;
        let order = self.row_order(&chosen.access);
        Ok(Plan {
            residual: self.residual(&chosen.used),
            access: self.behind_cursor(chosen.access, order),
            order,
            by_row_id: self.by_row_id,
            foreign_rows: Vec::new(),
        })
    }

    /// The conjuncts that the access does not guarantee.
    fn residual(&self, used: &ConjunctPositions) -> Option<Predicate> {
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

    fn choose(&self, probe: &mut dyn Probe) -> Result<Candidate> {
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
                Some(ranges) => {
                    let candidate = Candidate {
                        access: AccessPath::Key(ranges.access),
                        used: ranges.used,
                        rows_max: ranges.rows_max,
                    };
                    if !ranges.wide || self.needs_entries_only(&candidate) {
                        candidates.push(candidate);
                    }
                }
            }
        }
        // With at most a few rows, no better candidate is searched for.
        let few = candidates
            .iter()
            .position(|candidate| candidate.rows_max.is_some_and(|max| max <= FEW));
        if let Some(few) = few {
            return Ok(candidates.swap_remove(few));
        }
        self.without_worse(&mut candidates);
        let unions = self.unions(&candidates);
        let alone = unions.is_empty() && candidates.len() == 1;
        if alone && candidates.iter().all(|only| self.ends_early(only)) {
            return Ok(candidates.swap_remove(0));
        }
        let ordered = self.ordered();
        if alone && ordered.is_none() {
            return Ok(candidates.swap_remove(0));
        }
        candidates.extend(unions);
        let mut chosen = self.race(candidates, ordered, probe)?;
        if self.wants_first_rows() && !self.is_sorted(&chosen.access) {
            chosen.put_in_order();
        }
        Ok(chosen)
    }

    /// Whether a scan of an access may end when it has the wanted rows: its rows come in the
    /// query's order, or sorted by the first keys of this order.
    pub(super) fn ends_early(&self, candidate: &Candidate) -> bool {
        self.row_order(&candidate.access) != RowOrder::Any
    }

    /// Whether the query has a window in the order of row ids.
    fn wants_first_rows(&self) -> bool {
        let is_window = self.query.limit.is_some() || self.query.after.is_some();
        is_window && self.by_row_id
    }

    /// The keys that have all objects that meet the query and the conjuncts of `side`: the primary
    /// key, and the indexes that are ready and whose condition follows from these.
    fn keys(&self, side: &'a [Predicate]) -> impl Iterator<Item = Key> {
        let ready = self.table.indexes.iter().zip(self.states).enumerate();
        let ready = ready.filter(move |(_, (index, state))| {
            let condition = index.condition.as_ref();
            **state == IndexState::Ready
                && condition.is_none_or(|condition| is_implied(condition, &[side, self.parts]))
        });
        std::iter::once(Key::Primary).chain(ready.map(|(position, _)| Key::Index(position)))
    }

    /// Unions for the disjunctions whose sides each have a key. Disjunctions that a single key
    /// serves are left out.
    fn unions(&self, candidates: &[Candidate]) -> Vec<Candidate> {
        let served = |position: &usize| {
            candidates
                .iter()
                .any(|c| c.used.binary_search(position).is_ok())
        };
        let union = |(position, part): (usize, &'a Predicate)| {
            let Predicate::Or(sides) = part else {
                return None;
            };
            let mut accesses = Vec::new();
            let mut is_decided = true;
            for side in sides {
                let conjuncts = match side {
                    Predicate::And(parts) => parts.as_slice(),
                    side => std::slice::from_ref(side),
                };
                let keys = self.keys(conjuncts);
                let ranges = keys.filter_map(|key| self.ranges_of(key, conjuncts));
                let ranges = ranges.filter(|ranges| !ranges.wide);
                // The key whose number of rows has the lowest bound; keys without a bound come
                // last.
                let best = ranges.min_by_key(|ranges| ranges.rows_max.unwrap_or(usize::MAX))?;
                is_decided &= best.used.len() == conjuncts.len();
                if !best.access.ranges.is_empty() {
                    accesses.push(best.access);
                }
            }
            let used = is_decided.then_some(position);
            Some(Candidate {
                access: AccessPath::Union(accesses),
                used: used.into_iter().collect(),
                rows_max: None,
            })
        };
        let parts = self.parts.iter().enumerate();
        let parts = parts.filter(|(position, _)| !served(position));
        parts.filter_map(union).take(UNIONS_MAX).collect()
    }

    /// A key with the query's order, if the query has a window. If there is none, the key that
    /// gives the most of the first keys of that order.
    fn ordered(&self) -> Option<Candidate> {
        if self.query.limit.is_none() && self.query.after.is_none() {
            return None;
        }
        if self.wants_first_rows() {
            return Some(Candidate::rows());
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
            self.arrange(&mut access, 0);
            (AccessPath::Key(access), ConjunctPositions::new())
        });
        let mut best: Option<(usize, Candidate)> = None;
        for (access, used) in candidates {
            let rank = match self.row_order(&access) {
                RowOrder::Sorted => usize::MAX,
                RowOrder::Presorted(keys) => keys,
                RowOrder::Any => continue,
            };
            let candidate = Candidate {
                access,
                used,
                rows_max: None,
            };
            if best.as_ref().is_none_or(|(most, _)| *most < rank) && self.is_useful(&candidate) {
                best = Some((rank, candidate));
            }
        }
        best.map(|(_, candidate)| candidate)
    }

    /// Whether an access with an order is of use. If values are needed in any order, it is so only
    /// if its entries have them; otherwise reading all rows in sequence takes less.
    fn is_useful(&self, candidate: &Candidate) -> bool {
        match self.purpose.values {
            Some(NeededValues::Unordered(_)) if self.query.after.is_none() => {
                self.needs_entries_only(candidate)
            }
            _ => true,
        }
    }
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
