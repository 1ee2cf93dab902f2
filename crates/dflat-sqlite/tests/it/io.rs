//! I/O counted: the figures are counts, the same on every machine.

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use dflat_engine::storage::{
    Backend, CloseOptions, IndexEntry, Key, KeyScan, RowWrite, Source, View,
};
use dflat_model::{Direction, RowId, Step, Table, Value, ValueRef};
use dflat_sqlite::inject::{self, Action, Failure, Fault, FaultPlan};
use dflat_sqlite::{
    Durability, FileKind, IoReport, Operation, PerCommit, Reclaim, SqliteBackend, SqliteOptions,
};

use crate::raw::Raw;
use crate::sample::{INT, begin, field, ids, snapshot, table_of};

fn open_counted(path: &Path, durability: Durability) -> Arc<SqliteBackend> {
    let options = SqliteOptions {
        durability,
        // What a thread of its own writes would be counted too.
        reclaim: Reclaim::Never,
        io_stats: true,
        ..SqliteOptions::default()
    };
    SqliteBackend::open(path, options).unwrap()
}

fn plain() -> Table {
    table_of("plain", &[INT], &[])
}

/// Inserts objects of 500 bytes, `transactions` times `each` of them.
fn insert(backend: &Arc<SqliteBackend>, first: i64, transactions: i64, each: i64) {
    for t in 0..transactions {
        let mut tx = begin(backend);
        tx.create(&plain()).unwrap();
        for key in first + t * each..first + (t + 1) * each {
            let row = RowWrite {
                key: Some(&[ValueRef::Int(key)]),
                payload: &[7; 500],
                entries: &[],
            };
            tx.insert(&plain(), &row).unwrap();
        }
        tx.commit().unwrap();
    }
}

/// Replaces the payload of the first object, a transaction each.
fn update(backend: &Arc<SqliteBackend>, transactions: u8) {
    for t in 0..transactions {
        let mut tx = begin(backend);
        let row = RowWrite {
            key: None,
            payload: &[t; 500],
            entries: &[],
        };
        tx.update(&plain(), RowId(1), &row).unwrap();
        tx.commit().unwrap();
    }
}

fn spent(backend: &Arc<SqliteBackend>, work: impl FnOnce()) -> IoReport {
    let before = backend.io_report().unwrap();
    work();
    backend.io_report().unwrap().since(&before)
}

/// Writes, syncs and bytes written.
fn writing(report: &IoReport) -> (u64, u64, u64) {
    let bytes = report.bytes(Operation::Write);
    (report.count(Operation::Write), report.syncs(), bytes)
}

#[test]
fn what_is_not_asked_for_is_not_counted() {
    let directory = tempfile::tempdir().unwrap();
    let backend = SqliteBackend::open(directory.path().join("a.db"), SqliteOptions::default());
    assert_eq!(backend.unwrap().io_report(), None);
}

#[test]
fn opening_and_reading_a_file_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = open_counted(&path, Durability::Normal);
    insert(&backend, 0, 1, 10);
    backend.close(CloseOptions::default()).unwrap();
    drop(backend);

    let backend = open_counted(&path, Durability::Normal);
    let mut reader = snapshot(&backend, View::Latest);
    assert_eq!(ids(&mut *reader, &plain(), Source::Rows).len(), 10);
    drop(reader);
    let report = backend.io_report().unwrap();
    assert_eq!(writing(&report), (0, 0, 0), "{report}");
    assert_eq!(report.count(Operation::Truncate), 0);
    assert!(report.count_of(FileKind::Main, Operation::Read) > 0);
    // One to look at the file's first bytes, one to read.
    assert_eq!(report.count_of(FileKind::Main, Operation::Open), 2);
}

#[test]
fn connections_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open_counted(&directory.path().join("a.db"), Durability::Normal);
    insert(&backend, 0, 1, 1);
    for key in 1..20 {
        insert(&backend, key, 1, 1);
        ids(
            &mut *snapshot(&backend, View::Latest),
            &plain(),
            Source::Rows,
        );
    }
    let report = backend.io_report().unwrap();
    // A writer and a reader.
    assert_eq!(report.count_of(FileKind::Main, Operation::Open), 2);
}

/// Figures C2 and C9. An update of a payload changes one page. An insert changes three: that of the
/// row, of the key and of the last row id.
#[test]
fn small_commits_cost_what_they_must() {
    for (durability, syncs) in [(Durability::Normal, 0), (Durability::Full, 4)] {
        let directory = tempfile::tempdir().unwrap();
        let backend = open_counted(&directory.path().join("a.db"), durability);
        insert(&backend, 0, 4, 1);
        let updates = spent(&backend, || update(&backend, 4));
        assert_eq!(writing(&updates), (8, syncs, 4 * 4120), "{updates}");
        assert_eq!((updates.commits, updates.changes), (4, 4));
        assert_eq!(updates.logical_bytes, 4 * 500);
        let inserts = spent(&backend, || insert(&backend, 4, 4, 1));
        assert_eq!(writing(&inserts), (24, syncs, 12 * 4120), "{inserts}");
    }
}

