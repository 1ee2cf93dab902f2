//! Commits of a history among other transactions.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{
    Item, Keyed, KeyedChangeRequest, KeyedData, Other, OtherChangeRequest, OtherData,
};

use super::super::files::{file, open, put};
use super::commits::{built, last};

/// A transaction that creates a table cannot be undone alone, so the finished transactions of its
/// commit group are written again if it takes long. A commit has more to write than its objects.
// Promise: storage-format#S52
#[test]
fn commit_is_kept_if_the_transaction_after_it_creates_a_table_and_takes_long() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        workspace.history().commit("first").unwrap();
        put(&workspace, "b", 1);
        let (has_begun, begun) = mpsc::channel();
        let pause = |milliseconds| thread::sleep(Duration::from_millis(milliseconds));
        let other = OtherChangeRequest::creation(OtherData::default());
        let keyed = KeyedChangeRequest::creation(KeyedData::default());
        let holds = workspace.clone();
        let handles = [
            thread::spawn(move || {
                let held = holds.perform_changes_blocking([Keyed::TABLE], |tx| {
                    tx.submit(keyed)?;
                    has_begun.send(()).unwrap();
                    pause(200);
                    Ok(())
                });
                held.unwrap();
            }),
            thread::spawn({
                let workspace = workspace.clone();
                move || {
                    begun.recv().unwrap();
                    let creating = workspace.clone();
                    // Waits for the write access behind the commit.
                    let later = thread::spawn(move || {
                        pause(100);
                        let created = creating.perform_changes_blocking([Other::TABLE], |tx| {
                            tx.submit(other)?;
                            pause(200);
                            Ok(())
                        });
                        created.unwrap();
                    });
                    let id = workspace.history().commit("second").unwrap();
                    later.join().unwrap();
                    assert_eq!(workspace.history().head().unwrap(), Some(id));
                }
            }),
        ];
        handles
            .into_iter()
            .for_each(|handle| handle.join().unwrap());
        assert_eq!(last(&workspace).tables[0].root, built::<Item>(&path));
        workspace.shutdown().unwrap();
        let workspace = open(&path);
        assert_eq!(last(&workspace).label.as_deref(), Some("second"));
    });
}
