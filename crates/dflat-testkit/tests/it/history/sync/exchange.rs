//! Pulls: the commits arrive, in few bytes, and again after an interruption.

use std::collections::BTreeMap;

use dflat::history::{CommitId, Merged, SyncLimits};
use dflat::{ErrorKind, Object, Workspace};
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData, Other, OtherChangeRequest};

use super::super::files::{data, delete, file, note_others, open, open_both, put, rank};
use dflat_testkit::wire::{connection, recorded, served};

/// The payloads of the items by key.
pub(super) fn items(workspace: &Workspace) -> BTreeMap<String, Vec<u8>> {
    let items = workspace.fetch::<Item>().all().unwrap();
    let items = items.iter();
    items
        .map(|item| (item.id().to_owned(), item.to_bytes()))
        .collect()
}

/// Stores items of some length in one transaction.
pub(super) fn store(workspace: &Workspace, ids: std::ops::Range<u32>, text: &str) {
    let stored = workspace.perform_changes_blocking([Item::TABLE], |tx| {
        ids.clone().try_for_each(|id| {
            let data = ItemData {
                nick: Some(text.to_owned()),
                ..data(format!("item {id:05}"), 1)
            };
            tx.submit(ItemChangeRequest::upsert(data)).map(drop)
        })
    });
    stored.unwrap();
}

fn head(workspace: &Workspace) -> CommitId {
    workspace.history().head().unwrap().unwrap()
}

// Promise: sync-format#Y1
#[test]
fn pulled_commits_are_those_of_the_remote() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    store(&there, 0..50, "first");
    let first = there.history().commit("first").unwrap();
    delete(&there, "item 00007");
    store(&there, 40..60, "second");
    let pulled = here
        .history()
        .remote("there")
        .pull_from(&there, "main")
        .unwrap();
    assert_eq!((pulled.commit, pulled.commits), (head(&there), 2));
    assert_eq!(pulled.changes, 50 + 21);
    // A pull changes no object, and no branch of this file.
    assert!(items(&here).is_empty());
    assert_eq!(here.history().head().unwrap(), None);
    assert!(here.history().branches().unwrap().is_empty());
    let tracked = here.history().remote_branches().unwrap();
    assert_eq!(tracked.len(), 1);
    assert_eq!(tracked[0].commit, pulled.commit);
    // Both commits can be read as they are there.
    for commit in [first, pulled.commit] {
        let (ours, theirs) = (here.at(commit).unwrap(), there.at(commit).unwrap());
        assert_eq!(items(&ours), items(&theirs));
    }
    assert_eq!(items(&here.at_branch("there/main").unwrap()), items(&there));
    // A merge into a file without objects takes the commit.
    let merged = here.history().merge("there/main").unwrap();
    assert!(matches!(merged, Merged::Forward { .. }), "{merged:?}");
    assert_eq!(items(&here), items(&there));
    assert_eq!(head(&here), head(&there));
    let commits = |workspace: &Workspace| {
        let commits = workspace.history().commits();
        let commits = commits.map(|commit| (commit.as_ref().unwrap().id, commit.unwrap().label));
        commits.collect::<Vec<_>>()
    };
    assert_eq!(commits(&here), commits(&there));
}

// Promise: sync-format#Y2
#[test]
fn pull_without_news_takes_less_than_a_kilobyte() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    for round in 0..40 {
        put(&there, "a", round);
        there.history().commit("round").unwrap();
    }
    let pull = || {
        let remote = here.history().remote("there");
        remote.pull_from(&there, "main").unwrap()
    };
    pull();
    let again = pull();
    assert_eq!((again.commits, again.changes), (0, 0));
    assert!(again.bytes < 1000, "{} bytes", again.bytes);
    // Nor if both sides have merged.
    here.history().merge("there/main").unwrap();
    put(&here, "b", 1);
    here.history().commit("ours").unwrap();
    assert!(pull().bytes < 1000);
}

