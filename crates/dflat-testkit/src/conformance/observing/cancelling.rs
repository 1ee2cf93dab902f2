//! Laws of ending subscriptions.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use crate::conformance::samples::item;
use crate::fixture::{Open, drained, next};
use crate::schema::{Item, ItemChangeRequest};

// Promise: live-queries#L30, compatibility#P42
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

// Promise: live-queries#L30
pub fn cancel_stops_pending_first_deliveries(open: Open) {
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

// Promise: live-queries#L30, compatibility#P42
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

// Promise: live-queries#L31
pub fn dropping_does_not_wait_for_a_callback_that_is_running(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let (started, starts) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    let subscription = w.subscribe(&object, move |_| {
        started.send(()).unwrap();
        next(&goes);
    });
    let handle = w.perform_changes([Item::TABLE], move |tx| {
        let mut change = ItemChangeRequest::change(tx, &object)?.unwrap();
        change.rank = 2;
        tx.submit(change)
    });
    next(&starts);
    drop(subscription.unwrap());
    // Only now may the callback end.
    go.send(()).unwrap();
    handle.wait().unwrap();
    // The callback was dropped, with everything that it held.
    assert!(starts.recv().is_err());
}

// Promise: live-queries#L31, compatibility#P43
pub fn dropped_subscription_is_cancelled(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let (send, events) = mpsc::channel();
    drop(w.subscribe(&object, move |event| send.send(event).unwrap()).unwrap());
    w.change(&object, |data| data.rank = 2);
    assert!(drained(&events).is_empty());
    // The callback was dropped, with everything that it held.
    assert!(events.recv().is_err());
}

// Promise: concurrency#C70
pub fn callback_that_panics_is_not_called_again_and_the_others_are(open: Open) {
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

/// A subscription of any kind, which ends when it is dropped.
type Ends = Box<dyn std::any::Any + Send>;

// Promise: live-queries#L33
/// Each callback ends another subscription; the last ends its own.
pub fn callbacks_may_end_any_subscription(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let query = || w.observe(w.fetch::<Item>()).unwrap();
    let others: Arc<Mutex<Vec<Ends>>> = Arc::default();
    let (send, received) = mpsc::channel();
    let ends_one = |name: &'static str| {
        let (send, others) = (send.clone(), Arc::clone(&others));
        move || {
            send.send(name).unwrap();
            // Dropped without the lock: its callback may own further subscriptions.
            let other = others.lock().unwrap().pop();
            drop(other);
        }
    };
    let mut stream = query().buffer(4).stream();
    assert!(stream.wait().unwrap().is_some());
    let mut iterated = query().stream();
    assert!(iterated.wait().unwrap().is_some());
    let cell = query().watch().unwrap();
    let on_objects = ends_one("object");
    let first = w.subscribe(&object, move |_| on_objects()).unwrap();
    let on_results = ends_one("result");
    let second = query().without_initial().call(move |_| on_results());
    let on_counts = ends_one("count");
    let counts = w.observe(w.fetch::<Item>().live_count()).unwrap();
    let third = counts.without_initial().call(move |_| on_counts());
    let jobs = ends_one("job");
    let by_jobs = query().on(|job| job()).without_initial();
    let fourth = by_jobs.call(move |_| jobs());
    // In the reverse order of deliveries.
    let all: [Ends; 7] = [
        Box::new(first),
        Box::new(second.unwrap()),
        Box::new(third.unwrap()),
        Box::new(fourth.unwrap()),
        Box::new(stream),
        Box::new(iterated.into_iter()),
        Box::new(cell),
    ];
    others.lock().unwrap().extend(all);
    w.settle::<Item>();
    for n in 2..12 {
        w.change(&object, move |data| data.rank = n);
        w.create::<Item>([item(&format!("b{n}"), n)]);
    }
    assert!(others.lock().unwrap().is_empty(), "all were ended");
    assert!(drained(&received).len() >= 7, "one is ended at a time");
    w.create::<Item>([item("c", 1)]);
    assert!(drained(&received).is_empty(), "nobody is left");
}
