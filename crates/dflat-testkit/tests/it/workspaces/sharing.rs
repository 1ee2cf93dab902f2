//! Several workspaces on one file in one process: one engine, which ends with the last.

use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use dflat::{
    Concurrency, Durability, ErrorKind, FetchedResult, Result, SubscribedObject, Subscription,
    Update, Workspace,
};
use dflat_testkit::fixture::{bounded, drained, next};
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};

use crate::writing::groups::{insert, kind};

fn create(w: &Workspace, id: &'static str) {
    w.perform_changes([Item::TABLE], move |tx| insert(tx, id))
        .wait()
        .unwrap();
}

fn ids(items: &[Item]) -> Vec<String> {
    items.iter().map(|item| item.id().to_owned()).collect()
}

/// A delivery to a subscription to all items.
fn watch(w: &Workspace) -> (Subscription, Receiver<Vec<String>>) {
    let (sender, received) = mpsc::channel();
    let all = w.fetch::<Item>().order_by(Item::ID.ascending());
    let callback = move |result: Result<Update<FetchedResult<Item>>>| {
        sender.send(ids(&result.unwrap())).unwrap();
    };
    (w.subscribe(all, callback).unwrap(), received)
}

/// Whether both workspaces share an engine: commits of one are delivered to subscribers of the
/// other.
fn share(a: &Workspace, b: &Workspace) -> bool {
    let count = a.fetch::<Item>().all().unwrap().len();
    let (_subscription, received) = watch(a);
    assert_eq!(next(&received).len(), count);
    let id = format!("shared {count}");
    let created = b.perform_changes([Item::TABLE], move |tx| insert(tx, &id));
    created.wait().unwrap();
    !drained(&received).is_empty()
}

fn in_directory(test: fn(&Path)) {
    bounded(move || {
        let directory = tempfile::tempdir().unwrap();
        test(directory.path());
    });
}

// Promise: concurrency#C14, concurrency#C15, live-queries#L25
#[test]
fn subscriptions_of_one_workspace_get_the_commits_of_the_other() {
    in_directory(|directory| {
        let path = directory.join("a.db");
        let (a, b) = (
            Workspace::open(&path).unwrap(),
            Workspace::open(&path).unwrap(),
        );
        create(&a, "1");
        let (_all, received) = watch(&a);
        assert_eq!(next(&received), ["1"]);
        let first = b.get::<Item>("1").unwrap().unwrap();
        let (sender, events) = mpsc::channel();
        let _first = a
            .subscribe(&first, move |event| sender.send(event).unwrap())
            .unwrap();
        create(&b, "2");
        assert_eq!(drained(&received), [["1", "2"]]);
        let changed = first.clone();
        let change = b.perform_changes([Item::TABLE], move |tx| {
            let mut change = ItemChangeRequest::change(tx, &changed)?.unwrap();
            change.rank = 5;
            tx.submit(change)
        });
        change.wait().unwrap();
        let [SubscribedObject::Updated(updated)] = &drained(&events)[..] else {
            panic!("one update");
        };
        // The delivered object equals the fetched one, and has the same row id.
        assert_eq!(*updated, a.get::<Item>("1").unwrap().unwrap());
        assert_eq!(drained(&received).len(), 1);
        // A result fetched by one workspace is current for the other, so there is no first
        // delivery.
        let fetched = b.fetch::<Item>().all().unwrap();
        let (sender, results) = mpsc::channel();
        let callback =
            move |result: Result<Update<FetchedResult<Item>>>| sender.send(result).unwrap();
        let _fetched = a.subscribe(&fetched, callback).unwrap();
        a.settle().unwrap();
        assert!(drained(&results).is_empty());
    });
}

// Promise: concurrency#C14
#[test]
fn transactions_of_two_workspaces_run_in_the_order_of_calls() {
    in_directory(|directory| {
        let path = directory.join("a.db");
        let (a, b) = (
            Workspace::open(&path).unwrap(),
            Workspace::open(&path).unwrap(),
        );
        let handles: Vec<_> = (0..40)
            .map(|n| {
                let w = if n % 2 == 0 { &a } else { &b };
                w.perform_changes([Item::TABLE], move |tx| {
                    let seen = tx.fetch::<Item>().all()?.len();
                    insert(tx, &n.to_string())?;
                    Ok(seen)
                })
            })
            .collect();
        for (n, handle) in handles.into_iter().enumerate() {
            assert_eq!(handle.wait().unwrap(), n);
        }
        // A handler of one workspace that reads through the other reads in its own transaction.
        let inside = b.clone();
        let seen = a.perform_changes([Item::TABLE], move |tx| {
            insert(tx, "own")?;
            Ok(inside.get::<Item>("own")?.is_some())
        });
        assert!(seen.wait().unwrap());
    });
}