/// The reference of figure C2: the same in rollback-journal mode, by a plain connection.
#[test]
fn a_rollback_journal_costs_five_times_as_much() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let plan = FaultPlan::attach(&path).unwrap();
    let mut raw = Raw::open_by(&path, inject::vfs_name());
    raw.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, p BLOB)");
    let before = plan.report();
    for id in 0..4 {
        raw.execute(&format!("INSERT INTO t VALUES ({id}, zeroblob(500))"));
    }
    let report = plan.report().since(&before);
    let (writes, syncs, bytes) = writing(&report);
    assert_eq!((writes, syncs, bytes / 1024), (40, 16, 66), "{report}");
    assert_eq!(report.count_of(FileKind::Journal, Operation::Delete), 4);
}

/// Figure C3.
#[test]
fn changes_in_one_transaction_share_their_pages() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open_counted(&directory.path().join("a.db"), Durability::Normal);
    insert(&backend, 0, 1, 1);
    let mut tx = begin(&backend);
    let report = spent(&backend, || {
        for key in 1..101 {
            let row = RowWrite {
                key: Some(&[ValueRef::Int(key)]),
                payload: &[7; 50],
                entries: &[],
            };
            tx.insert(&plain(), &row).unwrap();
        }
        tx.commit().unwrap();
    });
    let (writes, syncs, bytes) = writing(&report);
    assert!(writes <= 20 && syncs == 0 && bytes <= 40 << 10, "{report}");
}

fn suggestions(report: &IoReport) -> Vec<String> {
    let suggestions = report.suggestions();
    suggestions.iter().map(ToString::to_string).collect()
}

/// Figure C8: each suggestion has a workload that brings it about, and one that has mended it.
#[test]
fn small_transactions_bring_a_suggestion() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open_counted(&directory.path().join("a.db"), Durability::Normal);
    insert(&backend, 0, 1, 1);
    let small = suggestions(&spent(&backend, || insert(&backend, 100, 30, 1)));
    assert_eq!(small.len(), 1);
    assert!(small[0].contains("30 commits of 30 changes") && small[0].contains("one transaction"));
    assert!(suggestions(&spent(&backend, || insert(&backend, 200, 1, 30))).is_empty());
}

#[test]
fn synced_commits_bring_a_suggestion() {
    for (durability, count) in [(Durability::Full, 1), (Durability::Normal, 0)] {
        let directory = tempfile::tempdir().unwrap();
        let backend = open_counted(&directory.path().join("a.db"), durability);
        insert(&backend, 0, 1, 1);
        let texts = suggestions(&spent(&backend, || insert(&backend, 100, 20, 1)));
        let synced = texts.iter().filter(|text| text.contains("20 syncs"));
        assert_eq!(synced.count(), count, "{texts:?}");
    }
}

#[test]
fn failed_calls_bring_a_suggestion() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = open_counted(&path, Durability::Normal);
    insert(&backend, 0, 1, 1);
    let plan = FaultPlan::attach(&path).unwrap();
    plan.add(Fault {
        kind: Some(FileKind::Log),
        operation: Operation::Write,
        at: 1,
        lasting: false,
        action: Action::Fail(Failure::NoSpace),
    });
    let commit = || {
        let mut tx = begin(&backend);
        tx.create(&plain()).unwrap();
        let row = RowWrite {
            key: Some(&[ValueRef::Int(9)]),
            payload: &[1; 50],
            entries: &[],
        };
        tx.insert(&plain(), &row).unwrap();
        tx.commit()
    };
    let failed = spent(&backend, || assert!(commit().is_err()));
    let texts = suggestions(&failed);
    assert!(
        texts[0].starts_with("1 of ") && texts[0].contains("on the wal file"),
        "{texts:?}"
    );
    let went_well = spent(&backend, || commit().unwrap());
    assert!(suggestions(&went_well).is_empty());
}

/// As [`suggestions`], those that say something.
fn saying(report: &IoReport, what: &str) -> usize {
    let texts = suggestions(report);
    texts.iter().filter(|text| text.contains(what)).count()
}

