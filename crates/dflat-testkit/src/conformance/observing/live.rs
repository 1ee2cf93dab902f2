//! Laws of deliveries: their contents, how they are made, and subscribers that are slow or fail.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use dflat::{ErrorKind, Fetch, FetchedResult, Move, SubscribedObject, Subscription, Update};
use futures::executor::block_on;
use futures::{FutureExt, StreamExt};

use super::results::ItemsUpdate;
use crate::conformance::samples::{item, owned_ids};
use crate::fixture::{Fixture, Open, drained, next, until};
use crate::schema::{Item, ItemChangeRequest, Twin, TwinData};

/// Items a to d of ranks 1 to 4.
fn four(open: Open) -> (Fixture, Vec<Item>) {
    let w = open();
    let objects = w.create(["a", "b", "c", "d"].iter().zip(1..).map(|(id, n)| item(id, n)));
    (w, objects)
}

fn by_rank(w: &Fixture) -> Fetch<'_, Item> {
    w.fetch::<Item>().order_by(Item::RANK.ascending())
}

/// Updates of items, as they are delivered.
type Updates = Receiver<Update<FetchedResult<Item>>>;

fn updates(w: &Fixture, query: Fetch<'_, Item>) -> (Subscription, Updates) {
    let (send, received) = mpsc::channel();
    let callback = move |update: ItemsUpdate| send.send(update.unwrap()).unwrap();
    (w.subscribe(query, callback).unwrap(), received)
}

// Promise: live-queries#L7
pub fn update_has_the_inserted_removed_and_changed_objects(open: Open) {
    let (w, objects) = four(open);
    let (subscription, received) = updates(&w, by_rank(&w));
    let first = next(&received);
    assert!(first.previous().is_none());
    assert_eq!(first.difference().inserted(), [0, 1, 2, 3]);
    assert_eq!(first.commits(), 0);
    w.perform([Item::TABLE], move |tx| {
        let gone = ItemChangeRequest::deletion(tx, &objects[1])?.unwrap();
        tx.submit(gone)?;
        let mut last = ItemChangeRequest::change(tx, &objects[0])?.unwrap();
        last.rank = 9;
        tx.submit(last)?;
        let mut changed = ItemChangeRequest::change(tx, &objects[2])?.unwrap();
        changed.size = 77;
        tx.submit(changed)?;
        tx.submit(ItemChangeRequest::creation(item("e", 0)))
    });
    let update = next(&received);
    assert_eq!(owned_ids(&update), ["e", "c", "d", "a"]);
    assert_eq!(owned_ids(update.previous().unwrap()), ["a", "b", "c", "d"]);
    let difference = update.difference();
    assert_eq!(difference.inserted(), [0]);
    assert_eq!(difference.deleted(), [1]);
    assert_eq!(difference.moved(), [Move { from: 0, to: 3 }]);
    assert_eq!(difference.updated(), [1, 3]);
    assert!(update.inserted().map(Item::id).eq(["e"]));
    assert!(update.deleted().map(Item::id).eq(["b"]));
    assert!(update.updated().map(Item::id).eq(["c", "a"]));
    assert_eq!((update.commit(), update.commits()), (first.commit() + 1, 1));
    drop(subscription);
}

// Promise: live-queries#L9
pub fn count_is_delivered_only_when_it_changes(open: Open) {
    let (w, objects) = four(open);
    let (send, received) = mpsc::channel();
    let query = w.fetch::<Item>().filter(Item::RANK.gt(1)).limit(4);
    let subscription = w.subscribe(query.live_count(), move |count: dflat::Result<usize>| {
        send.send(count.unwrap()).unwrap();
    });
    assert_eq!(next(&received), 3);
    w.change(&objects[1], |data| data.size = 50);
    w.change(&objects[0], |data| data.rank = 5);
    w.create::<Item>([item("e", 6), item("f", 7)]);
    w.delete(&objects[1]);
    w.perform([Item::TABLE], |tx| {
        let all = tx.fetch::<Item>().all()?;
        all.iter().try_for_each(|item| {
            tx.submit(ItemChangeRequest::deletion(tx, item)?.unwrap()).map(drop)
        })
    });
    assert_eq!(drained(&received), [4, 0], "the limit hides what is beyond it");
    drop(subscription);
}

