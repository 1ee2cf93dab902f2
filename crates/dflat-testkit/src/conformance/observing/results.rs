//! Laws of subscribing to results and queries.

use std::sync::mpsc::{self, Receiver};

use dflat::{ErrorKind, Fetch, FetchedResult, Observable, Result, Subscription, Update};
use futures::executor::block_on;
use futures::{FutureExt, StreamExt};

use crate::conformance::samples::{item, other, owned_ids};
use crate::fixture::{Fixture, Open, drained, next};
use crate::schema::{Item, ItemChangeRequest, Other, Twin, TwinChangeRequest, TwinData};

/// A delivery to a subscriber of items.
pub type ItemsUpdate = Result<Update<FetchedResult<Item>>>;

/// Subscribes and sends the keys of each delivered result.
fn follow<O>(w: &Fixture, observable: O) -> (Subscription, Receiver<Vec<String>>)
where
    O: Observable<Delivery = ItemsUpdate>,
{
    let (send, results) = mpsc::channel();
    let subscription = w.subscribe(observable, move |result: ItemsUpdate| {
        send.send(owned_ids(&result.unwrap())).unwrap();
    });
    (subscription.unwrap(), results)
}

/// Items a to d of ranks 1 to 4.
fn four(open: Open) -> (Fixture, Vec<Item>) {
    let w = open();
    let objects = w.create(["a", "b", "c", "d"].iter().zip(1..).map(|(id, n)| item(id, n)));
    (w, objects)
}

fn above_one(w: &Fixture) -> Fetch<'_, Item> {
    w.fetch::<Item>().filter(Item::RANK.gt(1)).order_by(Item::SIZE.ascending())
}

// Promise: live-queries#L1, compatibility#P41
pub fn first_delivery_of_a_query_is_its_result(open: Open) {
    let (w, _) = four(open);
    let (subscription, results) = follow(&w, above_one(&w));
    assert_eq!(next(&results), ["b", "c", "d"]);
    w.settle::<Item>();
    assert!(drained(&results).is_empty());
    drop(subscription);
}

pub fn query_of_a_type_never_written_gets_an_empty_result_and_then_changes(open: Open) {
    let w = open();
    let (subscription, results) = follow(&w, above_one(&w));
    assert!(next(&results).is_empty());
    w.create::<Item>([item("a", 2)]);
    assert_eq!(drained(&results), [["a"]]);
    drop(subscription);
}

// Promise: live-queries#L2
pub fn result_that_is_current_gets_no_first_delivery(open: Open) {
    let (w, _) = four(open);
    let fetched = above_one(&w).all().unwrap();
    let (subscription, results) = follow(&w, &fetched);
    w.settle::<Item>();
    assert!(drained(&results).is_empty());
    drop(subscription);
}

// Promise: live-queries#L2, compatibility#P38
pub fn outdated_result_gets_a_first_delivery(open: Open) {
    let (w, objects) = four(open);
    let fetched = above_one(&w).all().unwrap();
    w.delete(&objects[1]);
    let (subscription, results) = follow(&w, &fetched);
    w.settle::<Item>();
    assert_eq!(drained(&results), [["c", "d"]]);
    drop(subscription);
}

pub fn outdated_result_that_is_still_right_gets_no_delivery(open: Open) {
    let (w, objects) = four(open);
    let fetched = above_one(&w).all().unwrap();
    w.change(&objects[0], |data| data.size = 100);
    let (subscription, results) = follow(&w, &fetched);
    w.settle::<Item>();
    assert!(drained(&results).is_empty());
    drop(subscription);
}