// Promise: sync-format#Y3
#[test]
fn changes_take_little_more_than_their_keys_and_objects() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    let bytes = |commits: u64, changed: u64| {
        let (pulled, received) = recorded(&here, &there);
        let limit = changed * 13 / 10 + 1000 * commits;
        let received = received.len() as u64;
        assert!(pulled.bytes <= limit, "{} of {limit}", pulled.bytes);
        received
    };
    let size = |workspace: &Workspace, ids: std::ops::Range<u32>| -> u64 {
        let items = items(workspace);
        let ids = ids.map(|id| format!("item {id:05}"));
        ids.map(|id| (id.len() + items[&id].len()) as u64).sum()
    };
    store(&there, 0..1000, "a text of some length");
    let first = bytes(1, size(&there, 0..1000));
    // A small change of each object is sent as a difference.
    store(&there, 0..1000, "a text of same length");
    let second = bytes(1, size(&there, 0..1000));
    assert!(second < first, "{second} {first}");
    // Small commits.
    for id in 0..100 {
        store(&there, id..id + 1, "another");
        there.history().commit("small").unwrap();
    }
    bytes(100, size(&there, 0..100));
}

// Promise: sync-format#Y4
#[test]
fn interrupted_pull_goes_on_after_the_last_stored_commit() {
    let ((_one, one), (_other, other)) = (file(), file());
    let there = open(&other);
    for round in 0..30 {
        store(&there, round * 10..round * 10 + 10, "text");
        there.history().commit("round").unwrap();
    }
    let whole = {
        let (_third, third) = file();
        recorded(&open(&third), &there).1.len()
    };
    let here = open(&one);
    let mut received = 0;
    for _ in 0..3 {
        let (pulled, _) = served(&there, |end| {
            end.cut = Some(whole * 2 / 7);
            let pulled = here.history().remote("peer").pull(end, "main");
            received += end.received.len();
            pulled
        });
        assert_eq!(pulled.unwrap_err().kind(), ErrorKind::Io);
        assert!(here.history().remote_branches().unwrap().is_empty());
    }
    let (pulled, last) = recorded(&here, &there);
    assert_eq!(pulled.commit, head(&there));
    assert!(pulled.commits < 30, "{}", pulled.commits);
    received += last.len();
    // Each interruption costs a commit and an offer.
    assert!(received < whole * 3 / 2, "{received} of {whole}");
    assert_eq!(items(&here.at_branch("peer/main").unwrap()), items(&there));
}

#[test]
fn commit_of_many_large_objects_arrives_in_parts() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    store(&there, 0..80, &"long ".repeat(40_000));
    there.history().commit("first").unwrap();
    store(&there, 20..60, &"longer ".repeat(30_000));
    let remote = here.history().remote("there");
    let pulled = remote.pull_from(&there, "main").unwrap();
    assert_eq!(pulled.changes, 120);
    assert_eq!(items(&here.at_branch("there/main").unwrap()), items(&there));
    // A small message refers to many large objects.
    store(
        &there,
        20..60,
        &"Longer ".repeat(30_000).replacen('L', "l", 29_999),
    );
    let pulled = remote.pull_from(&there, "main").unwrap();
    assert_eq!(pulled.changes, 40);
    assert!(pulled.bytes < 5000, "{}", pulled.bytes);
    assert_eq!(items(&here.at_branch("there/main").unwrap()), items(&there));
}

#[test]
fn merges_are_sent_with_both_sides() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    store(&there, 0..20, "base");
    there.history().branch("draft").unwrap();
    store(&there, 0..10, "main");
    there.history().checkout("draft").unwrap();
    store(&there, 10..20, "draft");
    there.history().checkout("main").unwrap();
    let merged = there.history().merge("draft").unwrap();
    assert!(matches!(merged, Merged::Commit { .. }));
    let (pulled, bytes) = recorded(&here, &there);
    assert_eq!((pulled.commits, pulled.changes), (4, 20 + 10 + 10 + 10));
    assert_eq!(items(&here.at_branch("peer/main").unwrap()), items(&there));
    // The merge refers to the objects of the other parent.
    assert!(bytes.len() < 5000, "{}", bytes.len());
}

