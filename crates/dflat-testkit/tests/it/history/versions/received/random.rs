//! Random programs over two files that pull from one another, beside a model with a whole copy of
//! each commit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use dflat::Workspace;
use dflat::history::{CommitId, KeepTrees, Merged, Side};
use dflat_testkit::fixture::bounded;
use dflat_testkit::random::Random;
use dflat_testkit::schema::Item;

use super::super::super::files::{delete, file, open_both, put};
use super::super::commits::{built, last};
use super::super::merge_model::{Content, Model, change, content, merged};
use super::copying::pull;

/// Only the trees that branches and merges need.
const NEEDED: KeepTrees = {
    let mut keep = KeepTrees::ALL;
    (keep.last, keep.age, keep.labelled) = (0, std::time::Duration::ZERO, false);
    keep
};

struct File {
    workspace: Workspace,
    path: PathBuf,
    current: String,
    /// The last commits of its branches.
    tips: BTreeMap<String, CommitId>,
    /// Those of the branches of the other file, as it last saw them.
    remotes: BTreeMap<String, CommitId>,
}

#[derive(Default)]
struct Counts {
    made: usize,
    refused: usize,
    forward: usize,
    received: usize,
    collected: u64,
    forgotten: u64,
}

struct Run {
    files: [File; 2],
    random: Random,
    model: Model,
    counts: Counts,
    /// Whether objects are forgotten.
    forgets: bool,
}

impl Run {
    /// Notes the last commit of a file with its objects, and checks it.
    fn note(&mut self, at: usize) {
        let file = &mut self.files[at];
        let commit = last(&file.workspace);
        assert_eq!(commit.root("item"), built::<Item>(&file.path));
        let now = content(&file.workspace);
        let parents = commit.parents;
        let known = self.model.commits.entry(commit.id);
        let (_, known) = known.or_insert_with(|| (parents, now.clone()));
        assert_eq!(*known, now);
        file.tips.insert(file.current.clone(), commit.id);
    }

    fn commit(&mut self, at: usize) -> CommitId {
        let id = self.files[at].workspace.history().commit("a").unwrap();
        self.note(at);
        id
    }

    fn pull(&mut self, at: usize) {
        let [from, to] = [1 - at, at];
        self.commit(from);
        let received = pull(&self.files[from].path, &self.files[to].path, "other").unwrap();
        self.counts.received += received.len();
        self.files[to].remotes.clone_from(&self.files[from].tips);
        for id in received {
            let of_commit = content(&self.files[to].workspace.at(id).unwrap());
            assert_eq!(of_commit, self.model.commits[&id].1);
        }
    }

    /// Merges a branch, and checks the outcome against the model.
    fn merge(&mut self, at: usize, name: &str, theirs: CommitId) {
        let ours = self.commit(at);
        let [one, other] = [ours, theirs].map(|id| self.model.ancestors(&BTreeSet::from([id])));
        let contents = [ours, theirs].map(|id| self.model.commits[&id].1.clone());
        let (expected, conflicts) = match () {
            () if one.contains(&theirs) => (contents[0].clone(), BTreeSet::new()),
            () if other.contains(&ours) => (contents[1].clone(), BTreeSet::new()),
            () => merged(&self.model.base(&one, &other), &contents[0], &contents[1]),
        };
        let workspace = &self.files[at].workspace;
        let outcome = workspace.history().merge(name).unwrap();
        let Merged::Conflicts(mut pending) = outcome else {
            assert_eq!(conflicts, BTreeSet::new());
            assert_eq!(content(workspace), expected);
            match outcome {
                Merged::Commit { .. } => self.counts.made += 1,
                Merged::Forward { .. } => self.counts.forward += 1,
                _ => {}
            }
            self.note(at);
            return;
        };
        self.counts.refused += 1;
        let found = pending.of::<Item>().unwrap();
        let found: BTreeSet<String> = found
            .iter()
            .filter_map(|conflict| {
                let object = conflict.ours.as_ref().or(conflict.theirs.as_ref());
                object.map(|item| item.id().to_owned())
            })
            .collect();
        assert_eq!(found, conflicts);
        if !self.random.one_in(4) {
            pending.keep_all(Side::Theirs);
            assert!(matches!(pending.finish().unwrap(), Merged::Commit { .. }));
            let mut expected: Content = expected;
            for key in conflicts {
                expected.extend(contents[1].get(&key).map(|values| (key, values.clone())));
            }
            assert_eq!(content(&self.files[at].workspace), expected);
            self.note(at);
        }
    }