// Promise: live-queries#L9
pub fn pending_count_that_returns_to_the_delivered_one_is_not_delivered(open: Open) {
    let (w, objects) = four(open);
    let query = || w.fetch::<Item>().filter(Item::RANK.gt(0));
    let (queue, jobs) = mpsc::channel();
    let (send, received) = mpsc::channel();
    let observation = w.observe(query().live_count()).unwrap();
    let observation = observation.on(move |job| queue.send(job).unwrap());
    let subscription = observation.call(move |count| send.send(count.unwrap()).unwrap());
    next(&jobs)();
    assert_eq!(drained(&received), [4]);
    w.delete(&objects[0]);
    w.create::<Item>([item("e", 5)]);
    next(&jobs)();
    assert!(drained(&received).is_empty());
    w.delete(&objects[1]);
    next(&jobs)();
    assert_eq!(drained(&received), [3]);
    drop(subscription);
}

// Promise: live-queries#L10
pub fn projection_is_delivered_only_when_a_selected_value_changes(open: Open) {
    let (w, objects) = four(open);
    let (send, received) = mpsc::channel();
    let ranks = w.fetch::<Item>().filter(Item::RANK.gt(1)).live_select(Item::RANK);
    let subscription = w.subscribe(ranks, move |update: dflat::Result<Update<Arc<[_]>>>| {
        send.send(update.unwrap()).unwrap();
    });
    assert_eq!(**next(&received).result(), [2, 3, 4]);
    w.change(&objects[1], |data| data.size = 50);
    assert!(drained(&received).is_empty());
    w.change(&objects[1], |data| data.rank = 7);
    let update = next(&received);
    assert_eq!(**update.result(), [7, 3, 4]);
    assert_eq!(update.difference().updated(), [0]);
    assert_eq!(**update.previous().unwrap(), [2, 3, 4]);
    drop(subscription);
}

// Promise: live-queries#L10
pub fn projection_distinguishes_zero_and_minus_zero(open: Open) {
    let w = open();
    let data = TwinData {
        id: 1,
        ..TwinData::default()
    };
    let object = w.create::<Twin>([data]).remove(0);
    let (send, received) = mpsc::channel();
    let values = w.fetch::<Twin>().live_select(Twin::F64_B);
    let subscription = w.subscribe(values, move |update: dflat::Result<Update<Arc<[_]>>>| {
        let bits = |value: &Option<f64>| value.unwrap().to_bits();
        send.send(update.unwrap().iter().map(bits).collect::<Vec<_>>()).unwrap();
    });
    assert_eq!(next(&received), [0.0_f64.to_bits()]);
    w.change(&object, |data| data.f64_b = -0.0);
    assert_eq!(next(&received), [(-0.0_f64).to_bits()]);
    drop(subscription);
}

// Promise: live-queries#L10
pub fn pending_projection_distinguishes_zero_and_minus_zero(open: Open) {
    let w = open();
    let object = w.create::<Twin>([TwinData::default()]).remove(0);
    let mut values = w.stream(w.fetch::<Twin>().live_select(Twin::F64_B)).unwrap();
    let mut bits = || {
        let update = values.next().now_or_never()?;
        Some(update.unwrap().unwrap()[0].unwrap().to_bits())
    };
    // The stream subscribes when it is polled; the object may have a value by then.
    let first = bits();
    w.settle::<Twin>();
    assert_eq!(first.or_else(&mut bits), Some(0.0_f64.to_bits()));
    let object = w.change(&object, |data| data.f64_b = 1.0);
    let object = w.change(&object, |data| data.f64_b = -0.0);
    assert_eq!(bits(), Some((-0.0_f64).to_bits()));
    let object = w.change(&object, |data| data.f64_b = 1.0);
    w.change(&object, |data| data.f64_b = -0.0);
    assert_eq!(bits(), None, "the changes come to nothing");
}

// Promise: live-queries#L1
pub fn without_initial_only_changes_are_delivered(open: Open) {
    let (w, objects) = four(open);
    let (send, received) = mpsc::channel();
    let observation = w.observe(by_rank(&w)).unwrap().without_initial();
    let subscription = observation.call(move |update| send.send(update.unwrap()).unwrap());
    w.settle::<Item>();
    assert!(drained(&received).is_empty());
    w.delete(&objects[0]);
    let update = next(&received);
    assert_eq!(owned_ids(update.previous().unwrap()), ["a", "b", "c", "d"]);
    assert_eq!(update.difference().deleted(), [0]);
    drop(subscription);
}

