//! Reads of the change log that fail: the device's error makes SQLite end the open transaction.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use dflat_engine::storage::{
    Backend, Looked, Records, RowWrite, ScanPlan, Snapshot, Source, StateId, View, WriteTransaction,
};
use dflat_model::{Table, ValueRef};
use dflat_sqlite::faults::{Action, Failure, Fault, FaultPlan};
use dflat_sqlite::{Operation, Reclaim, SqliteBackend, SqliteOptions};

use crate::raw::Raw;
use crate::sample::{INT, begin, snapshot, table_of};

/// More reads than any step of these tests makes.
const READS_MAX: u64 = 100;

fn open(path: &Path) -> Arc<SqliteBackend> {
    let options = SqliteOptions {
        change_log: true,
        reclaim: Reclaim::Never,
        io_stats: true,
        ..SqliteOptions::default()
    };
    SqliteBackend::open(path, options).unwrap()
}

fn plain() -> Table {
    table_of("plain", &[INT], &[])
}

/// Inserts a row; returns whether that succeeded.
fn insert(tx: &mut dyn WriteTransaction, key: i64) -> bool {
    let row = RowWrite {
        key: Some(&[ValueRef::Int(key)]),
        payload: &[7; 100],
        entries: &[],
    };
    tx.create(&plain()).is_ok() && tx.insert(&plain(), &row).is_ok()
}

fn commit(backend: &Arc<SqliteBackend>, key: i64) {
    let mut tx = begin(backend);
    assert!(insert(&mut *tx, key));
    tx.append_record(&[7; 9000]).unwrap();
    tx.commit().unwrap();
}

fn records(snapshot: &mut dyn Snapshot, since: StateId) -> dflat_engine::Result<Records> {
    snapshot.records(since, &mut |_| ControlFlow::Continue(()))
}

fn rows(snapshot: &mut dyn Snapshot) -> dflat_engine::Result<usize> {
    let mut rows = 0;
    let table = plain();
    let plan = ScanPlan {
        table: &table,
        source: Source::Rows,
        payload: false,
    };
    snapshot.scan(&plan, &mut |_| {
        rows += 1;
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}

/// Calls `step` with a file on which `one` has committed after the state `since` of `two`, once for
/// each read that `step` makes, which fails. Returns how many reads failed.
fn each_failed_read(step: impl Fn(&Path, &FaultPlan, &Arc<SqliteBackend>, StateId, u64)) -> u64 {
    for at in 1..READS_MAX {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let plan = FaultPlan::attach(&path).unwrap();
        let (one, two) = (open(&path), open(&path));
        commit(&one, 0);
        let since = snapshot(&two, View::Pinned).pin().unwrap();
        commit(&one, 1);
        step(&path, &plan, &two, since, at);
        if plan.clear() == 0 {
            return at - 1;
        }
    }
    panic!("there are more than {READS_MAX} reads");
}

fn fail_read(plan: &FaultPlan, at: u64) {
    plan.add(Fault {
        kind: None,
        operation: Operation::Read,
        at,
        lasting: false,
        action: Action::Fail(Failure::Io),
    });
}

#[test]
fn transaction_whose_change_log_cannot_be_read_writes_nothing_or_everything() {
    let failed = each_failed_read(|path, plan, two, since, at| {
        let mut tx = begin(two);
        fail_read(plan, at);
        let _ = records(&mut *tx, since);
        let inserted = [10, 11].map(|key| insert(&mut *tx, key));
        let is_committed = inserted == [true, true] && tx.commit().is_ok();
        let rows = Raw::open(path).rows(&["__pk0"], "FROM plain WHERE __pk0 >= 10");
        assert_eq!(rows.len(), if is_committed { 2 } else { 0 }, "read {at}");
    });
    assert!(failed > 0, "no read failed");
}

#[test]
fn snapshot_whose_change_log_cannot_be_read_sees_no_later_state() {
    let failed = each_failed_read(|path, plan, two, since, at| {
        let mut snapshot = snapshot(two, View::Pinned);
        snapshot.pin().unwrap();
        fail_read(plan, at);
        let _ = records(&mut *snapshot, since);
        Raw::open(path).execute("DELETE FROM plain");
        assert!(matches!(rows(&mut *snapshot), Ok(2) | Err(_)), "read {at}");
    });
    assert!(failed > 0, "no read failed");
}

#[test]
fn first_snapshot_of_a_follower_sees_one_state_although_a_read_fails() {
    let failed = each_failed_read(|path, plan, two, _, at| {
        two.follow(Arc::new(|| Looked::Known));
        let mut snapshot = snapshot(two, View::Pinned);
        fail_read(plan, at);
        let pinned = snapshot.pin();
        Raw::open(path).execute("DELETE FROM plain");
        if pinned.is_ok() {
            assert!(matches!(rows(&mut *snapshot), Ok(2) | Err(_)), "read {at}");
        }
    });
    assert!(failed > 0, "no read failed");
}
