//! Subscriptions whose first state cannot be read: they get the error, and go on with the result as
//! soon as it can be read.

mod objects;
mod rig;

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};

use dflat::{ErrorKind, FetchedResult, Update};
use dflat_testkit::fixture::{bounded, next};
use dflat_testkit::schema::Item;

use rig::{
    KINDS, Known, Rig, Start, count, delete, empty_window, groups, object,
    object_of_another_engine, projection, put, query, result,
};

/// A subscription that starts while nothing can be read has these deliveries: at first; after a
/// commit, while nothing can be read; after the next one, when everything can be read; and after
/// another one.
fn goes_on(start: Start, expected: [&'static [&'static str]; 4]) {
    bounded(move || {
        for stands in [false, true] {
            for rig in [Rig::memory(), Rig::sqlite(false)] {
                let before = stands.then(|| rig.stand());
                let (subscription, log) = rig.subscribe(start);
                let mut deliveries = vec![rig.delivered(&log)];
                put(&rig.workspace, &[("c", 0)]);
                deliveries.push(rig.delivered(&log));
                rig.heal();
                put(&rig.workspace, &[("d", 0)]);
                deliveries.push(rig.delivered(&log));
                put(&rig.workspace, &[("a", 2), ("e", 0)]);
                deliveries.push(rig.delivered(&log));
                assert_eq!(deliveries, expected, "another one stands: {stands}");
                assert!(subscription.error().is_none());
                // The others are not disturbed.
                if let Some((_count, log)) = before {
                    assert_eq!(*log.lock().unwrap(), ["2", "3", "4", "5"]);
                }
            }
        }
    });
}

// Promise: live-queries#L12
#[test]
fn query_whose_start_fails_goes_on() {
    const FIRST: &str = "a1 b0 c0 d0";
    goes_on(query, [&["Io"], &[], &[FIRST], &["a2 b0 c0 d0 e0"]]);
}

// Promise: live-queries#L12
#[test]
fn known_result_whose_start_fails_goes_on_from_what_is_known() {
    const FIRST: &str = "a1 b0 c0 d0 from 1: +3 ~1 -0";
    const SECOND: &str = "a2 b0 c0 d0 e0 from 4: +1 ~1 -0";
    goes_on(result, [&["Io"], &[], &[FIRST], &[SECOND]]);
}

// Promise: live-queries#L12
#[test]
fn empty_window_whose_start_fails_is_delivered() {
    goes_on(empty_window, [&["Io"], &[], &[""], &[]]);
}

// Promise: live-queries#L12
#[test]
fn count_whose_start_fails_goes_on() {
    goes_on(count, [&["Io"], &[], &["4"], &["5"]]);
}

// Promise: live-queries#L12
#[test]
fn groups_whose_start_fails_go_on() {
    goes_on(groups, [&["Io"], &[], &["0:3 1:1"], &["0:4 2:1"]]);
}

// Promise: live-queries#L12
#[test]
fn projection_whose_start_fails_goes_on() {
    const SECOND: &str = "[2, 0, 0, 0, 0]";
    goes_on(projection, [&["Io"], &[], &["[1, 0, 0, 0]"], &[SECOND]]);
}

// Promise: live-queries#L80
#[test]
fn object_whose_start_fails_goes_on() {
    goes_on(object, [&[], &[], &["a1"], &["a2"]]);
}

// Promise: live-queries#L80
#[test]
fn object_of_another_engine_whose_start_fails_goes_on() {
    goes_on(object_of_another_engine, [&[], &[], &["a1"], &["a2"]]);
}

// Promise: live-queries#L12
#[test]
fn subscriptions_whose_start_fails_go_on_with_a_refresh() {
    bounded(|| {
        for stands in [false, true] {
            for rig in [Rig::memory(), Rig::sqlite(false)] {
                let _before = stands.then(|| rig.stand());
                let started = KINDS.map(|start| rig.subscribe(start));
                rig.heal();
                rig.workspace.refresh().unwrap();
                let delivered = started.each_ref().map(|(_, log)| rig.delivered(log));
                let expected: [&[&str]; 8] = [
                    &["Io", "a1 b0"],
                    &["Io", "a1 b0 from 1: +1 ~1 -0"],
                    &["Io", ""],
                    &["Io", "2"],
                    &["Io", "0:1 1:1"],
                    &["Io", "[1, 0]"],
                    &["a1"],
                    &["a1"],
                ];
                assert_eq!(delivered, expected);
                rig.workspace.refresh().unwrap();
                let again = started.each_ref().map(|(_, log)| rig.delivered(log));
                assert_eq!(again, [const { Vec::<String>::new() }; 8]);
            }
        }
    });
}

// Promise: live-queries#L12
#[test]
fn subscriptions_whose_start_fails_go_on_with_a_commit_of_another_process() {
    bounded(|| {
        for stands in [false, true] {
            for start in KINDS {
                let rig = Rig::sqlite(true);
                let _before = stands.then(|| rig.stand());
                let (_subscription, log) = rig.subscribe(start);
                rig.heal();
                log.lock().unwrap().clear();
                put(&rig.beside, &[("a", 9), ("b", 9), ("c", 9)]);
                // The thread of the backend looks for commits.
                while log.lock().unwrap().is_empty() {
                    std::thread::yield_now();
                }
            }
        }
    });
}