// Promise: compatibility#P2
pub fn result_follows_insertions_updates_and_deletions_in_order(open: Open) {
    let (w, objects) = four(open);
    let fetched = above_one(&w).all().unwrap();
    let (subscription, results) = follow(&w, &fetched);
    w.create::<Item>([item("e", 3)]);
    assert_eq!(drained(&results), [["b", "c", "e", "d"]]);
    w.change(&objects[1], |data| data.size = 9);
    assert_eq!(drained(&results), [["c", "e", "d", "b"]]);
    w.change(&objects[0], |data| data.rank = 2);
    assert_eq!(drained(&results), [["a", "c", "e", "d", "b"]]);
    w.change(&objects[3], |data| data.rank = 0);
    assert_eq!(drained(&results), [["a", "c", "e", "b"]]);
    w.delete(&objects[2]);
    assert_eq!(drained(&results), [["a", "e", "b"]]);
    drop(subscription);
}

// Promise: live-queries#L6, compatibility#P38
pub fn result_gets_one_delivery_a_transaction(open: Open) {
    let (w, objects) = four(open);
    let fetched = above_one(&w).all().unwrap();
    let (subscription, results) = follow(&w, &fetched);
    w.perform([Item::TABLE], move |tx| {
        tx.submit(ItemChangeRequest::creation(item("e", 7)))?;
        tx.submit(ItemChangeRequest::creation(item("f", 8)))?;
        let first = ItemChangeRequest::deletion(tx, &objects[1])?.unwrap();
        tx.submit(first)
    });
    assert_eq!(drained(&results), [["c", "d", "e", "f"]]);
    drop(subscription);
}

// Promise: live-queries#L5
pub fn result_gets_no_delivery_of_other_changes(open: Open) {
    let (w, objects) = four(open);
    let fetched = above_one(&w).all().unwrap();
    let (subscription, results) = follow(&w, &fetched);
    w.create::<Item>([item("e", 0)]);
    w.change(&objects[0], |data| data.size = 50);
    w.delete(&objects[0]);
    w.create::<Other>([other(1)]);
    w.perform([Item::TABLE], |tx| {
        let added = tx.submit(ItemChangeRequest::creation(item("f", 9)))?.into_object().unwrap();
        tx.submit(ItemChangeRequest::deletion(tx, &added)?.unwrap())
    });
    assert!(drained(&results).is_empty());
    drop(subscription);
}

// Promise: compatibility#P9
pub fn limited_result_stays_exact(open: Open) {
    let (w, objects) = four(open);
    for order in [Item::RANK.ascending(), Item::SIZE.ascending()] {
        let fetched = w.fetch::<Item>().order_by(order).limit(2).all().unwrap();
        let (subscription, results) = follow(&w, &fetched);
        let set = |object: &Item, value: i32| {
            w.change(object, move |data| (data.rank, data.size) = (value, value));
            drained(&results)
        };
        assert_eq!(set(&objects[0], 50), [["b", "c"]]);
        assert_eq!(set(&objects[3], 0), [["d", "b"]]);
        assert!(set(&objects[0], 51).is_empty());
        assert_eq!(set(&objects[3], 4), [["b", "c"]]);
        assert_eq!(set(&objects[0], 1), [["a", "b"]]);
        drop(subscription);
    }
}

pub fn limited_result_is_filled_up_after_deletions(open: Open) {
    let (w, objects) = four(open);
    let fetched = w.fetch::<Item>().limit(3).all().unwrap();
    let (subscription, results) = follow(&w, &fetched);
    w.delete(&objects[0]);
    assert_eq!(drained(&results), [["b", "c", "d"]]);
    w.delete(&objects[1]);
    assert_eq!(drained(&results), [["c", "d"]]);
    w.create::<Item>([item("e", 0), item("f", 0)]);
    assert_eq!(drained(&results), [["c", "d", "e"]]);
    w.create::<Item>([item("g", 0)]);
    assert!(drained(&results).is_empty());
    drop(subscription);
}

pub fn result_limited_to_nothing_gets_no_delivery(open: Open) {
    let (w, objects) = four(open);
    let fetched = w.fetch::<Item>().limit(0).all().unwrap();
    let (subscription, results) = follow(&w, &fetched);
    w.delete(&objects[0]);
    assert!(drained(&results).is_empty());
    drop(subscription);
}