// Promise: concurrency#C14
#[test]
#[cfg(unix)]
fn paths_of_one_file_share_one_engine() {
    in_directory(|directory| {
        let path = directory.join("a.db");
        let a = Workspace::open(&path).unwrap();
        let twin = Workspace::open(
            directory
                .join("..")
                .join(directory.file_name().unwrap())
                .join("a.db"),
        );
        assert!(share(&a, &twin.unwrap()), "before there is a file");
        let (symbolic, hard) = (directory.join("symbolic"), directory.join("hard"));
        let linked_directory = directory.join("linked");
        std::os::unix::fs::symlink(&path, &symbolic).unwrap();
        std::os::unix::fs::symlink(directory, &linked_directory).unwrap();
        std::fs::hard_link(&path, &hard).unwrap();
        for other in [symbolic, hard, linked_directory.join("a.db")] {
            let other = Workspace::open(other).unwrap();
            assert!(share(&a, &other) && share(&other, &a));
        }
        let another = Workspace::open(directory.join("b.db")).unwrap();
        assert!(!share(&a, &another));
    });
}

// Promise: concurrency#C14
#[test]
fn existing_file_opened_twice_shares_one_engine() {
    in_directory(|directory| {
        let path = directory.join("a.db");
        create(&Workspace::open(&path).unwrap(), "1");
        let (a, b) = (
            Workspace::open(&path).unwrap(),
            Workspace::open(&path).unwrap(),
        );
        assert!(share(&a, &b));
    });
}

// Promise: concurrency#C18
#[test]
#[cfg(unix)]
fn recreated_file_gets_its_own_engine() {
    in_directory(|directory| {
        let path = directory.join("a.db");
        let old = Workspace::open(&path).unwrap();
        create(&old, "old");
        let kept = old.snapshot().unwrap();
        for name in ["a.db", "a.db-wal", "a.db-shm"] {
            std::fs::remove_file(directory.join(name)).unwrap();
        }
        let new = Workspace::open(&path).unwrap();
        assert!(new.fetch::<Item>().all().unwrap().is_empty());
        create(&new, "new");
        // A snapshot from before goes on with the old file.
        assert_eq!(ids(&kept.fetch::<Item>().all().unwrap()), ["old"]);
        let fetched = old
            .snapshot()
            .and_then(|snapshot| snapshot.fetch::<Item>().all());
        let error = fetched.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.to_string().contains("replaced"), "{error}");
        assert_eq!(ids(&new.fetch::<Item>().all().unwrap()), ["new"]);
    });
}

// Promise: concurrency#C17
#[test]
fn an_option_that_differs_is_an_error_that_names_it() {
    in_directory(|directory| {
        let path = directory.join("a.db");
        let open = || Workspace::builder(&path);
        let a = open()
            .durability(Durability::Full)
            .threads_max(3)
            .open()
            .unwrap();
        let refused = |builder: dflat::WorkspaceBuilder, name: &str| {
            let error = builder.open().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            let named = format!("with another value of the option `{name}`");
            assert!(error.to_string().ends_with(&named), "{error}");
        };
        refused(open().durability(Durability::Normal), "durability");
        refused(open().concurrency(Concurrency::SingleWriter), "concurrency");
        refused(open().busy_timeout(Duration::from_secs(1)), "busy_timeout");
        refused(open().threads_max(4), "threads_max");
        refused(open().readers_max(5), "readers_max");
        refused(open().page_cache_bytes(1 << 20), "page_cache_bytes");
        refused(open().io_stats(true), "io_stats");
        // An equal value of the option, or none, is no conflict.
        let b = open()
            .threads_max(3)
            .durability(Durability::Full)
            .open()
            .unwrap();
        let c = open().open().unwrap();
        assert!(share(&a, &b) && share(&b, &c));
        for w in [a, b, c] {
            w.shutdown().unwrap();
        }
        // The engine has ended with the last workspace.
        let d = open().io_stats(true).open().unwrap();
        assert!(d.io_report().is_some());
    });
}

