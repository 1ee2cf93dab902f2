//! Tests against defects of Dflat for Swift that concern files.

// Promise: concurrency#C76
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use dflat::{ErrorKind, FetchedResult, Result, Update, Workspace};
use dflat_testkit::fixture::{bounded, next};
use dflat_testkit::schema::Item;

use crate::writing::groups::{Rig, insert, kind, on_each_backend};
use crate::writing::scripted::Call;

on_each_backend! {
    full_disk_undoes_a_transaction_that_ignores_the_error
    failed_commit_leaves_the_workspace_usable
}

// Promise: concurrency#C48
fn full_disk_undoes_a_transaction_that_ignores_the_error(rig: &Rig) {
    rig.insert("a").wait().unwrap();
    rig.script.fail(Call::Write, 1);
    let full = rig.workspace.perform_changes([Item::TABLE], |tx| {
        insert(tx, "b")?;
        let error = insert(tx, "c").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        // Ignoring the error does not keep a part of the transaction.
        Ok(())
    });
    assert_eq!(kind(full), Some(ErrorKind::StorageFull));
    assert_eq!(rig.ids(), ["a"]);
    rig.insert("d").wait().unwrap();
}

fn failed_commit_leaves_the_workspace_usable(rig: &Rig) {
    rig.script.fail(Call::Commit, 0);
    assert_eq!(kind(rig.insert("a")), Some(ErrorKind::StorageFull));
    assert!(rig.ids().is_empty());
    rig.insert("b").wait().unwrap();
}

/// A file with two items, one of which has this payload.
fn damaged(payload: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let workspace = Workspace::open(&path).unwrap();
    for id in ["a", "b"] {
        workspace
            .perform_changes([Item::TABLE], move |tx| insert(tx, id))
            .wait()
            .unwrap();
    }
    drop(workspace);
    let connection = rusqlite::Connection::open(&path).unwrap();
    let table = Item::TABLE.name.to_string();
    let sql = format!("UPDATE {table} SET p = {payload} WHERE rowid = 1");
    connection.execute_batch(&sql).unwrap();
    (directory, path)
}

fn is_corrupt(path: &Path) {
    let workspace = Workspace::open(path).unwrap();
    let error = workspace.fetch::<Item>().all().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(
        error.to_string().contains("Item") && error.to_string().contains('1'),
        "{error}"
    );
    let inside = workspace.perform_changes([Item::TABLE], |tx| tx.get::<Item>("a").map(drop));
    assert_eq!(kind(inside), Some(ErrorKind::Corrupt));
    // The other objects are still found.
    assert!(workspace.get::<Item>("b").unwrap().is_some());
}

#[test]
fn damaged_payload_is_corrupt_in_every_read() {
    let (_directory, path) = damaged("x'ffffffff00'");
    is_corrupt(&path);
}

#[test]
fn missing_payload_is_corrupt_in_every_read() {
    let (_directory, path) = damaged("NULL");
    is_corrupt(&path);
}

/// Empties every index table, so that each index is incomplete.
fn empty_indexes(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let sql =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE '%\\_\\_f%' ESCAPE '\\'";
    let mut statement = connection.prepare(sql).unwrap();
    let names = statement.query_map([], |row| row.get(0)).unwrap();
    let names: Vec<String> = names.map(|name| name.unwrap()).collect();
    assert!(!names.is_empty());
    for name in names {
        connection
            .execute(&format!("DELETE FROM \"{name}\""), [])
            .unwrap();
    }
}

#[test]
fn reader_notices_that_an_index_was_built() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let workspace = Workspace::open(&path).unwrap();
        for id in ["a", "b"] {
            workspace
                .perform_changes([Item::TABLE], move |tx| insert(tx, id))
                .wait()
                .unwrap();
        }
        let commits = || workspace.stats().groups;
        let find = || {
            workspace
                .fetch::<Item>()
                .filter(Item::RANK.eq(0))
                .all()
                .unwrap()
                .len()
        };
        empty_indexes(&path);
        let before = commits();
        for _ in 0..5 {
            assert_eq!(find(), 2);
        }
        assert_eq!(commits(), before, "a fetch queues no transaction");
        // Readers that saw the incomplete index see the ready one.
        workspace.build_indexes([Item::TABLE]).unwrap();
        workspace.indexes_ready().wait().unwrap();
        assert_eq!(find(), 2);
        let plan = workspace.fetch::<Item>().filter(Item::RANK.eq(0)).explain();
        let plan = plan.unwrap().to_string();
        assert_eq!(plan, "range of the index on rank");
    });
}

