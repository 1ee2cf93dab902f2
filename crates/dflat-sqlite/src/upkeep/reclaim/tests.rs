use std::path::Path;
use std::sync::Arc;

use dflat_engine::storage::{Backend, CloseOptions, RowWrite, WriteTransaction};
use dflat_model::{RowId, ValueRef};

use super::*;
use crate::backend::SqliteBackend;
use crate::io::{IoReport, Operation};
use crate::layout::sample::table;
use crate::options::SqliteOptions;
use crate::upkeep::checkpoint::{CheckpointLimits, checkpoint};
use crate::upkeep::free_pages::{PagesToReclaim, reclaim_step};
use crate::upkeep::queue::Step;

const SOON: Reclaim = Reclaim::Idle {
    pages: 16,
    percent: 20,
    after: Duration::from_millis(1),
};

fn open(path: &Path, reclaim: Reclaim) -> Arc<SqliteBackend> {
    let options = SqliteOptions {
        reclaim,
        io_stats: true,
        ..SqliteOptions::default()
    };
    SqliteBackend::open(path, options).unwrap()
}

fn begin(backend: &Arc<SqliteBackend>) -> Box<dyn WriteTransaction> {
    let mut tx = Arc::clone(backend).begin(backend.durability()).unwrap();
    tx.create(&table()).unwrap();
    tx
}

fn insert(tx: &mut dyn WriteTransaction, key: i64) {
    let row = RowWrite {
        key: Some(&[ValueRef::Int(key)]),
        // A page each.
        payload: &[7; 3000],
        entries: &[],
    };
    tx.insert(&table(), &row).unwrap();
}

/// Commits 400 rows, then deletes some of them.
fn fill(backend: &Arc<SqliteBackend>, deleted: i64) {
    let mut tx = begin(backend);
    (0..400).for_each(|key| insert(&mut *tx, key));
    tx.commit().unwrap();
    // No other checkpoint may copy the pages of the reclaim.
    let alone = backend.connections().lock_checkpoints();
    checkpoint(backend.connections(), &alone, CheckpointLimits::COPY_ONLY).unwrap();
    drop(alone);
    delete(backend, 1..=deleted);
}

fn delete(backend: &Arc<SqliteBackend>, rows: std::ops::RangeInclusive<i64>) {
    let mut tx = begin(backend);
    for row in rows {
        assert!(tx.delete(&table(), RowId(row)).unwrap());
    }
    tx.commit().unwrap();
}

/// Waits until nothing is to be given back. Returns whether a step was made.
fn settle(backend: &SqliteBackend) -> bool {
    backend
        .upkeep()
        .settle(&[Step::Reclaim, Step::CheckpointReclaimed])
}

fn step(backend: &SqliteBackend) -> Result<Reclaimed> {
    let pages = PagesToReclaim {
        pages: 16,
        is_followed: false,
    };
    reclaim_step(backend.connections(), pages, |connection| {
        backend.upkeep().return_writer(connection);
    })
}

fn report(backend: &SqliteBackend) -> IoReport {
    backend.io_report().unwrap()
}

// Promise: durability#D44
#[test]
fn idle_time_gives_unused_pages_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = open(&path, SOON);
    fill(&backend, 200);
    assert!(settle(&backend));
    let space = report(&backend).space.unwrap();
    // Half of the share stays.
    assert!((5..=10).contains(&space.free_percent()), "{space:?}");
    assert_eq!(path.metadata().unwrap().len(), space.pages * 4096);

    // Few unused pages are left, too few to reclaim.
    delete(&backend, 201..=210);
    assert!(!settle(&backend));
    assert_eq!(report(&backend).space.unwrap().pages, space.pages);
}

#[test]
fn reclaim_below_the_thresholds_writes_nothing() {
    // Too small a share; too few pages; not wanted.
    let few = Reclaim::Idle {
        pages: 300,
        percent: 20,
        after: Duration::from_millis(1),
    };
    for (reclaim, deleted) in [(SOON, 50), (few, 200), (Reclaim::Never, 200)] {
        let directory = tempfile::tempdir().unwrap();
        let backend = open(&directory.path().join("a.db"), reclaim);
        fill(&backend, deleted);
        let before = report(&backend);
        assert!(!settle(&backend), "{reclaim:?}");
        let spent = report(&backend).since(&before);
        assert_eq!(spent.count(Operation::Write), 0);
        assert_eq!(spent.count(Operation::Truncate), 0);
    }
}

/// While a transaction writes, no pages are given back; afterwards they are.
#[test]
fn writer_goes_before_reclaim() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open(&directory.path().join("a.db"), SOON);
    fill(&backend, 200);
    let mut tx = begin(&backend);
    insert(&mut *tx, 1000);
    let rest = step(&backend).unwrap();
    assert!(matches!(rest, Reclaimed::Nothing));
    tx.commit().unwrap();
    assert!(settle(&backend));
    assert!(report(&backend).space.unwrap().free_percent() <= 10);
}

#[test]
fn reclaim_step_gives_back_at_most_the_requested_pages() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open(&directory.path().join("a.db"), Reclaim::Never);
    fill(&backend, 200);
    let before = report(&backend).space.unwrap();
    let written = report(&backend);
    let Reclaimed::Space(after) = step(&backend).unwrap() else {
        panic!("there was no step");
    };
    assert_eq!(before.free_pages - after.free_pages, 16);
    let written = report(&backend).since(&written).bytes(Operation::Write);
    // For each page given back, one page is moved, with its parent and its entry in the pointer
    // map.
    assert!(written <= 3 * 16 * 4120, "{written}");
}

#[test]
fn close_does_not_wait_for_an_idle_reclaim() {
    let directory = tempfile::tempdir().unwrap();
    let later = Reclaim::Idle {
        pages: 16,
        percent: 20,
        after: Duration::from_secs(3600),
    };
    let backend = open(&directory.path().join("a.db"), later);
    fill(&backend, 200);
    assert!(backend.upkeep().is_pending(Step::Reclaim));
    backend.close(CloseOptions::default()).unwrap();
    assert!(!backend.upkeep().is_pending(Step::Reclaim));
}

#[test]
fn file_without_incremental_vacuum_is_not_reclaimed_before_compact() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    std::fs::copy(data.join("checkpointed.db"), &path).unwrap();
    let backend = open(&path, SOON);
    fill(&backend, 350);
    settle(&backend);
    assert!(backend.upkeep().reclaiming().is_unable());
    delete(&backend, 351..=352);
    assert!(!settle(&backend), "it was tried again");
    backend.compact().unwrap();
    assert!(!backend.upkeep().reclaiming().is_unable());
}

/// A time that no clock reaches made the commit panic.
#[test]
fn space_is_never_given_back_after_an_endless_time() {
    let directory = tempfile::tempdir().unwrap();
    let endless = Reclaim::Idle {
        pages: 16,
        percent: 20,
        after: Duration::MAX,
    };
    let backend = open(&directory.path().join("a.db"), endless);
    fill(&backend, 300);
    assert!(!backend.upkeep().is_pending(Step::Reclaim));
    backend.close(CloseOptions::default()).unwrap();
}
