//! Chooses among several accesses by their numbers of rows.
//!
//! The entries of all accesses are counted in turns, each time up to a larger bound, until one has
//! no more. So the cost is a small multiple of the smallest range, whatever the others have.
//!
//! If the query wants only some rows, a few rows are read before the first turn, and more between
//! the turns: they may be enough.

use super::AccessPath;
use super::candidate::{Candidate, FEW, PROBE_MAX};
use super::planner::Planner;
use super::purpose::Probe;
use crate::error::Result;

/// The largest number of entries of each access that the first turn counts.
const FIRST_TURN: usize = 16;

/// The bound of each turn is this many times the bound of the one before.
const GROWTH: usize = 4;

/// Before the first turn, at most this many rows are read for each wanted one, and [`FEW`] at most.
const FIRST_PER_WANTED: usize = 4;

/// After a turn, one row is read for this many entries that the turn has counted of each access;
/// two, if rows are read in sequence. Each access has more entries than that, so every other plan
/// would read more rows, or intersect as many entries of two accesses.
const ENTRIES_PER_ROW: usize = 4;

impl Planner<'_> {
    /// The candidate with the fewest rows, or the intersection of two, if one has not too many to
    /// count; or an access whose first rows are enough. Otherwise the best of the large ones, and
    /// `ordered` before those that are not in order.
    pub(super) fn race(
        &self,
        mut candidates: Vec<Candidate>,
        ordered: Option<Candidate>,
        probe: &mut dyn Probe,
    ) -> Result<Candidate> {
        let early = match candidates.is_empty() {
            true => None,
            false => self.early(&candidates, ordered.as_ref()),
        };
        if let Some((early, wanted)) = &early
            && *wanted <= FIRST_TURN
            && self.needs_entries_only(early)
        {
            return Ok(early.clone());
        }
        let mut trial = early.map(|(early, wanted)| Trial {
            early,
            wanted,
            read: 0,
        });
        let mut max = FIRST_TURN;
        loop {
            if let Some(trial) = &mut trial
                && self.is_enough(trial, trial.rows_before(max), probe)?
            {
                return Ok(trial.early.clone());
            }
            if max > PROBE_MAX || candidates.is_empty() {
                break;
            }
            let sizes = candidates.iter().map(|one| one.size(probe, max));
            let sizes: Vec<Option<usize>> = sizes.collect::<Result<_>>()?;
            if sizes.iter().any(Option::is_some) {
                let (chosen, rows) = self.smallest((candidates, sizes), max, probe)?;
                return self.last_trial(trial, (chosen, rows), probe);
            }
            max *= GROWTH;
        }
        candidates.retain(|one| matches!(one.access, AccessPath::Key(_)));
        let large = candidates.into_iter().min_by_key(|one| self.work(one));
        let large = large.filter(|large| ordered.is_none() || self.is_sorted(&large.access));
        Ok(large.or(ordered).unwrap_or_else(Candidate::rows))
    }

    /// The access whose first rows are the query's if they meet its condition, or whose rows come
    /// sorted by the first keys of the query's order, and the number of rows that the query wants.
    fn early(
        &self,
        candidates: &[Candidate],
        ordered: Option<&Candidate>,
    ) -> Option<(Candidate, usize)> {
        let is_key = |one: &&Candidate| matches!(one.access, AccessPath::Key(_));
        if let Some(wanted) = self.purpose.enough {
            let suitable = candidates.iter();
            let suitable = suitable.filter(|one| is_key(one) || self.needs_entries_only(one));
            let best = suitable.min_by_key(|one| self.work(one))?;
            return Some((best.clone(), wanted));
        }
        let wanted = self.query.offset.saturating_add(self.query.limit?);
        let keys = candidates.iter().filter(is_key);
        let suitable = keys.filter(|one| self.ends_early(one));
        let best = suitable.min_by_key(|one| (!self.is_sorted(&one.access), self.work(one)));
        Some((best.or(ordered)?.clone(), wanted))
    }

    /// Whether the first rows of an access have all wanted rows, if at most so many are read.
    fn is_enough(&self, trial: &mut Trial, rows: usize, probe: &mut dyn Probe) -> Result<bool> {
        if trial.wanted > rows || trial.read >= rows {
            return Ok(false);
        }
        trial.read = rows;
        let early = &trial.early;
        let order = self.row_order(&early.access);
        let access = self.behind_cursor(early.access.clone(), order);
        let is_exact = order.is_sorted() || self.purpose.enough.is_some();
        if self.unused(early) == 0 && self.query.after.is_none() && is_exact {
            return Ok(true);
        }
        probe.has_enough((&access, order), trial.wanted, rows)
    }

    /// The chosen candidate, which has so many rows; or that of the trial, if all rows of the
    /// chosen one would be sorted, and half as many rows in order are enough.
    fn last_trial(
        &self,
        trial: Option<Trial>,
        (chosen, rows): (Candidate, usize),
        probe: &mut dyn Probe,
    ) -> Result<Candidate> {
        let is_sorting = !self.by_row_id && !self.ends_early(&chosen);
        let is_key = matches!(chosen.access, AccessPath::Key(_));
        if let Some(mut trial) = trial
            && (is_sorting && is_key && self.purpose.enough.is_none())
            && self.is_enough(&mut trial, rows / 2, probe)?
        {
            return Ok(trial.early);
        }
        Ok(chosen)
    }

    /// The candidate with the fewest rows, and their number; or the intersection of two, and the
    /// number of rows of the smaller one. Among candidates with the same number of rows, the one
    /// that leaves the least work. `sizes` has the sizes of those with at most `max` rows.
    fn smallest(
        &self,
        (candidates, mut sizes): (Vec<Candidate>, Vec<Option<usize>>),
        max: usize,
        probe: &mut dyn Probe,
    ) -> Result<(Candidate, usize)> {
        let known = candidates.iter().zip(&sizes);
        let known = known.filter_map(|(one, size)| Some((((*size)?, self.work(one)), one)));
        let Some(((rows, _), least)) = known.min_by_key(|(key, _)| *key) else {
            return Ok((Candidate::rows(), usize::MAX));
        };
        // Another one may still have fewer rows, or be worth an intersection.
        let further = match rows > FEW {
            true => rows.saturating_mul(4).min(PROBE_MAX),
            false => rows,
        };
        for (one, size) in candidates.iter().zip(&mut sizes) {
            let adds = one.used.iter().any(|at| !least.used.contains(at));
            if size.is_none() && further > max && (rows > max || adds) {
                *size = one.size(probe, further)?;
            }
        }
        let known = candidates.into_iter().zip(sizes);
        let known = known.filter_map(|(one, size)| Some((size?, one)));
        let mut known: Vec<(usize, Candidate)> = known.collect();
        known.sort_by_key(|(rows, candidate)| (*rows, self.work(candidate)));
        let mut known = known.into_iter();
        let Some((rows, best)) = known.next() else {
            return Ok((Candidate::rows(), usize::MAX));
        };
        // A second candidate helps only if it guarantees a conjunct that the best one does not.
        let adds = |other: &Candidate| other.used.iter().any(|at| !best.used.contains(at));
        let second = known
            .find(|(_, other)| adds(other))
            .filter(|(more, _)| rows > FEW && *more <= rows.saturating_mul(4));
        if let Some((_, second)) = second
            && let (AccessPath::Key(a), AccessPath::Key(b)) = (&best.access, &second.access)
        {
            let used = best.used.iter().chain(&second.used).copied().collect();
            return Ok((Candidate::both((a, b), used), rows));
        }
        Ok((best, rows))
    }
}

/// An access whose first rows may be enough.
struct Trial {
    early: Candidate,
    wanted: usize,
    /// How many of its rows were read.
    read: usize,
}

impl Trial {
    /// The number of rows to read before the turn that counts up to `max` entries.
    fn rows_before(&self, max: usize) -> usize {
        if max <= FIRST_TURN {
            return self.wanted.saturating_mul(FIRST_PER_WANTED).min(FEW);
        }
        let counted = max / GROWTH;
        let rows = match self.early.access {
            AccessPath::Rows(_) => counted * 2 / ENTRIES_PER_ROW,
            _ => counted / ENTRIES_PER_ROW,
        };
        // If the turn has counted so many entries, at least twice the wanted rows are read: a query
        // that finds all wanted rows reads as many rows anyway.
        rows.max(self.wanted.saturating_mul(2).min(counted))
    }
}