#[test]
fn open_failures_and_the_codes_of_sqlite_are_seen() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        std::fs::write(
            &path,
            "this is not a database, and long enough to be looked at",
        )
        .unwrap();
        assert_eq!(
            Workspace::open(&path).unwrap_err().kind(),
            ErrorKind::NotADatabase
        );
        let path = directory.path().join("b.db");
        let timeout = Duration::from_millis(1);
        let workspace = Workspace::builder(&path)
            .busy_timeout(timeout)
            .open()
            .unwrap();
        workspace
            .perform_changes([Item::TABLE], |tx| insert(tx, "a"))
            .wait()
            .unwrap();
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        let locked = workspace.perform_changes([Item::TABLE], |tx| insert(tx, "b"));
        let error = locked.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy);
        let message = error.to_string();
        assert!(message.contains("locked"), "{message}");
        assert!(message.contains("SQLite code 5"), "{message}");
    });
}

// Promise: live-queries#L12
#[test]
fn live_query_that_cannot_be_fetched_delivers_the_error() {
    bounded(|| {
        let (_directory, path) = damaged("NULL");
        let workspace = Workspace::open(&path).unwrap();
        let (sender, received) = mpsc::channel();
        let _all = workspace
            .subscribe(
                workspace.fetch::<Item>(),
                move |result: Result<Update<FetchedResult<Item>>>| {
                    sender.send(result.map(|items| items.len())).unwrap();
                },
            )
            .unwrap();
        assert_eq!(next(&received).unwrap_err().kind(), ErrorKind::Corrupt);
    });
}

/// Damages the payload of the first item during a step.
fn while_damaged(path: &Path, step: impl FnOnce()) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let table = Item::TABLE.name.to_string();
    let sql = format!("SELECT p FROM {table} WHERE rowid = 1");
    let payload: Vec<u8> = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
    let sql = format!("UPDATE {table} SET p = ?1 WHERE rowid = 1");
    connection.execute(&sql, [[0_u8].as_slice()]).unwrap();
    step();
    connection.execute(&sql, [payload]).unwrap();
}

// Promise: live-queries#L12
#[test]
fn result_after_a_failed_renewal_has_the_difference_from_the_last_delivery() {
    bounded(|| {
        let (_directory, path) = damaged("p");
        let workspace = Workspace::open(&path).unwrap();
        let change = |id| workspace.perform_changes([Item::TABLE], move |tx| insert(tx, id));
        change("c").wait().unwrap();
        let known = workspace.fetch::<Item>().all().unwrap();
        change("d").wait().unwrap();
        let (sender, received) = mpsc::channel();
        let mut subscription = None;
        while_damaged(&path, || {
            let callback = move |update| sender.send(update).unwrap();
            subscription = Some(workspace.subscribe(&known, callback).unwrap());
            workspace.settle().unwrap();
        });
        let failed: Result<Update<FetchedResult<Item>>> = next(&received);
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::Corrupt);
        change("e").wait().unwrap();
        // The commit that mends the file may have a delivery of its own.
        let (mut delivered, mut inserted) = (3, Vec::new());
        while delivered < 5 {
            let update = next(&received).unwrap();
            assert_eq!(update.previous().unwrap().len(), delivered);
            inserted.extend(update.difference().inserted().iter());
            delivered = update.len();
        }
        assert_eq!((delivered, inserted), (5, vec![3, 4]));
        drop(subscription);
    });
}

// Promise: live-queries#L13
#[test]
fn object_whose_first_delivery_fails_ends_its_subscription_with_the_error() {
    bounded(|| {
        let (_directory, path) = damaged("p");
        let workspace = Workspace::open(&path).unwrap();
        let change = |id| workspace.perform_changes([Item::TABLE], move |tx| insert(tx, id));
        change("c").wait().unwrap();
        let known = workspace.fetch::<Item>().first().unwrap().unwrap();
        // It is unknown whether the object has changed since.
        change("d").wait().unwrap();
        while_damaged(&path, || {
            let subscription = workspace.subscribe(&known, |_| {}).unwrap();
            workspace.settle().unwrap();
            assert_eq!(subscription.error().unwrap().kind(), ErrorKind::Corrupt);
        });
    });
}