pub fn delivered_result_can_be_subscribed_to_again(open: Open) {
    let (w, objects) = four(open);
    let (send, received) = mpsc::channel();
    let first = w.subscribe(above_one(&w), move |result| {
        send.send(result.unwrap().into_result()).unwrap();
    });
    let result = next(&received);
    let (second, results) = follow(&w, &result);
    w.delete(&objects[1]);
    assert_eq!(drained(&results), [["c", "d"]]);
    assert_eq!(drained(&received).len(), 1);
    drop((first, second));
}

pub fn many_subscribers_are_all_notified(open: Open) {
    let (w, objects) = four(open);
    let fetched = above_one(&w).all().unwrap();
    let followed: Vec<_> = (0..100).map(|_| follow(&w, &fetched)).collect();
    w.delete(&objects[1]);
    for (_, results) in &followed {
        assert_eq!(drained(results), [["c", "d"]]);
    }
}

// Promise: live-queries#L6, live-queries#L29
pub fn results_are_delivered_in_the_order_of_commits(open: Open) {
    let w = open();
    let (subscription, results) = follow(&w, w.fetch::<Item>());
    let handles: Vec<_> = (0..40)
        .map(|n| {
            w.perform_changes([Item::TABLE], move |tx| {
                tx.submit(ItemChangeRequest::creation(item(&format!("k{n:02}"), n)))
            })
        })
        .collect();
    for handle in handles {
        handle.wait().unwrap();
    }
    let sizes: Vec<usize> = drained(&results).iter().map(Vec::len).collect();
    assert!(sizes.iter().copied().eq(0..=40), "{sizes:?}");
    drop(subscription);
}

pub fn subscription_of_a_query_in_a_snapshot_is_refused(open: Open) {
    let (w, _) = four(open);
    let snapshot = w.snapshot().unwrap();
    let refused = w.subscribe(snapshot.fetch::<Item>(), |_| {});
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
}

pub fn cancelled_result_gets_no_delivery(open: Open) {
    let (w, objects) = four(open);
    let (subscription, results) = follow(&w, above_one(&w));
    next(&results);
    subscription.cancel();
    w.delete(&objects[1]);
    assert!(drained(&results).is_empty());
}

// Promise: compatibility#P41
pub fn stream_of_a_query_gives_the_latest_result(open: Open) {
    let (w, objects) = four(open);
    let mut stream = w.stream(above_one(&w)).unwrap();
    let first = block_on(stream.next()).unwrap().unwrap();
    assert_eq!(owned_ids(&first), ["b", "c", "d"]);
    assert!(stream.next().now_or_never().is_none());
    w.delete(&objects[1]);
    w.delete(&objects[2]);
    let latest = block_on(stream.next()).unwrap().unwrap();
    assert_eq!(owned_ids(&latest), ["d"]);
    w.shutdown().unwrap();
    assert!(block_on(stream.next()).is_none());
}

// Promise: compatibility#P2
pub fn stream_wakes_its_waiting_task(open: Open) {
    let w = open();
    let mut stream = w.stream(w.fetch::<Item>()).unwrap();
    assert!(block_on(stream.next()).unwrap().unwrap().is_empty());
    let waiting = std::thread::spawn(move || {
        let result = block_on(stream.next()).unwrap().unwrap();
        owned_ids(&result)
    });
    w.create::<Item>([item("a", 1)]);
    assert_eq!(waiting.join().unwrap(), ["a"]);
}

pub fn result_fetched_in_a_transaction_can_be_subscribed_to(open: Open) {
    let (w, objects) = four(open);
    let fetched = w.perform([Item::TABLE], |tx| {
        tx.submit(ItemChangeRequest::creation(item("e", 9)))?;
        tx.fetch::<Item>().filter(Item::RANK.gt(3)).all()
    });
    let (subscription, results) = follow(&w, &fetched);
    w.settle::<Item>();
    assert!(drained(&results).is_empty());
    w.delete(&objects[3]);
    assert_eq!(drained(&results), [["e"]]);
    drop(subscription);
}

