//! Received commits are read as the file reads them that made them.

use std::collections::BTreeSet;

use dflat::history::{Change, Merged, Version};
use dflat::{Object, Workspace};
use dflat_history::commits::place;
use dflat_history::compare::objects_at;
use dflat_model::{ValueRef, key};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::Item;

use super::super::super::files::{delete, file, note_others, open_both, put, rank, sql};
use super::copying::{commits, copy, engine, pull};

// Promise: storage-format#S54
#[test]
fn objects_of_received_commits_are_those_of_the_file_that_made_them() {
    bounded(|| {
        let ((_here, from), (_there, to)) = (file(), file());
        let made = open_both(&from);
        for round in 0..4 {
            for id in 0..8 {
                put(&made, format!("{id}"), id * round);
            }
            note_others(&made, round..round + 3, "note");
            if round > 1 {
                delete(&made, &format!("{round}"));
            }
            made.history().commit("round").unwrap();
        }
        assert_eq!(pull(&from, &to, "there").unwrap().len(), 4);
        assert_eq!(pull(&from, &to, "there").unwrap(), []);
        let received = open_both(&to);
        for commit in commits(&from) {
            let of_commit = copy(&received.at(commit.id).unwrap());
            assert_eq!(of_commit, copy(&made.at(commit.id).unwrap()));
            assert_eq!(
                of_commit.len() as u64,
                commit.tables.iter().map(|t| t.objects).sum::<u64>()
            );
        }
        assert!(copy(&received).is_empty());
    });
}

#[test]
fn chosen_objects_of_several_commits_are_read_at_once() {
    bounded(|| {
        let ((_here, from), (_there, to)) = (file(), file());
        let made = open_both(&from);
        for round in 0..5 {
            put(&made, format!("{round}"), round);
            put(&made, "all", round);
            if round == 3 {
                delete(&made, "1");
            }
            made.history().commit("round").unwrap();
        }
        pull(&from, &to, "there").unwrap();
        let ids: Vec<_> = commits(&from).iter().map(|commit| commit.id).collect();
        let key = |id: &str| key::encode([ValueRef::Text(id)]);
        let wanted = [
            (4, &["1", "all", "9"][..]),
            (0, &["0", "1"]),
            (2, &["1", "all"]),
        ];
        let wanted = wanted.map(|(at, keys)| {
            let keys: BTreeSet<Vec<u8>> = keys.iter().map(|id| key(id)).collect();
            (ids[at], keys)
        });
        for path in [&from, &to] {
            let engine = engine(path).unwrap();
            let found = engine.read_history(|snapshot| objects_at(snapshot, &Item::TABLE, &wanted));
            let ranks = found.unwrap().into_iter().map(|states| {
                let states = states.into_iter();
                let ranks = states.map(|(key, (_, payload))| {
                    (key, <Item as Object>::from_bytes(&payload).unwrap().rank())
                });
                ranks.collect::<Vec<_>>()
            });
            let expected = [
                vec![(key("all"), 4)],
                vec![(key("0"), 0)],
                vec![(key("1"), 1), (key("all"), 2)],
            ];
            assert!(ranks.eq(expected));
        }
    });
}

/// The difference between two states, by key: the rank before and after.
fn ranks(
    workspace: &Workspace,
    from: impl Into<Version>,
    to: impl Into<Version>,
) -> Vec<(String, Option<i32>, Option<i32>)> {
    let changes = workspace.history().diff::<Item>(from, to).unwrap();
    let ranks = changes.map(|change| match change.unwrap() {
        Change::Inserted(item) => (item.id().to_owned(), None, Some(item.rank())),
        Change::Deleted(item) => (item.id().to_owned(), Some(item.rank()), None),
        Change::Updated { before, after, .. } => (
            before.id().to_owned(),
            Some(before.rank()),
            Some(after.rank()),
        ),
        other => panic!("{other:?}"),
    });
    ranks.collect()
}