#[test]
fn merge_that_has_deleted_all_objects_of_a_type_arrives() {
    // Either parent may be the first one, by the ids.
    for round in 0..6 {
        let ((_one, one), (_other, other)) = (file(), file());
        let (here, there) = (open_both(&one), open_both(&other));
        put(&there, "a", round);
        note_others(&there, 0..3, "note");
        let history = there.history();
        history.branch("draft").unwrap();
        history.checkout("draft").unwrap();
        delete_others(&there);
        history.checkout("main").unwrap();
        put(&there, "b", round);
        let merged = history.merge("draft").unwrap();
        assert!(matches!(merged, Merged::Commit { .. }), "{merged:?}");
        assert_eq!(there.fetch::<Other>().count().unwrap(), 0);
        let history = here.history();
        let remote = history.remote("there");
        let pulled = remote.pull_from(&there, "main").unwrap();
        let at = here.at(pulled.commit).unwrap();
        assert_eq!(at.fetch::<Other>().count().unwrap(), 0);
        assert_eq!(items(&at), items(&there));
        history.merge("there/main").unwrap();
        assert_eq!(here.fetch::<Other>().count().unwrap(), 0);
    }
}

fn delete_others(workspace: &Workspace) {
    let deleted = workspace.perform_changes_blocking([Other::TABLE], |tx| {
        for other in tx.fetch::<Other>().all()?.iter() {
            let request = OtherChangeRequest::deletion(tx, other)?.unwrap();
            tx.submit(request)?;
        }
        Ok(())
    });
    deleted.unwrap();
}

// Promise: sync-format#Y5
#[test]
fn types_that_are_not_allowed_are_not_taken() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open_both(&other));
    put(&there, "a", 1);
    note_others(&there, 0..3, "note");
    let history = here.history();
    let refused = history.remote("there").pull_from(&there, "main");
    let refused = refused.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
    assert!(refused.to_string().contains("other"), "{refused}");
    assert!(history.remote_branches().unwrap().is_empty());
    let both = open_both(&one.with_file_name("both.db"));
    let of_items = both.history().remote("there").of::<Item>();
    let refused = of_items.pull_from(&there, "main").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
    both.history()
        .remote("there")
        .pull_from(&there, "main")
        .unwrap();
}

#[test]
fn server_gives_no_other_type_of_an_earlier_commit() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open_both(&one), open_both(&other));
    put(&there, "a", 1);
    note_others(&there, 0..3, "secret");
    there.history().commit("both").unwrap();
    delete_others(&there);
    // A merge leaves out a type that has no objects in the merge and in its parents.
    let history = there.history();
    history.branch("draft").unwrap();
    put(&there, "b", 1);
    history.checkout("draft").unwrap();
    put(&there, "c", 1);
    history.checkout("main").unwrap();
    history.merge("draft").unwrap();
    let last = history.commits().next().unwrap().unwrap();
    assert!(last.tables.iter().all(|table| table.name != "other"));
    let (mut end, mut far) = connection();
    let refused = std::thread::scope(|scope| {
        let there = &there;
        scope.spawn(move || {
            let server = there.history().server().of::<Item>();
            let _ = server.serve(&mut far);
        });
        let refused = here.history().remote("there").pull(&mut end, "main");
        let received = std::mem::take(&mut end.received);
        drop(end);
        let secret = b"secret".as_slice();
        assert!(!received.windows(secret.len()).any(|bytes| bytes == secret));
        refused.unwrap_err()
    });
    assert_ne!(refused.kind(), ErrorKind::Io, "{refused}");
    assert!(here.history().remote_branches().unwrap().is_empty());
}

