//! Laws of subscriptions to the dictionary's keys.

use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use dflat::SubscribedValue::{self, Deleted, Initial, Updated};
use dflat::{Dictionary, DictionarySubscription, ErrorKind};
use futures::StreamExt;
use futures::executor::block_on;

use crate::fixture::{Open, drained};

type Received = Receiver<(SubscribedValue<i64>, ThreadId)>;

fn subscribe(d: &Dictionary, key: &str) -> (DictionarySubscription, Received) {
    let (send, received) = mpsc::channel();
    let subscription = d.subscribe(key, move |value| {
        let _ = send.send((value.unwrap(), thread::current().id()));
    });
    (subscription.unwrap(), received)
}

fn values(received: &Received) -> Vec<SubscribedValue<i64>> {
    drained(received).into_iter().map(|(value, _)| value).collect()
}

// Promise: compatibility#P58
pub fn each_change_of_a_key_is_delivered_on_the_thread_that_sets_it(open: Open) {
    let w = open();
    let d = w.dictionary();
    d.set("n", 1_i64).unwrap();
    let (_subscription, received) = subscribe(&d, "n");
    // This was delivered before `subscribe` returned.
    assert_eq!(values(&received), [Initial(Some(1))]);
    d.set("n", 2_i64).unwrap();
    d.set("other", 9_i64).unwrap();
    d.set("n", 2_i64).unwrap();
    d.remove("n").unwrap();
    d.remove("n").unwrap();
    d.update("n", |_: Option<i64>| Some(3)).unwrap();
    let received = drained(&received);
    assert!(received.iter().all(|(_, id)| *id == thread::current().id()));
    let values: Vec<_> = received.into_iter().map(|(value, _)| value).collect();
    assert_eq!(values, [Updated(2), Deleted, Updated(3)]);
}

pub fn a_key_without_a_value_is_delivered_as_missing(open: Open) {
    let w = open();
    let d = w.dictionary();
    let (_subscription, received) = subscribe(&d, "n");
    assert_eq!(values(&received), [Initial(None)]);
    d.remove_all().unwrap();
    // The deletion is delivered whether or not the key had a value.
    assert_eq!(values(&received), [Deleted]);
    d.set("n", 1_i64).unwrap();
    d.remove_all().unwrap();
    assert_eq!(values(&received), [Updated(1), Deleted]);
}

pub fn nothing_is_delivered_after_the_subscription_was_cancelled(open: Open) {
    let w = open();
    let d = w.dictionary();
    let (subscription, received) = subscribe(&d, "n");
    subscription.cancel();
    let (dropped, second_received) = subscribe(&d, "n");
    drop(dropped);
    d.set("n", 1_i64).unwrap();
    assert_eq!(values(&received), [Initial(None)]);
    assert_eq!(values(&second_received), [Initial(None)]);
}

pub fn a_value_of_another_type_is_delivered_as_an_error(open: Open) {
    let w = open();
    let d = w.dictionary();
    let (send, received) = mpsc::channel();
    let _subscription = d.subscribe::<i64>("n", move |value| {
        let _ = send.send(value.map_err(|error| error.kind()));
    });
    d.set("n", true).unwrap();
    d.set("n", 4_i64).unwrap();
    let expected = [Ok(Initial(None)), Err(ErrorKind::WrongType), Ok(Updated(4))];
    assert_eq!(drained(&received), expected);
}

pub fn a_callback_may_set_its_own_key(open: Open) {
    let w = open();
    let d = w.dictionary();
    let (send, received) = mpsc::channel();
    let inside = d.clone();
    let _subscription = d.subscribe::<i64>("n", move |value| {
        let value = value.unwrap();
        if let Updated(n) = value
            && n < 5
        {
            inside.set("n", n + 1).unwrap();
        }
        let _ = send.send(value);
    });
    d.set("n", 3_i64).unwrap();
    assert_eq!(drained(&received), [Initial(None), Updated(3), Updated(4), Updated(5)]);
}

