//! Laws of transactions that share a commit: their callers see no difference.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dflat::{ErrorKind, Result, SubscribedObject, TransactionContext};

use crate::conformance::observing::results::ItemsUpdate;
use crate::conformance::samples::{ids, item, other};
use crate::fixture::{Fixture, Open, next};
use crate::schema::{Item, ItemChangeRequest, Keyed, KeyedData, Other, OtherChangeRequest};

/// Far longer than a group waits, and far shorter than the limit for a hanging test.
const SOON: Duration = Duration::from_secs(5);

/// Holds the turn of the items until the sender is used or dropped, so that a queue can form.
fn hold(w: &Fixture) -> Sender<()> {
    let (go, goes) = mpsc::channel::<()>();
    w.perform_changes([Item::TABLE], move |_| {
        let _ = goes.recv();
        Ok(())
    })
    .detach();
    go
}

fn insert(tx: &TransactionContext, id: &str, rank: i32) -> Result<()> {
    tx.submit(ItemChangeRequest::creation(item(id, rank))).map(drop)
}

/// A queued member; the receiver gets its outcome once it is committed.
fn queued_member(w: &Fixture, id: &'static str) -> Receiver<Result<()>> {
    let (sender, received) = mpsc::channel();
    w.perform_changes([Item::TABLE], move |tx| insert(tx, id, 1))
        .on_completion(move |outcome| sender.send(outcome).unwrap());
    received
}

// Promise: concurrency#C29
pub fn group_member_may_wait_for_the_completion_before_it(open: Open) {
    let w = open();
    let held = hold(&w);
    let received = queued_member(&w, "first");
    let waits = w.perform_changes([Item::TABLE], move |_| received.recv_timeout(SOON).unwrap());
    drop(held);
    waits.wait().unwrap();
    assert_eq!(ids(&w.fetch::<Item>().all().unwrap()), ["first"]);
}

// Promise: concurrency#C29
pub fn group_member_that_has_written_may_wait_for_the_completion_before_it(open: Open) {
    let w = open();
    let held = hold(&w);
    let received = queued_member(&w, "first");
    let waits = w.perform_changes([Item::TABLE], move |tx| {
        insert(tx, "second", 2)?;
        received.recv_timeout(SOON).unwrap()?;
        // The writes of this member were undone and written again.
        assert_eq!(ids(&tx.fetch::<Item>().all()?), ["first", "second"]);
        assert_eq!(tx.fetch::<Item>().filter(Item::RANK.eq(2)).all()?.len(), 1);
        insert(tx, "third", 3)
    });
    drop(held);
    waits.wait().unwrap();
    assert_eq!(ids(&w.fetch::<Item>().all().unwrap()), ["first", "second", "third"]);
}

// Promise: concurrency#C30
pub fn wait_for_the_completion_before_takes_milliseconds(open: Open) {
    let w = open();
    let mut least = SOON;
    for round in 0..5 {
        let held = hold(&w);
        let (sender, received) = mpsc::channel();
        w.perform_changes([Item::TABLE], move |tx| insert(tx, &format!("{round}"), 1))
            .on_completion(move |outcome: Result<()>| sender.send(outcome).unwrap());
        let waits = w.perform_changes([Item::TABLE], move |_| {
            let start = Instant::now();
            received.recv_timeout(SOON).unwrap()?;
            Ok(start.elapsed())
        });
        drop(held);
        least = least.min(waits.wait().unwrap());
    }
    assert!(least < Duration::from_millis(500), "{least:?}");
}

// Promise: concurrency#C41
pub fn finished_member_does_not_wait_for_a_slow_successor(open: Open) {
    let w = open();
    let held = hold(&w);
    let received = queued_member(&w, "first");
    let (go, goes) = mpsc::channel();
    let slow = w.perform_changes([Item::TABLE], move |tx| {
        insert(tx, "slow", 2)?;
        next(&goes)
    });
    drop(held);
    received.recv_timeout(SOON).unwrap().unwrap();
    assert!(w.get::<Item>("first").unwrap().is_some());
    assert!(w.get::<Item>("slow").unwrap().is_none());
    go.send(Ok(())).unwrap();
    slow.wait().unwrap();
    assert_eq!(ids(&w.fetch::<Item>().all().unwrap()), ["first", "slow"]);
}

pub fn swapped_keys_survive_being_written_again(open: Open) {
    let w = open();
    let created = w.create::<Item>([item("a", 1), item("b", 2)]);
    let held = hold(&w);
    let received = queued_member(&w, "c");
    let swap = w.perform_changes([Item::TABLE], move |tx| {
        let (a, b) = (&created[0], &created[1]);
        for (object, id) in [(a, "between"), (b, "a"), (a, "b")] {
            let mut change = ItemChangeRequest::change(tx, object)?.unwrap();
            change.id = id.into();
            tx.submit(change)?;
        }
        received.recv_timeout(SOON).unwrap()
    });
    drop(held);
    swap.wait().unwrap();
    let rank = |id: &str| w.get::<Item>(id).unwrap().unwrap().rank();
    assert_eq!([rank("a"), rank("b")], [2, 1]);
    assert_eq!(ids(&w.fetch::<Item>().all().unwrap()), ["b", "a", "c"]);
}

