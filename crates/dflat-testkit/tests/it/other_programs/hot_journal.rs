//! A journal that a crashed program leaves beside a file that this process reads.

use std::fs;
use std::path::Path;

use dflat::{ErrorKind, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Other, OtherChangeRequest, OtherData};
use rusqlite::Connection;

/// Stores objects, and gives the file a rollback journal instead of a log.
fn store(path: &Path) {
    let workspace = Workspace::open(path).unwrap();
    let written = workspace.perform_changes([Other::TABLE], |tx| {
        for id in 0..50 {
            let note = Some("x".repeat(400));
            tx.submit(OtherChangeRequest::creation(OtherData { id, note }))?;
        }
        Ok(())
    });
    written.wait().unwrap();
    workspace.shutdown().unwrap();
    let connection = Connection::open(path).unwrap();
    let mode: String = connection
        .query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "delete");
}

/// Leaves the file as a program does that crashes in the middle of a transaction: with some of its
/// pages written, and with their contents from before in the journal.
fn crash(path: &Path) {
    let journal = path.with_extension("db-journal");
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch("PRAGMA cache_size = 1; BEGIN IMMEDIATE; DELETE FROM other")
        .unwrap();
    let files = [path, &journal].map(|file| fs::read(file).unwrap());
    connection.execute_batch("ROLLBACK").unwrap();
    drop(connection);
    fs::write(&journal, &files[1]).unwrap();
    fs::write(path, &files[0]).unwrap();
}

#[test]
fn reader_that_was_open_before_a_crash_undoes_the_unfinished_transaction() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        store(&path);
        let workspace = Workspace::open(&path).unwrap();
        assert_eq!(workspace.fetch::<Other>().count().unwrap(), 50);
        crash(&path);
        for _ in 0..3 {
            assert_eq!(workspace.fetch::<Other>().count().unwrap(), 50);
        }
        let snapshot = workspace.snapshot().unwrap();
        assert_eq!(snapshot.fetch::<Other>().count().unwrap(), 50);
    });
}

// Promise: concurrency#C87
#[test]
fn reader_without_write_access_tells_that_a_commit_must_be_undone() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        store(&path);
        crash(&path);
        let reader = Workspace::builder(&path).read_only(true).open().unwrap();
        let error = reader.fetch::<Other>().count().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.to_string().contains("undo that commit"), "{error}");
        drop(reader);
        let workspace = Workspace::open(&path).unwrap();
        assert_eq!(workspace.fetch::<Other>().count().unwrap(), 50);
    });
}
