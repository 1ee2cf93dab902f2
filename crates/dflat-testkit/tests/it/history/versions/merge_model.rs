//! A naive model of commits and merges, with a whole copy of the objects of each commit.

use std::collections::{BTreeMap, BTreeSet};

use dflat::Workspace;
use dflat::history::CommitId;
use dflat_testkit::random::Random;
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};

use super::super::files::data;

/// The values of an item that change.
type Values = (i32, i32, Option<String>);
pub(super) type Content = BTreeMap<String, Values>;

/// The items of a workspace.
pub(super) fn content(workspace: &Workspace) -> Content {
    let items = workspace.fetch::<Item>().all().unwrap();
    let values = items.iter().map(|item| {
        let name = item.name().map(str::to_owned);
        (item.id().to_owned(), (item.rank(), item.size(), name))
    });
    values.collect()
}

/// The commits, each with its parents and a copy of its objects.
#[derive(Default)]
pub(super) struct Model {
    pub(super) commits: BTreeMap<CommitId, (Vec<CommitId>, Content)>,
}

impl Model {
    /// Some commits, and all before them.
    pub(super) fn ancestors(&self, of: &BTreeSet<CommitId>) -> BTreeSet<CommitId> {
        let mut found = of.clone();
        loop {
            let parents = found.iter().flat_map(|id| &self.commits[id].0);
            let more: BTreeSet<CommitId> = parents.chain(&found).copied().collect();
            if more.len() == found.len() {
                return found;
            }
            found = more;
        }
    }

    /// Deletes commits that are not before these.
    pub(super) fn keep(&mut self, tips: &BTreeSet<CommitId>) {
        let needed = self.ancestors(tips);
        self.commits.retain(|id, _| needed.contains(id));
    }

    /// An object of a commit that is not among these, or any of these.
    pub(super) fn forgettable(&self, now: &Content, random: &mut Random) -> Option<String> {
        let all = self
            .commits
            .values()
            .flat_map(|(_, content)| content.keys());
        let all: BTreeSet<&String> = all.chain(now.keys()).collect();
        let past: Vec<&String> = all
            .iter()
            .filter(|key| !now.contains_key(**key))
            .copied()
            .collect();
        let keys = match past.is_empty() || random.one_in(4) {
            true => all.into_iter().collect(),
            false => past,
        };
        (!keys.is_empty()).then(|| (*random.pick(&keys)).clone())
    }

    /// Deletes an object from all commits. Returns how many had it.
    pub(super) fn forget(&mut self, key: &str) -> u64 {
        let commits = self.commits.values_mut();
        commits
            .map(|(_, content)| u64::from(content.remove(key).is_some()))
            .sum()
    }

    /// The common base of two sets of commits with their ancestors.
    pub(super) fn base(&self, one: &BTreeSet<CommitId>, other: &BTreeSet<CommitId>) -> Content {
        let common: BTreeSet<CommitId> = one.intersection(other).copied().collect();
        let is_best = |id: &&CommitId| {
            let mut others = common.iter().filter(|other| other != id);
            !others.any(|other| self.ancestors(&BTreeSet::from([*other])).contains(*id))
        };
        let best: Vec<CommitId> = common.iter().filter(is_best).copied().collect();
        let Some((first, rest)) = best.split_first() else {
            return Content::new();
        };
        let mut content = self.commits[first].1.clone();
        let mut ancestors = self.ancestors(&BTreeSet::from([*first]));
        for next in rest {
            let of_next = self.ancestors(&BTreeSet::from([*next]));
            let before = self.base(&ancestors, &of_next);
            let (merged, conflicts) = merged(&before, &content, &self.commits[next].1);
            content = merged;
            for key in conflicts {
                match before.get(&key) {
                    Some(values) => content.insert(key, values.clone()),
                    None => content.remove(&key),
                };
            }
            ancestors.extend(of_next);
        }
        content
    }
}

/// The objects with the changes of both, and the keys in conflict.
pub(super) fn merged(
    base: &Content,
    ours: &Content,
    theirs: &Content,
) -> (Content, BTreeSet<String>) {
    fn field<T: PartialEq + Clone>(base: &T, ours: &T, theirs: &T) -> Option<T> {
        match (base == ours, base == theirs) {
            _ if ours == theirs => Some(ours.clone()),
            (true, _) => Some(theirs.clone()),
            (_, true) => Some(ours.clone()),
            _ => None,
        }
    }
    let (mut merged, mut conflicts) = (Content::new(), BTreeSet::new());
    let keys: BTreeSet<&String> = base
        .keys()
        .chain(ours.keys())
        .chain(theirs.keys())
        .collect();
    for key in keys {
        let three = [base, ours, theirs].map(|content| content.get(key));
        let outcome = match three {
            [base, ours, theirs] if ours == theirs || base == theirs => Some(ours.cloned()),
            [base, ours, theirs] if base == ours => Some(theirs.cloned()),
            [Some(base), Some(ours), Some(theirs)] => {
                let rank = field(&base.0, &ours.0, &theirs.0);
                let size = field(&base.1, &ours.1, &theirs.1);
                let name = field(&base.2, &ours.2, &theirs.2);
                match (rank, size, name) {
                    (Some(rank), Some(size), Some(name)) => Some(Some((rank, size, name))),
                    _ => None,
                }
            }
            _ => None,
        };
        match outcome {
            Some(values) => merged.extend(values.map(|values| (key.clone(), values))),
            None => drop(conflicts.insert(key.clone())),
        }
    }
    (merged, conflicts)
}

/// Changes up to three items in one transaction.
pub(super) fn change(workspace: &Workspace, random: &mut Random) {
    let changed = workspace.perform_changes_blocking([Item::TABLE], |tx| {
        for _ in 0..1 + random.below(3) {
            let id = format!("{}", random.below(20));
            let value = i32::try_from(random.below(3)).unwrap();
            let found = tx.get::<Item>(&id)?;
            if random.one_in(8) {
                if let Some(item) = found {
                    let request = ItemChangeRequest::deletion(tx, &item)?.unwrap();
                    tx.submit(request)?;
                }
                continue;
            }
            let mut new: ItemData = match found {
                Some(item) => dflat::Object::to_data(&item),
                None => data(id, 0),
            };
            match random.below(3) {
                0 => new.rank = value,
                1 => new.size = value,
                _ => new.name = (value > 0).then(|| "name".repeat(value as usize)),
            }
            tx.submit(ItemChangeRequest::upsert(new))?;
        }
        Ok(())
    });
    changed.unwrap();
}
