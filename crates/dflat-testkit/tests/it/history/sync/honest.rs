//! Exchanges and merges of programs that do nothing wrong.
//!
//! Each of these failed once.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use dflat::history::{KeepTrees, Merged};
use dflat::{ErrorKind, Workspace};
use dflat_engine::engine::{Engine, EngineOptions, PerformOptions};
use dflat_engine::transaction::{Change::Upsert, Transaction};
use dflat_history::garbage;
use dflat_history::keeper::Keeper;
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Item, Other, OtherChangeRequest, OtherData};

use super::super::files::{delete, file, note_others, open, open_both, payload, put, rank};
use super::exchange::items;

const NOTHING_KEPT: KeepTrees = KeepTrees {
    last: 0,
    age: Duration::ZERO,
    labelled: false,
};

/// Each round of merges in another order doubled the time of a merge, because the merges before it
/// were merged again for each common commit.
#[test]
fn files_that_merge_one_another_in_turns_need_no_longer_for_each_round() {
    bounded(|| {
        let places: Vec<_> = (0..3).map(|_| file()).collect();
        let files: Vec<Workspace> = places.iter().map(|(_, path)| open(path)).collect();
        let name = |number: usize| format!("file {number}");
        for round in 0..20 {
            for (number, workspace) in files.iter().enumerate() {
                put(workspace, name(number), round);
                workspace.history().commit("").unwrap();
            }
            for (here, workspace) in files.iter().enumerate() {
                for (there, other) in files.iter().enumerate().filter(|(of, _)| *of != here) {
                    let history = workspace.history();
                    history
                        .remote(name(there))
                        .pull_from(other, "main")
                        .unwrap();
                }
            }
            for (here, workspace) in files.iter().enumerate() {
                for there in (1..3).map(|further| (here + further) % 3) {
                    let merged = workspace.history().merge(&format!("{}/main", name(there)));
                    let merged = merged.unwrap();
                    assert!(!matches!(merged, Merged::Conflicts(_)), "{merged:?}");
                }
                let ranks = [0, 1, 2].map(|number| rank(workspace, &name(number)));
                assert_eq!(ranks, [Some(round); 3]);
            }
        }
    });
}

/// The wish of the process that forgot the history switched off the one that another began later:
/// changes were in no step.
#[test]
fn history_that_another_process_begins_again_has_the_changes_of_the_one_that_forgot() {
    bounded(|| {
        let (_directory, path) = file();
        let one = open(&path);
        let backend = SqliteBackend::open(&path, SqliteOptions::default()).unwrap();
        let options = EngineOptions {
            history: Some(Arc::new(Keeper::default())),
            ..EngineOptions::default()
        };
        let other = Engine::new(backend as Arc<_>, options);
        put(&one, "a", 1);
        garbage::forget(&other, &[Item::TABLE], &Item::TABLE).unwrap();
        put(&one, "a", 17);
        let first = one.history().commit("first").unwrap();
        let bytes = payload("a", 20);
        let change = |transaction: &Rc<Transaction>| {
            let payload = &bytes;
            let changed = transaction.submit(&Item::TABLE, Upsert { payload });
            changed.map(drop)
        };
        let options = PerformOptions { write_first: true };
        let changed = other.perform_here([Item::TABLE], options, change, |_| ());
        changed.unwrap();
        put(&one, "b", 24);
        let second = one.history().commit("second").unwrap();
        assert_eq!(rank(&one.at(first).unwrap(), "a"), Some(17));
        assert_eq!(rank(&one.at(second).unwrap(), "a"), Some(20));
        let (_directory, path) = file();
        let third = open(&path);
        third
            .history()
            .remote("one")
            .pull_from(&one, "main")
            .unwrap();
        third.history().merge("one/main").unwrap();
        assert_eq!(items(&third), items(&one));
    });
}