#[test]
fn a_snapshot_that_is_held_brings_a_suggestion() {
    for held in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let backend = open_counted(&directory.path().join("a.db"), Durability::Normal);
        insert(&backend, 0, 1, 1);
        let mut reader = snapshot(&backend, View::Pinned);
        if held {
            ids(&mut *reader, &plain(), Source::Rows);
        }
        // One that is large by itself, and some that are not.
        insert(&backend, 1000, 1, 40_000);
        while held && !backend.is_log_pinned() {
            std::thread::yield_now();
        }
        assert_eq!(saying(&backend.io_report().unwrap(), "log is"), 0);
        insert(&backend, 100, 5, 1);
        let report = backend.io_report().unwrap();
        assert_eq!(saying(&report, "log is"), usize::from(held), "{report}");
    }
}

#[test]
fn unused_space_brings_a_suggestion() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open_counted(&directory.path().join("a.db"), Durability::Normal);
    insert(&backend, 0, 1, 4000);
    let mut tx = begin(&backend);
    for row in 1..=3000 {
        tx.delete(&plain(), RowId(row)).unwrap();
    }
    tx.commit().unwrap();
    assert_eq!(saying(&backend.io_report().unwrap(), "are unused"), 1);
    assert_eq!(backend.reclaim(10_000).unwrap(), 0);
    assert_eq!(saying(&backend.io_report().unwrap(), "are unused"), 0);
}

#[test]
fn opening_again_and_again_brings_a_suggestion() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let work = |backend: &Arc<SqliteBackend>| {
        ids(
            &mut *snapshot(backend, View::Latest),
            &plain(),
            Source::Rows,
        );
        saying(&backend.io_report().unwrap(), "was opened")
    };
    let kept = open_counted(&path, Durability::Normal);
    for _ in 0..8 {
        assert_eq!(work(&kept), 0);
    }
    drop(kept);
    let again = (0..8).map(|_| work(&open_counted(&path, Durability::Normal)));
    assert_eq!(again.sum::<usize>(), 5);
}

#[test]
fn reading_the_same_pages_again_and_again_brings_a_suggestion() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open_counted(&directory.path().join("a.db"), Durability::Normal);
    insert(&backend, 0, 1, 20_000);
    for (scans, count) in [(2, 0), (8, 1)] {
        let report = spent(&backend, || {
            for _ in 0..scans {
                let mut reader = snapshot(&backend, View::Latest);
                ids(&mut *reader, &plain(), Source::Rows);
            }
        });
        assert_eq!(saying(&report, "were read"), count, "{report}");
    }
}

#[test]
fn an_index_that_is_never_looked_up_brings_a_suggestion() {
    let field = field(&[Step::Field(4)], INT);
    let indexed = table_of("indexed", &[INT], &[(field, false)]);
    let directory = tempfile::tempdir().unwrap();
    let backend = open_counted(&directory.path().join("a.db"), Durability::Normal);
    let mut tx = begin(&backend);
    tx.create(&indexed).unwrap();
    for key in 0..100 {
        let row = RowWrite {
            key: Some(&[ValueRef::Int(key)]),
            payload: &[7; 50],
            entries: &[IndexEntry::one(0, ValueRef::Int(key))],
        };
        tx.insert(&indexed, &row).unwrap();
    }
    tx.commit().unwrap();
    let report = backend.io_report().unwrap();
    assert_eq!(
        (report.indexes[0].writes, report.indexes[0].lookups),
        (100, 0)
    );
    assert_eq!(saying(&report, "never looked up"), 1);
    let by_index = Source::Key(KeyScan {
        key: Key::Index(0),
        prefix: &[],
        lower: Bound::Included(&Value::Int(90)),
        upper: Bound::Unbounded,
        direction: Direction::Ascending,
        after: None,
    });
    let mut reader = snapshot(&backend, View::Latest);
    assert_eq!(ids(&mut *reader, &indexed, by_index).len(), 10);
    let report = backend.io_report().unwrap();
    assert_eq!(report.indexes[0].lookups, 1);
    assert_eq!(saying(&report, "never looked up"), 0);
}

#[test]
fn temporary_files_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open_counted(&directory.path().join("a.db"), Durability::Normal);
    insert(&backend, 0, 1, 20_000);
    let report = spent(&backend, || backend.compact().unwrap());
    let written = report.count_of(FileKind::Temporary, Operation::Write);
    assert!(written > 1000, "{report}");
    // They are private to the process: nobody waits for the device.
    assert_eq!(report.count_of(FileKind::Temporary, Operation::Flush), 0);
}

#[test]
fn a_report_says_what_a_commit_takes() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open_counted(&directory.path().join("a.db"), Durability::Full);
    insert(&backend, 0, 1, 1);
    let each = spent(&backend, || update(&backend, 8)).per_commit();
    assert_eq!((each.changes, each.logical_bytes), (1.0, 500.0));
    assert_eq!(
        (each.writes, each.written_bytes, each.syncs),
        (2.0, 4120.0, 1.0)
    );
    let none = spent(&backend, || {});
    assert_eq!(none.per_commit(), PerCommit::default());
}
