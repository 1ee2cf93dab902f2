//! Laws of reading one state.

use std::thread;

use crate::conformance::samples::{ids, item, other};
use crate::fixture::Open;
use crate::schema::{Item, ItemChangeRequest, Other};

// Promise: compatibility#P36
pub fn snapshot_is_fixed_when_it_is_taken(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 1)]);
    let snapshot = w.snapshot().unwrap();
    w.create::<Item>([item("b", 2)]);
    assert_eq!(ids(&snapshot.fetch::<Item>().all().unwrap()), ["a"]);
    assert!(snapshot.get::<Item>("b").unwrap().is_none());
    assert_eq!(snapshot.fetch::<Item>().filter(Item::RANK.eq(2)).all().unwrap().len(), 0);
    assert_eq!(w.fetch::<Item>().all().unwrap().len(), 2);
}

pub fn snapshot_of_an_empty_workspace_stays_empty(open: Open) {
    let w = open();
    let snapshot = w.snapshot().unwrap();
    w.create::<Item>([item("a", 1)]);
    assert!(snapshot.fetch::<Item>().all().unwrap().is_empty());
    assert!(snapshot.fetch::<Item>().filter(Item::RANK.eq(1)).all().unwrap().is_empty());
    assert!(snapshot.get::<Item>("a").unwrap().is_none());
}

pub fn snapshot_covers_all_types(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 1)]);
    let snapshot = w.snapshot().unwrap();
    assert_eq!(snapshot.fetch::<Item>().all().unwrap().len(), 1);
    w.create::<Other>([other(1)]);
    assert!(snapshot.fetch::<Other>().all().unwrap().is_empty());
}

// Promise: compatibility#P36
pub fn snapshot_of_a_closure_is_pinned_by_its_first_fetch(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 1)]);
    let (first, second) = w
        .fetch_within_a_snapshot(|snapshot| {
            w.create::<Item>([item("b", 2)]);
            let first = snapshot.fetch::<Item>().all()?.len();
            w.create::<Item>([item("c", 3)]);
            Ok((first, snapshot.fetch::<Item>().all()?.len()))
        })
        .unwrap();
    assert_eq!((first, second), (2, 2));
    assert_eq!(w.fetch::<Item>().all().unwrap().len(), 3);
}

pub fn nested_snapshots_are_independent(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 1)]);
    w.fetch_within_a_snapshot(|outer| {
        assert_eq!(outer.fetch::<Item>().all()?.len(), 1);
        w.create::<Item>([item("b", 2)]);
        w.fetch_within_a_snapshot(|inner| {
            assert_eq!(inner.fetch::<Item>().all()?.len(), 2);
            Ok(())
        })?;
        assert_eq!(outer.fetch::<Item>().all()?.len(), 1);
        Ok(())
    })
    .unwrap();
}

// Promise: compatibility#P4
pub fn writer_is_not_blocked_by_a_snapshot(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 1)]);
    let snapshot = w.snapshot().unwrap();
    for n in 0..20 {
        w.create::<Item>([item(&format!("n{n}"), n)]);
    }
    assert_eq!(snapshot.fetch::<Item>().all().unwrap().len(), 1);
}

pub fn snapshot_keeps_deleted_objects(open: Open) {
    let w = open();
    let objects = w.create::<Item>([item("a", 1), item("b", 1)]);
    let snapshot = w.snapshot().unwrap();
    w.delete(&objects[0]);
    w.change(&objects[1], |data| data.rank = 2);
    let found = snapshot.fetch::<Item>().filter(Item::RANK.eq(1)).all().unwrap();
    assert_eq!(ids(&found), ["a", "b"]);
    assert_eq!(snapshot.get::<Item>("b").unwrap().unwrap().rank(), 1);
}

pub fn snapshot_goes_to_another_thread(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 1)]);
    let snapshot = w.snapshot().unwrap();
    w.create::<Item>([item("b", 2)]);
    let count = thread::scope(|scope| {
        let reading = scope.spawn(|| snapshot.fetch::<Item>().all().unwrap().len());
        reading.join().unwrap()
    });
    assert_eq!(count, 1);
}

pub fn more_snapshots_than_usual_readers_can_be_held(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 1)]);
    let snapshots: Vec<_> = (0..40).map(|_| w.snapshot().unwrap()).collect();
    w.create::<Item>([item("b", 2)]);
    for snapshot in &snapshots {
        assert_eq!(snapshot.fetch::<Item>().all().unwrap().len(), 1);
    }
}

// Promise: compatibility#P1
pub fn objects_outlive_their_deletion_and_workspace(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let fetched = w.fetch::<Item>().all().unwrap();
    w.delete(&object);
    drop(w);
    assert_eq!((object.id(), fetched[0].id()), ("a", "a"));
}

// Promise: compatibility#P4
pub fn readers_never_see_half_a_transaction(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 0), item("b", 0)]);
    thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for n in 1..60 {
                w.perform([Item::TABLE], move |tx| {
                    tx.submit(ItemChangeRequest::upsert(item("a", n)))?;
                    tx.submit(ItemChangeRequest::upsert(item("b", n)))
                });
            }
        });
        while !writing.is_finished() {
            let both = w.fetch::<Item>().all().unwrap();
            assert_eq!(both[0].rank(), both[1].rank());
            let rank = both[0].rank();
            let found = w.fetch::<Item>().filter(Item::RANK.ge(rank)).all().unwrap();
            assert_eq!(found.len(), 2);
        }
        writing.join().unwrap();
    });
}