// Promise: concurrency#C16
#[test]
fn shutdown_of_one_workspace_leaves_the_other_working() {
    in_directory(|directory| {
        let path = directory.join("a.db");
        let (a, b) = (
            Workspace::open(&path).unwrap(),
            Workspace::open(&path).unwrap(),
        );
        let ((_of_a, received_a), (_of_b, received_b)) = (watch(&a), watch(&b));
        assert!(next(&received_a).is_empty() && next(&received_b).is_empty());
        let (snapshot_a, snapshot_b) = (a.snapshot().unwrap(), b.snapshot().unwrap());
        let mut stream = a.stream(a.fetch::<Item>()).unwrap();
        let queued: Vec<_> = ["1", "2", "3"]
            .map(|id| a.perform_changes([Item::TABLE], move |tx| insert(tx, id)))
            .into();
        a.shutdown().unwrap();
        a.shutdown().unwrap();
        for handle in queued {
            assert_eq!(kind(handle), None, "it was queued before");
        }
        let shut_down = |error: dflat::Error| assert_eq!(error.kind(), ErrorKind::ShutDown);
        shut_down(a.get::<Item>("1").unwrap_err());
        shut_down(a.snapshot().unwrap_err());
        shut_down(a.settle().unwrap_err());
        shut_down(a.subscribe(a.fetch::<Item>(), |_| {}).unwrap_err());
        shut_down(
            a.perform_changes([Item::TABLE], |_| Ok(()))
                .wait()
                .unwrap_err(),
        );
        shut_down(
            a.perform_changes_blocking([Item::TABLE], |_| Ok(()))
                .unwrap_err(),
        );
        shut_down(snapshot_a.fetch::<Item>().all().unwrap_err());
        assert!(snapshot_b.fetch::<Item>().all().unwrap().is_empty());
        let _ = drained(&received_a);
        let _ = drained(&received_b);
        create(&b, "4");
        assert_eq!(next(&received_b), ["1", "2", "3", "4"]);
        assert!(drained(&received_a).is_empty());
        // Earlier deliveries can still be read; then the stream ends.
        let end = async {
            use futures::StreamExt;
            while stream.next().await.is_some() {}
        };
        futures::executor::block_on(end);
        let c = Workspace::open(&path).unwrap();
        assert!(share(&b, &c));
        drop(b);
        create(&c, "last");
        c.shutdown().unwrap();
        assert!(
            !directory.join("a.db-wal").exists(),
            "the last has closed the file"
        );
    });
}

// Promise: concurrency#C16
#[test]
fn workspace_may_be_dropped_inside_a_handler_of_another() {
    in_directory(|directory| {
        let path = directory.join("a.db");
        let (a, b) = (
            Workspace::open(&path).unwrap(),
            Workspace::open(&path).unwrap(),
        );
        let dropped = a.perform_changes([Item::TABLE], move |tx| {
            drop(b);
            insert(tx, "a")
        });
        dropped.wait().unwrap();
        create(&a, "b");
    });
}

// Promise: concurrency#C16
#[test]
fn threads_that_open_and_close_one_file_fail_no_call() {
    in_directory(|directory| {
        let path = directory.join("a.db");
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    for n in 0..25 {
                        let w = Workspace::open(path).unwrap();
                        let id = format!("{thread}-{n}");
                        let data = ItemData {
                            id,
                            ..ItemData::default()
                        };
                        let created = w.perform_changes_retrying([Item::TABLE], move |tx| {
                            tx.submit(ItemChangeRequest::creation(data.clone()))
                                .map(drop)
                        });
                        if n % 2 == 0 {
                            created.wait().unwrap();
                            w.shutdown().unwrap();
                        } else {
                            drop(w);
                            created.wait().unwrap();
                        }
                    }
                });
            }
        });
        let w = Workspace::open(&path).unwrap();
        assert_eq!(w.fetch::<Item>().all().unwrap().len(), 100);
    });
}
