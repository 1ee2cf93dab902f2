//! Finds the removals and additions that change the numbers of the entries behind them: of a
//! table's fields, an enum's values or a union's members. One removal is one change, and not one
//! for each entry behind it.

use std::collections::HashSet;

/// An entry without a counterpart in the other version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// An entry of the old version, by its position in the declaration.
    Removed(usize),
    /// An entry of the new version, by its position in the declaration.
    Added(usize),
}

/// The entries of one type in both versions.
pub(super) struct Entries {
    /// The numbers of the old entries.
    pub(super) old: Vec<i128>,
    /// The numbers of the new entries.
    pub(super) new: Vec<i128>,
    /// By position of the old entry: the position of the same entry in the new version.
    pub(super) pairs: Vec<Option<usize>>,
}

impl Entries {
    /// By position of the old entry: the removal or addition that changed its number. `None` if
    /// the entry has its old number, has changed places with another one, or was removed. The
    /// causes are the removed entries, and those of the `added` positions of the new version.
    pub(super) fn causes(&self, added: &[usize]) -> Vec<Option<Cause>> {
        let mut by_old = self.kept();
        let mut by_new = by_old.clone();
        by_old.sort_by_key(|(old, _)| self.old[*old]);
        by_new.sort_by_key(|(_, new)| self.new[*new]);
        let removed = self.pairs.iter().enumerate();
        let removed = removed.filter_map(|(old, new)| new.is_none().then_some(old));
        let mut removed: Vec<usize> = removed.collect();
        removed.sort_by_key(|old| self.old[*old]);
        let mut added = added.to_vec();
        added.sort_by_key(|new| self.new[*new]);
        let mut causes = vec![None; self.pairs.len()];
        for (one, other) in by_old.iter().zip(&by_new) {
            let (old, new) = *one;
            let (before, after) = (self.old[old], self.new[new]);
            // Another entry has this place in the order of the new version.
            if one != other || before == after {
                continue;
            }
            causes[old] = if after < before {
                let at = removed.partition_point(|removed| self.old[*removed] < before);
                at.checked_sub(1).map(|at| Cause::Removed(removed[at]))
            } else {
                let at = added.partition_point(|added| self.new[*added] < after);
                at.checked_sub(1).map(|at| Cause::Added(added[at]))
            };
        }
        causes
    }

    /// The positions of the new entries that the old version does not have.
    pub(super) fn added(&self) -> Vec<usize> {
        let known: HashSet<usize> = self.pairs.iter().flatten().copied().collect();
        let all = 0..self.new.len();
        all.filter(|at| !known.contains(at)).collect()
    }

    /// The positions of the entries that both versions have.
    fn kept(&self) -> Vec<(usize, usize)> {
        let pairs = self.pairs.iter().enumerate();
        pairs
            .filter_map(|(old, new)| Some((old, (*new)?)))
            .collect()
    }

    /// The numbers of the entries that `cause` moved, as `name` gives their names: "`c` from 2 to
    /// 1". `None` if there are none.
    pub(super) fn moved_by<'n>(
        &self,
        cause: Cause,
        causes: &[Option<Cause>],
        name: impl Fn(usize) -> &'n str,
    ) -> Option<String> {
        const SHOWN_MAX: usize = 5;
        let moved = causes.iter().enumerate();
        let moved: Vec<usize> = moved
            .filter(|(_, found)| **found == Some(cause))
            .map(|(old, _)| old)
            .collect();
        let shown = moved.iter().take(SHOWN_MAX).filter_map(|old| {
            let (before, after) = (self.old[*old], self.new[self.pairs[*old]?]);
            Some(format!("`{}` from {before} to {after}", name(*old)))
        });
        let mut text = shown.collect::<Vec<_>>().join(", ");
        if moved.len() > SHOWN_MAX {
            text.push_str(&format!(" and {} more", moved.len() - SHOWN_MAX));
        }
        (!text.is_empty()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Cause::{Added, Removed};

    fn check(old: &str, new: &str, expected: &[Option<Cause>]) {
        let numbers = |names: &str| (0..names.len() as i128).collect();
        let entries = Entries {
            old: numbers(old),
            new: numbers(new),
            pairs: old.chars().map(|name| new.find(name)).collect(),
        };
        let is_new = |(at, name)| (!old.contains::<char>(name)).then_some(at);
        let added: Vec<usize> = new.chars().enumerate().filter_map(is_new).collect();
        assert_eq!(entries.causes(&added), expected, "{old} -> {new}");
    }

    #[test]
    fn entries_move_because_of_the_nearest_removal_or_addition_before_them() {
        check("abc", "abc", &[None; 3]);
        check("abc", "abcx", &[None; 3]);
        check("abc", "ac", &[None, None, Some(Removed(1))]);
        check("abcd", "ad", &[None, None, None, Some(Removed(2))]);
        check(
            "abcd",
            "bd",
            &[None, Some(Removed(0)), None, Some(Removed(2))],
        );
        check("abc", "axbc", &[None, Some(Added(1)), Some(Added(1))]);
        check("abcd", "axcyd", &[None, None, None, Some(Added(3))]);
        check("abc", "axc", &[None; 3]);
    }

    #[test]
    fn entries_that_change_places_have_no_cause() {
        check("abc", "acb", &[None; 3]);
        check("abcd", "cbd", &[None, None, None, Some(Removed(0))]);
    }
}
