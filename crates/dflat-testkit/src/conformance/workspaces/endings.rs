//! Laws of shutting down, and of dropping workspaces and subscriptions that are in use.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;

use dflat::{Dictionary, ErrorKind, Object};
use futures::StreamExt;
use futures::executor::block_on;

use crate::conformance::samples::{ids, item};
use crate::fixture::{Open, drained, next};
use crate::schema::{Item, ItemChangeRequest};

// Promise: concurrency#C71, compatibility#P44
pub fn shutdown_finishes_queued_work(open: Open) {
    let w = open();
    let (go, goes) = mpsc::channel::<()>();
    let blocking = w.perform_changes([Item::TABLE], move |_| {
        next(&goes);
        Ok(())
    });
    let queued: Vec<_> = (0..20)
        .map(|n| {
            w.perform_changes([Item::TABLE], move |tx| {
                tx.submit(ItemChangeRequest::creation(item(&n.to_string(), n)))
            })
        })
        .collect();
    let (send, ended) = mpsc::channel();
    w.shutdown_then(move |outcome| send.send(outcome).unwrap());
    go.send(()).unwrap();
    next(&ended).unwrap();
    blocking.wait().unwrap();
    for handle in queued {
        handle.wait().unwrap();
    }
}

// Promise: compatibility#P45
pub fn every_call_after_shutdown_fails_with_shut_down(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let fetched = w.fetch::<Item>().all().unwrap();
    w.shutdown().unwrap();
    let kinds = [
        w.perform_changes([Item::TABLE], |_| Ok(())).wait().unwrap_err().kind(),
        block_on(w.perform_changes([Item::TABLE], |_| Ok(()))).unwrap_err().kind(),
        w.fetch::<Item>().all().unwrap_err().kind(),
        w.fetch::<Item>().filter(Item::RANK.eq(1)).all().unwrap_err().kind(),
        w.fetch::<Item>().limit(0).all().unwrap_err().kind(),
        w.get::<Item>("a").unwrap_err().kind(),
        w.snapshot().unwrap_err().kind(),
        w.fetch_within_a_snapshot(|s| s.fetch::<Item>().all()).unwrap_err().kind(),
        w.subscribe(&object, |_| {}).unwrap_err().kind(),
        w.subscribe(&fetched, |_| {}).unwrap_err().kind(),
        w.subscribe(w.fetch::<Item>(), |_| {}).unwrap_err().kind(),
        w.observe(&object).unwrap().watch().unwrap_err().kind(),
        block_on(w.stream(w.fetch::<Item>()).unwrap().next()).unwrap().unwrap_err().kind(),
    ];
    assert_eq!(kinds, [ErrorKind::ShutDown; 13]);
    assert!(block_on(w.stream(&object).unwrap().next()).is_none());
    // Objects that were read stay readable.
    assert_eq!((object.id(), fetched.len()), ("a", 1));
}

// Promise: concurrency#C71
pub fn every_call_of_the_dictionary_after_shutdown_fails_with_shut_down(open: Open) {
    let w = open();
    let d = w.dictionary();
    d.set("known", 1_i64).unwrap();
    assert_eq!(d.get::<i64>("absent").unwrap(), None);
    w.shutdown().unwrap();
    for d in [w.dictionary(), d.clone(), d.namespace("other")] {
        let kinds = [
            d.get::<i64>("known").unwrap_err().kind(),
            d.get::<i64>("absent").unwrap_err().kind(),
            d.get_or("known", 7_i64).unwrap_err().kind(),
            d.contains("known").unwrap_err().kind(),
            d.keys().unwrap_err().kind(),
            d.keys_with_prefix("k").unwrap_err().kind(),
            d.iter().map(|_| ()).unwrap_err().kind(),
            d.len().unwrap_err().kind(),
            d.is_empty().unwrap_err().kind(),
            d.set("known", 1_i64).unwrap_err().kind(),
            d.set("known", 2_i64).unwrap_err().kind(),
            d.remove("absent").unwrap_err().kind(),
            d.update("known", |n: Option<i64>| n).unwrap_err().kind(),
            d.remove_all().unwrap_err().kind(),
            d.synchronize().unwrap_err().kind(),
            d.subscribe::<i64>("known", |_| {}).unwrap_err().kind(),
            d.subscribe_prefix("k", |_, _| {}).unwrap_err().kind(),
            d.stream::<i64>("known").unwrap_err().kind(),
        ];
        assert_eq!(kinds, [ErrorKind::ShutDown; 18]);
        assert_eq!(d.failures(), 0);
    }
}