#[test]
fn differences_of_received_commits_need_no_trees() {
    bounded(|| {
        let ((_here, from), (_there, to)) = (file(), file());
        let made = open_both(&from);
        note_others(&made, 0..2, "note");
        for round in 0..4 {
            for id in round..round + 3 {
                put(&made, format!("{id}"), round);
            }
            if round > 0 {
                delete(&made, &format!("{}", round - 1));
            }
            made.history().commit("round").unwrap();
        }
        pull(&from, &to, "there").unwrap();
        let workspace = open_both(&to);
        for id in ["1", "7", "own"] {
            put(&workspace, id, 50);
        }
        let own = workspace.history().commit("own").unwrap();
        let step = workspace.history().log().next().unwrap().unwrap().id;
        let mut ids: Vec<_> = commits(&from).iter().map(|commit| commit.id).collect();
        ids.push(own);
        let all = || {
            let pairs = ids
                .iter()
                .flat_map(|one| ids.iter().map(|other| (*one, *other)));
            pairs
                .map(|(one, other)| ranks(&workspace, one, other))
                .collect::<Vec<_>>()
        };
        let with_trees = all();
        assert!(with_trees.iter().filter(|ranks| !ranks.is_empty()).count() == 20);
        sql(&to).execute("DELETE FROM dflat__chunks", []).unwrap();
        assert_eq!(all(), with_trees);
        // The state after the step is that of the own commit.
        for id in &ids {
            assert_eq!(ranks(&workspace, *id, step), ranks(&workspace, *id, own));
            assert_eq!(ranks(&workspace, step, *id), ranks(&workspace, own, *id));
        }
    });
}

#[test]
fn commits_that_the_tables_were_set_to_have_a_place_among_the_steps() {
    bounded(|| {
        let ((_here, from), (_there, to)) = (file(), file());
        let made = open_both(&from);
        note_others(&made, 0..2, "note");
        let mut ids = Vec::new();
        let mut commit = |rank| {
            put(&made, "a", rank);
            ids.push(made.history().commit("round").unwrap());
            pull(&from, &to, "there").unwrap();
            ids.clone()
        };
        let engine = engine(&to).unwrap();
        let received = |id| {
            let place = engine.read_history(|snapshot| place(snapshot, id));
            place.unwrap().received
        };
        commit(1);
        let [one, two] = commit(2)[..] else { panic!() };
        assert_eq!((received(one), received(two)), (vec![one], vec![two, one]));
        let workspace = open_both(&to);
        let merged = workspace.history().merge("there/main").unwrap();
        assert!(matches!(merged, Merged::Forward { .. }));
        assert_eq!((received(one), received(two)), (vec![one], vec![]));
        let [.., three] = commit(3)[..] else { panic!() };
        assert_eq!(received(three), [three]);
        workspace.history().branch_at("three", three).unwrap();
        workspace.history().checkout("three").unwrap();
        assert_eq!(received(three), []);
        put(&workspace, "a", 9);
        for (id, expected) in [(one, 1), (two, 2), (three, 3)] {
            assert_eq!(rank(&workspace.at(id).unwrap(), "a"), Some(expected));
        }
    });
}

/// The step that set the tables to the objects of a commit is deleted with its last changes.
#[test]
fn commit_keeps_its_place_if_the_step_that_names_it_is_forgotten() {
    bounded(|| {
        let ((_here, from), (_there, to)) = (file(), file());
        let made = open_both(&from);
        note_others(&made, 0..2, "note");
        put(&made, "a", 1);
        made.history().commit("first").unwrap();
        pull(&from, &to, "there").unwrap();
        let workspace = open_both(&to);
        workspace.history().merge("there/main").unwrap();
        // Only items change: received ones, and by a merge of both.
        put(&made, "a", 2);
        let received = made.history().commit("second").unwrap();
        pull(&from, &to, "there").unwrap();
        workspace.history().merge("there/main").unwrap();
        put(&workspace, "b", 1);
        note_others(&workspace, 5..6, "own");
        workspace.history().commit("own").unwrap();
        put(&made, "c", 1);
        made.history().commit("third").unwrap();
        pull(&from, &to, "there").unwrap();
        let Merged::Commit { commit: merged, .. } =
            workspace.history().merge("there/main").unwrap()
        else {
            panic!()
        };
        note_others(&workspace, 6..7, "later");
        workspace.history().forget::<Item>().unwrap();
        let count = "SELECT count(*) FROM dflat__steps WHERE substr(note, 1, 1) IN (x'04', x'05')";
        let named: i64 = sql(&to).query_row(count, [], |row| row.get(0)).unwrap();
        assert_eq!(named, 1);
        let others = |id| {
            let at = workspace.at(id).unwrap();
            let others = at.fetch::<dflat_testkit::schema::Other>().all().unwrap();
            others.iter().map(|other| other.id()).collect::<Vec<_>>()
        };
        assert_eq!(
            (others(received), others(merged)),
            (vec![0, 1], vec![0, 1, 5])
        );
    });
}
