//! Matches the members of a changed vector with the members that it had before.

use std::collections::VecDeque;

use super::super::Malformed;

/// The largest number of old members that a new member is compared with, between the ends of the
/// vectors that match.
///
/// It bounds the cost to 64 comparisons a member. A member that moved farther matches none.
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
    /// The old members of which it is unknown whether they were changed, moved or removed.
    pub(super) unclear: Vec<usize>,
}

/// Aligns two vectors, given their lengths and the equality of members.
///
/// Members that are equal at both ends stay, and so do members that are equal at the same place, if
/// the vectors have the same length. Of the others, equal ones are matched wherever they are, in
/// their order. If no old or no new member is left then, members were moved, and removed or added.
/// If none of them were equal and the vectors have the same length, each was changed at its place.
///
/// Otherwise the other members are unclear. If the numbers 1, 2, 3 become 2, 3, 4, then the first
/// one may have been removed, or each may have been raised.
pub(super) fn align(
    old: usize,
    new: usize,
    same: impl Fn(usize, usize) -> Result<bool, Malformed>,
) -> Result<Aligned, Malformed> {
    let mut matches = vec![Match::New; new];
    let mut set = |to: usize, found: Match| {
        if let Some(place) = matches.get_mut(to) {
            *place = found;
        }
    };
    let shorter = old.min(new);
    let mut start = 0;
    while start < shorter && same(start, start)? {
        set(start, Match::Same(start));
        start += 1;
    }
    let mut tail = 0;
    while tail < shorter - start && same(old - 1 - tail, new - 1 - tail)? {
        tail += 1;
        set(new - tail, Match::Same(old - tail));
    }
    let mut left: VecDeque<usize> = (start..old - tail).collect();
    let mut others: Vec<usize> = (start..new - tail).collect();
    if old == new {
        let mut changed = Vec::new();
        for place in start..old - tail {
            match same(place, place)? {
                true => set(place, Match::Same(place)),
                false => changed.push(place),
            }
        }
        left = changed.iter().copied().collect();
        others = changed;
    }
    let (before, after) = (Vec::from(left.clone()), others.len());
    let mut unmatched = Vec::new();
    for to in others {
        let mut found = None;
        for (at, from) in left.iter().take(WINDOW).enumerate() {
            if same(*from, to)? {
                found = Some(at);
                break;
            }
        }
        match found {
            Some(at) => left
                .remove(at)
                .map_or((), |from| set(to, Match::Same(from))),
            None => unmatched.push(to),
        }
    }
    let is_clear = left.is_empty() || unmatched.is_empty();
    let is_changed = old == new && unmatched.len() == after;
    if is_changed {
        for place in unmatched {
            set(place, Match::Changed(place));
        }
    }
    let unclear = if is_clear || is_changed {
        Vec::new()
    } else {
        before
    };
    Ok(Aligned { matches, unclear })
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
        let cases: [(&str, &str, &[Match], &[usize]); 17] = [
            ("", "", &[], &[]),
            ("ab", "ab", &[Same(0), Same(1)], &[]),
            ("ab", "xab", &[New, Same(0), Same(1)], &[]),
            ("abc", "ac", &[Same(0), Same(2)], &[]),
            ("abc", "axc", &[Same(0), Changed(1), Same(2)], &[]),
            ("abc", "xyz", &[Changed(0), Changed(1), Changed(2)], &[]),
            (
                "abcd",
                "xbyd",
                &[Changed(0), Same(1), Changed(2), Same(3)],
                &[],
            ),
            ("abc", "", &[], &[]),
            ("abc", "cba", &[Same(2), Same(1), Same(0)], &[]),
            ("aac", "caa", &[Same(2), Same(1), Same(0)], &[]),
            ("abc", "ca", &[Same(2), Same(0)], &[]),
            ("abc", "cxba", &[Same(2), New, Same(1), Same(0)], &[]),
            ("abc", "bcx", &[Same(1), Same(2), New], &[0, 1, 2]),
            ("aac", "xacy", &[New, Same(0), Same(2), New], &[0, 1, 2]),
            ("abc", "axyc", &[Same(0), New, New, Same(2)], &[1]),
            ("abcd", "axd", &[Same(0), New, Same(3)], &[1, 2]),
            (
                "abcd",
                "axcyd",
                &[Same(0), New, Same(2), New, Same(3)],
                &[1, 2],
            ),
        ];
        for (old, new, matches, unclear) in cases {
            let found = aligned(old, new);
            assert_eq!((&*found.0, &*found.1), (matches, unclear), "{old} to {new}");
        }
    }
    /// All texts of at most four of these letters.
    fn texts(letters: &[char]) -> Vec<String> {
        let mut texts = vec![String::new()];
        let mut at = 0;
        while let Some(text) = texts.get(at).cloned() {
            if text.len() < 4 {
                texts.extend(letters.iter().map(|letter| format!("{text}{letter}")));
            }
            at += 1;
        }
        texts
    }

    fn sorted(text: &str) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.sort_unstable();
        bytes
    }

    /// Whether a vector has all members of another one.
    fn has_all(whole: &str, part: &str) -> bool {
        let mut whole = sorted(whole);
        sorted(part).iter().all(|member| {
            let at = whole.iter().position(|other| other == member);
            at.map(|at| whole.remove(at)).is_some()
        })
    }

    #[test]
    fn no_member_is_lost_or_copied_unless_it_was_removed_or_is_unclear() {
        let texts = texts(&['a', 'b', 'c', 'd']);
        for old in &texts {
            for new in &texts {
                let (matches, unclear) = aligned(old, new);
                let mut kept = Vec::new();
                for (to, found) in matches.iter().enumerate() {
                    match *found {
                        Match::Same(from) => {
                            assert_eq!(old.as_bytes()[from], new.as_bytes()[to]);
                            kept.push(from);
                        }
                        Match::Changed(from) => kept.push(from),
                        Match::New => {}
                    }
                }
                let count = kept.len();
                kept.sort_unstable();
                kept.dedup();
                assert_eq!(kept.len(), count, "{old} to {new}: a member is copied");
                let lost = old.len() - count;
                if unclear.is_empty() {
                    let removed = old.len().saturating_sub(new.len());
                    assert_eq!(lost, removed, "{old} to {new}: a member is lost");
                }
                let is_moved = has_all(old, new) || has_all(new, old);
                assert!(!is_moved || unclear.is_empty(), "{old} to {new}");
            }
        }
    }
}