// Issue 27, line 11: a stream of a key never ended.
// Promise: live-queries#L48
pub fn subscriptions_to_keys_end_at_shutdown(open: Open) {
    let w = open();
    let d = w.dictionary();
    d.set("known", 1_i64).unwrap();
    let stream = d.stream::<i64>("known").unwrap();
    let mut objects = w.stream(w.fetch::<Item>()).unwrap();
    assert!(block_on(objects.next()).unwrap().is_ok());
    let (send, received) = mpsc::channel();
    let sent = send.clone();
    let one = d.subscribe::<i64>("known", move |_| sent.send(()).unwrap()).unwrap();
    let all = d.subscribe_prefix("", move |_, _| send.send(()).unwrap()).unwrap();
    let queued = w.perform_changes([Dictionary::TABLE], |tx| tx.dictionary().set("known", 2_i64));
    // A consumer that waits is woken.
    let consumer = thread::spawn(move || block_on(stream.map(|value| value.unwrap()).collect()));
    w.shutdown().unwrap();
    queued.wait().unwrap();
    let values: Vec<Option<i64>> = consumer.join().unwrap();
    assert_eq!(values, [Some(1), Some(2)]);
    assert!(block_on(objects.next()).is_none());
    // The callbacks are dropped, although the subscriptions are held.
    assert_eq!(received.iter().count(), 4);
    one.cancel();
    drop((one, all));
}

// Promise: concurrency#C71
pub fn every_call_of_upkeep_after_shutdown_fails_with_shut_down(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 1)]);
    let w = (*w).clone();
    w.shutdown().unwrap();
    let copy = w.copy_table::<Item, Item>(|item| Ok(Object::to_data(item)));
    let directory = tempfile::tempdir().unwrap();
    let kinds = [
        w.settle().unwrap_err().kind(),
        w.refresh().unwrap_err().kind(),
        w.reclaim(1).unwrap_err().kind(),
        w.purge().unwrap_err().kind(),
        w.compact().unwrap_err().kind(),
        w.backup(directory.path().join("copy")).unwrap_err().kind(),
        w.suspend().unwrap_err().kind(),
        w.check([Item::TABLE]).unwrap_err().kind(),
        w.repair([Item::TABLE]).unwrap_err().kind(),
        w.build_indexes([Item::TABLE]).unwrap_err().kind(),
        w.indexes_ready().wait().unwrap_err().kind(),
        copy.run().unwrap_err().kind(),
        w.write_first().perform_changes([Item::TABLE], |_| Ok(())).wait().unwrap_err().kind(),
        w.perform_changes_blocking([Item::TABLE], |_| Ok(())).unwrap_err().kind(),
    ];
    assert_eq!(kinds, [ErrorKind::ShutDown; 14]);
}

// Promise: concurrency#C71
pub fn handler_that_was_queued_before_the_shutdown_reads_until_it_ends(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 1)]);
    w.dictionary().set("known", 1_i64).unwrap();
    let (go, goes) = mpsc::channel::<()>();
    let (inside, d) = ((*w).clone(), w.dictionary());
    let reads = w.perform_changes([Item::TABLE], move |_| {
        next(&goes);
        let fetched = inside.fetch::<Item>().count()?;
        let known = d.get::<i64>("known")?;
        Ok((fetched, known, d.get::<i64>("absent")?, d.keys()?))
    });
    let (send, ended) = mpsc::channel();
    w.shutdown_then(move |outcome| send.send(outcome).unwrap());
    assert_eq!(w.dictionary().get::<i64>("known").unwrap_err().kind(), ErrorKind::ShutDown);
    go.send(()).unwrap();
    next(&ended).unwrap();
    let expected = (1, Some(1), None, vec!["known".to_owned()]);
    assert_eq!(reads.wait().unwrap(), expected);
}

// Promise: concurrency#C71, compatibility#P44
pub fn work_after_shutdown_is_completed_with_the_error(open: Open) {
    let w = open();
    w.shutdown().unwrap();
    let (send, outcomes) = mpsc::channel();
    w.perform_changes([Item::TABLE], |_| Ok(()))
        .on_completion(move |outcome| send.send(outcome.unwrap_err().kind()).unwrap());
    assert_eq!(drained(&outcomes), [ErrorKind::ShutDown]);
}