// Promise: live-queries#L17
pub fn commits_do_not_wait_for_callbacks_on_an_executor(open: Open) {
    let (w, objects) = four(open);
    let (queue, jobs) = mpsc::channel();
    let (send, received) = mpsc::channel();
    let observation = w.observe(by_rank(&w)).unwrap().on(move |job| queue.send(job).unwrap());
    let subscription = observation.call(move |update| {
        send.send((thread::current().id(), update.unwrap())).unwrap();
    });
    let subscription = subscription.unwrap();
    // No job has run yet, and both transactions are complete.
    w.delete(&objects[0]);
    w.delete(&objects[1]);
    assert!(drained(&received).is_empty());
    next(&jobs)();
    let (thread, update) = next(&received);
    assert_eq!(thread, thread::current().id());
    assert_eq!(owned_ids(&update), ["c", "d"]);
    assert!(subscription.coalesced() > 0);
    w.delete(&objects[2]);
    next(&jobs)();
    let (_, update) = next(&received);
    assert_eq!(owned_ids(update.previous().unwrap()), ["c", "d"]);
    assert_eq!(update.difference().deleted(), [0]);
}

// Promise: live-queries#L19
pub fn dropped_executor_job_is_replaced_at_the_next_delivery(open: Open) {
    let (w, objects) = four(open);
    let (queue, jobs) = mpsc::channel();
    let (send, received) = mpsc::channel();
    let observation = w.observe(by_rank(&w)).unwrap().on(move |job| queue.send(job).unwrap());
    let subscription = observation.call(move |update| send.send(update.unwrap()).unwrap());
    drop(next(&jobs));
    w.delete(&objects[0]);
    next(&jobs)();
    assert_eq!(owned_ids(next(&received).result()), ["b", "c", "d"]);
    drop(subscription);
}

// Promise: live-queries#L21
pub fn stream_within_its_capacity_gives_every_delivery(open: Open) {
    let (w, objects) = four(open);
    let mut stream = w.observe(by_rank(&w)).unwrap().buffer(8).stream();
    assert_eq!(block_on(stream.next()).unwrap().unwrap().len(), 4);
    objects.iter().for_each(|object| w.delete(object));
    let rest: Vec<_> = block_on(stream.by_ref().take(4).collect());
    let sizes: Vec<_> = rest.iter().map(|update| update.as_ref().unwrap().len()).collect();
    assert_eq!(sizes, [3, 2, 1, 0]);
    assert_eq!(stream.coalesced(), 0);
}

// Promise: live-queries#L21, live-queries#L22
pub fn stream_beyond_its_capacity_merges_deliveries(open: Open) {
    let (w, objects) = four(open);
    let mut stream = w.stream(by_rank(&w)).unwrap();
    assert_eq!(block_on(stream.next()).unwrap().unwrap().len(), 4);
    w.delete(&objects[2]);
    w.create::<Item>([item("e", 9)]);
    w.delete(&objects[0]);
    let update = block_on(stream.next()).unwrap().unwrap();
    assert_eq!(owned_ids(&update), ["b", "d", "e"]);
    assert_eq!(owned_ids(update.previous().unwrap()), ["a", "b", "c", "d"]);
    assert_eq!(update.difference().deleted(), [0, 2]);
    assert_eq!(update.difference().inserted(), [2]);
    assert_eq!((update.commits(), stream.coalesced()), (3, 2));
}

// Promise: live-queries#L22
pub fn changes_that_cancel_out_make_no_delivery(open: Open) {
    let (w, objects) = four(open);
    let mut stream = w.stream(by_rank(&w)).unwrap();
    assert_eq!(block_on(stream.next()).unwrap().unwrap().len(), 4);
    w.change(&objects[0], |data| data.rank = 9);
    w.change(&objects[0], |data| data.rank = 1);
    assert!(stream.next().now_or_never().is_none());
}

// Promise: live-queries#L5
pub fn a_transaction_that_changes_an_object_back_makes_no_delivery(open: Open) {
    let (w, objects) = four(open);
    let (_by_rank, ordered) = updates(&w, by_rank(&w));
    let (_by_row, unordered) = updates(&w, w.fetch());
    assert_eq!((next(&ordered).len(), next(&unordered).len()), (4, 4));
    w.perform([Item::TABLE], move |tx| {
        for (object, ranks) in [(&objects[0], [9, 1].as_slice()), (&objects[2], &[7])] {
            for rank in ranks {
                let mut changed = ItemChangeRequest::change(tx, object)?.unwrap();
                changed.rank = *rank;
                tx.submit(changed)?;
            }
        }
        Ok(())
    });
    assert_eq!(next(&unordered).difference().updated(), [2]);
    let update = next(&ordered);
    assert_eq!(update.difference().updated(), [3]);
    assert_eq!(update.difference().moved(), [Move { from: 2, to: 3 }]);
}

