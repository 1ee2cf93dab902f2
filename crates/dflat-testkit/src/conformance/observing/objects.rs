//! Laws of subscribing to objects.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use dflat::{ErrorKind, Object, SubscribedObject};
use futures::StreamExt;
use futures::executor::block_on;

use crate::conformance::samples::{item, other};
use crate::fixture::{Open, drained, next};
use crate::schema::{Item, ItemChangeRequest, Other, OtherChangeRequest};

// Promise: compatibility#P40
pub fn update_is_delivered_before_its_transaction_completes(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let (send, events) = mpsc::channel();
    let subscription = w.subscribe(&object, move |event| send.send(event).unwrap()).unwrap();
    let changed = w.change(&object, |data| data.rank = 2);
    assert_eq!(drained(&events), [SubscribedObject::Updated(changed)]);
    drop(subscription);
}

pub fn one_transaction_makes_one_delivery_of_its_final_state(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let (send, events) = mpsc::channel();
    let subscription = w.subscribe(&object, move |event| send.send(event).unwrap()).unwrap();
    let of = object.clone();
    w.perform([Item::TABLE], move |tx| {
        for rank in 2..5 {
            let mut change = ItemChangeRequest::change(tx, &of)?.unwrap();
            change.rank = rank;
            tx.submit(change)?;
        }
        Ok(())
    });
    let events = drained(&events);
    assert!(matches!(&events[..], [SubscribedObject::Updated(o)] if o.rank() == 4), "{events:?}");
    drop(subscription);
}

// Promise: live-queries#L5
pub fn unchanged_object_is_never_delivered(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let (send, events) = mpsc::channel();
    let subscription = w.subscribe(&object, move |event| send.send(event).unwrap()).unwrap();
    let of = object.clone();
    w.perform([Item::TABLE], move |tx| {
        tx.submit(ItemChangeRequest::change(tx, &of)?.unwrap())?;
        tx.submit(ItemChangeRequest::upsert(item("a", 1)))
    });
    w.perform([Item::TABLE], move |tx| {
        for rank in [2, 1] {
            let mut change = ItemChangeRequest::change(tx, &object)?.unwrap();
            change.rank = rank;
            tx.submit(change)?;
        }
        Ok(())
    });
    assert!(drained(&events).is_empty());
    drop(subscription);
}

pub fn rolled_back_changes_are_never_delivered(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let (send, events) = mpsc::channel();
    let subscription = w.subscribe(&object, move |event| send.send(event).unwrap()).unwrap();
    let handle = w.perform_changes([Item::TABLE], move |tx| {
        let mut change = ItemChangeRequest::change(tx, &object)?.unwrap();
        change.rank = 2;
        tx.submit(change)?;
        tx.abort();
        Ok(())
    });
    assert_eq!(handle.wait().unwrap_err().kind(), ErrorKind::Aborted);
    assert!(drained(&events).is_empty());
    drop(subscription);
}

pub fn subscribers_of_other_objects_are_not_notified(open: Open) {
    let w = open();
    let objects = w.create::<Item>([item("a", 1), item("b", 1)]);
    let (send, events) = mpsc::channel();
    let subscription = w.subscribe(&objects[0], move |event| send.send(event).unwrap()).unwrap();
    w.change(&objects[1], |data| data.rank = 2);
    w.create::<Item>([item("c", 1)]);
    w.create::<Other>([other(1)]);
    assert!(drained(&events).is_empty());
    drop(subscription);
}

// Promise: live-queries#L11, compatibility#P39
pub fn deletion_ends_the_subscription_and_a_new_object_is_another(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let (send, events) = mpsc::channel();
    let subscription = w.subscribe(&object, move |event| send.send(event).unwrap()).unwrap();
    w.delete(&object);
    let again = w.create::<Item>([item("a", 1)]).remove(0);
    w.change(&again, |data| data.rank = 2);
    assert_eq!(drained(&events), [SubscribedObject::Deleted]);
    drop(subscription);
}

