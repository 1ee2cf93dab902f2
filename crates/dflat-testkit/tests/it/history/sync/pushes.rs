//! Pushes go forward or are refused.

use std::sync::mpsc;

use dflat::ErrorKind;
use dflat_testkit::fixture::drained;
use dflat_testkit::schema::Item;

use super::super::files::{file, open, put, rank};
use super::exchange::items;
use dflat_testkit::wire::served;

// Promise: sync-format#Y7
#[test]
fn push_moves_the_current_branch_and_its_objects_in_one_transaction() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    put(&there, "a", 1);
    let remote = || here.history().remote("there");
    remote().pull_from(&there, "main").unwrap();
    here.history().merge("there/main").unwrap();
    put(&here, "a", 2);
    put(&here, "b", 3);
    here.history().commit("first").unwrap();
    put(&here, "c", 4);
    let (send, changes) = mpsc::channel();
    let subscription = there.subscribe(there.fetch::<Item>(), move |update| {
        let update = update.unwrap();
        let counts = (update.inserted().count(), update.updated().count());
        send.send((update.result().len(), counts)).unwrap();
    });
    let subscription = subscription.unwrap();
    there.settle().unwrap();
    let _ = drained(&changes);
    let pushed = remote().push_to(&there, "main").unwrap();
    assert_eq!((pushed.commits, pushed.changes), (2, 3));
    assert_eq!(there.history().head().unwrap(), Some(pushed.commit));
    assert_eq!(here.history().head().unwrap(), Some(pushed.commit));
    assert_eq!(items(&here), items(&there));
    there.settle().unwrap();
    assert_eq!(drained(&changes), [(3, (2, 1))]);
    subscription.cancel();
    let tracked = here.history().remote_branches().unwrap();
    assert_eq!(tracked[0].commit, pushed.commit);
    assert!(there.history().remote_branches().unwrap().is_empty());
}

#[test]
fn push_into_an_empty_file_fills_it() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    put(&here, "a", 1);
    let remote = here.history().remote("there");
    let pushed = remote.push_to(&there, "main").unwrap();
    assert_eq!(items(&there), items(&here));
    assert_eq!(there.history().head().unwrap(), Some(pushed.commit));
    assert_eq!(there.history().commits().count(), 1);
}

#[test]
fn push_of_another_branch_changes_no_object() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    put(&here, "a", 1);
    let remote = || here.history().remote("there");
    remote().push_to(&there, "main").unwrap();
    here.history().branch("draft").unwrap();
    here.history().checkout("draft").unwrap();
    put(&here, "a", 2);
    remote().push_to(&there, "draft").unwrap();
    assert_eq!(rank(&there, "a"), Some(1));
    assert_eq!(rank(&there.at_branch("draft").unwrap(), "a"), Some(2));
    there.history().checkout("draft").unwrap();
    assert_eq!(rank(&there, "a"), Some(2));
}

// Promise: sync-format#Y8
#[test]
fn push_that_would_lose_commits_is_refused() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    put(&here, "a", 1);
    let history = here.history();
    let remote = || history.remote("there");
    remote().push_to(&there, "main").unwrap();
    // A change there that is not even committed yet.
    put(&there, "b", 1);
    put(&here, "c", 1);
    let (behind, served) = served(&there, |end| {
        let behind = remote().push(end, "main").unwrap_err();
        // The connection can be used again.
        remote().pull(end, "main").unwrap();
        history.merge("there/main").unwrap();
        remote().push(end, "main").unwrap();
        behind
    });
    assert_eq!(behind.kind(), ErrorKind::OutOfDate, "{behind}");
    let served = served.unwrap();
    assert_eq!((served.pulls, served.pushes), (1, 1));
    assert_eq!(items(&here), items(&there));
    assert_eq!(items(&here).len(), 3);
}

#[test]
fn server_takes_pushes_only_if_it_is_told_to() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    put(&here, "a", 1);
    let (mut end, mut far) = dflat_testkit::wire::connection();
    let refused = std::thread::scope(|scope| {
        let there = &there;
        scope.spawn(move || there.history().server().serve(&mut far).unwrap());
        let refused = here.history().remote("there").push(&mut end, "main");
        drop(end);
        refused.unwrap_err()
    });
    assert_eq!(refused.kind(), ErrorKind::ReadOnly, "{refused}");
    assert!(items(&there).is_empty());
}
