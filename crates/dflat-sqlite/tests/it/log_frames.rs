//! Frames of the log that a connection has not written yet when its transaction is rolled back.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use dflat_engine::storage::{RowWrite, WriteTransaction};
use dflat_model::{RowId, ValueRef};
use dflat_sqlite::faults::{Action, Failure, Fault, FaultPlan};
use dflat_sqlite::{Durability, FileKind, Operation, Reclaim, SqliteBackend, SqliteOptions};

use crate::counted::plain;
use crate::raw::Raw;
use crate::sample::begin;

/// The number of rows of the table, with two in a page.
const ROWS: i64 = 300;

fn insert(backend: &Arc<SqliteBackend>) {
    let mut tx = begin(backend);
    tx.create(&plain()).unwrap();
    for key in 0..ROWS {
        let row = RowWrite {
            key: Some(&[ValueRef::Int(key)]),
            payload: &[0; 1500],
            entries: &[],
        };
        tx.insert(&plain(), &row).unwrap();
    }
    tx.commit().unwrap();
}

/// Changes the first rows. The caller commits the change or not.
fn updated(backend: &Arc<SqliteBackend>, count: i64, fill: u8) -> Box<dyn WriteTransaction> {
    let mut tx = begin(backend);
    let row = RowWrite {
        key: None,
        payload: &[fill; 1500],
        entries: &[],
    };
    for row_id in 1..=count {
        tx.update(&plain(), RowId(row_id), &row).unwrap();
    }
    tx
}

/// The faults that SQLite finds in a copy of the file and its log, whose index it makes anew; then
/// the first bytes of each row of the copy.
fn copied(path: &Path) -> (Vec<String>, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy.db");
    fs::copy(path, &copy).unwrap();
    let log = |path: &Path| path.with_extension("db-wal");
    fs::copy(log(path), log(&copy)).unwrap();
    let mut raw = Raw::open(&copy);
    let faults = raw.rows(&["integrity_check"], "FROM pragma_integrity_check");
    let rows = raw.rows(
        &["substr(CAST(p AS BLOB), 1, 1)"],
        "FROM plain ORDER BY rowid",
    );
    (faults, rows)
}

/// The transaction that is rolled back is larger than the cache, so SQLite writes some of its
/// frames, and the connection still has a part of these when the transaction ends.
#[test]
fn frames_of_a_rolled_back_transaction_replace_no_frames_of_another_program() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let options = SqliteOptions {
        page_cache_bytes: 64 << 10,
        reclaim: Reclaim::Never,
        ..SqliteOptions::default()
    };
    let backend = SqliteBackend::open(&path, options).unwrap();
    insert(&backend);
    let mut raw = Raw::open(&path);
    for round in 1..=40 {
        // SQLite reads the first page again at the end of the transaction: now not from the log.
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)");
        drop(updated(&backend, 60 + round, 255));
        for row_id in 2..=3 * round {
            raw.execute(&format!(
                "UPDATE plain SET p = x'{round:02X}' || zeroblob(1499) WHERE rowid = {row_id}"
            ));
        }
        updated(&backend, 1, round as u8).commit().unwrap();
        let (faults, rows) = copied(&path);
        assert_eq!(faults, ["'ok'"], "round {round}");
        let changed = format!("X'{round:02X}'");
        let expected = (0..ROWS).map(|row| match row < 3 * round {
            true => changed.as_str(),
            false => "X'00'",
        });
        assert!(
            rows.iter().map(String::as_str).eq(expected),
            "round {round}: {rows:?}"
        );
    }
}

/// Another connection is open, so no connection copies the log and deletes it.
// Promise: durability#D85
#[test]
fn transaction_whose_commit_failed_is_not_found_by_the_next_process() {
    let failures = [Failure::Io, Failure::NoSpace];
    let writes = failures.map(|failure| [Action::Fail(failure), Action::Shorten(failure)]);
    let writes = writes.as_flattened().iter();
    let writes = writes.map(|action| (Operation::Write, *action));
    let syncs = failures.map(|failure| (Operation::Flush, Action::Fail(failure)));
    for (operation, action) in writes.chain(syncs) {
        // The pages of the second transaction are written in seven calls.
        for (count, writes) in [(2, 1), (200, 7)] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("a.db");
            let plan = FaultPlan::attach(&path).unwrap();
            let options = SqliteOptions {
                durability: Durability::Full,
                reclaim: Reclaim::Never,
                io_stats: true,
                ..SqliteOptions::default()
            };
            let backend = SqliteBackend::open(&path, options).unwrap();
            insert(&backend);
            updated(&backend, 1, 1).commit().unwrap();
            let mut raw = Raw::open(&path);
            assert_eq!(raw.rows(&["count(*)"], "FROM plain"), [ROWS.to_string()]);
            let is_sync = operation == Operation::Flush;
            plan.add(Fault {
                kind: Some(FileKind::Log),
                operation,
                at: if is_sync { 1 } else { writes },
                lasting: false,
                action,
            });
            let what = format!("{operation:?} {action:?} {count}");
            updated(&backend, count, 2).commit().expect_err(&what);
            assert!(plan.clear() > 0, "{what}");
            let (faults, rows) = copied(&path);
            assert_eq!(faults, ["'ok'"], "{what}");
            assert_eq!(rows[..2], ["X'01'", "X'00'"], "{what}");
        }
    }
}