pub fn first_delivery_corrects_the_result_of_an_aborted_transaction(open: Open) {
    let (w, _) = four(open);
    let (send, fetched) = mpsc::channel();
    let handle = w.perform_changes([Item::TABLE], move |tx| {
        tx.submit(ItemChangeRequest::creation(item("e", 9)))?;
        send.send(tx.fetch::<Item>().filter(Item::RANK.gt(3)).all()?).unwrap();
        tx.abort();
        Ok(())
    });
    assert!(handle.wait().is_err());
    let (subscription, results) = follow(&w, &next(&fetched));
    w.settle::<Item>();
    assert_eq!(drained(&results), [["d"]]);
    drop(subscription);
}

pub fn first_delivery_corrects_the_result_of_an_old_snapshot(open: Open) {
    let (w, objects) = four(open);
    let snapshot = w.snapshot().unwrap();
    w.delete(&objects[1]);
    let old = snapshot.fetch::<Item>().all().unwrap();
    assert_eq!(old.len(), 4);
    let (subscription, results) = follow(&w, &old);
    w.settle::<Item>();
    assert_eq!(drained(&results), [["a", "c", "d"]]);
    drop(subscription);
}

pub fn subscription_made_inside_a_handler_starts_after_it(open: Open) {
    let (w, objects) = four(open);
    let inside = (*w).clone();
    let (send, results) = mpsc::channel();
    let subscription = w.perform([Item::TABLE], move |tx| {
        tx.submit(ItemChangeRequest::deletion(tx, &objects[0])?.unwrap())?;
        let query = inside.fetch::<Item>();
        inside.subscribe(query, move |result| {
            send.send(owned_ids(&result.unwrap())).unwrap();
        })
    });
    w.create::<Item>([item("e", 9)]);
    let all = [vec!["b", "c", "d"], vec!["b", "c", "d", "e"]];
    assert_eq!(drained(&results), all);
    drop(subscription);
}

// Promise: live-queries#L33
pub fn subscription_made_inside_a_callback_starts_after_it(open: Open) {
    let (w, objects) = four(open);
    let inside = (*w).clone();
    let (send, results) = mpsc::channel();
    let (keep, kept) = mpsc::channel();
    let outer = w
        .subscribe(&objects[0], move |_| {
            let send = send.clone();
            let inner = inside.subscribe(inside.fetch::<Item>().limit(1), move |result| {
                send.send(result.unwrap()[0].rank()).unwrap();
            });
            keep.send(inner.unwrap()).unwrap();
        })
        .unwrap();
    w.change(&objects[0], |data| data.rank = 5);
    w.settle::<Item>();
    assert_eq!(drained(&results), [5]);
    outer.cancel();
    w.change(&objects[0], |data| data.rank = 6);
    assert_eq!(drained(&results), [6]);
    drop(kept);
}

pub fn objects_that_hold_nan_are_not_delivered_again(open: Open) {
    let w = open();
    let data = TwinData {
        f64_b: f64::NAN,
        ..TwinData::default()
    };
    let object = w.create::<Twin>([data]).remove(0);
    let (send, results) = mpsc::channel();
    let subscription = w.subscribe(w.fetch::<Twin>(), move |result| {
        send.send(result.unwrap().len()).unwrap();
    });
    let subscription = subscription.unwrap();
    assert_eq!(next(&results), 1);
    w.perform([Twin::TABLE], move |tx| {
        for value in [1, 0] {
            let mut change = TwinChangeRequest::change(tx, &object)?.unwrap();
            change.i32_b = value;
            tx.submit(change)?;
        }
        Ok(())
    });
    assert!(drained(&results).is_empty());
    drop(subscription);
}
