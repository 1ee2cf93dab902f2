use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use dflat_engine::storage::{
    Backend, CloseOptions, Key, KeyScan, Row, RowWrite, ScanPlan, Snapshot, Source, View,
};
use dflat_engine::{ErrorKind, Result};
use dflat_model::{Direction, RowId, Value, ValueRef};

use super::*;
use crate::backend::SqliteBackend;
use crate::ffi::{Access, Connection};
use crate::io::{FileKind, Operation};
use crate::layout::sample::table;
use crate::options::SqliteOptions;
use crate::upkeep::checkpoint::{CheckpointLimits, checkpoint};
use crate::upkeep::queue::Step;

fn open(path: &Path) -> Arc<SqliteBackend> {
    let options = SqliteOptions {
        io_stats: true,
        readers_max: 2,
        log_bytes_max: 256 << 10,
        ..SqliteOptions::default()
    };
    SqliteBackend::open(path, options).unwrap()
}

fn commit(backend: &Arc<SqliteBackend>, key: i64) {
    let mut tx = Arc::clone(backend).begin(backend.durability()).unwrap();
    tx.create(&table()).unwrap();
    let row = RowWrite {
        key: Some(&[ValueRef::Int(key)]),
        payload: &[7; 3_000],
        entries: &[],
    };
    tx.insert(&table(), &row).unwrap();
    tx.commit().unwrap();
}

fn count_in(snapshot: &mut dyn Snapshot) -> usize {
    let (table, mut found) = (table(), 0);
    let plan = ScanPlan {
        table: &table,
        source: Source::Rows,
        payload: false,
    };
    let mut visit = |_: Row<'_>| {
        found += 1;
        ControlFlow::Continue(())
    };
    snapshot.scan(&plan, &mut visit).unwrap();
    found
}

fn snapshot(backend: &Arc<SqliteBackend>, view: View) -> Result<Box<dyn Snapshot>> {
    Arc::clone(backend).snapshot(view)
}

/// How many rows the latest state has.
fn count(backend: &Arc<SqliteBackend>) -> usize {
    count_in(&mut *snapshot(backend, View::Latest).unwrap())
}

/// A connection beside the backend, as another process would have it.
fn other(path: &Path) -> Connection {
    Connection::open(path, Access::ReadWrite, None, None).unwrap()
}

const INSERT: &str = "INSERT INTO page (__pk0, p) SELECT MAX(rowid) + 1000, x'00' FROM page";

#[test]
fn read_transaction_is_kept_until_the_next_commit() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = open(&path);
    let mut other = {
        commit(&backend, 1);
        other(&path)
    };
    let locks = || {
        let report = backend.io_report().unwrap();
        report.count_of(FileKind::LogIndex, Operation::Lock)
    };
    for expected in 1..=5 {
        // While a checkpoint waits for the device, no read transaction is kept.
        backend.upkeep().settle(&[Step::Checkpoint]);
        // Upkeep may end the kept read transactions once or twice meanwhile.
        assert_eq!(count(&backend), expected);
        let before = locks();
        for _ in 0..1000 {
            assert_eq!(count(&backend), expected);
        }
        let taken = locks() - before;
        assert!(taken < 200, "{taken} locks for 1000 reads of one state");
        match expected {
            1 | 2 => commit(&backend, 1 + expected as i64),
            _ => other.execute(INSERT).unwrap(),
        }
    }
    assert_eq!(
        count(&backend),
        6,
        "a commit past the backend is seen at once"
    );
}

#[test]
fn pinned_snapshot_is_not_shared_with_later_readers() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = open(&path);
    commit(&backend, 1);
    assert_eq!(count(&backend), 1);
    let mut first = snapshot(&backend, View::Pinned).unwrap();
    first.pin().unwrap();
    commit(&backend, 2);
    // Each nested snapshot sees the state that was current when it was taken.
    let mut second = snapshot(&backend, View::Pinned).unwrap();
    second.pin().unwrap();
    commit(&backend, 3);
    assert_eq!([count_in(&mut *first), count_in(&mut *second)], [1, 2]);
    drop((first, second));
    assert_eq!(count(&backend), 3);
}

/// The original kept a statement for each size of an `in`, for ever.
#[test]
fn statement_cache_is_bounded() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open(&directory.path().join("a.db"));
    (0..3).for_each(|key| commit(&backend, key));
    let table = table();
    let scan = |source: Source<'_>| {
        let plan = ScanPlan {
            table: &table,
            source,
            payload: true,
        };
        let mut snapshot = snapshot(&backend, View::Pinned).unwrap();
        let visit = &mut |_: Row<'_>| ControlFlow::Continue(());
        snapshot.scan(&plan, visit).unwrap();
    };
    let before_and_after = [300, 600].map(|most| {
        for size in 0..most {
            let row_ids: Vec<RowId> = (0..size).map(RowId).collect();
            scan(Source::RowIds(&row_ids));
            for prefix in [&[Value::Int(size)][..], &[]] {
                scan(Source::Key(KeyScan {
                    key: Key::Primary,
                    prefix,
                    lower: Bound::Included(&Value::Int(size)),
                    upper: Bound::Unbounded,
                    direction: Direction::Ascending,
                    after: None,
                }));
            }
        }
        backend.connections().pool().readers().statements_max()
    });
    // The number varies: a kept transaction may have to be ended, but only once.
    let bounded = |count: &usize| (3..20).contains(count);
    assert!(before_and_after.iter().all(bounded), "{before_and_after:?}");
}