// Promise: live-queries#L30
#[test]
fn subscription_whose_start_fails_can_be_cancelled() {
    bounded(|| {
        for rig in [Rig::memory(), Rig::sqlite(false)] {
            for start in KINDS {
                let (subscription, log) = rig.subscribe(start);
                rig.delivered(&log);
                subscription.cancel();
                assert_eq!(Arc::strong_count(&log), 1, "the callback is dropped");
                rig.heal();
                put(&rig.workspace, &[("a", 6), ("c", 6)]);
                delete(&rig.workspace, "c");
                rig.workspace.refresh().unwrap();
                assert!(rig.delivered(&log).is_empty());
                put(&rig.workspace, &[("a", 1)]);
            }
        }
    });
}

// Promise: live-queries#L31
#[test]
fn subscription_whose_start_fails_takes_no_memory_after_it_was_dropped() {
    bounded(|| {
        for rig in [Rig::memory(), Rig::sqlite(false)] {
            for start in KINDS {
                let dropped_at_once = rig.subscribe(start).0.to_end();
                let (subscription, _log) = rig.subscribe(start);
                rig.heal();
                rig.workspace.refresh().unwrap();
                rig.workspace.settle().unwrap();
                let dropped_later = subscription.to_end();
                drop(subscription);
                rig.workspace.refresh().unwrap();
                // The thread that made the last call may still hold it.
                while !dropped_at_once.is_over() || !dropped_later.is_over() {
                    std::thread::yield_now();
                }
            }
        }
    });
}

// Promise: live-queries#L48
#[test]
fn subscription_whose_start_fails_ends_at_a_shutdown() {
    bounded(|| {
        for start in KINDS {
            let rig = Rig::memory();
            let (_subscription, log) = rig.subscribe(start);
            rig.workspace.shutdown().unwrap();
            assert_eq!(Arc::strong_count(&log), 1, "the callback is dropped");
        }
    });
}

/// The states that are known may be later than the commits that this engine has noticed.
// Promise: live-queries#L28
#[test]
fn no_earlier_state_is_delivered_after_the_start_has_failed() {
    bounded(|| {
        let mut rig = Rig::sqlite(false);
        let _before = [rig.stand(), rig.subscribe_now(query)];
        for rank in [3, 4] {
            put(&rig.beside, &[("a", rank), ("c", rank)]);
        }
        rig.known = Known {
            all: rig.workspace.fetch::<Item>().all().unwrap(),
            a: rig.workspace.get::<Item>("a").unwrap().unwrap(),
            other: rig.beside.get::<Item>("a").unwrap().unwrap(),
        };
        assert_eq!(rig.known.a.rank(), 4);
        let started = [result as Start, object, object_of_another_engine].map(|s| rig.subscribe(s));
        rig.heal();
        rig.workspace.refresh().unwrap();
        let delivered = started.each_ref().map(|(_, log)| rig.delivered(log));
        let after: [&[&str]; 3] = [&["Io", "a4 b0 c4 from 3: +0 ~0 -0"], &[], &[]];
        assert_eq!(delivered, after);
        put(&rig.beside, &[("a", 5)]);
        rig.workspace.refresh().unwrap();
        let delivered = started.each_ref().map(|(_, log)| rig.delivered(log));
        let after: [&[&str]; 3] = [&["a5 b0 c4 from 3: +0 ~1 -0"], &["a5"], &["a5"]];
        assert_eq!(delivered, after);
    });
}

// Promise: live-queries#L12
#[test]
fn stream_and_cell_whose_start_fails_go_on() {
    bounded(|| {
        let rig = Rig::memory();
        rig.break_after(0);
        let cell = rig.workspace.fetch::<Item>().live_count();
        let cell = rig.workspace.observe(cell).unwrap().watch().unwrap();
        let stream = rig
            .workspace
            .observe(rig.workspace.fetch::<Item>())
            .unwrap();
        let (send, received): (Sender<_>, _) = mpsc::channel();
        let stream = stream.buffer(8).stream();
        let waiting = std::thread::spawn(move || {
            for update in stream {
                let update = update.map(|items: Update<FetchedResult<_>>| items.len());
                send.send(update.map_err(|error| error.kind())).unwrap();
            }
        });
        assert_eq!(next(&received), Err(ErrorKind::Io));
        rig.workspace.settle().unwrap();
        assert_eq!(cell.latest().unwrap().unwrap_err().kind(), ErrorKind::Io);
        rig.heal();
        rig.workspace.refresh().unwrap();
        assert_eq!(next(&received), Ok(2));
        rig.workspace.settle().unwrap();
        assert_eq!(cell.latest().unwrap().unwrap(), 2);
        rig.workspace.shutdown().unwrap();
        waiting.join().unwrap();
    });
}
