//! The accesses that a plan is chosen from.

use dflat_model::Predicate;

use super::implied::is_implied;
use super::planner::Planner;
use super::purpose::Probe;
use super::{AccessPath, KeyAccess};
use crate::error::Result;
use crate::query::ConjunctPositions;
use crate::storage::Key;

/// The largest number of entries of a range that are counted to choose a plan. Larger ranges count
/// as large, whatever their size, so that this bounds the cost of choosing.
pub const PROBE_MAX: usize = 16_384;

/// The largest number of rows of a union for each entry that may be counted: the row ids of a union
/// are held in memory, 512 KiB at most. A row counts once for each part of the union that has it.
const UNION_ROWS: usize = 4;

/// With at most this many rows, no better plan is searched for: it could save no more than these.
pub(super) const FEW: usize = 64;

/// Looking up this many values takes less time than a choice.
const FEW_RANGES: usize = 4;

/// An access that may become the plan.
#[derive(Clone)]
pub(super) struct Candidate {
    pub(super) access: AccessPath,
    /// The positions of the conjuncts that the access guarantees, in order.
    pub(super) used: ConjunctPositions,
    /// The largest number of rows that the access can have, if a unique key bounds it.
    pub(super) rows_max: Option<usize>,
}

/// The drawbacks of an access besides its rows, as numbers of which less is better.
type Drawbacks = (u8, u8);

impl Planner<'_> {
    /// The drawbacks of an access: that its rows have to be sorted, all of them or some, and that
    /// objects are read where another index has the values. With a limit, sorting is the worse one.
    fn drawbacks(&self, candidate: &Candidate) -> Drawbacks {
        let is_sorted = self.is_sorted(&candidate.access);
        let sorts = match (is_sorted, self.ends_early(candidate)) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        };
        let reads_objects = u8::from(!self.has_values(candidate, is_sorted));
        match self.query.limit {
            Some(_) => (sorts, reads_objects),
            None => (reads_objects, sorts),
        }
    }

    /// The drawbacks of an access among those with the same number of rows.
    pub(super) fn work(&self, candidate: &Candidate) -> (Drawbacks, usize) {
        (self.drawbacks(candidate), self.unused(candidate))
    }

    /// The number of conjuncts that are left to check on each row.
    pub(super) fn unused(&self, candidate: &Candidate) -> usize {
        self.parts.len().saturating_sub(candidate.used.len())
    }

    /// The candidates without those that are certain to be no better than another one, so that
    /// their entries need not be counted.
    pub(super) fn without_worse(&self, candidates: &mut Vec<Candidate>) {
        if candidates.len() < 2 {
            return;
        }
        let all = std::mem::take(candidates);
        let drawbacks: Vec<Drawbacks> = all.iter().map(|one| self.drawbacks(one)).collect();
        let beats = |a: usize, b: usize| match (all.get(a), all.get(b)) {
            (Some(one), Some(other)) => {
                drawbacks.get(a) <= drawbacks.get(b) && self.has_no_more_rows(one, other)
            }
            _ => false,
        };
        // Of equal ones, the index with the fewest fields, then the first one, is kept.
        let fields = |at: usize| all.get(at).map_or(0, |one| self.width(one));
        let is_before = |a: usize, b: usize| (fields(a), a) < (fields(b), b);
        let is_worse = |at: usize| {
            let mut others = 0..all.len();
            others.any(|other| {
                other != at && beats(other, at) && (!beats(at, other) || is_before(other, at))
            })
        };
        let kept: Vec<bool> = (0..all.len()).map(|at| !is_worse(at)).collect();
        let kept = all.into_iter().zip(kept);
        candidates.extend(kept.filter_map(|(one, is_kept)| is_kept.then_some(one)));
    }

    /// Whether the rows of an access are certain to be among those of another, and take few more
    /// look-ups.
    fn has_no_more_rows(&self, one: &Candidate, other: &Candidate) -> bool {
        let (AccessPath::Key(a), AccessPath::Key(b)) = (&one.access, &other.access) else {
            return false;
        };
        let has_all = |used: &ConjunctPositions| {
            let mut used = used.iter();
            used.all(|at| one.used.binary_search(at).is_ok())
        };
        // All rows that meet the conjuncts, and the condition of the index, are in its ranges.
        let condition = |key: Key| self.index(key).and_then(|index| index.condition.as_ref());
        let has_rows = match condition(b.key) {
            None => true,
            Some(same) if Some(same) == condition(a.key) => true,
            Some(condition) => {
                let used = one.used.iter().filter_map(|at| self.parts.get(*at));
                let used: Vec<Predicate> = used.cloned().collect();
                is_implied(condition, &[&used])
            }
        };
        has_rows && has_all(&other.used) && a.ranges.len() <= b.ranges.len().max(FEW_RANGES)
    }

    /// The number of fields of an access.
    fn width(&self, candidate: &Candidate) -> usize {
        match &candidate.access {
            AccessPath::Key(access) => self.fields(access.key).len(),
            _ => 0,
        }
    }
}

impl Candidate {
    /// All rows.
    pub(super) fn rows() -> Self {
        Self {
            access: AccessPath::Rows(None),
            used: ConjunctPositions::new(),
            rows_max: None,
        }
    }

    /// The rows in both of two accesses.
    pub(super) fn both((a, b): (&KeyAccess, &KeyAccess), mut used: ConjunctPositions) -> Self {
        used.sort_unstable();
        used.dedup();
        Self {
            access: AccessPath::Intersection(vec![a.clone(), b.clone()]),
            used,
            rows_max: None,
        }
    }

    /// Reads the row ids first, so that rows come by row id and only the wanted ones are read.
    pub(super) fn put_in_order(&mut self) {
        if let AccessPath::Key(access) = &self.access {
            self.access = AccessPath::Union(vec![access.clone()]);
        }
    }

    /// The number of rows; `None` if a range has more than `max`, or a union has too many.
    pub(super) fn size(&self, probe: &mut dyn Probe, max: usize) -> Result<Option<usize>> {
        if let Some(rows) = self.rows_max.filter(|rows| *rows <= PROBE_MAX) {
            return Ok((rows <= max).then_some(rows));
        }
        let mut size = |access: &KeyAccess| {
            let rows = probe.size(access, max)?;
            Ok(rows.filter(|rows| *rows <= max))
        };
        match &self.access {
            AccessPath::Key(access) => size(access),
            AccessPath::Union(parts) => {
                let mut sum = 0;
                for part in parts {
                    let Some(rows) = size(part)? else {
                        return Ok(None);
                    };
                    sum += rows;
                    if sum > UNION_ROWS * max {
                        return Ok(None);
                    }
                }
                Ok(Some(sum))
            }
            _ => Ok(None),
        }
    }
}
