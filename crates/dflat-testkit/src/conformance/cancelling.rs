//! Laws of ending subscriptions.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use super::samples::item;
use crate::fixture::{Open, drained, next};
use crate::schema::{Item, ItemChangeRequest};

pub fn cancel_stops_callbacks(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let (send, events) = mpsc::channel();
    let subscription = w.subscribe(&object, move |event| send.send(event).unwrap()).unwrap();
    w.change(&object, |data| data.rank = 2);
    subscription.cancel();
    subscription.cancel();
    w.change(&object, |data| data.rank = 3);
    assert_eq!(drained(&events).len(), 1);
}

pub fn cancel_stops_the_catching_up_too(open: Open) {
    let w = open();
    let old = w.create::<Item>([item("a", 1)]).remove(0);
    w.change(&old, |data| data.rank = 2);
    let (go, goes) = mpsc::channel::<()>();
    let blocking = w.perform_changes([Item::TABLE], move |_| {
        next(&goes);
        Ok(())
    });
    let (send, events) = mpsc::channel();
    let subscription = w.subscribe(&old, move |event| send.send(event).unwrap()).unwrap();
    subscription.cancel();
    go.send(()).unwrap();
    blocking.wait().unwrap();
    w.settle::<Item>();
    assert!(drained(&events).is_empty());
}

pub fn cancel_inside_its_own_callback_is_the_last_call(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let slot = Arc::new(Mutex::new(None::<dflat::Subscription>));
    let (send, events) = mpsc::channel();
    let own = Arc::clone(&slot);
    let subscription = w
        .subscribe(&object, move |event| {
            send.send(event).unwrap();
            own.lock().unwrap().as_ref().unwrap().cancel();
        })
        .unwrap();
    *slot.lock().unwrap() = Some(subscription);
    w.change(&object, |data| data.rank = 2);
    w.change(&object, |data| data.rank = 3);
    assert_eq!(drained(&events).len(), 1);
    slot.lock().unwrap().take();
}

pub fn cancel_waits_for_a_callback_that_is_running(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let (started, starts) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    let ended = Arc::new(Mutex::new(false));
    let end = Arc::clone(&ended);
    let subscription = w
        .subscribe(&object, move |_| {
            started.send(()).unwrap();
            next(&goes);
            *end.lock().unwrap() = true;
        })
        .unwrap();
    let handle = w.perform_changes([Item::TABLE], move |tx| {
        let mut change = ItemChangeRequest::change(tx, &object)?.unwrap();
        change.rank = 2;
        tx.submit(change)
    });
    next(&starts);
    go.send(()).unwrap();
    subscription.cancel();
    assert!(*ended.lock().unwrap());
    handle.wait().unwrap();
}

pub fn dropped_subscription_is_cancelled(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let (send, events) = mpsc::channel();
    drop(w.subscribe(&object, move |event| send.send(event).unwrap()).unwrap());
    w.change(&object, |data| data.rank = 2);
    assert!(drained(&events).is_empty());
    // What the callback held is given back.
    assert!(events.recv().is_err());
}

pub fn callback_that_panics_is_not_called_again_and_harms_nobody(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let (send, events) = mpsc::channel();
    let panicking = w
        .subscribe(&object, move |_| {
            send.send(()).unwrap();
            panic!("on purpose")
        })
        .unwrap();
    let (send, others) = mpsc::channel();
    let calm = w.subscribe(&object, move |_| send.send(()).unwrap()).unwrap();
    w.change(&object, |data| data.rank = 2);
    w.change(&object, |data| data.rank = 3);
    assert_eq!((drained(&events).len(), drained(&others).len()), (1, 2));
    drop((panicking, calm));
}