pub fn second_shutdown_does_no_harm(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 1)]);
    w.shutdown().unwrap();
    w.shutdown().unwrap();
    let (send, ended) = mpsc::channel();
    w.shutdown_then(move |outcome| send.send(outcome).unwrap());
    next(&ended).unwrap();
}

pub fn two_threads_may_shut_down_at_once(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 1)]);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| w.shutdown().unwrap());
        }
    });
    assert_eq!(w.get::<Item>("a").unwrap_err().kind(), ErrorKind::ShutDown);
}

pub fn shutdown_of_an_unused_workspace_succeeds(open: Open) {
    let w = open();
    w.shutdown().unwrap();
}

// Promise: concurrency#C24
pub fn shutdown_inside_a_handler_is_refused(open: Open) {
    let w = open();
    let inside = (*w).clone();
    let kind = w.perform([Item::TABLE], move |_| Ok(inside.shutdown().unwrap_err().kind()));
    assert_eq!(kind, ErrorKind::WouldDeadlock);
    w.create::<Item>([item("a", 1)]);
}

// Promise: concurrency#C24
pub fn shutdown_inside_a_callback_is_refused(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let (send, kinds) = mpsc::channel();
    let inside = (*w).clone();
    let subscription = w
        .subscribe(&object, move |_| {
            send.send(inside.shutdown().unwrap_err().kind()).unwrap();
        })
        .unwrap();
    w.change(&object, |data| data.rank = 2);
    assert_eq!(drained(&kinds), [ErrorKind::WouldDeadlock]);
    subscription.cancel();
}

// Promise: compatibility#P46
pub fn shutdown_then_inside_a_handler_lets_the_handler_finish(open: Open) {
    let w = open();
    let inside = (*w).clone();
    let (send, ended) = mpsc::channel();
    let outcome = w
        .perform_changes([Item::TABLE], move |tx| {
            inside.shutdown_then(move |outcome| send.send(outcome).unwrap());
            tx.submit(ItemChangeRequest::creation(item("a", 1)))
        })
        .wait();
    next(&ended).unwrap();
    assert!(outcome.is_ok(), "{outcome:?}");
}

pub fn snapshot_held_across_shutdown_ends(open: Open) {
    let w = open();
    w.create::<Item>([item("a", 1)]);
    let snapshot = w.snapshot().unwrap();
    let fetched = snapshot.fetch::<Item>().all().unwrap();
    w.shutdown().unwrap();
    assert_eq!(snapshot.get::<Item>("a").unwrap_err().kind(), ErrorKind::ShutDown);
    assert_eq!(snapshot.fetch::<Item>().all().unwrap_err().kind(), ErrorKind::ShutDown);
    assert_eq!(ids(&fetched), ["a"]);
}

// Promise: concurrency#C74
pub fn subscribers_of_queued_work_are_notified_before_shutdown_ends(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let (send, events) = mpsc::channel();
    let of_object = send.clone();
    let limited = w.fetch::<Item>().order_by(Item::SIZE.ascending()).limit(1).all().unwrap();
    let subscriptions = (
        w.subscribe(&object, move |_| of_object.send("object").unwrap()).unwrap(),
        w.subscribe(&limited, move |result| {
            send.send(if result.is_ok() { "result" } else { "error" }).unwrap();
        })
        .unwrap(),
    );
    let (go, goes) = mpsc::channel::<()>();
    let blocking = w.perform_changes([Item::TABLE], move |tx| {
        next(&goes);
        let mut change = ItemChangeRequest::change(tx, &object)?.unwrap();
        change.rank = 2;
        tx.submit(change)
    });
    let (send, ended) = mpsc::channel();
    w.shutdown_then(move |outcome| send.send(outcome).unwrap());
    go.send(()).unwrap();
    next(&ended).unwrap();
    blocking.wait().unwrap();
    assert_eq!(drained(&events), ["object", "result"]);
    drop(subscriptions);
}

// Promise: concurrency#C71
pub fn dropping_the_last_workspace_finishes_queued_work(open: Open) {
    let (w, directory) = open().into_parts();
    let count = Arc::new(Mutex::new(0));
    let handles: Vec<_> = (0..20)
        .map(|n| {
            let count = Arc::clone(&count);
            w.perform_changes([Item::TABLE], move |tx| {
                tx.submit(ItemChangeRequest::creation(item(&n.to_string(), n)))?;
                *count.lock().unwrap() += 1;
                Ok(())
            })
        })
        .collect();
    drop(w);
    assert_eq!(*count.lock().unwrap(), 20);
    for handle in handles {
        handle.wait().unwrap();
    }
    drop(directory);
}

