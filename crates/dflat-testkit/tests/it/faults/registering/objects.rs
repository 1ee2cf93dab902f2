//! Subscriptions to objects that cannot be read for a time.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::Item;
use rusqlite::Connection;

use super::rig::{Log, Rig, Start, delete, object, object_of, object_of_another_engine, put};

// Promise: live-queries#L80
#[test]
fn object_that_changes_before_it_can_be_read_is_delivered_as_it_is_then() {
    bounded(|| {
        for start in [object as Start, object_of_another_engine] {
            for rig in [Rig::memory(), Rig::sqlite(false)] {
                let (_subscription, log) = rig.subscribe(start);
                put(&rig.workspace, &[("a", 5)]);
                assert!(rig.delivered(&log).is_empty());
                rig.heal();
                put(&rig.workspace, &[("b", 5)]);
                assert_eq!(rig.delivered(&log), ["a5"]);
                delete(&rig.workspace, "a");
                assert_eq!(rig.delivered(&log), ["deleted"]);
            }
        }
    });
}

// Promise: live-queries#L11
#[test]
fn object_that_is_deleted_before_it_can_be_read_is_not_the_next_one_of_its_key() {
    bounded(|| {
        for rig in [Rig::memory(), Rig::sqlite(false)] {
            let (_subscription, log) = rig.subscribe(object);
            delete(&rig.workspace, "b");
            delete(&rig.workspace, "a");
            // The change set says so, and nothing is read.
            assert_eq!(rig.delivered(&log), ["deleted"]);
            put(&rig.workspace, &[("a", 7)]);
            rig.heal();
            put(&rig.workspace, &[("a", 8)]);
            assert!(rig.delivered(&log).is_empty());
        }
    });
}

// Promise: live-queries#L80
#[test]
fn objects_that_cannot_be_read_again_for_a_time_go_on() {
    bounded(|| {
        let rig = Rig::sqlite(false);
        let b = rig.workspace.get::<Item>("b").unwrap().unwrap();
        let logs = [Log::default(), Log::default()];
        let a = object_of(&rig.workspace, &rig.known.a, Arc::clone(&logs[0]));
        let b = object_of(&rig.workspace, &b, Arc::clone(&logs[1]));
        rig.workspace.settle().unwrap();
        let sql = Connection::open(rig.path()).unwrap();
        let table = Item::TABLE.name.to_string();
        sql.execute(&format!("DELETE FROM {table} WHERE rowid = 2"), [])
            .unwrap();
        // The look finds the write, and what it changed cannot be read.
        rig.break_after(1);
        rig.workspace.refresh().unwrap();
        assert_eq!(rig.delivered(&logs[0]), ["a1"]);
        assert!(rig.delivered(&logs[1]).is_empty());
        assert!(a.error().is_none() && b.error().is_none());
        rig.heal();
        rig.workspace.refresh().unwrap();
        assert!(rig.delivered(&logs[0]).is_empty());
        assert_eq!(rig.delivered(&logs[1]), ["deleted"]);
        put(&rig.workspace, &[("a", 2)]);
        assert_eq!(rig.delivered(&logs[0]), ["a2"]);
    });
}

// Promise: live-queries#L80
#[test]
fn object_whose_row_cannot_be_read_for_a_time_goes_on() {
    bounded(|| {
        for start in [object as Start, object_of_another_engine] {
            for rig in [Rig::memory(), Rig::sqlite(false)] {
                rig.unreadable.store(true, Ordering::SeqCst);
                let (subscription, log) = rig.subscribe_now(start);
                rig.workspace.refresh().unwrap();
                assert!(rig.delivered(&log).is_empty());
                assert!(subscription.error().is_none());
                rig.unreadable.store(false, Ordering::SeqCst);
                rig.workspace.refresh().unwrap();
                assert_eq!(rig.delivered(&log), ["a1"]);
            }
        }
    });
}
