//! The accesses that a plan is chosen from, and the number of rows of each.

use super::planner::Planner;
use super::{AccessPath, KeyAccess};
use crate::error::Result;
use crate::query::ConjunctPositions;

/// The largest number of entries of a range that are counted to choose a plan. Larger ranges count
/// as large, whatever their size, so that this bounds the cost of choosing.
pub const PROBE_MAX: usize = 16_384;

/// The largest number of rows of a union, whose row ids are held in memory: 512 KiB. A row counts
/// once for each part of the union that has it.
const UNION_MAX: usize = 4 * PROBE_MAX;

/// With at most this many rows, no better plan is searched for: it could save no more than these.
pub(super) const FEW: usize = 64;

/// Counts the rows of ranges.
pub(super) type Size<'s> = dyn FnMut(&KeyAccess) -> Result<Option<usize>> + 's;

/// An access that may become the plan.
pub(super) struct Candidate {
    pub(super) access: AccessPath,
    /// The positions of the conjuncts that the access guarantees, in order.
    pub(super) used: ConjunctPositions,
    /// The largest number of rows that the access can have, if a unique key bounds it.
    pub(super) rows_max: Option<usize>,
}

impl Planner<'_> {
    /// The candidate with the fewest rows, or the intersection of two; and a range among those that
    /// have too many rows to count. Among candidates with the same number of rows, the one that
    /// leaves the least work.
    pub(super) fn smallest(
        &self,
        candidates: Vec<Candidate>,
        size: &mut Size<'_>,
    ) -> Result<(Option<Candidate>, Option<Candidate>)> {
        let mut known: Vec<(usize, Candidate)> = Vec::new();
        let mut large: Option<Candidate> = None;
        let work = |candidate: &Candidate| {
            let unused = self.parts.len().saturating_sub(candidate.used.len());
            (!self.is_sorted(&candidate.access), unused)
        };
        for candidate in candidates {
            match (candidate.size(size)?, &candidate.access) {
                (Some(rows), _) => known.push((rows, candidate)),
                (None, AccessPath::Key(_)) => {
                    let is_best = large
                        .as_ref()
                        .is_none_or(|best| work(&candidate) < work(best));
                    large = if is_best { Some(candidate) } else { large };
                }
                (None, _) => {}
            }
        }
        known.sort_by_key(|(rows, candidate)| (*rows, work(candidate)));
        let mut known = known.into_iter();
        let Some((rows, best)) = known.next() else {
            return Ok((None, large));
        };
        // A second candidate helps only if it guarantees a conjunct that the best one does not.
        let adds = |other: &Candidate| other.used.iter().any(|at| !best.used.contains(at));
        let second = known
            .find(|(_, other)| adds(other))
            .filter(|(more, _)| rows > FEW && *more <= rows.saturating_mul(4));
        if let Some((_, second)) = second
            && let (AccessPath::Key(a), AccessPath::Key(b)) = (&best.access, &second.access)
        {
            let mut used = best.used;
            used.extend_from_slice(&second.used);
            used.sort_unstable();
            used.dedup();
            let both = Candidate {
                access: AccessPath::Intersection(vec![a.clone(), b.clone()]),
                used,
                rows_max: None,
            };
            return Ok((Some(both), large));
        }
        Ok((Some(best), large))
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

    /// Reads the row ids first, so that rows come by row id and only the wanted ones are read.
    pub(super) fn put_in_order(&mut self) {
        if let AccessPath::Key(access) = &self.access {
            self.access = AccessPath::Union(vec![access.clone()]);
        }
    }

    /// The number of rows; `None` if there are too many to count.
    fn size(&self, size: &mut Size<'_>) -> Result<Option<usize>> {
        if let Some(rows) = self.rows_max.filter(|rows| *rows <= PROBE_MAX) {
            return Ok(Some(rows));
        }
        match &self.access {
            AccessPath::Key(access) => size(access),
            AccessPath::Union(parts) => {
                let mut sum = 0;
                for part in parts {
                    let Some(rows) = size(part)? else {
                        return Ok(None);
                    };
                    sum += rows;
                    if sum > UNION_MAX {
                        return Ok(None);
                    }
                }
                Ok(Some(sum))
            }
            _ => Ok(None),
        }
    }
}