// Promise: concurrency#C43
pub fn table_that_an_undone_member_created_is_created_again(open: Open) {
    let w = open();
    let held = hold(&w);
    let received = queued_member(&w, "first");
    let both = [Item::TABLE, Other::TABLE, Keyed::TABLE];
    let undone = w.perform_changes(both.clone(), |tx| {
        tx.submit(OtherChangeRequest::creation(other(1)))?;
        Err::<(), _>(dflat::Error::user(std::fmt::Error))
    });
    let last = w.perform_changes(both, |tx| {
        tx.submit(OtherChangeRequest::creation(other(2)))?;
        let keyed = KeyedData { zone: "z".into(), ..KeyedData::default() };
        tx.submit(dflat::ChangeRequest::<Keyed>::creation(keyed))?;
        Ok(())
    });
    drop(held);
    received.recv_timeout(SOON).unwrap().unwrap();
    assert_eq!(undone.wait().unwrap_err().kind(), ErrorKind::User);
    last.wait().unwrap();
    let others = w.fetch::<Other>().all().unwrap();
    assert_eq!(others.iter().map(Other::id).collect::<Vec<_>>(), [2]);
    assert_eq!(w.fetch::<Keyed>().all().unwrap().len(), 1);
}

// Promise: concurrency#C44
pub fn conflict_in_a_group_member_leaves_its_group_usable(open: Open) {
    let w = open();
    let held = hold(&w);
    let received = queued_member(&w, "a");
    let conflicts = w.perform_changes([Item::TABLE], |tx| {
        let kind = insert(tx, "a", 2).unwrap_err().kind();
        insert(tx, "b", 3)?;
        Ok(kind)
    });
    drop(held);
    received.recv_timeout(SOON).unwrap().unwrap();
    assert_eq!(conflicts.wait().unwrap(), ErrorKind::AlreadyExists);
    assert_eq!(ids(&w.fetch::<Item>().all().unwrap()), ["a", "b"]);
}

// Promise: concurrency#C38
pub fn each_member_is_visible_to_all_when_its_completion_is_called(open: Open) {
    let w = open();
    let held = hold(&w);
    let (sender, received) = mpsc::channel();
    for n in 0..100_i32 {
        let (reader, sender) = ((*w).clone(), sender.clone());
        w.perform_changes([Item::TABLE], move |tx| insert(tx, &n.to_string(), n))
            .on_completion(move |outcome| {
                let found = reader.get::<Item>(&n.to_string()).unwrap();
                sender.send(outcome.is_ok() && found.is_some()).unwrap();
            });
    }
    drop(held);
    assert!((0..100).all(|_| next(&received)));
}

// Promise: concurrency#C66
pub fn commits_of_all_types_are_delivered_in_one_order(open: Open) {
    let w = open();
    let objects = w.create::<Item>([item("a", 0)]);
    let others = w.create::<Other>([other(1)]);
    let events: Arc<Mutex<Vec<String>>> = Arc::default();
    let (log_items, log_others) = (Arc::clone(&events), Arc::clone(&events));
    let note_item = move |event: SubscribedObject<Item>| {
        if let SubscribedObject::Updated(item) = event {
            log_items.lock().unwrap().push(format!("delivered {}", item.rank()));
        }
    };
    let note_other = move |event: SubscribedObject<Other>| {
        if let SubscribedObject::Updated(other) = event {
            let note = other.note().unwrap_or_default().to_owned();
            log_others.lock().unwrap().push(format!("delivered {note}"));
        }
    };
    let _items = w.subscribe(&objects[0], note_item).unwrap();
    let _others = w.subscribe(&others[0], note_other).unwrap();
    w.settle::<Item>();
    w.settle::<Other>();
    for n in 1..=200 {
        let log = Arc::clone(&events);
        let (item, other) = (objects[0].clone(), others[0].clone());
        let tables = if n % 2 == 0 { [Item::TABLE] } else { [Other::TABLE] };
        w.perform_changes(tables, move |tx| {
            if n % 2 == 0 {
                let mut change = ItemChangeRequest::change(tx, &item)?.unwrap();
                change.rank = n;
                tx.submit(change).map(drop)
            } else {
                let mut change = OtherChangeRequest::change(tx, &other)?.unwrap();
                change.note = Some(n.to_string());
                tx.submit(change).map(drop)
            }
        })
        .on_completion(move |_| log.lock().unwrap().push(format!("done {n}")));
    }
    w.perform([Item::TABLE, Other::TABLE], |_| Ok(()));
    let events = events.lock().unwrap();
    assert_eq!(events.len(), 400);
    for pair in events.chunks(2) {
        // The completion of a commit follows its callbacks before anything of another commit.
        let received = pair[0].strip_prefix("delivered ").unwrap_or_else(|| panic!("{pair:?}"));
        assert_eq!(pair[1], format!("done {received}"));
    }
    for parity in 0..2 {
        let done = events.iter().filter_map(|event| event.strip_prefix("done "));
        let done = done.map(|n| n.parse::<i32>().unwrap()).filter(|n| n % 2 == parity);
        assert!(done.is_sorted(), "transactions of one type end in the order of calls");
    }
}

