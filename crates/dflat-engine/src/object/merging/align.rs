//! Matches the members of a changed vector with the members that it had before.

use super::super::Malformed;

/// The largest number of old members that a new member is compared with, between the ends of the
/// vectors that match.
///
/// It bounds the cost to 64 comparisons a member. A member that moved farther counts as new.
const WINDOW: usize = 64;

/// The origin of a member of the new vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// Equals the old member at this position.
    Same(usize),
    /// Is the old member at this position with other values.
    Changed(usize),
    /// Has no old member.
    New,
}

/// The members of two vectors, matched.
#[derive(Debug)]
pub(super) struct Aligned {
    /// The origin of each member of the new vector.
    pub(super) matches: Vec<Match>,
    /// The old members of which it is unknown whether they were changed or removed.
    pub(super) unclear: Vec<usize>,
}

/// Aligns two vectors, given their lengths and the equality of members.
///
/// Equal members are matched in order, first from both ends. If the same number of members is left
/// between two matches on both sides, they are matched one by one as changed members.
pub(super) fn align(
    old: usize,
    new: usize,
    same: impl Fn(usize, usize) -> Result<bool, Malformed>,
) -> Result<Aligned, Malformed> {
    let mut aligned = Aligned {
        matches: vec![Match::New; new],
        unclear: Vec::new(),
    };
    let shorter = old.min(new);
    let mut start = 0;
    while start < shorter && same(start, start)? {
        aligned.set(start, Match::Same(start));
        start += 1;
    }
    let mut tail = 0;
    while tail < shorter - start && same(old - 1 - tail, new - 1 - tail)? {
        tail += 1;
        aligned.set(new - tail, Match::Same(old - tail));
    }
    let (old_end, new_end) = (old - tail, new - tail);
    let (mut from, mut gap) = (start, start);
    for to in start..new_end {
        let window = from..old_end.min(from + WINDOW);
        let mut found = None;
        for candidate in window {
            if same(candidate, to)? {
                found = Some(candidate);
                break;
            }
        }
        if let Some(found) = found {
            aligned.set(to, Match::Same(found));
            aligned.fill(from..found, gap..to);
            (from, gap) = (found + 1, to + 1);
        }
    }
    aligned.fill(from..old_end, gap..new_end);
    Ok(aligned)
}

impl Aligned {
    fn set(&mut self, to: usize, found: Match) {
        if let Some(place) = self.matches.get_mut(to) {
            *place = found;
        }
    }

    /// Matches the members between two equal ones.
    fn fill(&mut self, old: std::ops::Range<usize>, new: std::ops::Range<usize>) {
        if old.len() == new.len() {
            for (from, to) in old.zip(new) {
                self.set(to, Match::Changed(from));
            }
        } else if !new.is_empty() {
            self.unclear.extend(old);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aligned(old: &str, new: &str) -> (Vec<Match>, Vec<usize>) {
        let (old, new) = (old.as_bytes(), new.as_bytes());
        let same = |from: usize, to: usize| Ok(old[from] == new[to]);
        let aligned = align(old.len(), new.len(), same).unwrap();
        (aligned.matches, aligned.unclear)
    }

    #[test]
    fn members_are_matched_when_others_are_added_removed_or_changed() {
        use Match::{Changed, New, Same};
        let cases: [(&str, &str, &[Match], &[usize]); 9] = [
            ("", "", &[], &[]),
            ("ab", "ab", &[Same(0), Same(1)], &[]),
            ("ab", "xab", &[New, Same(0), Same(1)], &[]),
            ("abc", "ac", &[Same(0), Same(2)], &[]),
            ("abc", "axc", &[Same(0), Changed(1), Same(2)], &[]),
            ("abc", "bcx", &[Same(1), Same(2), New], &[]),
            ("abc", "", &[], &[]),
            ("abc", "axyc", &[Same(0), New, New, Same(2)], &[1]),
            ("abcd", "axd", &[Same(0), New, Same(3)], &[1, 2]),
        ];
        for (old, new, matches, unclear) in cases {
            let found = aligned(old, new);
            assert_eq!((&*found.0, &*found.1), (matches, unclear), "{old} to {new}");
        }
    }
}
