//! Merges: the decisions that they need, and changes beside them.

use dflat::history::{ConflictReason, Merged, Note, Side};
use dflat::{ErrorKind, Object, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Item, ItemChangeRequest};

use super::super::files::{data, delete, file, open, put, rank};
use super::commits::{built, last};

#[test]
fn conflicts_are_resolved_by_requests_sides_and_deletions() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let history = workspace.history();
        for id in ["a", "b", "c", "d", "e"] {
            put(&workspace, id, 0);
        }
        history.branch("draft").unwrap();
        history.checkout("draft").unwrap();
        for id in ["a", "b", "c", "d", "e"] {
            put(&workspace, id, 2);
        }
        put(&workspace, "new", 2);
        history.checkout("main").unwrap();
        for id in ["a", "b", "c", "d"] {
            put(&workspace, id, 1);
        }
        let kind = |error: dflat::Error| error.kind();
        let Merged::Conflicts(mut pending) = history.merge("draft").unwrap() else {
            panic!()
        };
        assert_eq!(pending.branch(), "draft");
        assert_eq!(pending.conflicts().len(), 4);
        let conflict = &pending.of::<Item>().unwrap()[0];
        let ranks = [&conflict.base, &conflict.ours, &conflict.theirs];
        assert_eq!(
            ranks.map(|item| item.as_ref().map(Item::rank)),
            [Some(0), Some(1), Some(2)]
        );
        pending
            .resolve(ItemChangeRequest::upsert(data("a", 12)))
            .unwrap();
        pending.keep::<Item>("b", Side::Ours).unwrap();
        pending.keep::<Item>("c", Side::Theirs).unwrap();
        let absent = pending.keep::<Item>("e", Side::Ours).map_err(kind);
        assert_eq!(absent, Err(ErrorKind::NotFound));
        let absent = pending
            .resolve(ItemChangeRequest::upsert(data("e", 1)))
            .map_err(kind);
        assert_eq!(absent, Err(ErrorKind::NotFound));
        // One decision is missing: nothing is changed.
        let Merged::Conflicts(mut pending) = pending.finish().unwrap() else {
            panic!()
        };
        assert_eq!(pending.conflicts().len(), 1);
        assert_eq!(rank(&workspace, "new"), None);
        pending.delete::<Item>("d").unwrap();
        let merged = pending.finish().unwrap();
        assert!(
            matches!(merged, Merged::Commit { changed: 5, .. }),
            "{merged:?}"
        );
        let ranks = ["a", "b", "c", "d", "e", "new"].map(|id| rank(&workspace, id));
        assert_eq!(ranks, [Some(12), Some(1), Some(2), None, Some(2), Some(2)]);
        assert_eq!(last(&workspace).tables[0].root, built::<Item>(&path));
        let step = history.log().next().unwrap().unwrap();
        assert_eq!(step.note, Note::Merge(last(&workspace).id));
        // Both are merged now.
        let again = history.merge("draft").unwrap();
        assert!(matches!(again, Merged::UpToDate(_)));
        history.checkout("draft").unwrap();
        let forward = history.merge("main").unwrap();
        assert!(
            matches!(forward, Merged::Forward { changed: 3, .. }),
            "{forward:?}"
        );
    });
}

/// Stores an item with a unique value.
fn put_code(workspace: &Workspace, id: &str, code: &str) {
    let mut data = data(id, 1);
    data.code = Some(code.to_owned());
    let request = ItemChangeRequest::upsert(data);
    let stored = workspace.perform_changes_blocking([Item::TABLE], |tx| tx.submit(request));
    stored.unwrap();
}

/// The failure of a merge that had given a unique value to one object before it left the object
/// that had the value: it ended with `AlreadyExists`, so no decision could be made.
#[test]
fn unique_value_that_moved_on_can_be_decided() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let history = workspace.history();
        let code = |id: &str, code: &str| put_code(&workspace, id, code);
        code("first", "a");
        code("second", "x");
        history.branch("theirs").unwrap();
        code("other", "y");
        history.checkout("theirs").unwrap();
        code("second", "y");
        code("first", "x");
        history.checkout("main").unwrap();
        let Merged::Conflicts(mut pending) = history.merge("theirs").unwrap() else {
            panic!()
        };
        let found = pending.of::<Item>().unwrap();
        assert!(
            found
                .iter()
                .all(|found| found.reason == ConflictReason::Unique)
        );
        let ids = found
            .iter()
            .map(|found| found.theirs.as_ref().map(Item::id));
        let mut ids: Vec<_> = ids.collect();
        ids.sort_unstable();
        assert_eq!(ids, [Some("first"), Some("second")]);
        let mut second = found
            .iter()
            .find_map(|found| found.theirs.clone())
            .unwrap()
            .to_data();
        (second.id, second.code) = ("second".to_owned(), Some("z".to_owned()));
        pending.resolve(ItemChangeRequest::upsert(second)).unwrap();
        let finished = pending.finish().unwrap();
        assert!(matches!(finished, Merged::Commit { .. }), "{finished:?}");
        let first = workspace.get::<Item>("first").unwrap().unwrap();
        assert_eq!(first.code(), Some("x"));
        assert!(workspace.check([Item::TABLE]).unwrap().problems.is_empty());
    });
}