// Promise: concurrency#C69
pub fn slow_completion_does_not_hold_up_the_next_transaction(open: Open) {
    let w = open();
    let held = hold(&w);
    let (go, goes) = mpsc::channel();
    // A completion may wait for the next transaction if that transaction's handle needs no
    // completion.
    w.perform_changes([Item::TABLE], |_| Ok(()))
        .on_completion(move |_: Result<()>| {
            assert!(goes.recv_timeout(SOON).is_ok(), "the next handler should have run");
        });
    let follows = w.perform_changes([Item::TABLE], move |tx| {
        insert(tx, "next", 1)?;
        go.send(()).unwrap();
        Ok(())
    });
    drop(held);
    follows.wait().unwrap();
}

// Promise: concurrency#C67, live-queries#L14
pub fn subscription_in_a_queue_takes_its_place_between_two_members(open: Open) {
    let w = open();
    let held = hold(&w);
    let first = queued_member(&w, "a");
    let (sender, received) = mpsc::channel();
    let all = w.fetch::<Item>();
    let subscription = w.subscribe(all, move |result: ItemsUpdate| {
        sender.send(result.unwrap().len()).unwrap();
    });
    let second = queued_member(&w, "b");
    drop(held);
    first.recv_timeout(SOON).unwrap().unwrap();
    second.recv_timeout(SOON).unwrap().unwrap();
    assert_eq!((next(&received), next(&received)), (1, 2));
    subscription.unwrap().cancel();
}

// Promise: concurrency#C27
pub fn settle_waits_for_queued_work_and_its_deliveries(open: Open) {
    let w = open();
    (*w).settle().unwrap();
    let (sender, received) = mpsc::channel();
    let held = hold(&w);
    for n in 0..20 {
        let sender = sender.clone();
        w.perform_changes([Item::TABLE], move |tx| insert(tx, &n.to_string(), n))
            .on_completion(move |outcome: Result<()>| sender.send(outcome.is_ok()).unwrap());
        w.perform_changes([Other::TABLE], move |tx| {
            tx.submit(OtherChangeRequest::creation(other(n)))
        })
        .detach();
    }
    drop(held);
    (*w).settle().unwrap();
    assert_eq!(received.try_iter().filter(|done| *done).count(), 20);
    assert_eq!(w.fetch::<Other>().all().unwrap().len(), 20);
    w.shutdown().unwrap();
    assert_eq!((*w).settle().unwrap_err().kind(), ErrorKind::ShutDown);
}

// Promise: concurrency#C24
pub fn settle_inside_a_handler_is_refused(open: Open) {
    let w = open();
    let inside = (*w).clone();
    let kind = w.perform([Item::TABLE], move |_| Ok(inside.settle().unwrap_err().kind()));
    assert_eq!(kind, ErrorKind::WouldDeadlock);
}

/// Each queued transaction sees an object that was fetched before the queue with the changes of the
/// preceding transactions.
pub fn group_members_see_earlier_changes_of_an_object_fetched_before(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 0), item("b", 0), item("c", 0)]);
    let before = w.fetch::<Item>().all().unwrap();
    let held = hold(&w);
    let mut queued = Vec::new();
    for round in 1..=3 {
        let before = before.clone();
        queued.push(w.perform_changes([Item::TABLE], move |tx| {
            for object in &before {
                let mut request = ItemChangeRequest::change(tx, object)?.unwrap();
                assert_eq!(request.rank, round - 1, "{} in {round}", object.id());
                request.rank += 1;
                tx.submit(request)?;
            }
            Ok(())
        }));
    }
    let deleted = before.clone();
    queued.push(w.perform_changes([Item::TABLE], move |tx| {
        for object in &deleted {
            tx.submit(ItemChangeRequest::deletion(tx, object)?.unwrap())?;
        }
        Ok(())
    }));
    queued.push(w.perform_changes([Item::TABLE], move |tx| {
        insert(tx, "d", 1)?;
        for object in &before {
            assert!(ItemChangeRequest::change(tx, object)?.is_none());
        }
        Ok(())
    }));
    drop(held);
    for handle in queued {
        handle.wait().unwrap();
    }
    assert_eq!(ids(&w.fetch::<Item>().all().unwrap()), ["d"]);
}