pub fn object_deleted_and_created_again_in_one_transaction_is_delivered_as_deleted(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let (send, events) = mpsc::channel();
    let subscription = w.subscribe(&object, move |event| send.send(event).unwrap()).unwrap();
    w.perform([Item::TABLE], move |tx| {
        tx.submit(ItemChangeRequest::deletion(tx, &object)?.unwrap())?;
        tx.submit(ItemChangeRequest::creation(item("a", 1)))
    });
    assert_eq!(drained(&events), [SubscribedObject::Deleted]);
    drop(subscription);
}

pub fn moved_key_is_an_update(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let (send, events) = mpsc::channel();
    let subscription = w.subscribe(&object, move |event| send.send(event).unwrap()).unwrap();
    let moved = w.change(&object, |data| data.id = "z".into());
    assert_eq!(drained(&events), [SubscribedObject::Updated(moved)]);
    drop(subscription);
}

pub fn outdated_object_gets_the_missed_changes_first(open: Open) {
    let w = open();
    let old = w.create::<Item>([item("a", 1)]).remove(0);
    let latest = w.change(&old, |data| data.rank = 2);
    let (send, events) = mpsc::channel();
    let subscription = w.subscribe(&old, move |event| send.send(event).unwrap()).unwrap();
    w.settle::<Item>();
    assert_eq!(drained(&events), [SubscribedObject::Updated(latest.clone())]);
    let changed = w.change(&latest, |data| data.rank = 3);
    assert_eq!(drained(&events), [SubscribedObject::Updated(changed)]);
    drop(subscription);
}

pub fn object_deleted_before_the_subscription_gets_one_delivery(open: Open) {
    let w = open();
    let old = w.create::<Item>([item("a", 1)]).remove(0);
    w.delete(&old);
    w.create::<Item>([item("a", 1)]);
    let (send, events) = mpsc::channel();
    let subscription = w.subscribe(&old, move |event| send.send(event).unwrap()).unwrap();
    w.settle::<Item>();
    assert_eq!(drained(&events), [SubscribedObject::Deleted]);
    drop(subscription);
}

pub fn current_object_gets_no_first_delivery(open: Open) {
    let w = open();
    let created = w.create::<Item>([item("a", 1)]).remove(0);
    let read = w.get::<Item>("a").unwrap().unwrap();
    let fetched = w.fetch::<Item>().all().unwrap()[0].clone();
    w.create::<Item>([item("b", 1)]);
    let (send, events) = mpsc::channel();
    let subscriptions: Vec<_> = [created, read, fetched]
        .iter()
        .map(|object| {
            let send = send.clone();
            w.subscribe(object, move |event| send.send(event).unwrap()).unwrap()
        })
        .collect();
    w.settle::<Item>();
    assert!(drained(&events).is_empty());
    drop(subscriptions);
}

pub fn subscription_takes_its_place_in_the_order_of_calls(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 0)]).remove(0);
    let (go, goes) = mpsc::channel::<()>();
    let first = w.perform_changes([Item::TABLE], move |_| {
        next(&goes);
        Ok(())
    });
    let set = |rank| {
        let object = object.clone();
        w.perform_changes([Item::TABLE], move |tx| {
            let mut change = ItemChangeRequest::change(tx, &object)?.unwrap();
            change.rank = rank;
            tx.submit(change)
        })
    };
    let before = set(1);
    let (send, events) = mpsc::channel();
    let subscription = w
        .subscribe(&object, move |event| {
            let SubscribedObject::Updated(object) = event else {
                panic!("{event:?}")
            };
            send.send(object.rank()).unwrap();
        })
        .unwrap();
    let after = [set(2), set(3)];
    go.send(()).unwrap();
    first.wait().unwrap();
    before.wait().unwrap();
    for handle in after {
        handle.wait().unwrap();
    }
    assert_eq!(drained(&events), [1, 2, 3]);
    drop(subscription);
}