pub fn dropping_one_of_two_workspaces_ends_nothing(open: Open) {
    let w = open();
    let clone = (*w).clone();
    drop(clone);
    w.create::<Item>([item("a", 1)]);
    assert!(w.get::<Item>("a").unwrap().is_some());
}

pub fn last_workspace_may_be_dropped_inside_a_handler(open: Open) {
    let (w, directory) = open().into_parts();
    let (go, goes) = mpsc::channel();
    let handle = w.perform_changes([Item::TABLE], move |tx| {
        let last: dflat::Workspace = next(&goes);
        drop(last);
        tx.submit(ItemChangeRequest::creation(item("a", 1)))
    });
    go.send(w).unwrap();
    assert!(handle.wait().is_ok());
    drop(directory);
}

pub fn last_workspace_may_be_dropped_with_a_retrying_handler(open: Open) {
    let (w, directory) = open().into_parts();
    let mut stream = w.stream(w.fetch::<Item>()).unwrap();
    let (go, goes) = mpsc::channel::<()>();
    let inside = w.clone();
    let handle = w.perform_changes_retrying([Item::TABLE], move |tx| {
        next(&goes);
        assert!(inside.get::<Item>("a")?.is_none());
        tx.submit(ItemChangeRequest::creation(item("a", 1)))
    });
    drop(w);
    go.send(()).unwrap();
    assert!(handle.wait().is_ok());
    // The workspace ends, although only the handler held it.
    block_on(async { while stream.next().await.is_some() {} });
    drop(directory);
}

pub fn subscription_outlives_its_workspace_without_harm(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let subscription = w.subscribe(&object, |_| {}).unwrap();
    let stream = w.stream(&object).unwrap();
    let snapshot = w.snapshot().unwrap();
    drop(w);
    subscription.cancel();
    drop((subscription, stream, snapshot));
}

// Promise: live-queries#L33
pub fn callback_may_own_the_last_workspace(open: Open) {
    let (w, directory) = open().into_parts();
    let create = |id: &str| {
        let data = item(id, 1);
        w.perform_changes([Item::TABLE], move |tx| tx.submit(ItemChangeRequest::creation(data)))
    };
    create("a").wait().unwrap();
    let object = w.get::<Item>("a").unwrap().unwrap();
    let inside = w.clone();
    let subscription = w.subscribe(&object, move |_| drop(inside.clone())).unwrap();
    let (go, goes) = mpsc::channel::<()>();
    let handle = w.perform_changes([Item::TABLE], move |tx| {
        next(&goes);
        let mut change = ItemChangeRequest::change(tx, &object)?.unwrap();
        change.rank = 2;
        tx.submit(change)
    });
    drop(w);
    go.send(()).unwrap();
    // Ends the workspace. That waits for the transaction, which waits for this callback.
    subscription.cancel();
    assert!(handle.wait().is_ok());
    drop(directory);
}

pub fn callback_that_cancels_itself_may_own_the_last_workspace(open: Open) {
    let (w, directory) = open().into_parts();
    let created = w.perform_changes([Item::TABLE], move |tx| {
        tx.submit(ItemChangeRequest::creation(item("a", 1)))
    });
    let object = created.wait().unwrap().into_object().unwrap();
    let own = Arc::new(Mutex::new(None::<dflat::Subscription>));
    let (slot, inside) = (Arc::clone(&own), w.clone());
    let (send, received) = mpsc::channel();
    let subscription = w
        .subscribe(&object, move |_| {
            let own = slot.lock().unwrap().take().unwrap();
            own.cancel();
            send.send(inside.get::<Item>("a").is_ok()).unwrap();
        })
        .unwrap();
    *own.lock().unwrap() = Some(subscription);
    let handle = w.perform_changes([Item::TABLE], move |tx| {
        let mut change = ItemChangeRequest::change(tx, &object)?.unwrap();
        change.rank = 2;
        tx.submit(change)
    });
    drop(w);
    assert!(handle.wait().is_ok());
    assert!(next(&received));
    drop(directory);
}
