//! Completions wait for callbacks for a bounded time.

use std::ops::Range;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use dflat::{Subscription, TransactionHandle, Workspace};
use dflat_testkit::fixture::{bounded, next, until};
use dflat_testkit::schema::{Bag, BagChangeRequest, BagData};

fn workspace(directory: &tempfile::TempDir, patience: Duration) -> Workspace {
    let builder = Workspace::builder(directory.path().join("patience.db"));
    builder.subscriber_patience(patience).open().unwrap()
}

fn insert(workspace: &Workspace, id: i32) -> TransactionHandle<()> {
    insert_all(workspace, id..id + 1)
}

fn insert_all(workspace: &Workspace, mut ids: Range<i32>) -> TransactionHandle<()> {
    workspace.perform_changes([Bag::TABLE], move |tx| {
        ids.try_for_each(|id| {
            let bag = BagData {
                id,
                ..BagData::default()
            };
            tx.submit(BagChangeRequest::creation(bag)).map(drop)
        })
    })
}

/// A subscription to the number of bags. Each call of its callback waits for a message.
fn stuck(workspace: &Workspace) -> (Subscription, Sender<()>, mpsc::Receiver<usize>) {
    let (go, goes) = mpsc::channel::<()>();
    let (send, received) = mpsc::channel();
    let count = workspace.fetch::<Bag>().live_count();
    let observation = workspace.observe(count).unwrap().without_initial();
    let subscription = observation.call(move |count: dflat::Result<usize>| {
        send.send(count.unwrap()).unwrap();
        // The sender may be gone: the test ends.
        let _ = goes.recv();
    });
    (subscription.unwrap(), go, received)
}

// Promise: live-queries#L35
#[test]
fn completions_do_not_wait_for_a_stuck_callback() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let workspace = workspace(&directory, Duration::from_secs(3600));
        let (subscription, go, received) = stuck(&workspace);
        let completions: Vec<_> = (0..1100).map(|id| insert(&workspace, id)).collect();
        for completion in completions {
            completion.wait().unwrap();
        }
        assert!(subscription.is_slow());
        assert_eq!(next(&received), 1);
        drop(go);
        assert_eq!(next(&received), 1100, "the rest as one");
    });
}

// Promise: live-queries#L36
#[test]
fn rows_beyond_the_memory_bound_do_not_wait_for_a_stuck_callback() {
    const ROWS: i32 = 22_000;
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let workspace = workspace(&directory, Duration::from_secs(3600));
        let (subscription, go, received) = stuck(&workspace);
        insert(&workspace, 0).detach();
        assert_eq!(next(&received), 1);
        let inserts = (0..4).map(|n| insert_all(&workspace, 1 + n * ROWS..1 + (n + 1) * ROWS));
        for insert in inserts.collect::<Vec<_>>() {
            insert.wait().unwrap();
        }
        assert!(
            subscription.is_slow(),
            "it was given up, far before its time"
        );
        drop(go);
        let all = usize::try_from(1 + 4 * ROWS).unwrap();
        assert_eq!(next(&received), all, "the rest as one");
    });
}

// Promise: live-queries#L37
#[test]
fn slow_subscriber_is_waited_for_again_after_it_has_caught_up() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let workspace = workspace(&directory, Duration::from_secs(20));
        let (subscription, go, received) = stuck(&workspace);
        let completions: Vec<_> = (0..1100).map(|id| insert(&workspace, id)).collect();
        for completion in completions {
            completion.wait().unwrap();
        }
        assert!(subscription.is_slow());
        drop(go);
        until(|| !subscription.is_slow());
        assert_eq!(received.try_iter().last(), Some(1100));
        insert(&workspace, 1100).wait().unwrap();
        assert_eq!(received.try_recv(), Ok(1101), "it was waited for");
    });
}
