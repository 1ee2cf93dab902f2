//! Distinguishing this backend's commits from foreign commits.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dflat_engine::storage::{Backend, CloseOptions, RowWrite, StateId, View};
use dflat_model::{Table, ValueRef};
use dflat_sqlite::faults::{Action, Failure, Fault, FaultPlan};
use dflat_sqlite::{FileKind, Operation, Reclaim, SqliteBackend, SqliteOptions};

use crate::raw::Raw;
use crate::sample::{INT, begin, snapshot, table_of};

fn open(path: &Path) -> Arc<SqliteBackend> {
    let options = SqliteOptions {
        reclaim: Reclaim::Never,
        ..SqliteOptions::default()
    };
    SqliteBackend::open(path, options).unwrap()
}

fn plain() -> Table {
    table_of("plain", &[INT], &[])
}

/// Commits a row. Returns whether no foreign commit came before the transaction.
fn commit(backend: &Arc<SqliteBackend>, key: i64) -> bool {
    let mut tx = begin(backend);
    let follows = tx.base().is_own;
    tx.create(&plain()).unwrap();
    let row = RowWrite {
        key: Some(&[ValueRef::Int(key)]),
        payload: &[7; 3000],
        entries: &[],
    };
    tx.insert(&plain(), &row).unwrap();
    tx.commit().unwrap();
    follows
}

#[test]
fn upkeep_and_checkpoints_are_not_foreign_commits() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = open(&path);
    assert!(!commit(&backend, 0), "of what was before nothing is known");
    let mut key = 0;
    let mut check = |what: &str, work: &dyn Fn()| {
        key += 1;
        let mut before = snapshot(&backend, View::Pinned);
        let state = before.pin().unwrap();
        drop(before);
        work();
        let tx = begin(&backend);
        assert!(!tx.is_overtaken(state), "{what}");
        drop(tx);
        assert!(commit(&backend, key), "{what}");
    };
    check("nothing", &|| {});
    check("a checkpoint of another connection", &|| {
        Raw::open(&path).execute("PRAGMA wal_checkpoint(TRUNCATE)");
        assert_eq!(backend.log_bytes(), 0);
    });
    check("space given back", &|| {
        let mut tx = begin(&backend);
        tx.delete(&plain(), dflat_model::RowId(1)).unwrap();
        tx.commit().unwrap();
        backend.reclaim(10).unwrap();
    });
    check("a purge", &|| backend.purge().unwrap());
    check("compacting", &|| backend.compact().unwrap());
    check("a transaction that failed", &|| {
        let mut tx = begin(&backend);
        let missing = table_of("missing", &[INT], &[]);
        let row = RowWrite {
            key: Some(&[ValueRef::Int(1)]),
            payload: &[],
            entries: &[],
        };
        assert!(tx.insert(&missing, &row).is_err());
        assert!(tx.commit().is_err());
    });
    check("what another rolled back", &|| {
        let mut other = Raw::open(&path);
        for sql in ["BEGIN", "DELETE FROM plain", "ROLLBACK"] {
            other.execute(sql);
        }
    });
    backend.close(CloseOptions::default()).unwrap();
}

#[test]
fn foreign_commit_is_noticed_beside_upkeep_and_checkpoints() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = open(&path);
    commit(&backend, 0);
    let write = "UPDATE plain SET p = x'00'";
    let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
    let upkeep: [&dyn Fn(); 4] = [
        &|| {},
        &|| assert!(backend.reclaim(1).is_ok()),
        &|| backend.purge().unwrap(),
        &|| backend.compact().unwrap(),
    ];
    for (position, upkeep) in upkeep.into_iter().enumerate() {
        for after in [false, true] {
            assert!(commit(&backend, 1 + 2 * position as i64 + i64::from(after)));
            let mut other = Raw::open(&path);
            if after {
                upkeep();
                other.execute(write);
            } else {
                other.execute(write);
                upkeep();
            }
            other.execute(checkpoint);
            let tx = begin(&backend);
            assert!(!tx.base().is_own, "{position} {after}");
        }
    }
}

