//! Merges, checkouts and differences of received commits.

use dflat::history::{Change, Merged, Note};
use dflat::{Object, Result, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Item, ItemChangeRequest};

use super::super::super::files::{
    data, delete, file, note_others, open, open_both, payload, put, rank, sql,
};
use super::super::commits::{built, last};
use super::copying::{commits, copy, pull, pull_types};

fn size(workspace: &Workspace, id: &str, size: i32) {
    let stored = workspace.perform_changes_blocking([Item::TABLE], |tx| {
        let item = tx.get::<Item>(id)?.unwrap();
        let mut data = item.to_data();
        data.size = size;
        tx.submit(ItemChangeRequest::upsert(data)).map(drop)
    });
    stored.unwrap();
}

/// The difference of two commits as text.
fn diff(
    workspace: &Workspace,
    from: &dflat::history::Commit,
    to: &dflat::history::Commit,
) -> String {
    let changes = workspace.history().diff::<Item>(from.id, to.id).unwrap();
    let changes = changes.map(|change| {
        Ok(match change? {
            Change::Inserted(item) => format!("+{:?}", item.to_data()),
            Change::Deleted(item) => format!("-{:?}", item.to_data()),
            Change::Updated {
                before,
                after,
                fields,
                ..
            } => format!("{:?} {:?} {fields:?}", before.to_data(), after.to_data()),
            other => panic!("{other:?}"),
        })
    });
    changes.collect::<Result<Vec<_>>>().unwrap().join("\n")
}

/// Two files that change the same objects, pull, merge, and go on; each merge is made on both
/// sides, and is the same commit.
#[test]
fn two_files_that_pull_and_merge_have_the_same_commits_and_objects() {
    bounded(|| {
        let ((_here, here), (_there, there)) = (file(), file());
        let (one, other) = (open_both(&here), open_both(&there));
        for id in ["a", "b", "c"] {
            put(&one, id, 0);
        }
        note_others(&one, 0..3, "first");
        one.history().commit("first").unwrap();
        pull(&here, &there, "one").unwrap();
        other.history().merge("one/main").unwrap();
        for round in 1..6 {
            // Different fields of one object, and different objects.
            put(&one, "a", round);
            put(&one, format!("one {round}"), round);
            note_others(&one, round..round + 2, "of one");
            size(&other, "b", round);
            put(&other, format!("other {round}"), round);
            if round > 2 {
                delete(&one, &format!("other {}", round - 2));
                delete(&other, &format!("one {}", round - 2));
            }
            one.history().commit("of one").unwrap();
            other.history().commit("of the other").unwrap();
            pull(&here, &there, "one").unwrap();
            pull(&there, &here, "other").unwrap();
            let merged = one.history().merge("other/main").unwrap();
            assert!(matches!(merged, Merged::Commit { .. }), "{merged:?}");
            let merged = other.history().merge("one/main").unwrap();
            assert!(matches!(merged, Merged::Commit { .. }), "{merged:?}");
            assert_eq!(
                one.history().head().unwrap(),
                other.history().head().unwrap()
            );
            assert_eq!(copy(&one), copy(&other));
            assert_eq!(last(&one).tables[0].root, built::<Item>(&there));
            let ranks = ["a", "b"].map(|id| rank(&other, id));
            assert_eq!(ranks, [Some(round), Some(0)]);
        }
        pull(&here, &there, "one").unwrap();
        let all = commits(&here);
        assert_eq!(all.len(), commits(&there).len());
        for (at, commit) in all.iter().enumerate() {
            let copies = [&one, &other].map(|workspace| copy(&workspace.at(commit.id).unwrap()));
            assert_eq!(copies[0], copies[1], "{at}");
            let before = &all[at / 2];
            assert_eq!(diff(&one, before, commit), diff(&other, before, commit));
            assert_eq!(diff(&one, commit, before), diff(&other, commit, before));
        }
        for workspace in [&one, &other] {
            let checked = workspace.check([Item::TABLE]).unwrap();
            assert!(checked.problems.is_empty());
        }
    });
}

#[test]
fn type_without_objects_that_one_file_does_not_know_changes_no_merge() {
    bounded(|| {
        let ((_here, here), (_there, there)) = (file(), file());
        // Only the second file knows the others, and it has none.
        let (one, other) = (open(&here), open_both(&there));
        let items = [Item::TABLE];
        put(&one, "a", 0);
        one.history().commit("first").unwrap();
        pull(&here, &there, "one").unwrap();
        other.history().merge("one/main").unwrap();
        for round in 1..4 {
            put(&one, "one", round);
            one.history().commit("of one").unwrap();
            put(&other, "other", round);
            other.history().commit("of the other").unwrap();
            pull(&here, &there, "one").unwrap();
            pull_types(&there, (&here, &items), "other").unwrap();
            for (workspace, name) in [(&one, "other/main"), (&other, "one/main")] {
                let merged = workspace.history().merge(name).unwrap();
                assert!(matches!(merged, Merged::Commit { .. }), "{merged:?}");
                let head = workspace.history().head().unwrap();
                assert_eq!(workspace.history().commit("nothing").ok(), head);
            }
            assert_eq!(
                one.history().head().unwrap(),
                other.history().head().unwrap()
            );
        }
        assert_eq!(last(&one).tables.len(), 1);
        let known = one.at(last(&one).id).unwrap();
        assert_eq!(rank(&known, "other"), Some(3));
    });
}

