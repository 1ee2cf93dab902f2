//! Ascending positions in a list.

use std::fmt;
use std::iter::FlatMap;
use std::ops::Range;
use std::slice::Iter;

use smallvec::SmallVec;

/// Neighbouring positions. Lists have fewer than 2^32 objects, which would take 64 GiB.
type Run = Range<u32>;

/// Distinct ascending positions in a list. Neighbouring positions are stored as one range.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Positions {
    /// Ascending, with at least one position between any two.
    runs: SmallVec<[Run; 2]>,
}

impl Positions {
    /// The number of positions.
    ///
    /// # Cost
    /// In proportion to the number of ranges.
    #[must_use]
    pub fn len(&self) -> usize {
        self.runs.iter().map(Run::len).sum()
    }

    /// Whether there are no positions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The positions, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.into_iter()
    }

    /// The positions as the fewest ascending ranges, for user interfaces that change several rows
    /// of a list at once.
    pub fn ranges(&self) -> impl DoubleEndedIterator<Item = Range<usize>> + ExactSizeIterator {
        self.runs.iter().map(wide)
    }

    /// Whether a position is contained.
    ///
    /// # Cost
    /// A logarithm of the number of ranges.
    #[must_use]
    pub fn contains(&self, position: usize) -> bool {
        let position = narrow(position);
        let before = self.runs.partition_point(|run| run.end <= position);
        self.runs
            .get(before)
            .is_some_and(|run| run.start <= position)
    }

    /// Adds a position behind all others.
    pub(super) fn push(&mut self, position: usize) {
        self.extend(position..position + 1);
    }

    /// Adds a range behind all others.
    pub(super) fn extend(&mut self, positions: Range<usize>) {
        let run = narrow(positions.start)..narrow(positions.end);
        debug_assert!(self.runs.last().is_none_or(|last| last.end <= run.start));
        if run.is_empty() {
            return;
        }
        match self.runs.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ => self.runs.push(run),
        }
    }
}

fn narrow(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

fn wide(run: &Run) -> Range<usize> {
    run.start as usize..run.end as usize
}

impl<'p> IntoIterator for &'p Positions {
    type Item = usize;
    type IntoIter = FlatMap<Iter<'p, Run>, Range<usize>, fn(&'p Run) -> Range<usize>>;

    fn into_iter(self) -> Self::IntoIter {
        let run: fn(&Run) -> Range<usize> = wide;
        self.runs.iter().flat_map(run)
    }
}

impl fmt::Debug for Positions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ranges()).finish()
    }
}

impl PartialEq<[usize]> for Positions {
    fn eq(&self, other: &[usize]) -> bool {
        self.iter().eq(other.iter().copied())
    }
}

impl<const N: usize> PartialEq<[usize; N]> for &Positions {
    fn eq(&self, other: &[usize; N]) -> bool {
        **self == other[..]
    }
}

/// Collects ascending positions.
pub(super) fn ascending(positions: impl IntoIterator<Item = usize>) -> Positions {
    let mut ascending = Positions::default();
    positions
        .into_iter()
        .for_each(|position| ascending.push(position));
    ascending
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_positions_are_one_range() {
        let mut positions = ascending([0, 1, 2, 5, 7]);
        positions.extend(8..10);
        positions.extend(12..12);
        assert!(positions.ranges().eq([0..3, 5..6, 7..10]));
        assert_eq!(&positions, [0, 1, 2, 5, 7, 8, 9]);
        assert_eq!((positions.len(), positions.is_empty()), (7, false));
        assert_eq!(format!("{positions:?}"), "[0..3, 5..6, 7..10]");
        let among = (0..12).filter(|position| positions.contains(*position));
        assert!(among.eq(&positions));
        assert!(positions.iter().rev().eq([9, 8, 7, 5, 2, 1, 0]));
    }

    #[test]
    fn no_positions_are_empty() {
        let none = Positions::default();
        assert_eq!((none.len(), none.is_empty()), (0, true));
        assert_eq!((&none, none.contains(0)), (&ascending([]), false));
        assert_ne!(&none, [0]);
    }
}
