//! Laws against defects of Dflat for Swift that concern transactions, change requests, hangs and
//! hidden errors.

// Promise: concurrency#C76
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;

use dflat::{Error, ErrorKind, FetchedResult, Object, Result, UpdatedObject};

use crate::conformance::samples::{bag, ids, item, other};
use super::{blocking, changes, optimistic, transactions};
use crate::conformance::observing::cancelling;
use crate::conformance::reading::{snapshots, values};
use crate::conformance::workspaces::endings;
use crate::fixture::{Open, drained, next};
use crate::schema::{
    Bag, Item, ItemChangeRequest, ItemData, Other, OtherChangeRequest, Wide, WideChangeRequest,
    WideData,
};

pub fn update_to_an_existing_key_is_a_conflict(open: Open) {
    let w = open();
    let objects = w.create::<Item>([item("a", 1), item("b", 2)]);
    let (sender, received) = mpsc::channel();
    let _other = w.subscribe(&objects[1], move |event| sender.send(event).unwrap()).unwrap();
    let moved = objects[0].clone();
    let collision = w.perform_changes([Item::TABLE], move |tx| {
        let mut change = ItemChangeRequest::change(tx, &moved)?.unwrap();
        change.id = "b".into();
        tx.submit(change)
    });
    assert_eq!(collision.wait().unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(w.get::<Item>("b").unwrap().as_ref(), Some(&objects[1]), "it is still there");
    assert_eq!(w.fetch::<Item>().all().unwrap().len(), 2);
    assert!(drained(&received).is_empty());
    changes::moving_a_key_onto_another_is_a_conflict(open);
}

pub fn update_to_an_existing_unique_value_is_a_conflict(open: Open) {
    changes::unique_conflict_is_undone(open);
}

pub fn indexes_follow_transactions_of_changing_sets_of_types(open: Open) {
    let w = open();
    // A transaction over both types writes first, then one over each type alone, then one over both
    // again.
    let insert = |n: i32, items: bool, others: bool| {
        let tables = [(items, Item::TABLE), (others, Other::TABLE)];
        let tables = tables.into_iter().filter(|(used, _)| *used).map(|(_, table)| table);
        w.perform(tables, move |tx| {
            if others {
                tx.submit(OtherChangeRequest::creation(other(n)))?;
            }
            if items {
                tx.submit(ItemChangeRequest::creation(item(&n.to_string(), n)))?;
            }
            Ok(())
        });
    };
    for (n, items, others) in
        [(0, true, true), (1, true, false), (2, false, true), (3, true, true), (4, true, false)]
    {
        insert(n, items, others);
        let found = w.fetch::<Item>().filter(Item::RANK.ge(0)).all().unwrap();
        let all = w.fetch::<Item>().filter(Item::SIZE.ge(0)).all().unwrap();
        assert_eq!(ids(&found), ids(&all), "by the index and without one");
    }
}

pub fn snapshot_inside_a_snapshot_is_independent(open: Open) {
    snapshots::nested_snapshots_are_independent(open);
}

pub fn vectors_of_structs_keep_their_order(open: Open) {
    let w = open();
    let points = bag(1).points;
    let mut object = w.create::<Bag>([bag(1)]).remove(0);
    for round in 0..3 {
        object = w.change(&object, move |data| data.limit = round);
        assert_eq!(object.to_data().points, points, "{round}");
    }
    assert_eq!(w.get::<Bag>(1).unwrap().unwrap().to_data().points, points);
}

pub fn upsert_from_an_outdated_object_replaces_the_stored_one(open: Open) {
    let w = open();
    let stale = w.create::<Item>([item("a", 1)]).remove(0);
    w.delete(&stale);
    w.create::<Item>([item("a", 2)]);
    let data = ItemData {
        rank: 3,
        ..stale.to_data()
    };
    let updated = w.perform([Item::TABLE], |tx| tx.submit(ItemChangeRequest::upsert(data)));
    assert!(matches!(updated, UpdatedObject::Updated(_)), "{updated:?}");
    assert_eq!(w.fetch::<Item>().all().unwrap().len(), 1);
}

pub fn cancel_prevents_the_first_delivery_of_an_outdated_object(open: Open) {
    cancelling::cancel_stops_pending_first_deliveries(open);
}

pub fn no_callback_runs_after_a_concurrent_cancel(open: Open) {
    cancelling::cancel_waits_for_a_callback_that_is_running(open);
}

pub fn transactions_of_overlapping_types_do_not_deadlock(open: Open) {
    let w = open();
    let orders = [[Item::TABLE, Other::TABLE], [Other::TABLE, Item::TABLE]];
    thread::scope(|scope| {
        for order in orders.iter().cycle().take(6) {
            scope.spawn(|| {
                let read = || {
                    w.perform_changes(order.clone(), |tx| tx.fetch::<Item>().all().map(drop))
                };
                let handles: Vec<_> = (0..40).map(|_| read()).collect();
                for handle in handles {
                    handle.wait().unwrap();
                }
            });
        }
    });
    transactions::many_threads_with_overlapping_types_do_not_deadlock(open);
}

pub fn duplicate_declaration_of_a_type_is_harmless(open: Open) {
    transactions::type_may_be_declared_twice(open);
}

pub fn dropped_queries_hold_no_reader(open: Open) {
    let w = open();
    // Far more queries than the pool has readers.
    for _ in 0..200 {
        drop(w.fetch::<Item>().filter(Item::RANK.eq(1)));
    }
    assert!(w.fetch::<Item>().all().unwrap().is_empty());
}

pub fn blocking_shutdown_inside_callbacks_is_refused(open: Open) {
    endings::shutdown_inside_a_handler_is_refused(open);
    endings::shutdown_inside_a_callback_is_refused(open);
    blocking::blocking_call_inside_a_handler_or_callback_is_refused(open);
}

pub fn queued_transactions_of_one_type_share_few_threads(open: Open) {
    let w = open();
    let (go, goes) = mpsc::channel::<()>();
    let held = w.perform_changes([Item::TABLE], move |_| {
        let _ = goes.recv();
        Ok(())
    });
    let threads: Arc<Mutex<Vec<_>>> = Arc::default();
    let handles: Vec<_> = (0..500)
        .map(|_| {
            let threads = Arc::clone(&threads);
            w.perform_changes([Item::TABLE], move |_| {
                threads.lock().unwrap().push(thread::current().id());
                Ok(())
            })
        })
        .collect();
    drop(go);
    held.wait().unwrap();
    for handle in handles {
        handle.wait().unwrap();
    }
    let mut threads = std::mem::take(&mut *threads.lock().unwrap());
    threads.sort_by_key(|id| format!("{id:?}"));
    threads.dedup();
    assert!(threads.len() <= 4, "{} threads for one type", threads.len());
}

pub fn large_unsigned_keys_are_stored_and_found(open: Open) {
    let w = open();
    let wide = |id: u64| WideData { id, rank: id, size: id };
    let values = [u64::from(u32::MAX), i64::MAX as u64 + 1, u64::MAX];
    for value in values {
        w.perform([Wide::TABLE], move |tx| tx.submit(WideChangeRequest::creation(wide(value))));
        assert!(w.get::<Wide>(value).unwrap().is_some());
        let found = w.fetch::<Wide>().filter(Wide::RANK.eq(value)).all().unwrap();
        assert_eq!(found.len(), 1);
    }
    values::unsigned_numbers_above_the_signed_range_are_keys(open);
}

pub fn two_requests_of_one_object_are_both_carried_out(open: Open) {
    // Submitting one request twice does not compile. Two requests for one object are two changes.
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    w.perform([Item::TABLE], move |tx| {
        let mut first = ItemChangeRequest::change(tx, &object)?.unwrap();
        let mut second = ItemChangeRequest::change(tx, &object)?.unwrap();
        (first.rank, second.rank) = (2, 3);
        tx.submit(first)?;
        tx.submit(second)
    });
    assert_eq!(w.get::<Item>("a").unwrap().unwrap().rank(), 3);
}

pub fn subscription_to_an_aborted_insert_delivers_its_deletion(open: Open) {
    let w = open();
    let never = Arc::new(Mutex::new(None));
    let out = Arc::clone(&never);
    let aborted = w.perform_changes([Item::TABLE], move |tx| {
        let inserted = tx.submit(ItemChangeRequest::creation(item("never", 1)))?;
        *out.lock().unwrap() = inserted.into_object();
        tx.abort();
        Ok(())
    });
    assert_eq!(aborted.wait().unwrap_err().kind(), ErrorKind::Aborted);
    let never = never.lock().unwrap().take().unwrap();
    let next_object = w.create::<Item>([item("next", 1)]).remove(0);
    assert_ne!(next_object.row_id(), never.row_id(), "no two objects share an identity");
    let (sender, received) = mpsc::channel();
    let _never = w.subscribe(&never, move |event| sender.send(event).unwrap()).unwrap();
    assert_eq!(next(&received), dflat::SubscribedObject::Deleted);
    w.change(&next_object, |data| data.rank = 2);
    assert!(drained(&received).is_empty());
}

pub fn request_outside_its_transaction_is_refused(open: Open) {
    // Outside of a transaction, code that makes a change request does not compile.
    optimistic::request_of_another_transaction_is_refused(open);
}

pub fn undeclared_type_is_refused(open: Open) {
    transactions::undeclared_type_is_an_error_and_the_transaction_goes_on(open);
}

pub fn duplicate_key_undoes_a_handler_that_returns_the_error(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 1)]);
    let submitted = w.perform_changes([Item::TABLE], |tx| {
        tx.submit(ItemChangeRequest::creation(item("b", 1)))?;
        // In Dflat for Swift, this is `try(submit:)`.
        tx.submit(ItemChangeRequest::creation(item("a", 1)))
    });
    assert_eq!(submitted.wait().unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(ids(&w.fetch::<Item>().all().unwrap()), ["a"], "all or nothing");
}

pub fn completion_gets_the_error_of_a_duplicate_key(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 1)]);
    let (sender, received) = mpsc::channel();
    w.perform_changes([Item::TABLE], |tx| {
        tx.submit(ItemChangeRequest::creation(item("a", 1))).map(drop)
    })
    .on_completion(move |outcome: Result<()>| sender.send(outcome).unwrap());
    let error: Error = next(&received).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    let message = error.to_string();
    assert!(message.contains("Item") && message.contains("id = \"a\""), "{message}");
}

pub fn fetch_returns_its_error(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 1)]);
    let (workspace, _directory) = w.into_parts();
    workspace.shutdown().unwrap();
    let fetched: Result<FetchedResult<Item>> = workspace.fetch::<Item>().all();
    assert_eq!(fetched.unwrap_err().kind(), ErrorKind::ShutDown);
}