#[test]
fn commits_on_top_of_a_received_one_are_read_like_others() {
    bounded(|| {
        let ((_here, from), (_there, to)) = (file(), file());
        let made = open_both(&from);
        put(&made, "a", 1);
        made.history().commit("first").unwrap();
        put(&made, "b", 1);
        let received = made.history().commit("second").unwrap();
        pull(&from, &to, "laptop").unwrap();
        let workspace = open_both(&to);
        let history = workspace.history();
        put(&workspace, "own", 1);
        history.commit("own").unwrap();
        let before = copy(&workspace);
        history.branch_at("theirs", received).unwrap();
        let done = history.checkout("theirs").unwrap();
        assert_eq!((done.commit, done.changed), (received, 3));
        let step = history.log().next().unwrap().unwrap();
        assert_eq!(step.note, Note::Checkout(received));
        put(&workspace, "c", 1);
        let own = history.commit("on top").unwrap();
        assert_eq!(last(&workspace).parents, [received]);
        put(&workspace, "a", 9);
        delete(&workspace, "b");
        let of = |id| {
            let at = workspace.at(id).unwrap();
            ["a", "b", "c", "own"].map(|id| rank(&at, id))
        };
        assert_eq!(of(received), [Some(1), Some(1), None, None]);
        assert_eq!(of(own), [Some(1), Some(1), Some(1), None]);
        history.checkout("main").unwrap();
        assert_eq!(copy(&workspace), before);
        assert_eq!(of(received), [Some(1), Some(1), None, None]);
        // The file that made the first commits gets the others back.
        pull(&to, &from, "desk").unwrap();
        assert_eq!(rank(&made.at(own).unwrap(), "c"), Some(1));
        let merged = made.history().merge("desk/theirs").unwrap();
        assert!(
            matches!(merged, Merged::Forward { changed: 3, .. }),
            "{merged:?}"
        );
        assert_eq!(rank(&made, "a"), Some(9));
    });
}

/// Another object has the row id that an object of an earlier state had.
#[test]
fn objects_of_a_received_commit_are_found_by_each_kind_of_query() {
    bounded(|| {
        let ((_here, from), (_there, to)) = (file(), file());
        let made = open_both(&from);
        for number in 0..30 {
            put(&made, format!("{number:02}"), number % 7);
        }
        note_others(&made, 0..1, "note");
        let received = made.history().commit("first").unwrap();
        for number in 0..10 {
            delete(&made, &format!("{number:02}"));
        }
        let later = made.history().commit("second").unwrap();
        pull(&from, &to, "laptop").unwrap();
        let workspace = open_both(&to);
        // Some of the keys, in other rows.
        for number in (0..30).rev().step_by(3) {
            put(&workspace, format!("{number:02}"), 100);
        }
        put(&workspace, "only here", 100);
        for id in [received, later] {
            let here = workspace.at(id).unwrap();
            let there = made.at(id).unwrap();
            assert_eq!(copy(&here), copy(&there));
            let found = |workspace: &Workspace| {
                let all = workspace.fetch::<Item>().all().unwrap();
                let ranked = |rank: i32| {
                    let items = workspace.fetch::<Item>();
                    let items = items.filter(Item::RANK.eq(rank)).all().unwrap();
                    let mut ids: Vec<String> = items.iter().map(|i| i.id().to_owned()).collect();
                    ids.sort();
                    ids
                };
                let by_key: Vec<Option<i32>> = (0..31)
                    .map(|n| rank(workspace, &format!("{n:02}")))
                    .collect();
                let ordered = workspace.fetch::<Item>().order_by(Item::ID.descending());
                let ordered = ordered.all().unwrap();
                let ordered: Vec<String> = ordered.iter().map(|i| i.id().to_owned()).collect();
                (all.len(), ranked(3), ranked(100), by_key, ordered)
            };
            assert_eq!(found(&here), found(&there));
        }
        let changed = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            tx.submit(ItemChangeRequest::upsert(data("00", 3)))
                .map(drop)
        });
        changed.unwrap();
        assert_eq!(
            copy(&workspace.at(received).unwrap()),
            copy(&made.at(received).unwrap())
        );
    });
}

/// A program without a history has given the row of an object another key.
#[test]
fn object_whose_row_was_that_of_another_key_has_a_row_of_its_own() {
    bounded(|| {
        let ((_here, from), (_there, to)) = (file(), file());
        let made = open_both(&from);
        put(&made, "first", 1);
        note_others(&made, 0..1, "note");
        made.history().commit("first").unwrap();
        pull(&from, &to, "laptop").unwrap();
        let workspace = open_both(&to);
        workspace.history().merge("laptop/main").unwrap();
        put(&made, "second", 2);
        let received = made.history().commit("second").unwrap();
        pull(&from, &to, "laptop").unwrap();
        let moved = "UPDATE item SET __pk0 = 'second', p = ?1 WHERE __pk0 = 'first'";
        sql(&to).execute(moved, [payload("second", 7)]).unwrap();
        assert_eq!(
            (rank(&workspace, "first"), rank(&workspace, "second")),
            (None, Some(7))
        );
        let at = workspace.at(received).unwrap();
        assert_eq!(
            (rank(&at, "first"), rank(&at, "second")),
            (Some(1), Some(2))
        );
        assert_eq!(copy(&at), copy(&made));
        let rows = at.fetch::<Item>().all().unwrap();
        let row_ids: std::collections::BTreeSet<_> =
            rows.iter().map(|item| item.row_id()).collect();
        assert_eq!(row_ids.len(), 2);
    });
}
