//! Laws of the statistics of a workspace.

use std::sync::mpsc;

use dflat::{Error, ErrorKind, Stats};

use crate::conformance::samples::item;
use crate::fixture::{Fixture, Open, next};
use crate::schema::{Item, ItemChangeRequest};

/// The difference to an earlier count.
fn since(w: &Fixture, before: &Stats) -> [u64; 6] {
    let now = w.stats();
    [
        now.transactions - before.transactions,
        now.failed_transactions - before.failed_transactions,
        now.conflicts - before.conflicts,
        now.groups - before.groups,
        now.grouped_transactions - before.grouped_transactions,
        now.deliveries - before.deliveries,
    ]
}

pub fn new_workspace_has_zero_stats(open: Open) {
    let w = open();
    assert_eq!(w.stats(), Stats::default());
}

pub fn transactions_are_counted_by_how_they_end(open: Open) {
    let w = open();
    let start = w.stats();
    w.create::<Item>([item("a", 1)]);
    w.perform([Item::TABLE], |_| Ok(()));
    assert_eq!(since(&w, &start), [2, 0, 0, 1, 1, 0]);
    let failed = w.perform_changes([Item::TABLE], |tx| {
        tx.submit(ItemChangeRequest::creation(item("b", 1)))?;
        Err::<(), _>(Error::new(ErrorKind::InvalidArgument, "on purpose"))
    });
    failed.wait().unwrap_err();
    assert_eq!(since(&w, &start), [2, 1, 0, 1, 1, 0]);
}

pub fn conflicts_are_counted(open: Open) {
    let w = open();
    let seen = w.create::<Item>([item("a", 1)]).remove(0);
    w.change(&seen, |data| data.rank = 2);
    let start = w.stats();
    w.perform([Item::TABLE], move |tx| {
        let twice = tx.submit(ItemChangeRequest::creation(item("a", 1)));
        assert_eq!(twice.unwrap_err().kind(), ErrorKind::AlreadyExists);
        let change = ItemChangeRequest::change(tx, &seen)?.unwrap().if_unchanged(&seen);
        assert_eq!(tx.submit(change).unwrap_err().kind(), ErrorKind::OutOfDate);
        Ok(())
    });
    assert_eq!(since(&w, &start)[2], 2);
}

pub fn commit_groups_are_counted_with_their_sizes(open: Open) {
    let w = open();
    let start = w.stats();
    let (go, goes) = mpsc::channel::<()>();
    let mut handles = vec![w.perform_changes([Item::TABLE], move |_| {
        let _ = goes.recv();
        Ok(())
    })];
    handles.extend((0..50).map(|n| {
        w.perform_changes([Item::TABLE], move |tx| {
            tx.submit(ItemChangeRequest::creation(item(&n.to_string(), n))).map(drop)
        })
    }));
    drop(go);
    for handle in handles {
        handle.wait().unwrap();
    }
    let [transactions, failed, _, groups, grouped, _] = since(&w, &start);
    assert_eq!((transactions, failed, grouped), (51, 0, 50));
    assert!((1..=50).contains(&groups), "{groups}");
    let largest = w.stats().largest_group;
    assert!(largest * groups >= grouped && largest <= grouped, "{largest} of {groups}");
}

pub fn deliveries_are_counted(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let start = w.stats();
    let (sender, received) = mpsc::channel();
    let all = sender.clone();
    let _all = w.subscribe(w.fetch::<Item>(), move |_| all.send(()).unwrap()).unwrap();
    let _object = w.subscribe(&object, move |_| sender.send(()).unwrap()).unwrap();
    next(&received);
    w.settle::<Item>();
    assert_eq!(since(&w, &start)[5], 1);
    w.change(&object, |data| data.rank = 2);
    assert_eq!(since(&w, &start)[5], 3);
}

pub fn lookups_are_counted_with_those_that_were_saved(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 1), item("b", 2)]);
    let counts = |w: &Fixture| (w.stats().look_ups, w.stats().look_ups_saved);
    assert_eq!(counts(&w), (0, 0));
    let seen = w.fetch::<Item>().all().unwrap().to_vec();
    w.change(&seen[0], |data| data.rank = 3);
    // The counts so far differ between backends: some know without a read that an object is
    // current.
    let counted = counts(&w);
    let since = |w: &Fixture| (counts(w).0 - counted.0, counts(w).1 - counted.1);
    // The object was changed since it was fetched.
    w.perform([Item::TABLE], move |tx| {
        ItemChangeRequest::change(tx, &seen[0])?;
        Ok(())
    });
    assert_eq!(since(&w), (1, 0));
    w.perform([Item::TABLE], move |tx| {
        for object in &tx.fetch::<Item>().all()? {
            ItemChangeRequest::change(tx, object)?;
        }
        Ok(())
    });
    assert_eq!(since(&w), (3, 2));
}

pub fn stats_have_the_age_of_the_oldest_snapshot(open: Open) {
    let w = open();
    assert_eq!(w.stats().oldest_snapshot, None);
    let first = w.snapshot().unwrap();
    let second = w.snapshot().unwrap();
    let age = w.stats().oldest_snapshot.unwrap();
    drop(second);
    assert!(w.stats().oldest_snapshot.unwrap() >= age);
    drop(first);
    assert_eq!(w.stats().oldest_snapshot, None);
}
