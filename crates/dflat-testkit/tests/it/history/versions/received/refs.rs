//! Branches of remotes, and moves of branches to received commits.

use dflat::ErrorKind;
use dflat::history::Merged;
use dflat_history::branches::{forward, forward_branch};
use dflat_history::commits::{self, delete_incoming, incoming, put_incoming};
use dflat_testkit::fixture::bounded;

use super::super::super::files::{delete, file, note_others, open_both, put, rank};
use super::super::commits::last;
use super::copying::{commits, copy, engine, pull, tables, write};

#[test]
fn branches_of_remotes_are_listed_read_merged_and_forgotten_and_not_checked_out() {
    bounded(|| {
        let ((_here, from), (_there, to)) = (file(), file());
        let made = open_both(&from);
        put(&made, "a", 1);
        let first = made.history().commit("first").unwrap();
        made.history().branch("side/way").unwrap();
        put(&made, "a", 2);
        let last = made.history().commit("second").unwrap();
        pull(&from, &to, "laptop").unwrap();
        let workspace = open_both(&to);
        let history = workspace.history();
        let remotes = history.remote_branches().unwrap().into_iter();
        let remotes: Vec<_> = remotes.map(|branch| (branch.name, branch.commit)).collect();
        let (main, side) = ("laptop/main".to_owned(), "laptop/side/way".to_owned());
        assert_eq!(remotes, [(main, last), (side, first)]);
        assert_eq!(history.branches().unwrap(), []);
        let ranks = ["laptop/main", "laptop/side/way"]
            .map(|name| rank(&workspace.at_branch(name).unwrap(), "a"));
        assert_eq!(ranks, [Some(2), Some(1)]);
        let kind = |error: dflat::Error| error.kind();
        let refused = history.checkout("laptop/main").map_err(kind);
        assert_eq!(refused.map(drop), Err(ErrorKind::InvalidArgument));
        let refused = history.branch_at("main-of-laptop", made_elsewhere());
        assert_eq!(refused.map_err(kind), Err(ErrorKind::NotFound));
        history.branch_at("main-of-laptop", last).unwrap();
        let refused = history.branch_at("main-of-laptop", first);
        assert_eq!(refused.map_err(kind), Err(ErrorKind::AlreadyExists));
        let refused = history.branch_at("", first).map_err(kind);
        assert_eq!(refused, Err(ErrorKind::InvalidArgument));
        // A branch of this file comes first.
        history.branch_at("laptop/main", first).unwrap();
        assert_eq!(
            rank(&workspace.at_branch("laptop/main").unwrap(), "a"),
            Some(1)
        );
        history.delete_branch("laptop/main").unwrap();
        assert_eq!(
            rank(&workspace.at_branch("laptop/main").unwrap(), "a"),
            Some(2)
        );
        history.delete_branch("laptop/main").unwrap();
        let absent = history.delete_branch("laptop/main").map_err(kind);
        assert_eq!(absent, Err(ErrorKind::NotFound));
        history.checkout("main-of-laptop").unwrap();
        assert_eq!(copy(&workspace), copy(&made));
    });
}

fn made_elsewhere() -> dflat::history::CommitId {
    let (_directory, path) = file();
    let other = open_both(&path);
    put(&other, "elsewhere", 7);
    other.history().commit("elsewhere").unwrap()
}

#[test]
fn notes_of_unfinished_pulls_are_put_and_deleted() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open_both(&path);
        put(&workspace, "a", 1);
        let commit = workspace.history().commit("first").unwrap();
        let engine = engine(&path).unwrap();
        let pull = ("laptop", "main");
        write(&engine, |writer| put_incoming(writer, pull, commit)).unwrap();
        let found = engine.read_history(incoming).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(
            (&found[0].name[..], found[0].commit),
            ("laptop/main", commit)
        );
        assert_eq!(engine.read_history(commits::remotes).unwrap(), []);
        write(&engine, |writer| delete_incoming(writer, pull)).unwrap();
        assert_eq!(engine.read_history(incoming).unwrap(), []);
    });
}

