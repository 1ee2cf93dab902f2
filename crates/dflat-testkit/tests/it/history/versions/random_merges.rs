//! Random branches and merges, also of branches that were merged into one another before, beside a
//! naive model with a whole copy of each commit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use dflat::history::{Change, CommitId, Diff, KeepTrees, Merged, Side};
use dflat::{ErrorKind, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::random::Random;
use dflat_testkit::schema::Item;

use super::super::files::{delete, file, open, put};
use super::commits::{built, last};
use super::merge_model::{Model, change, content, merged};

/// Only the trees that branches and merges need.
const NEEDED: KeepTrees = {
    let mut keep = KeepTrees::ALL;
    (keep.last, keep.age, keep.labelled) = (0, std::time::Duration::ZERO, false);
    keep
};

struct Run {
    workspace: Workspace,
    random: Random,
    model: Model,
    tips: BTreeMap<String, CommitId>,
    current: String,
    /// How many merges had which outcome, and how many had several common ancestors.
    made: usize,
    refused: usize,
    forward: usize,
    crossed: usize,
    /// Whether objects are forgotten.
    forgets: bool,
    /// How many commits have lost an object.
    lost: u64,
}

impl Run {
    /// Commits, and notes the commit with a copy of the objects.
    fn commit(&mut self) -> CommitId {
        let id = self.workspace.history().commit("a").unwrap();
        let parents = last(&self.workspace).parents;
        let now = content(&self.workspace);
        let (_, known) = self
            .model
            .commits
            .entry(id)
            .or_insert_with(|| (parents, now.clone()));
        assert_eq!(*known, now);
        self.tips.insert(self.current.clone(), id);
        id
    }

    fn merge(&mut self, path: &Path, from: &str) {
        let ours = self.commit();
        let Some(theirs) = self.tips.get(from).copied() else {
            let error = self.workspace.history().merge(from).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound);
            return;
        };
        let [one, other] = [ours, theirs].map(|id| self.model.ancestors(&BTreeSet::from([id])));
        let contents = [ours, theirs].map(|id| self.model.commits[&id].1.clone());
        let (expected, conflicts) = match () {
            () if one.contains(&theirs) => (contents[0].clone(), BTreeSet::new()),
            () if other.contains(&ours) => (contents[1].clone(), BTreeSet::new()),
            () => merged(&self.model.base(&one, &other), &contents[0], &contents[1]),
        };
        let outcome = self.workspace.history().merge(from).unwrap();
        let Merged::Conflicts(mut pending) = outcome else {
            assert_eq!(conflicts, BTreeSet::new());
            assert_eq!(content(&self.workspace), expected);
            match outcome {
                Merged::Commit { .. } => self.made += 1,
                Merged::Forward { .. } => self.forward += 1,
                _ => {}
            }
            self.note_merge(path);
            return;
        };
        self.refused += 1;
        assert_eq!(content(&self.workspace), contents[0]);
        let found = pending.of::<Item>().unwrap().into_iter();
        let found = found.map(|conflict| conflict.ours.or(conflict.theirs).or(conflict.base));
        let found: BTreeSet<String> = found.map(|item| item.unwrap().id().to_owned()).collect();
        assert_eq!(found, conflicts);
        if self.random.one_in(2) {
            let (side, at) = *self.random.pick(&[(Side::Ours, 0), (Side::Theirs, 1)]);
            pending.keep_all(side);
            assert!(matches!(pending.finish().unwrap(), Merged::Commit { .. }));
            let mut expected = expected;
            for key in conflicts {
                expected.extend(contents[at].get(&key).map(|values| (key, values.clone())));
            }
            assert_eq!(content(&self.workspace), expected);
            self.made += 1;
            self.note_merge(path);
        }
    }

    /// Forgets an object, sometimes after the trees of some commits were deleted.
    fn forget(&mut self) {
        let now = content(&self.workspace);
        let Some(key) = self.model.forgettable(&now, &mut self.random) else {
            return;
        };
        let history = self.workspace.history();
        if now.contains_key(&key) {
            let refused = history.forget_object::<Item>(&key).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
            delete(&self.workspace, &key);
        }
        self.commit();
        let tips = self.tips.values().copied().collect();
        let history = self.workspace.history();
        if self.random.one_in(2) {
            history.collect_garbage(&NEEDED).unwrap();
            self.model.keep(&tips);
        }
        let changes = history.blame::<Item>(&key).unwrap().len() as u64;
        let lost = self.model.forget(&key);
        let forgotten = history.forget_object::<Item>(&key).unwrap();
        assert_eq!((forgotten.changes, forgotten.commits), (changes, lost));
        self.model.keep(&tips);
        assert_eq!(history.blame::<Item>(&key).unwrap(), []);
        self.lost += lost;
    }

    /// Checks that the commits and their differences are those of the model.
    fn check(&mut self) {
        let history = self.workspace.history();
        let ids: Vec<CommitId> = self.model.commits.keys().copied().collect();
        for id in ids.iter().step_by(5) {
            let other = *self.random.pick(&ids);
            let [from, to] = [*id, other].map(|id| &self.model.commits[&id].1);
            assert_eq!(content(&self.workspace.at(*id).unwrap()), *from);
            let keys: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
            let differ = keys
                .into_iter()
                .filter(|key| from.get(*key) != to.get(*key));
            assert_eq!(
                keys_of(history.diff::<Item>(*id, other).unwrap()),
                differ.cloned().collect::<Vec<_>>()
            );
        }
    }

    fn go_on(&mut self, path: &Path, name: String) {
        let is_known = self.tips.contains_key(&name);
        if self.forgets && self.random.one_in(12) {
            return self.forget();
        }
        match self.random.below(10) {
            0..4 => change(&self.workspace, &mut self.random),
            4 if !is_known || self.random.one_in(2) => {
                // The branch goes elsewhere, so that commits are merged that are no tip any more.
                let id = self.commit();
                if is_known {
                    self.workspace.history().delete_branch(&name).unwrap();
                }
                assert_eq!(self.workspace.history().branch(&name).unwrap(), id);
                self.tips.insert(name, id);
            }
            5 | 6 if is_known => {
                self.commit();
                self.workspace.history().checkout(&name).unwrap();
                self.current = name;
                let tip = self.tips[&self.current];
                assert_eq!(content(&self.workspace), self.model.commits[&tip].1);
            }
            _ => self.merge(path, &name),
        }
    }

    fn note_merge(&mut self, path: &Path) {
        let commit = last(&self.workspace);
        assert_eq!(commit.root("item"), built::<Item>(path));
        let now = content(&self.workspace);
        if let [one, other] = commit.parents[..] {
            let sides = [one, other].map(|id| self.model.ancestors(&BTreeSet::from([id])));
            let common: BTreeSet<CommitId> = sides[0].intersection(&sides[1]).copied().collect();
            let of_common = common.iter().flat_map(|id| &self.model.commits[id].0);
            let before = self.model.ancestors(&of_common.copied().collect());
            self.crossed += usize::from(common.difference(&before).count() > 1);
        }
        let parents = commit.parents;
        let (_, known) = self
            .model
            .commits
            .entry(commit.id)
            .or_insert_with(|| (parents, now.clone()));
        assert_eq!(*known, now);
        self.tips.insert(self.current.clone(), commit.id);
    }
}