#[test]
fn unique_values_that_collide_need_a_decision() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let history = workspace.history();
        let code = |id: &str, code: &str| put_code(&workspace, id, code);
        code("a", "one");
        history.branch("draft").unwrap();
        code("b", "two");
        history.checkout("draft").unwrap();
        code("c", "two");
        put(&workspace, "d", 1);
        history.checkout("main").unwrap();
        let Merged::Conflicts(mut pending) = history.merge("draft").unwrap() else {
            panic!()
        };
        let found = pending.of::<Item>().unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].reason, &found[0].fields[..]),
            (ConflictReason::Unique, &["code".to_owned()][..],)
        );
        assert_eq!(found[0].theirs.as_ref().map(Item::id), Some("c"));
        assert_eq!((rank(&workspace, "c"), rank(&workspace, "d")), (None, None));
        let mut other = found[0].theirs.as_ref().unwrap().to_data();
        other.code = Some("three".to_owned());
        pending.resolve(ItemChangeRequest::upsert(other)).unwrap();
        assert!(matches!(pending.finish().unwrap(), Merged::Commit { .. }));
        assert_eq!(rank(&workspace, "d"), Some(1));
        assert_eq!(last(&workspace).tables[0].root, built::<Item>(&path));
        // A value that moves from one object to another on one side is no collision.
        history.checkout("draft").unwrap();
        history.merge("main").unwrap();
        code("a", "free");
        code("d", "one");
        history.checkout("main").unwrap();
        put(&workspace, "x", 1);
        assert!(matches!(
            history.merge("draft").unwrap(),
            Merged::Commit { .. }
        ));
        assert!(workspace.check([Item::TABLE]).unwrap().problems.is_empty());
    });
}

/// Such a conflict had no object before, and the merged object as theirs.
#[test]
fn conflict_about_a_unique_value_has_all_three_states() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let history = workspace.history();
        let change = |id: &str, rank: i32, code: &str| {
            let mut data = data(id, rank);
            data.code = Some(code.to_owned());
            let request = ItemChangeRequest::upsert(data);
            let stored = workspace.perform_changes_blocking([Item::TABLE], |tx| tx.submit(request));
            stored.unwrap();
        };
        change("both", 1, "one");
        change("theirs", 1, "two");
        history.branch("draft").unwrap();
        change("both", 2, "one");
        change("other", 1, "taken");
        change("another", 1, "taken too");
        history.checkout("draft").unwrap();
        change("both", 1, "taken");
        change("theirs", 3, "taken too");
        history.checkout("main").unwrap();
        let Merged::Conflicts(pending) = history.merge("draft").unwrap() else {
            panic!()
        };
        let found = pending.of::<Item>().unwrap();
        let state = |item: &Option<Item>| {
            let item = item.as_ref().unwrap();
            (item.rank(), item.code().unwrap().to_owned())
        };
        let mut states: Vec<_> = found
            .iter()
            .map(|found| {
                assert_eq!(found.reason, ConflictReason::Unique);
                [&found.base, &found.ours, &found.theirs].map(state)
            })
            .collect();
        states.sort();
        let of = |states: [(i32, &str); 3]| states.map(|(rank, code)| (rank, code.to_owned()));
        let expected = [
            of([(1, "one"), (2, "one"), (1, "taken")]),
            of([(1, "two"), (1, "two"), (3, "taken too")]),
        ];
        assert_eq!(states, expected);
    });
}

#[test]
fn changes_before_and_during_a_merge_are_not_lost() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let history = workspace.history();
        put(&workspace, "a", 1);
        history.branch("draft").unwrap();
        put(&workspace, "b", 1);
        history.checkout("draft").unwrap();
        put(&workspace, "a", 2);
        delete(&workspace, "a");
        history.checkout("main").unwrap();
        put(&workspace, "a", 3);
        let Merged::Conflicts(mut pending) = history.merge("draft").unwrap() else {
            panic!()
        };
        // Another change, of an object for which a decision was made.
        put(&workspace, "c", 1);
        pending.keep_all(Side::Theirs);
        assert!(matches!(pending.finish().unwrap(), Merged::Commit { .. }));
        let ranks = ["a", "b", "c"].map(|id| rank(&workspace, id));
        assert_eq!(ranks, [None, Some(1), Some(1)]);
        let kind = |error: dflat::Error| error.kind();
        assert_eq!(
            history.merge("none").map(drop).map_err(kind),
            Err(ErrorKind::NotFound)
        );
        assert!(matches!(
            history.merge("main").unwrap(),
            Merged::UpToDate(_)
        ));
    });
}
