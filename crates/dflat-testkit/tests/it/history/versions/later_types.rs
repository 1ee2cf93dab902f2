//! Types that are versioned later than others, and commits from before.

use std::path::Path;
use std::time::Duration;

use dflat::history::{Change, CommitId, KeepTrees, Merged, Version};
use dflat::{ErrorKind, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Item, Other};
use tempfile::TempDir;

use super::super::files::{file, note_others, open, open_both, put};

/// A file with a branch `draft` from before others were versioned, and a commit after that.
struct Later {
    _directory: TempDir,
    workspace: Workspace,
    /// The commits before and after.
    commits: [CommitId; 2],
}

fn ids(workspace: &Workspace) -> (Vec<String>, Vec<i32>) {
    let items = workspace.fetch::<Item>().all().unwrap();
    let others = workspace.fetch::<Other>().all().unwrap();
    (
        items.iter().map(|item| item.id().to_owned()).collect(),
        others.iter().map(Other::id).collect(),
    )
}

fn expected(items: &[&str], others: impl IntoIterator<Item = i32>) -> (Vec<String>, Vec<i32>) {
    let items = items.iter().map(|id| (*id).to_owned());
    (items.collect(), others.into_iter().collect())
}

impl Later {
    fn new() -> Self {
        let (directory, path) = file();
        let workspace = open(&path);
        note_others(&workspace, 0..3, "old");
        put(&workspace, "a", 1);
        workspace.history().branch("draft").unwrap();
        let before = branch(&workspace, "draft");
        drop(workspace);
        Self::versioned(directory, &path, before)
    }

    fn versioned(directory: TempDir, path: &Path, before: CommitId) -> Self {
        let workspace = open_both(path);
        note_others(&workspace, 1..2, "new");
        put(&workspace, "b", 1);
        let after = workspace.history().commit("with others").unwrap();
        Self {
            _directory: directory,
            workspace,
            commits: [before, after],
        }
    }
}

fn branch(workspace: &Workspace, name: &str) -> CommitId {
    let branches = workspace.history().branches().unwrap();
    let found = branches.into_iter().find(|branch| branch.name == name);
    found.unwrap().commit
}

/// The inserted and the deleted others between two states.
fn diff(workspace: &Workspace, from: impl Into<Version>, to: impl Into<Version>) -> [Vec<i32>; 2] {
    let mut found = [Vec::new(), Vec::new()];
    for change in workspace.history().diff::<Other>(from, to).unwrap() {
        match change.unwrap() {
            Change::Inserted(other) => found[0].push(other.id()),
            Change::Deleted(other) => found[1].push(other.id()),
            change => panic!("{change:?}"),
        }
    }
    found
}

#[test]
fn commit_from_before_a_type_was_versioned_has_none_of_its_objects() {
    bounded(|| {
        let Later {
            workspace,
            commits: [before, after],
            ..
        } = &Later::new();
        let all = vec![0, 1, 2];
        let of = |id: CommitId| ids(&workspace.at(id).unwrap());
        assert_eq!(of(*before), expected(&["a"], []));
        assert_eq!(of(*after), expected(&["a", "b"], 0..3));
        assert_eq!(diff(workspace, *before, *after), [all.clone(), vec![]]);
        assert_eq!(diff(workspace, *after, *before), [vec![], all.clone()]);
        let step = workspace.history().log().next().unwrap().unwrap().id;
        assert_eq!(diff(workspace, *before, step), [all.clone(), vec![]]);
        assert_eq!(diff(workspace, step, *before), [vec![], all.clone()]);
        // Without the trees of the commit after.
        note_others(workspace, 3..4, "newer");
        workspace.history().commit("the last").unwrap();
        let keep = KeepTrees {
            last: 0,
            age: Duration::ZERO,
            labelled: false,
        };
        workspace.history().collect_garbage(&keep).unwrap();
        assert_eq!(diff(workspace, *before, *after), [all.clone(), vec![]]);
        assert_eq!(diff(workspace, *after, *before), [vec![], all]);
        assert_eq!(of(*after), expected(&["a", "b"], 0..3));
    });
}