/// While a file can't be opened, written, locked or mapped for a time, transactions fail. The
/// failures must not count as foreign commits.
#[test]
fn failed_open_is_not_a_foreign_commit() {
    let kinds = [
        FileKind::Main,
        FileKind::Log,
        FileKind::LogIndex,
        FileKind::Journal,
    ];
    let operations = [
        Operation::Open,
        Operation::Write,
        Operation::Lock,
        Operation::Map,
    ];
    let mut failed = 0;
    for (kind, operation) in kinds.into_iter().flat_map(|k| operations.map(|o| (k, o))) {
        for at in 1..6 {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("a.db");
            let plan = FaultPlan::attach(&path).unwrap();
            plan.skip_syncs();
            let options = SqliteOptions {
                reclaim: Reclaim::Never,
                io_stats: true,
                ..SqliteOptions::default()
            };
            let backend = SqliteBackend::open(&path, options).unwrap();
            plan.add(Fault {
                kind: Some(kind),
                operation,
                at,
                lasting: true,
                action: Action::Fail(Failure::Io),
            });
            // Each transaction reads first.
            let read = || Arc::clone(&backend).snapshot(View::Pinned)?.pin();
            for _ in 0..3 {
                let begun = read().and_then(|_| Arc::clone(&backend).begin(backend.durability()));
                failed += i32::from(begun.map(drop).is_err());
            }
            plan.clear();
            let state = read().unwrap();
            let tx = begin(&backend);
            assert!(!tx.is_overtaken(state), "{kind:?} {operation:?} {at}");
            drop(tx);
            commit(&backend, 1);
            assert!(commit(&backend, 2), "{kind:?} {operation:?} {at}");
        }
    }
    assert!(failed > 9, "{failed}");
}

/// When the last connection closes, the log is deleted with its count of commits; the next log may
/// reach the same count.
#[test]
fn foreign_commit_is_noticed_after_the_log_was_deleted() {
    let counts = [(0, 1), (1, 1), (2, 1), (2, 2), (2, 5)];
    // Whether the log of the other connection is deleted, too.
    let cases = counts
        .into_iter()
        .flat_map(|counts| [(counts, false), (counts, true)]);
    for ((own, others), is_empty) in cases {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        commit(&open(&path), 0);
        let options = SqliteOptions {
            reclaim: Reclaim::Never,
            busy_timeout: Duration::from_millis(1),
            ..SqliteOptions::default()
        };
        let backend = SqliteBackend::open(&path, options).unwrap();
        drop(begin(&backend));
        for key in 0..own {
            commit(&backend, 1 + key);
        }
        // A reader would keep its connection, and so the log.
        let tx = begin(&backend);
        let state = tx.base().id;
        drop(tx);
        // Upkeep fails because another program writes, so the connection is closed.
        let mut raw = Raw::open(&path);
        raw.execute("BEGIN IMMEDIATE");
        assert!(backend.reclaim(1).is_err());
        raw.execute("ROLLBACK");
        drop(raw);
        assert!(!beside(&path).exists(), "the log is gone");
        let mut raw = Raw::open(&path);
        for key in 0..others {
            let row = format!("({}, x'00')", 100 + key);
            raw.execute(&format!("INSERT INTO plain (__pk0, p) VALUES {row}"));
        }
        if is_empty {
            drop(raw);
            assert!(!beside(&path).exists(), "the log is gone again");
        }
        let tx = begin(&backend);
        assert!(!tx.base().is_own, "{own} and {others}, {is_empty}");
        assert!(tx.is_overtaken(state), "{own} and {others}, {is_empty}");
    }
}

fn beside(path: &Path) -> std::path::PathBuf {
    path.with_extension("db-wal")
}

#[test]
fn each_foreign_commit_overtakes_a_backend_that_never_writes_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = open(&path);
    let mut seen = StateId::default();
    let mut look = || {
        let mut snapshot = snapshot(&backend, View::Pinned);
        let before = std::mem::replace(&mut seen, snapshot.pin().unwrap());
        snapshot.is_overtaken(before)
    };
    assert!(!look(), "there is no file");
    let mut other = Raw::open(&path);
    other.execute("PRAGMA journal_mode = WAL");
    other.execute("CREATE TABLE plain (a)");
    assert_eq!([look(), look(), look()], [true, false, false]);
    for _ in 0..3 {
        other.execute("INSERT INTO plain VALUES (1)");
        assert_eq!([look(), look()], [true, false]);
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)");
        assert!(!look(), "a checkpoint is no commit");
    }
    backend.close(CloseOptions::default()).unwrap();
}
