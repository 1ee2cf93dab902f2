//! Random branches and merges, also of branches that were merged into one another before, beside a
//! naive model with a whole copy of each commit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use dflat::history::{CommitId, Merged, Side};
use dflat::{ErrorKind, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::random::Random;
use dflat_testkit::schema::Item;

use super::super::files::{file, open, put};
use super::commits::{built, last};
use super::merge_model::{Model, change, content, merged};

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

    fn go_on(&mut self, path: &Path, name: String) {
        let is_known = self.tips.contains_key(&name);
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
        assert_eq!(commit.tables[0].root, built::<Item>(path));
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

#[test]
fn random_merges_equal_those_of_whole_copies() {
    bounded(|| {
        let mut counts = [0; 4];
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
            };
            for _ in 0..200 {
                let names = ["main", "b", "c", "d"];
                let others: Vec<&str> = names.into_iter().filter(|n| *n != run.current).collect();
                let name = (*run.random.pick(&others)).to_owned();
                run.go_on(&path, name);
            }
            for (id, (_, copy)) in run.model.commits.iter().step_by(5) {
                assert_eq!(content(&run.workspace.at(*id).unwrap()), *copy);
            }
            assert!(
                run.workspace
                    .check([Item::TABLE])
                    .unwrap()
                    .problems
                    .is_empty()
            );
            let of_run = [run.made, run.refused, run.forward, run.crossed];
            counts
                .iter_mut()
                .zip(of_run)
                .for_each(|(count, of_run)| *count += of_run);
        }
        let [made, refused, forward, crossed] = counts;
        assert!(
            made > 40 && refused > 30 && forward > 20 && crossed > 2,
            "{counts:?}"
        );
    });
}