#[test]
fn file_without_objects_takes_the_commits_of_another_one() {
    bounded(|| {
        // Without a commit, and with a first one of no objects.
        for with_commit in [false, true] {
            let ((_here, from), (_there, to)) = (file(), file());
            let made = open_both(&from);
            put(&made, "a", 1);
            note_others(&made, 0..3, "note");
            made.history().commit("first").unwrap();
            put(&made, "b", 1);
            let last = made.history().commit("second").unwrap();
            pull(&from, &to, "laptop").unwrap();
            let workspace = open_both(&to);
            if with_commit {
                workspace.history().commit("none").unwrap();
            }
            let merged = workspace.history().merge("laptop/main").unwrap();
            assert!(
                matches!(merged, Merged::Forward { commit, changed: 5, .. } if commit == last),
                "{merged:?}"
            );
            assert_eq!(copy(&workspace), copy(&made));
            assert_eq!(workspace.history().head().unwrap(), Some(last));
            let again = workspace.history().merge("laptop/main").unwrap();
            assert!(matches!(again, Merged::UpToDate(commit) if commit == last));
            assert_eq!(workspace.history().commit("nothing").unwrap(), last);
            assert_eq!(workspace.history().commits().count(), 2);
        }
    });
}

#[test]
fn file_that_has_deleted_all_of_its_objects_keeps_its_own_commits_in_a_merge() {
    bounded(|| {
        let ((_here, from), (_there, to)) = (file(), file());
        let made = open_both(&from);
        put(&made, "a", 1);
        let theirs = made.history().commit("first").unwrap();
        pull(&from, &to, "laptop").unwrap();
        let workspace = open_both(&to);
        put(&workspace, "own", 1);
        workspace.history().commit("own").unwrap();
        delete(&workspace, "own");
        let ours = workspace.history().commit("none").unwrap();
        let engine = engine(&to).unwrap();
        assert!(!forward(&engine, &tables(), theirs).unwrap());
        let merged = workspace.history().merge("laptop/main").unwrap();
        assert!(
            matches!(merged, Merged::Commit { changed: 1, .. }),
            "{merged:?}"
        );
        let mut parents = [ours, theirs];
        parents.sort_unstable();
        assert_eq!(last(&workspace).parents, parents);
        assert_eq!(copy(&workspace), copy(&made));
    });
}

#[test]
fn branch_moves_forward_to_a_descendant_and_to_no_other_commit() {
    bounded(|| {
        let ((_here, from), (_there, to)) = (file(), file());
        let made = open_both(&from);
        put(&made, "a", 1);
        made.history().commit("first").unwrap();
        pull(&from, &to, "laptop").unwrap();
        let ids = |path| {
            commits(path)
                .iter()
                .map(|commit| commit.id)
                .collect::<Vec<_>>()
        };
        let workspace = open_both(&to);
        let other = engine(&to).unwrap();
        let tables = tables();
        let first = ids(&from)[0];
        assert!(forward(&other, &tables, first).unwrap());
        assert!(forward(&other, &tables, first).unwrap());
        assert_eq!(copy(&workspace), copy(&made));
        for round in 2..4 {
            put(&made, "a", round);
            made.history().commit("more").unwrap();
        }
        pull(&from, &to, "laptop").unwrap();
        let [_, second, third] = ids(&from)[..] else {
            panic!()
        };
        assert!(forward(&other, &tables, third).unwrap());
        assert_eq!(copy(&workspace), copy(&made));
        assert_eq!(workspace.history().head().unwrap(), Some(third));
        assert!(!forward(&other, &tables, second).unwrap());
        // Another branch, which is created by the first move.
        let moved = |to| forward_branch(&other, &tables, "other", to);
        assert!(moved(second).unwrap() && moved(second).unwrap() && moved(third).unwrap());
        assert!(!moved(first).unwrap());
        let branches = workspace.history().branches().unwrap();
        assert!(branches.iter().all(|branch| branch.commit == third));
        assert_eq!(branches.len(), 2);
        let kind = |error: dflat::Error| error.kind();
        let current = forward_branch(&other, &tables, "main", third).map_err(kind);
        assert_eq!(current, Err(ErrorKind::InvalidArgument));
        let absent = forward_branch(&other, &tables, "new", made_elsewhere()).map_err(kind);
        assert_eq!(absent, Err(ErrorKind::NotFound));
        // A change that no other file has is committed first.
        put(&made, "a", 4);
        let fourth = made.history().commit("more").unwrap();
        pull(&from, &to, "laptop").unwrap();
        put(&workspace, "b", 1);
        assert!(!forward(&other, &tables, fourth).unwrap());
        assert_eq!(rank(&workspace, "b"), Some(1));
        assert_ne!(workspace.history().head().unwrap(), Some(third));
    });
}
