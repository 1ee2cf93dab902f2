//! The durability of commits, by workspace and by transaction.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;

use dflat::{Durability, ErrorKind, TransactionContext, Workspace};
use dflat_sqlite::{FileKind, Operation};
use dflat_testkit::fixture::next;
use dflat_testkit::schema::{Other, OtherChangeRequest, OtherData};

fn open(durability: Durability) -> (tempfile::TempDir, Workspace) {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::builder(directory.path().join("a.db"))
        .durability(durability)
        .io_stats(true)
        .open()
        .unwrap();
    (directory, workspace)
}

/// Writes a new object.
fn put(tx: &TransactionContext, id: i32) -> dflat::Result<()> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let note = Some(format!("note {number}"));
    let data = OtherData { id, note };
    tx.submit(OtherChangeRequest::upsert(data)).map(drop)
}

/// The number of syncs of the log during `work`.
fn syncs(workspace: &Workspace, work: impl FnOnce()) -> u64 {
    let before = flushes(workspace);
    work();
    flushes(workspace) - before
}

fn flushes(workspace: &Workspace) -> u64 {
    let report = workspace.io_report().unwrap();
    report.count_of(FileKind::Log, Operation::Flush)
}

fn commit(workspace: &Workspace, id: i32, durability: Option<Durability>, late: bool) {
    let done = workspace.perform_changes([Other::TABLE], move |tx| {
        let ask = || durability.into_iter().for_each(|d| tx.set_durability(d));
        if !late {
            ask();
        }
        put(tx, id)?;
        if late {
            ask();
        }
        put(tx, id + 1000)
    });
    done.wait().unwrap();
}

// Promise: durability#D29, durability#D33
#[test]
fn transaction_with_full_durability_waits_for_the_device() {
    use Durability::{Full, Normal};
    for (workspace_is, asked, late, expected) in [
        (Normal, None, false, 0),
        (Normal, Some(Normal), true, 0),
        (Normal, Some(Full), false, 1),
        (Normal, Some(Full), true, 1),
        (Full, None, false, 1),
        (Full, Some(Full), true, 1),
        (Full, Some(Normal), false, 0),
        // The transaction begins with the durability of the workspace.
        (Full, Some(Normal), true, 1),
    ] {
        let (_directory, workspace) = open(workspace_is);
        // The first write of a log makes further syncs, which are not counted here.
        commit(&workspace, 0, None, false);
        commit(&workspace, 1, None, false);
        for id in 2..5 {
            let found = syncs(&workspace, || commit(&workspace, id, asked, late));
            assert_eq!(found, expected, "{workspace_is:?} {asked:?} {late}");
        }
        let count = workspace.fetch::<Other>().count().unwrap();
        assert_eq!(count, 10, "what was written twice is there once");
    }
}

// Promise: durability#D34
/// The header of a log that starts anew is synced, whatever the durability, so that what the log
/// had before is not taken for a part of it.
#[test]
fn the_first_commit_of_a_log_waits_for_its_header() {
    for (durability, expected) in [(Durability::Normal, 1), (Durability::Full, 2)] {
        let (_directory, workspace) = open(durability);
        commit(&workspace, 0, None, false);
        workspace.purge().unwrap();
        let found = syncs(&workspace, || commit(&workspace, 1, None, false));
        assert_eq!(found, expected, "{durability:?}");
        let found = syncs(&workspace, || commit(&workspace, 2, None, false));
        assert_eq!(found, expected - 1, "{durability:?}");
    }
}

// Promise: live-queries#L16
/// Members of a group that are not full are committed with the full one or before it.
#[test]
fn deliveries_wait_for_the_device() {
    use Durability::{Full, Normal};
    for (durability, expected) in [(Normal, 0), (Full, 1)] {
        let (_directory, workspace) = open(durability);
        commit(&workspace, 0, None, false);
        let (sender, received) = mpsc::channel();
        let count = workspace.fetch::<Other>().live_count();
        let observation = workspace.observe(count).unwrap().without_initial();
        let asked = workspace.clone();
        let subscription = observation.call(move |_| sender.send(flushes(&asked)).unwrap());
        workspace.settle().unwrap();
        let before = flushes(&workspace);
        commit(&workspace, 1, None, false);
        assert_eq!(next(&received) - before, expected, "{durability:?}");
        subscription.unwrap().cancel();
    }
}

// Promise: durability#D30
#[test]
fn full_durability_of_one_member_applies_to_its_commit_group() {
    let (_directory, workspace) = open(Durability::Normal);
    commit(&workspace, 0, None, false);
    commit(&workspace, 1, None, false);
    for full_at in 0..4 {
        let found = syncs(&workspace, || {
            // The transactions are queued, so that they share commits.
            let (go, wait) = mpsc::channel::<()>();
            let first = workspace.perform_changes([Other::TABLE], move |_| {
                let _ = wait.recv();
                Ok(())
            });
            let rest: Vec<_> = (0..4)
                .map(|n| {
                    workspace.perform_changes([Other::TABLE], move |tx| {
                        put(tx, 10 + n)?;
                        if n == full_at {
                            tx.set_durability(Durability::Full);
                        }
                        put(tx, 20 + n)
                    })
                })
                .collect();
            drop(go);
            first.wait().unwrap();
            rest.into_iter().for_each(|handle| handle.wait().unwrap());
        });
        assert_eq!(found, 1, "{full_at}");
        assert_eq!(workspace.fetch::<Other>().count().unwrap(), 12);
    }
}

/// The changes of a transaction are written again when it requests more durability, and are undone
/// when it fails.
#[test]
fn aborted_transaction_that_requested_full_durability_leaves_nothing() {
    let (_directory, workspace) = open(Durability::Normal);
    commit(&workspace, 0, None, false);
    let failed = workspace.perform_changes([Other::TABLE], |tx| {
        put(tx, 5)?;
        tx.set_durability(Durability::Full);
        assert!(tx.get::<Other>(5)?.is_some(), "its own writes are seen");
        put(tx, 6)?;
        assert!(tx.get::<Other>(5)?.is_some() && tx.get::<Other>(6)?.is_some());
        tx.abort();
        Ok(())
    });
    assert_eq!(failed.wait().unwrap_err().kind(), ErrorKind::Aborted);
    assert_eq!(workspace.fetch::<Other>().count().unwrap(), 2);
}