// Promise: live-queries#L20
pub fn stream_subscribes_when_it_is_polled(open: Open) {
    let (w, objects) = four(open);
    let mut stream = w.observe(by_rank(&w)).unwrap().buffer(8).stream();
    w.delete(&objects[0]);
    assert_eq!(block_on(stream.next()).unwrap().unwrap().len(), 3);
    assert!(stream.next().now_or_never().is_none());
}

// Promise: live-queries#L23
pub fn iterator_waits_for_deliveries_and_ends_with_the_deletion_of_the_object(open: Open) {
    let (w, objects) = four(open);
    let stream = w.observe(&objects[0]).unwrap().buffer(8).stream();
    let (send, received) = mpsc::channel();
    let waiting = thread::spawn(move || {
        stream.into_iter().for_each(|received| send.send(received).unwrap());
    });
    w.change(&objects[0], |data| data.rank = 9);
    assert!(matches!(next(&received), SubscribedObject::Updated(item) if item.rank() == 9));
    w.delete(&objects[0]);
    waiting.join().unwrap();
    assert_eq!(drained(&received), [SubscribedObject::Deleted]);
}

// Promise: live-queries#L23
pub fn waiting_for_a_delivery_inside_a_handler_is_refused(open: Open) {
    let (w, _) = four(open);
    let mut stream = w.stream(by_rank(&w)).unwrap();
    let refused = w.perform([Item::TABLE], move |_| Ok(stream.wait().unwrap_err().kind()));
    assert_eq!(refused, ErrorKind::WouldDeadlock);
}

// Promise: live-queries#L24
pub fn cell_holds_the_latest_delivery(open: Open) {
    let (w, objects) = four(open);
    let watch = w.observe(by_rank(&w)).unwrap().watch().unwrap();
    w.settle::<Item>();
    assert_eq!(owned_ids(&watch.latest().unwrap().unwrap()), ["a", "b", "c", "d"]);
    w.delete(&objects[0]);
    assert_eq!(owned_ids(&watch.latest().unwrap().unwrap()), ["b", "c", "d"]);
}

// Promise: live-queries#L34
pub fn callback_that_panics_ends_only_its_subscription_with_an_error(open: Open) {
    let (w, objects) = four(open);
    let broken = w.subscribe(&objects[0], |_| panic!("on purpose")).unwrap();
    let (whole, received) = updates(&w, by_rank(&w));
    assert_eq!(next(&received).len(), 4);
    assert!(broken.error().is_none());
    w.change(&objects[0], |data| data.size = 9);
    assert_eq!(next(&received).difference().updated(), [0]);
    // Printing a panic can take longer than a transaction waits for a callback.
    until(|| broken.error().is_some());
    assert_eq!(broken.error().unwrap().kind(), ErrorKind::Panicked);
    w.change(&objects[0], |data| data.size = 8);
    assert_eq!(next(&received).difference().updated(), [0]);
    assert!(whole.error().is_none());
}

/// A subscription whose callback waits for a message, and its deliveries.
fn stuck(w: &Fixture) -> (Subscription, Sender<()>, Updates) {
    let (go, goes) = mpsc::channel::<()>();
    let (send, received) = mpsc::channel();
    let observation = w.observe(by_rank(w)).unwrap().without_initial();
    let subscription = observation.call(move |update: ItemsUpdate| {
        send.send(update.unwrap()).unwrap();
        // The sender may be gone: the test ends.
        let _ = goes.recv();
    });
    (subscription.unwrap(), go, received)
}

// Promise: live-queries#L35
pub fn stuck_subscriber_delays_no_other_and_gets_the_rest_as_one_delivery(open: Open) {
    let (w, objects) = four(open);
    let (slow, go, received) = stuck(&w);
    let (other, heard) = updates(&w, by_rank(&w));
    assert_eq!(next(&heard).len(), 4);
    // Each of these is complete while the callback is stuck.
    for object in &objects {
        w.delete(object);
    }
    assert_eq!(drained(&heard).iter().map(|items| items.len()).collect::<Vec<_>>(), [3, 2, 1, 0]);
    assert!(slow.is_slow() && !other.is_slow());
    assert_eq!(owned_ids(next(&received).result()), ["b", "c", "d"]);
    assert!(drained(&received).is_empty());
    go.send(()).unwrap();
    let rest = next(&received);
    assert!(rest.is_empty());
    assert_eq!(owned_ids(rest.previous().unwrap()), ["b", "c", "d"]);
    assert_eq!(rest.difference().deleted(), [0, 1, 2]);
    assert_eq!(rest.commits(), 3);
    assert_eq!(slow.coalesced(), 2);
    drop(go);
}