#[test]
fn branch_from_before_a_type_was_versioned_is_checked_out_and_merged() {
    bounded(|| {
        let Later { workspace, .. } = &Later::new();
        let history = workspace.history();
        assert_eq!(history.checkout("draft").unwrap().changed, 4);
        assert_eq!(ids(workspace), expected(&["a"], []));
        put(workspace, "c", 1);
        assert_eq!(history.checkout("main").unwrap().changed, 5);
        assert_eq!(ids(workspace), expected(&["a", "b"], 0..3));
        let notes = workspace.fetch::<Other>().all().unwrap();
        let notes: Vec<_> = notes.iter().map(|other| other.note().unwrap()).collect();
        assert_eq!(notes, ["old", "new", "old"]);
        // Its lack of others is no deletion.
        let merged = history.merge("draft").unwrap();
        assert!(matches!(merged, Merged::Commit { changed: 1, .. }));
        assert_eq!(ids(workspace), expected(&["a", "b", "c"], 0..3));
        history.checkout("draft").unwrap();
        assert_eq!(ids(workspace), expected(&["a", "c"], []));
        // Others are inserted on the branch, one of them with another note.
        note_others(workspace, 2..3, "of the draft");
        let Merged::Conflicts(mut pending) = history.merge("main").unwrap() else {
            panic!("two notes of one object are in conflict");
        };
        let conflicts = pending.of::<Other>().unwrap();
        assert_eq!(conflicts.len(), 1);
        assert_eq!(conflicts[0].base, None);
        pending.keep_all(dflat::history::Side::Theirs);
        pending.finish().unwrap();
        assert_eq!(ids(workspace), expected(&["a", "b", "c"], 0..3));
    });
}

#[test]
fn file_that_received_the_commits_has_the_same_objects_in_each() {
    bounded(|| {
        let Later {
            workspace: there,
            commits,
            ..
        } = &Later::new();
        let (_directory, path) = file();
        let here = open_both(&path);
        let history = here.history();
        history.remote("there").pull_from(there, "main").unwrap();
        for id in commits {
            let [here, there] = [&here, there].map(|of| ids(&of.at(*id).unwrap()));
            assert_eq!(here, there);
        }
        history.merge("there/main").unwrap();
        history.branch_at("old", commits[0]).unwrap();
        history.checkout("old").unwrap();
        assert_eq!(ids(&here), expected(&["a"], []));
        history.checkout("main").unwrap();
        assert_eq!(ids(&here), expected(&["a", "b"], 0..3));
    });
}

#[test]
fn commits_between_forgetting_a_type_and_versioning_it_again_have_none_of_its_objects() {
    bounded(|| {
        let (directory, path) = file();
        let workspace = open_both(&path);
        note_others(&workspace, 0..3, "old");
        put(&workspace, "a", 1);
        let forgotten = workspace.history().commit("forgotten").unwrap();
        workspace.history().forget::<Other>().unwrap();
        drop(workspace);
        let workspace = open(&path);
        put(&workspace, "a", 2);
        workspace.history().branch("draft").unwrap();
        let before = branch(&workspace, "draft");
        drop(workspace);
        let later = Later::versioned(directory, &path, before);
        let (workspace, history) = (&later.workspace, later.workspace.history());
        assert_eq!(ids(&workspace.at(before).unwrap()), expected(&["a"], []));
        assert_eq!(diff(workspace, before, later.commits[1])[0], [0, 1, 2]);
        let lost = workspace.at(forgotten).unwrap();
        let lost = lost.fetch::<Other>().all().unwrap_err();
        assert_eq!(lost.kind(), ErrorKind::NotFound);
        history.checkout("draft").unwrap();
        assert_eq!(ids(workspace), expected(&["a"], []));
        history.checkout("main").unwrap();
        assert_eq!(ids(workspace), expected(&["a", "b"], 0..3));
    });
}