// Promise: concurrency#C66, live-queries#L15, compatibility#P40
pub fn object_callbacks_come_before_result_callbacks_and_the_completion(open: Open) {
    let w = open();
    let a = w.create::<Item>([item("a", 1)]).remove(0);
    let b = w.create::<Other>([other(1)]).remove(0);
    let order = Arc::new(Mutex::new(Vec::new()));
    let log = |what: &'static str| {
        let order = Arc::clone(&order);
        move || order.lock().unwrap().push(what)
    };
    let items = w.fetch::<Item>().all().unwrap();
    let others = w.fetch::<Other>().all().unwrap();
    let (item_result, other_result) = (log("result"), log("result"));
    let (item_object, other_object, done) = (log("object"), log("object"), log("completion"));
    let subscriptions = (
        w.subscribe(&items, move |_| item_result()).unwrap(),
        w.subscribe(&others, move |_| other_result()).unwrap(),
        w.subscribe(&a, move |_| item_object()).unwrap(),
        w.subscribe(&b, move |_| other_object()).unwrap(),
    );
    let (send, ended) = mpsc::channel();
    w.perform_changes([Item::TABLE, Other::TABLE], move |tx| {
        let mut change = ItemChangeRequest::change(tx, &a)?.unwrap();
        change.rank = 2;
        tx.submit(change)?;
        let mut change = OtherChangeRequest::change(tx, &b)?.unwrap();
        change.note = Some("n".into());
        tx.submit(change)
    })
    .on_completion(move |_| {
        done();
        send.send(()).unwrap();
    });
    next(&ended);
    let order = order.lock().unwrap();
    assert_eq!(*order, ["object", "object", "result", "result", "completion"]);
    drop(subscriptions);
}

// Promise: concurrency#C68, live-queries#L16
pub fn committed_state_is_visible_inside_a_callback(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let (send, ranks) = mpsc::channel();
    let inside = (*w).clone();
    let subscription = w
        .subscribe(&object, move |_| {
            let read = inside.get::<Item>("a").unwrap().unwrap();
            send.send(read.rank()).unwrap();
        })
        .unwrap();
    w.change(&object, |data| data.rank = 2);
    assert_eq!(drained(&ranks), [2]);
    // The callback's clone would keep the workspace alive.
    subscription.cancel();
}

// Promise: concurrency#C24
pub fn wait_inside_a_callback_is_refused(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let (send, kinds) = mpsc::channel();
    let inside = (*w).clone();
    let subscription = w
        .subscribe(&object, move |_| {
            let handle = inside.perform_changes([Item::TABLE], |_| Ok(()));
            send.send(handle.wait().unwrap_err().kind()).unwrap();
        })
        .unwrap();
    w.change(&object, |data| data.rank = 2);
    assert_eq!(drained(&kinds), [ErrorKind::WouldDeadlock]);
    subscription.cancel();
}

// Promise: live-queries#L33
pub fn change_performed_inside_a_callback_runs_afterwards(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let (send, handles) = mpsc::channel();
    let inside = (*w).clone();
    let subscription = w
        .subscribe(&object, move |event| {
            let SubscribedObject::Updated(object) = event else { return };
            if object.rank() < 4 {
                let handle = inside.perform_changes([Item::TABLE], move |tx| {
                    let mut change = ItemChangeRequest::change(tx, &object)?.unwrap();
                    change.rank += 1;
                    tx.submit(change)
                });
                send.send(handle).unwrap();
            }
        })
        .unwrap();
    w.change(&object, |data| data.rank = 2);
    for _ in 0..2 {
        next(&handles).wait().unwrap();
    }
    assert_eq!(w.get::<Item>("a").unwrap().unwrap().rank(), 4);
    subscription.cancel();
}

// Promise: compatibility#P2
pub fn stream_of_an_object_ends_with_its_deletion(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let mut stream = w.stream(&object).unwrap();
    let changed = w.change(&object, |data| data.rank = 2);
    assert_eq!(block_on(stream.next()), Some(SubscribedObject::Updated(changed)));
    w.delete(&object);
    assert_eq!(block_on(stream.next()), Some(SubscribedObject::Deleted));
    assert_eq!(block_on(stream.next()), None);
    assert!(object.row_id().0 > 0);
}
