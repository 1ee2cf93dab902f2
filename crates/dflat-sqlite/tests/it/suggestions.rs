//! Figure C8: for each suggestion there is a workload that causes it, and one that follows it and
//! does not cause it.

use std::ops::Bound;
use std::sync::Arc;

use dflat_engine::storage::{IndexEntry, Key, KeyScan, RowWrite, Source, View};
use dflat_model::{Direction, RowId, Step, Value, ValueRef};
use dflat_sqlite::faults::{Action, Failure, Fault, FaultPlan};
use dflat_sqlite::{Durability, FileKind, IoReport, Operation, SqliteBackend};

use crate::counted::{insert, open_counted, plain, spent};
use crate::sample::{INT, begin, field, ids, snapshot, table_of};

fn suggestions(report: &IoReport) -> Vec<String> {
    let suggestions = report.suggestions();
    suggestions.iter().map(ToString::to_string).collect()
}

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

/// The number of [`suggestions`] that contain a text.
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
        // One transaction that is large by itself, and some that are not.
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