#[test]
fn connection_is_used_again_after_an_offer_of_known_commits() {
    let ((_one, one), (_other, other), (_third, third)) = (file(), file(), file());
    let (here, there, hub) = (open(&one), open(&other), open(&third));
    for round in 0..40 {
        put(&hub, "a", round);
        hub.history().commit("round").unwrap();
    }
    for workspace in [&here, &there] {
        let history = workspace.history();
        history.remote("hub").pull_from(&hub, "main").unwrap();
        history.merge("hub/main").unwrap();
    }
    let tip = here.history().head().unwrap().unwrap();
    here.history().delete_branch("hub/main").unwrap();
    // The commits that both have are far behind those that a request names.
    for round in 0..300 {
        put(&here, "b", round);
        here.history().commit("own").unwrap();
    }
    there.history().branch_at("old", tip).unwrap();
    here.history().branch("own").unwrap();
    let (exchanged, served) = served(&there, |end| {
        let history = here.history();
        let remote = history.remote("there");
        for branch in ["old", "main", "old"] {
            remote.pull(end, branch).unwrap();
        }
        remote.push(end, "own").unwrap()
    });
    assert_eq!(exchanged.commits, 300);
    let served = served.unwrap();
    assert_eq!((served.pulls, served.pushes), (3, 1));
}

#[test]
fn file_without_versioned_types_says_how_to_get_them() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (Workspace::builder(&one).open().unwrap(), open(&other));
    put(&there, "a", 1);
    let history = here.history();
    let remote = history.remote("there");
    for refused in [
        remote.pull_from(&there, "main").map(drop),
        remote.push_to(&there, "main").map(drop),
    ] {
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
        assert!(refused.to_string().contains("`versioned`"), "{refused}");
    }
}

#[test]
fn pull_of_a_branch_that_is_not_there_is_refused() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    put(&there, "a", 1);
    let ((missing, found), served) = served(&there, |end| {
        let history = here.history();
        let remote = history.remote("there");
        let missing = remote.pull(end, "draft").unwrap_err();
        // The connection can be used again.
        (missing, remote.pull(end, "main").unwrap())
    });
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert_eq!(found.commits, 1);
    let served = served.unwrap();
    assert_eq!((served.pulls, served.refused), (1, 1));
}

#[test]
fn remotes_with_names_that_no_branch_can_begin_with_are_refused() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    put(&there, "a", 1);
    let history = here.history();
    for name in ["", "a/b", "a\n", &"a".repeat(256)] {
        let refused = history.remote(name).pull_from(&there, "main");
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
        let refused = history.remote(name).push_to(&there, "main");
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    assert!(history.remote_branches().unwrap().is_empty());
}

// Promise: sync-format#Y6
#[test]
fn exchange_beyond_a_limit_moves_no_branch() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    for round in 0..5 {
        store(&there, round * 10..round * 10 + 10, "text");
        there.history().commit("round").unwrap();
    }
    let whole = SyncLimits::default();
    let limits = [
        SyncLimits {
            commits: 4,
            ..whole
        },
        SyncLimits {
            changes: 49,
            ..whole
        },
        SyncLimits {
            bytes: 1000,
            ..whole
        },
        SyncLimits {
            object_bytes: 20,
            ..whole
        },
    ];
    for limits in limits {
        let history = here.history();
        let remote = history.remote("there").limits(limits);
        let refused = remote.pull_from(&there, "main").unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
        assert!(history.remote_branches().unwrap().is_empty());
    }
    let time = SyncLimits {
        time: std::time::Duration::ZERO,
        ..whole
    };
    let history = here.history();
    let late = history.remote("there").limits(time);
    let late = late.pull_from(&there, "main").unwrap_err();
    assert_eq!(late.kind(), ErrorKind::DeadlineExceeded, "{late}");
    assert_eq!(rank(&here, "item 00001"), None);
}