pub fn a_subscription_to_a_prefix_gets_each_of_its_keys(open: Open) {
    let w = open();
    let d = w.dictionary();
    d.set("ui.b", 2_i64).unwrap();
    d.set("ui.a", 1_i64).unwrap();
    d.set("net", 9_i64).unwrap();
    let received = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&received);
    let subscription = d.subscribe_prefix("ui.", move |key, value| {
        let number = |entry: dflat::DictionaryEntry| entry.get::<i64>().unwrap();
        let value = match value {
            Initial(entry) => Initial(entry.map(number)),
            Updated(entry) => Updated(number(entry)),
            Deleted => Deleted,
        };
        list.lock().unwrap().push((key.to_owned(), value));
    });
    let _subscription = subscription.unwrap();
    d.set("ui.c", 3_i64).unwrap();
    d.remove("ui.never").unwrap();
    d.remove("ui.a").unwrap();
    d.set("net", 8_i64).unwrap();
    let received = received.lock().unwrap();
    let received: Vec<_> = received.iter().map(|(key, value)| (key.as_str(), value)).collect();
    let expected = [
        ("ui.a", &Initial(Some(1))),
        ("ui.b", &Initial(Some(2))),
        ("ui.c", &Updated(3)),
        ("ui.a", &Deleted),
    ];
    assert_eq!(received, expected);
}

pub fn a_value_set_by_a_transaction_is_delivered_before_its_completion(open: Open) {
    let w = open();
    let d = w.dictionary();
    let (_subscription, received) = subscribe(&d, "n");
    w.perform([Dictionary::TABLE], |tx| {
        tx.dictionary().set("n", 1_i64)?;
        tx.dictionary().set("n", 2_i64)
    });
    // There is one delivery, with the committed value.
    let all = drained(&received);
    assert!(all[1].1 != thread::current().id());
    assert_eq!((&all[0].0, &all[1].0, all.len()), (&Initial(None), &Updated(2), 2));
    let failed = w.perform_changes([Dictionary::TABLE], |tx| {
        tx.dictionary().set("n", 3_i64)?;
        tx.abort();
        Ok(())
    });
    failed.wait().unwrap_err();
    assert_eq!(values(&received), []);
}

/// Each subscriber gets the changes of many threads in the same order, which ends with the last
/// change.
pub fn changes_by_many_threads_are_delivered_in_one_order(open: Open) {
    let w = open();
    let d = w.dictionary();
    let (first, received) = subscribe(&d, "n");
    let (second, second_received) = subscribe(&d, "n");
    let threads = [0, 1, 2].map(|thread| {
        let d = d.clone();
        thread::spawn(move || (1..300).for_each(|n| d.set("n", thread * 1000 + n).unwrap()))
    });
    for thread in threads {
        thread.join().unwrap();
    }
    // No callback runs any more.
    first.cancel();
    second.cancel();
    let (received, second_received) = (values(&received), values(&second_received));
    assert_eq!(received, second_received);
    assert_eq!(received.last(), Some(&Updated(d.get("n").unwrap().unwrap())));
    for thread in 0..3 {
        let of_thread = received.iter().filter_map(|value| match value {
            Updated(n) if n / 1000 == thread => Some(*n),
            _ => None,
        });
        assert!(of_thread.is_sorted());
    }
}

// Promise: compatibility#P58
pub fn a_stream_gives_each_value(open: Open) {
    let w = open();
    let d = w.dictionary();
    let mut stream = d.stream::<i64>("n").unwrap();
    d.set("n", 1_i64).unwrap();
    d.remove("n").unwrap();
    let setter = d.clone();
    let later = thread::spawn(move || setter.set("n", 2_i64).unwrap());
    let mut next = || block_on(stream.next()).unwrap().unwrap();
    assert_eq!([next(), next(), next(), next()], [None, Some(1), None, Some(2)]);
    later.join().unwrap();
}