/// The original's pool of readers never shrank.
#[test]
fn reader_pool_shrinks_to_the_idle_maximum() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = open(&path);
    commit(&backend, 1);
    let mut held = Vec::new();
    for _ in 0..20 {
        let mut snapshot = snapshot(&backend, View::Pinned).unwrap();
        snapshot.pin().unwrap();
        held.push(snapshot);
    }
    assert_eq!(backend.connections().pool().readers().counts().out, 20);
    assert_eq!(count(&backend), 1);
    drop(held);
    let ReaderCounts { out, idle, .. } = backend.connections().pool().readers().counts();
    assert_eq!(out, 0);
    assert!(idle <= 2, "{idle} connections stay open");
}

#[test]
fn abandoned_read_leaves_no_open_transaction() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open(&directory.path().join("a.db"));
    (0..10).for_each(|key| commit(&backend, key));
    for view in [View::Latest, View::Pinned] {
        // One reader never reads, one breaks, one panics and one fails.
        drop(snapshot(&backend, view).unwrap());
        let table = table();
        let plan = |source| ScanPlan {
            table: &table,
            source,
            payload: true,
        };
        let mut broken = snapshot(&backend, view).unwrap();
        broken
            .scan(&plan(Source::Rows), &mut |_| ControlFlow::Break(()))
            .unwrap();
        drop(broken);
        let panicking = || {
            let mut snapshot = snapshot(&backend, view).unwrap();
            let _ = snapshot.scan(&plan(Source::Rows), &mut |_| panic!("on purpose"));
        };
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(panicking));
        assert!(panicked.is_err());
        assert_eq!(backend.connections().pool().readers().counts().out, 0);
        assert_eq!(count(&backend), 10);
    }
    commit(&backend, 10);
    assert_eq!(count(&backend), 11);
    // A transaction that was left open would block the purge.
    backend.purge().unwrap();
}

#[test]
fn idle_readers_do_not_pin_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = open(&path);
    commit(&backend, 0);
    let mut other = other(&path);
    let mut is_pinned = || {
        // A checkpoint in the background would also make it busy.
        backend.upkeep().settle(&[Step::Checkpoint]);
        let mut busy = 0;
        let sql = "PRAGMA wal_checkpoint(RESTART)";
        let note = |columns: crate::ffi::Columns<'_>| {
            busy = columns.integer(0);
            Ok(())
        };
        other.execute_with(sql, note).unwrap();
        busy != 0
    };
    let readers = backend.connections().pool().readers();
    for key in 1..5 {
        commit(&backend, key);
        count(&backend);
        commit(&backend, key + 10);
        // A read transaction that was kept before does not prevent a checkpoint of this process.
        let alone = backend.connections().lock_checkpoints();
        let limits = CheckpointLimits {
            bytes_max: 1,
            is_overdue: true,
        };
        checkpoint(backend.connections(), &alone, limits).unwrap();
        drop(alone);
        assert_eq!(readers.counts().kept, 0);
        assert!(!is_pinned());
        // A kept read transaction that no reader continues ends by itself.
        commit(&backend, key + 20);
        count(&backend);
        while readers.counts().kept > 0 {
            thread::yield_now();
        }
        assert!(!is_pinned());
    }
}

#[test]
fn upkeep_ends_kept_read_transactions() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open(&directory.path().join("a.db"));
    commit(&backend, 0);
    count(&backend);
    let readers = backend.connections().pool().readers();
    let forbidden = readers.forbid_kept_reads();
    assert_eq!(readers.counts().kept, 0);
    count(&backend);
    assert_eq!(readers.counts().kept, 0);
    drop(forbidden);
    backend.purge().unwrap();
    count(&backend);
    backend.compact().unwrap();
}

#[test]
fn no_read_transaction_is_kept_without_a_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = open(&path);
    commit(&backend, 0);
    let truncate = CloseOptions {
        truncate: true,
        ..CloseOptions::default()
    };
    backend.close(truncate).unwrap();
    let backend = open(&path);
    assert_eq!(count(&backend), 1);
    assert_eq!(backend.connections().pool().readers().counts().kept, 0);
    // The file has a log from the first write on, and the open readers find it.
    commit(&backend, 1);
    assert_eq!(count(&backend), 2);
    commit(&backend, 2);
    assert_eq!(count(&backend), 3);
}

#[test]
fn close_waits_for_readers_that_run_beside_writers() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open(&directory.path().join("a.db"));
    commit(&backend, 0);
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let backend = Arc::clone(&backend);
            thread::spawn(move || {
                let mut seen = 0;
                loop {
                    match snapshot(&backend, View::Latest) {
                        Ok(mut snapshot) => {
                            let now = count_in(&mut *snapshot);
                            assert!(now >= seen, "{now} rows after {seen}");
                            seen = now;
                        }
                        Err(error) => break error.kind(),
                    }
                }
            })
        })
        .collect();
    for key in 1..200 {
        commit(&backend, key);
        assert_eq!(
            count(&backend),
            key as usize + 1,
            "a commit is seen at once"
        );
    }
    backend.close(CloseOptions::default()).unwrap();
    for reader in readers {
        assert_eq!(reader.join().unwrap(), ErrorKind::ShutDown);
    }
    assert_eq!(
        backend.connections().pool().readers().counts(),
        ReaderCounts::default()
    );
}