    /// Has both files forget an object, after they have exchanged all commits.
    fn forget(&mut self) {
        for at in [0, 1, 0] {
            self.pull(at);
        }
        let now = content(&self.files[0].workspace);
        let Some(key) = self.model.forgettable(&now, &mut self.random) else {
            return;
        };
        for file in &self.files {
            if content(&file.workspace).contains_key(&key) {
                delete(&file.workspace, &key);
            }
        }
        let tips = |file: &File| {
            file.tips
                .values()
                .chain(file.remotes.values())
                .copied()
                .collect()
        };
        for at in [0, 1] {
            self.commit(at);
            let history = self.files[at].workspace.history();
            if self.random.one_in(2) {
                history.collect_garbage(&NEEDED).unwrap();
            }
            self.counts.forgotten += history.forget_object::<Item>(&key).unwrap().commits;
        }
        self.model.forget(&key);
        for at in [0, 1] {
            self.pull(at);
        }
        let of_both: [BTreeSet<CommitId>; 2] = self.files.each_ref().map(tips);
        self.model.keep(&of_both.into_iter().flatten().collect());
    }

    fn go_on(&mut self, at: usize) {
        if self.forgets && self.random.one_in(12) {
            return self.forget();
        }
        let names = ["main", "b", "c"];
        let name = (*self.random.pick(&names)).to_owned();
        let remote = self.files[at].remotes.get(&name).copied();
        let own = self.files[at].tips.get(&name).copied();
        let is_current = self.files[at].current == name;
        match self.random.below(12) {
            0..3 => change(&self.files[at].workspace, &mut self.random),
            3..6 => self.pull(at),
            6 => {
                let collected = self.files[at].workspace.history().collect_garbage(&NEEDED);
                self.counts.collected += collected.unwrap().nodes;
            }
            7 if own.is_none() => {
                // At any commit that the file has.
                let all = self.files[at].workspace.history().commits();
                let all: Vec<CommitId> = all.map(|commit| commit.unwrap().id).collect();
                if !all.is_empty() {
                    let id = *self.random.pick(&all);
                    self.files[at]
                        .workspace
                        .history()
                        .branch_at(&name, id)
                        .unwrap();
                    self.files[at].tips.insert(name, id);
                }
            }
            8 if own.is_some() => {
                self.commit(at);
                let id = self.files[at].tips[&name];
                self.files[at].workspace.history().checkout(&name).unwrap();
                self.files[at].current = name;
                let objects = content(&self.files[at].workspace);
                assert_eq!(objects, self.model.commits[&id].1);
            }
            9 if !is_current && let Some(theirs) = own => self.merge(at, &name, theirs),
            _ => {
                if let Some(theirs) = remote {
                    self.merge(at, &format!("other/{name}"), theirs);
                }
            }
        }
    }
}

/// Runs random programs.
fn run(forgets: bool) -> Counts {
    let mut counts = Counts::default();
    for seed in 0..4 {
        let directories = [file(), file()];
        let files = directories.each_ref().map(|(_, path)| {
            let workspace = open_both(path);
            File {
                workspace,
                path: path.clone(),
                current: "main".to_owned(),
                tips: BTreeMap::new(),
                remotes: BTreeMap::new(),
            }
        });
        let mut run = Run {
            files,
            random: Random::new(seed),
            model: Model::default(),
            counts,
            forgets,
        };
        // The second file takes the commits of the first.
        put(&run.files[0].workspace, "0", 0);
        run.pull(1);
        let workspace = &run.files[1].workspace;
        let merged = workspace.history().merge("other/main").unwrap();
        assert!(matches!(merged, Merged::Forward { .. }));
        run.note(1);
        for _ in 0..200 {
            let at = usize::from(run.random.one_in(2));
            run.go_on(at);
        }
        for file in &run.files {
            for commit in file.workspace.history().commits().step_by(3) {
                let id = commit.unwrap().id;
                let objects = content(&file.workspace.at(id).unwrap());
                assert_eq!(objects, run.model.commits[&id].1);
            }
            let checked = file.workspace.check([Item::TABLE]).unwrap();
            assert!(checked.problems.is_empty());
        }
        counts = run.counts;
    }
    counts
}

// Promise: storage-format#S54
#[test]
fn random_programs_over_two_files_equal_whole_copies() {
    bounded(|| {
        let Counts {
            made,
            refused,
            forward,
            received,
            collected,
            ..
        } = run(false);
        assert!(
            made > 20 && refused > 10 && forward > 10 && received > 60 && collected > 20,
            "{made} {refused} {forward} {received} {collected}"
        );
    });
}

// Promise: storage-format#S55
#[test]
fn random_programs_over_two_files_that_forget_objects_equal_whole_copies_without_them() {
    bounded(|| {
        let counts = run(true);
        let Counts {
            made, forgotten, ..
        } = counts;
        assert!(made > 10 && forgotten > 200, "{made} {forgotten}");
    });
}
