//! No idle connection keeps a read transaction for longer than 200 ms, however slow the device is.
//! In these tests the device does not answer until the test clears the fault.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use dflat_engine::storage::{Backend, Durability, RowWrite, ScanPlan, Source, View};
use dflat_model::record::empty_record;
use dflat_model::{RowId, ValueRef};

use crate::backend::SqliteBackend;
use crate::faults::{Action, Fault, FaultPlan};
use crate::io::{FileKind, Operation};
use crate::layout::sample::table;
use crate::options::{Reclaim, SqliteOptions};
use crate::upkeep::free_pages::{PagesToReclaim, reclaim_step};
use crate::upkeep::log_file::cut_step;
use crate::upkeep::prune::{PruneLimits, prune_step};
use crate::upkeep::queue::Step;

const LIMIT: u64 = 256 << 10;

/// The longest that a read transaction may be kept.
const KEPT_MAX: Duration = Duration::from_millis(200);

/// A timeout that no machine exceeds.
const LONG: Duration = Duration::from_secs(300);

fn open(path: &Path) -> Arc<SqliteBackend> {
    let options = SqliteOptions {
        log_bytes_max: LIMIT,
        reclaim: Reclaim::Never,
        io_stats: true,
        ..SqliteOptions::default()
    };
    SqliteBackend::open(path, options).unwrap()
}

/// Commits a row of some pages.
fn commit(backend: &Arc<SqliteBackend>, key: i64) {
    let mut tx = Arc::clone(backend).begin(Durability::Normal).unwrap();
    tx.create(&table()).unwrap();
    let row = RowWrite {
        key: Some(&[ValueRef::Int(key)]),
        payload: &[7; 30_000],
        entries: &[],
    };
    tx.insert(&table(), &row).unwrap();
    tx.commit().unwrap();
}

fn read(backend: &Arc<SqliteBackend>) {
    let mut snapshot = Arc::clone(backend).snapshot(View::Latest).unwrap();
    let plan = ScanPlan {
        table: &table(),
        source: Source::Rows,
        payload: false,
    };
    let mut visit = |_: dflat_engine::storage::Row<'_>| std::ops::ControlFlow::Break(());
    snapshot.scan(&plan, &mut visit).unwrap();
}

fn kept(backend: &SqliteBackend) -> usize {
    backend.connections().pool().readers().counts().kept
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LONG, "{what}");
        thread::yield_now();
    }
}

/// The device does not answer writes to a file until the plan is cleared.
fn stop(plan: &FaultPlan, kind: FileKind) {
    plan.add(Fault {
        kind: Some(kind),
        operation: Operation::Write,
        at: 1,
        lasting: true,
        action: Action::Delay(LONG),
    });
}

/// Reads for longer than a transaction may be kept, while the device does not answer.
fn read_and_keep_nothing(backend: &Arc<SqliteBackend>, plan: &FaultPlan) {
    wait_until("the device is written to", || plan.met_count() > 0);
    let start = Instant::now();
    while start.elapsed() < KEPT_MAX {
        read(backend);
        assert_eq!(kept(backend), 0);
    }
}

#[test]
fn no_read_is_kept_while_a_checkpoint_waits_for_the_device() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let plan = FaultPlan::attach(&path).unwrap();
    let backend = open(&path);
    commit(&backend, 0);
    read(&backend);
    stop(&plan, FileKind::Main);
    // A quarter of the limit, after which a checkpoint begins.
    (1..4).for_each(|key| commit(&backend, key));
    read_and_keep_nothing(&backend, &plan);
    assert!(backend.upkeep().is_pending(Step::Checkpoint));
    plan.clear();
    backend.upkeep().settle(&[Step::Checkpoint]);
    wait_until("a read is kept again", || {
        read(&backend);
        kept(&backend) > 0
    });
}

#[test]
fn no_read_is_kept_while_pages_are_given_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let plan = FaultPlan::attach(&path).unwrap();
    let backend = open(&path);
    (0..3).for_each(|key| commit(&backend, key));
    backend.upkeep().settle(&[Step::Checkpoint]);
    let mut tx = Arc::clone(&backend).begin(Durability::Normal).unwrap();
    assert!(tx.delete(&table(), RowId(1)).unwrap());
    tx.commit().unwrap();
    read(&backend);
    stop(&plan, FileKind::Log);
    thread::scope(|scope| {
        let step = scope.spawn(|| {
            let return_writer = |connection| backend.upkeep().return_writer(connection);
            let pages = PagesToReclaim {
                pages: 4,
                is_followed: false,
            };
            reclaim_step(backend.connections(), pages, return_writer)
        });
        read_and_keep_nothing(&backend, &plan);
        assert_eq!(plan.clear(), 1);
        step.join().unwrap().unwrap();
    });
}

/// A checkpoint that waits for a writer does not wait for the device: reads may be kept, and are
/// ended as they are when there is no checkpoint.
#[test]
fn kept_reads_are_ended_while_a_checkpoint_waits_for_a_writer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let plan = FaultPlan::attach(&path).unwrap();
    let backend = open(&path);
    commit(&backend, 0);
    stop(&plan, FileKind::Main);
    // The log exceeds its limit, but by less than half of it, so that no transaction waits.
    let mut key = 1;
    while backend.log_bytes() <= LIMIT {
        commit(&backend, key);
        key += 1;
    }
    let tx = Arc::clone(&backend).begin(Durability::Normal).unwrap();
    plan.clear();
    let pool = backend.connections().pool();
    wait_until("upkeep waits for the writer", || pool.is_upkeep_waiting());
    for _ in 0..2 {
        read(&backend);
        wait_until("the read is ended", || kept(&backend) == 0);
    }
    assert!(pool.is_upkeep_waiting());
    drop(tx);
    backend.upkeep().settle(&[Step::Checkpoint]);
    assert!(!backend.is_log_pinned());
}

/// Two backends on one file are as two processes. A purge of the first one has write access, and
/// waits until no read transaction of the second one is open: the two would wait for each other.
#[test]
fn no_read_is_kept_while_a_step_of_upkeep_waits_for_another_process() {
    let cut: fn(&SqliteBackend) = |backend| {
        let return_writer = |writer| backend.upkeep().return_writer(writer);
        cut_step(backend.connections(), return_writer).unwrap();
    };
    let prune: fn(&SqliteBackend) = |backend| {
        let limits = PruneLimits {
            bytes_max: 0,
            age_max: None,
            is_followed: false,
        };
        let return_writer = |writer| backend.upkeep().return_writer(writer);
        prune_step(backend.connections(), limits, return_writer).unwrap();
    };
    for step in [cut, prune] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let [other, backend] = [open(&path), open(&path)];
        commit(&other, 0);
        let mut tx = Arc::clone(&backend).begin(Durability::Normal).unwrap();
        tx.append_record(&empty_record()).unwrap();
        tx.commit().unwrap();
        let tx = Arc::clone(&other).begin(Durability::Normal).unwrap();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| step(&backend));
            let pool = backend.connections().pool();
            wait_until("the step has the writer's connection", || {
                pool.count_of_idle_writer().is_none()
            });
            wait_until("no read is kept", || {
                read(&backend);
                kept(&backend) == 0
            });
            let start = Instant::now();
            while start.elapsed() < KEPT_MAX {
                read(&backend);
                assert_eq!(kept(&backend), 0);
            }
            drop(tx);
            waiting.join().unwrap();
        });
    }
}
