//! Which members of a changed vector were which before.

use super::Malformed;

/// The most comparisons of members that are not at the vector's ends, for each of them.
const WINDOW: usize = 64;

/// Where a member of the new vector comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// It equals this member of the old vector.
    Same(usize),
    /// It is this member of the old vector, changed.
    Changed(usize),
    /// It is new.
    New,
}

/// How two vectors belong together.
#[derive(Debug)]
pub(super) struct Aligned {
    /// For each member of the new vector, where it comes from.
    pub(super) matches: Vec<Match>,
    /// The members of the old vector that were changed or removed, nobody knows which.
    pub(super) unclear: Vec<usize>,
}

/// Aligns vectors of these lengths: equal members in order, from both ends first; between them, as
/// many changed members as there are unequal ones on both sides.
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

    /// Pairs what lies between two equal members.
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
    fn members_are_found_where_others_were_added_removed_or_changed() {
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