/// The keys of changes.
fn keys_of(diff: Diff<Item>) -> Vec<String> {
    let keys = diff.map(|change| match change.unwrap() {
        Change::Inserted(item) | Change::Deleted(item) => item.id().to_owned(),
        Change::Updated { after, .. } => after.id().to_owned(),
        change => panic!("{change:?}"),
    });
    keys.collect()
}

/// Runs random programs. Returns how many merges had which outcome, and how many commits have lost
/// an object.
fn run(forgets: bool) -> [usize; 5] {
    let mut counts = [0; 5];
    for seed in 0..6 {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "0", 0);
        let mut run = Run {
            workspace,
            random: Random::new(seed),
            model: Model::default(),
            tips: BTreeMap::new(),
            current: "main".to_owned(),
            made: 0,
            refused: 0,
            forward: 0,
            crossed: 0,
            forgets,
            lost: 0,
        };
        for _ in 0..200 {
            let names = ["main", "b", "c", "d"];
            let others: Vec<&str> = names.into_iter().filter(|n| *n != run.current).collect();
            let name = (*run.random.pick(&others)).to_owned();
            run.go_on(&path, name);
        }
        run.check();
        assert!(
            run.workspace
                .check([Item::TABLE])
                .unwrap()
                .problems
                .is_empty()
        );
        let lost = usize::try_from(run.lost).unwrap();
        let of_run = [run.made, run.refused, run.forward, run.crossed, lost];
        counts
            .iter_mut()
            .zip(of_run)
            .for_each(|(count, of_run)| *count += of_run);
    }
    counts
}

#[test]
fn random_merges_equal_those_of_whole_copies() {
    bounded(|| {
        let counts = run(false);
        let [made, refused, forward, crossed, _] = counts;
        assert!(
            made > 40 && refused > 30 && forward > 20 && crossed > 2,
            "{counts:?}"
        );
    });
}

#[test]
fn random_merges_with_forgotten_objects_equal_those_of_whole_copies_without_them() {
    bounded(|| {
        let counts = run(true);
        let [made, refused, forward, _, lost] = counts;
        assert!(
            made > 30 && refused > 20 && forward > 15 && lost > 300,
            "{counts:?}"
        );
    });
}