// Promise: live-queries#L38
pub fn workspace_can_be_shut_down_while_a_subscriber_is_stuck(open: Open) {
    let (w, objects) = four(open);
    let (slow, go, received) = stuck(&w);
    w.delete(&objects[0]);
    assert_eq!(next(&received).len(), 3);
    w.shutdown().unwrap();
    drop(go);
    slow.cancel();
    assert!(drained(&received).is_empty());
}

// Promise: live-queries#L32
pub fn callbacks_that_cancel_each_other_both_return(open: Open) {
    let (w, objects) = four(open);
    let (ours, theirs) = (mpsc::channel::<Subscription>(), mpsc::channel::<Subscription>());
    let (send, received) = mpsc::channel();
    let subscribe = |other: Receiver<Subscription>| {
        let send = send.clone();
        let other = std::sync::Mutex::new(other);
        w.subscribe(&objects[0], move |_| {
            next(&other.lock().unwrap()).cancel();
            send.send(()).unwrap();
        })
    };
    let (a, b) = (subscribe(ours.1).unwrap(), subscribe(theirs.1).unwrap());
    ours.0.send(b).unwrap();
    theirs.0.send(a).unwrap();
    w.change(&objects[0], |data| data.rank = 9);
    w.change(&objects[0], |data| data.rank = 8);
    // The callback that ran first has cancelled the second subscription.
    assert_eq!(drained(&received).len(), 1);
}

// Promise: live-queries#L39
pub fn the_same_query_twice_gets_the_same_deliveries(open: Open) {
    let (w, objects) = four(open);
    let (first, early) = updates(&w, by_rank(&w));
    w.delete(&objects[0]);
    let (second, late) = updates(&w, by_rank(&w));
    assert_eq!(owned_ids(next(&late).result()), ["b", "c", "d"]);
    w.delete(&objects[1]);
    assert_eq!(owned_ids(next(&late).result()), ["c", "d"]);
    drop(first);
    w.delete(&objects[2]);
    let update = next(&late);
    assert_eq!(owned_ids(&update), ["d"]);
    assert_eq!(update.difference().deleted(), [0]);
    assert_eq!(drained(&early).len(), 3);
    drop(second);
}

// Promise: live-queries#L4
pub fn window_is_updated_without_a_fetch_while_it_holds_rows_beside_it(open: Open) {
    let w = open();
    let items = (0..200).map(|n| item(&format!("k{n:03}"), n));
    let objects = w.create::<Item>(items);
    let query = || w.fetch::<Item>().order_by(Item::RANK.ascending()).offset(50).limit(20);
    let (subscription, received) = updates(&w, query());
    assert_eq!(next(&received).len(), 20);
    // Objects move between the places before, within and after the window, and back.
    for (place, rank) in [(0, 500), (60, -1), (120, 65), (0, 0), (60, 60), (120, 120)] {
        w.change(&objects[place], move |data| data.rank = rank);
        assert_eq!(next(&received).result(), &query().all().unwrap());
    }
    let objects = objects.clone();
    w.perform([Item::TABLE], move |tx| {
        objects.iter().step_by(2).try_for_each(|object| {
            tx.submit(ItemChangeRequest::deletion(tx, object)?.unwrap()).map(drop)
        })
    });
    assert_eq!(next(&received).result(), &query().all().unwrap());
    drop(subscription);
}

pub fn query_registered_after_many_ranges_gets_every_delivery(open: Open) {
    // So few ranges that all are compared, and so many that they are kept in order.
    for count in [2, 40] {
        let (w, _) = four(open);
        let ranges = (0..count).map(|n| w.fetch::<Item>().filter(Item::RANK.gt(100 + n)));
        let others: Vec<_> = ranges.map(|range| updates(&w, range)).collect();
        let near = Item::RANK.lt(9) & Item::ID.contains("x");
        let (ending, received) = updates(&w, w.fetch().filter(Item::RANK.lt(2) | near));
        assert_eq!(next(&received).len(), 1);
        w.create::<Item>([item("x", 8)]);
        assert_eq!(next(&received).len(), 2);
        drop(ending);
        let query = || w.fetch::<Item>().filter(Item::ID.ne("a"));
        let (subscription, received) = updates(&w, query());
        assert_eq!(next(&received).len(), 4);
        w.create::<Item>([item("e", 1), item("f", 50)]);
        assert_eq!(next(&received).result(), &query().all().unwrap(), "{count}");
        drop((subscription, others));
    }
}