/// The base of a parent was looked up for one type, and its tree of another was not there.
#[test]
fn objects_of_several_types_are_pulled_after_garbage_was_collected() {
    bounded(|| {
        let ((_one, one), (_other, other)) = (file(), file());
        let (here, there) = (open_both(&one), open_both(&other));
        let text = "a long note, so that a difference is smaller than the object ".repeat(3);
        let change = |workspace: &Workspace, round: i32| {
            put(workspace, "k", round);
            note_others(workspace, 1..2, &format!("{text}{round}"));
            workspace.history().commit("").unwrap();
        };
        let take = |to: &Workspace, from: &Workspace| {
            to.history()
                .remote("other")
                .pull_from(from, "main")
                .unwrap();
            to.history().merge("other/main").unwrap();
        };
        change(&here, 1);
        take(&there, &here);
        note_others(&there, 1..2, &format!("{text}2"));
        there.history().commit("").unwrap();
        take(&here, &there);
        here.history().collect_garbage(&NOTHING_KEPT).unwrap();
        change(&there, 3);
        take(&here, &there);
        assert_eq!(items(&here), items(&there));
        assert_eq!(rank(&here, "k"), Some(3));
    });
}

/// A commit that this side has said to have, and that a mark then deletes, is no wrong byte.
#[test]
fn pull_whose_marks_delete_the_commits_before_is_to_be_made_again() {
    bounded(|| {
        let ((_one, one), (_other, other)) = (file(), file());
        let (here, there) = (open(&one), open(&other));
        put(&there, "a", 1);
        put(&there, "b", 1);
        there.history().commit("").unwrap();
        let history = here.history();
        let pull = || {
            let remote = history.remote("there").accept_forgotten();
            remote.pull_from(&there, "main").map(drop)
        };
        pull().unwrap();
        history.delete_branch("there/main").unwrap();
        delete(&there, "b");
        there.history().forget_object::<Item>("b").unwrap();
        put(&there, "a", 2);
        there.history().commit("").unwrap();
        let error = pull().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        pull().unwrap();
        history.merge("there/main").unwrap();
        assert_eq!(items(&here), items(&there));
    });
}

#[test]
fn push_sends_no_objects_of_types_that_are_not_allowed() {
    bounded(|| {
        let ((_one, one), (_other, other)) = (file(), file());
        let (here, there) = (open_both(&one), open_both(&other));
        put(&here, "a", 1);
        let history = here.history();
        note_others(&here, 1..2, "secret");
        let pushed = history.remote("there").of::<Item>().push_to(&there, "main");
        assert_eq!(pushed.unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert!(there.fetch::<Other>().all().unwrap().is_empty());
        history.remote("there").push_to(&there, "main").unwrap();
        assert_eq!(there.fetch::<Other>().all().unwrap().len(), 1);
    });
}

/// No tree was built for a type whose history was forgotten after a commit, so the type was not
/// versioned.
#[test]
fn large_type_is_versioned_again_from_the_opening_of_the_file_on() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open_both(&path);
        let stored = workspace.perform_changes_blocking([Other::TABLE], |tx| {
            (0..3000).try_for_each(|id| {
                let data = OtherData { id, note: None };
                tx.submit(OtherChangeRequest::creation(data)).map(drop)
            })
        });
        stored.unwrap();
        workspace.history().commit("").unwrap();
        workspace.history().forget::<Other>().unwrap();
        workspace.shutdown().unwrap();
        drop(workspace);
        let workspace = open_both(&path);
        let builds = || workspace.history().tree_builds().unwrap();
        let is_built = || {
            builds()
                .iter()
                .any(|build| build.table == "other" && build.is_done)
        };
        while !is_built() {
            std::thread::sleep(Duration::from_millis(5));
        }
        workspace.history().commit("again").unwrap();
        let commit = workspace.history().commits().next().unwrap().unwrap();
        let of = commit.tables.iter().find(|table| table.name == "other");
        assert_eq!(
            of.map(|of| (of.objects, of.is_forgotten)),
            Some((3000, false))
        );
    });
}
