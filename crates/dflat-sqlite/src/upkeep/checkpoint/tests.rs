use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use dflat_engine::storage::{
    Backend, RowWrite, ScanPlan, Snapshot, Source, View, WriteTransaction,
};
use dflat_model::ValueRef;

use crate::backend::SqliteBackend;
use crate::faults::{Action, Event, Failure, Fault, FaultPlan, PowerCut};
use crate::io::{FileKind, Operation};
use crate::layout::sample::table;
use crate::options::SqliteOptions;
use crate::upkeep::checkpoint::{CheckpointLimits, HELD_PAGES_MAX, checkpoint};
use crate::upkeep::log_file::CUT_BYTES_MAX;
use crate::upkeep::queue::Step;

const LIMIT: u64 = 256 << 10;

const OVERDUE: CheckpointLimits = CheckpointLimits {
    bytes_max: LIMIT,
    is_overdue: true,
};

const NOT_OVERDUE: CheckpointLimits = CheckpointLimits {
    bytes_max: LIMIT,
    is_overdue: false,
};

/// The bytes that one commit writes, with room for the pages around it.
const COMMIT: u64 = 64 << 10;

fn open(path: &Path) -> Arc<SqliteBackend> {
    let options = SqliteOptions {
        log_bytes_max: LIMIT,
        io_stats: true,
        ..SqliteOptions::default()
    };
    SqliteBackend::open(path, options).unwrap()
}

/// Commits a row of some pages.
fn commit(backend: &Arc<SqliteBackend>, key: i64) {
    let mut tx = Arc::clone(backend).begin(backend.durability()).unwrap();
    tx.create(&table()).unwrap();
    insert(&mut *tx, key);
    tx.commit().unwrap();
}

fn insert(tx: &mut dyn WriteTransaction, key: i64) {
    let row = RowWrite {
        key: Some(&[ValueRef::Int(key)]),
        payload: &[7; 30_000],
        entries: &[],
    };
    tx.insert(&table(), &row).unwrap();
}

/// Waits for the checkpoint, if one is to be made. Returns whether there was one.
fn settle(backend: &SqliteBackend) -> bool {
    backend.upkeep().settle(&[Step::Checkpoint])
}

/// A snapshot that has read.
fn pin(backend: &Arc<SqliteBackend>) -> Box<dyn Snapshot> {
    let mut snapshot = Arc::clone(backend).snapshot(View::Pinned).unwrap();
    let plan = ScanPlan {
        table: &table(),
        source: Source::Rows,
        payload: false,
    };
    let mut visit = |_: dflat_engine::storage::Row<'_>| std::ops::ControlFlow::Break(());
    snapshot.scan(&plan, &mut visit).unwrap();
    snapshot
}

/// The largest log there was while `commits` were made and `after_each` was called.
fn largest_log(backend: &Arc<SqliteBackend>, commits: i64, mut after_each: impl FnMut()) -> u64 {
    let mut largest = 0;
    for key in 0..commits {
        commit(backend, key);
        after_each();
        largest = largest.max(backend.log_bytes());
    }
    largest
}

// Promise: durability#D38
#[test]
fn checkpoints_keep_the_log_short_during_writes() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open(&directory.path().join("a.db"));
    let largest = largest_log(&backend, 100, || {
        settle(&backend);
    });
    assert!(largest <= LIMIT / 4 + COMMIT, "{largest}");
    assert!(!backend.is_log_pinned());
}

// Promise: durability#D39
/// The failure of a log that only checkpoints in between take in: with readers that overlap it
/// never starts again.
#[test]
fn overlapping_readers_do_not_prevent_checkpoints() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open(&directory.path().join("a.db"));
    commit(&backend, -1);
    let (stop, stopped) = mpsc::channel::<()>();
    let reading = Arc::clone(&backend);
    let reader = thread::spawn(move || {
        let mut held = pin(&reading);
        while stopped.try_recv() == Err(mpsc::TryRecvError::Empty) {
            // The new one is there before the old one ends.
            held = pin(&reading);
        }
        drop(held);
    });
    let largest = largest_log(&backend, 400, || {
        settle(&backend);
    });
    drop(stop);
    reader.join().unwrap();
    // 400 commits are 50 times the limit.
    assert!(largest <= 8 * LIMIT, "{largest}");
}

// Promise: durability#D41, durability#D42
#[test]
fn snapshot_pins_the_log_until_it_ends() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open(&directory.path().join("a.db"));
    commit(&backend, -1);
    let snapshot = pin(&backend);
    let largest = largest_log(&backend, 30, || {
        settle(&backend);
    });
    assert!(largest > LIMIT + 4 * COMMIT, "{largest}");
    assert!(backend.is_log_pinned());
    assert_eq!(backend.log_waits(), 0, "nothing is gained by waiting");
    drop(snapshot);
    assert!(settle(&backend));
    assert!(!backend.is_log_pinned());
    // The next commit starts the log again, and steps of upkeep cut it.
    commit(&backend, 1000);
    backend.upkeep().settle(&[Step::CutLog]);
    assert!(backend.log_bytes() <= LIMIT, "{}", backend.log_bytes());
}

/// A fault of every write to the file, which only checkpoints make once there is a log.
fn every_write(action: Action) -> Fault {
    Fault {
        kind: Some(FileKind::Main),
        operation: Operation::Write,
        at: 1,
        lasting: true,
        action,
    }
}

// Promise: durability#D40
#[test]
fn writers_wait_for_a_slow_device() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let plan = FaultPlan::attach(&path).unwrap();
    let backend = open(&path);
    commit(&backend, -1);
    plan.add(every_write(Action::Delay(Duration::from_millis(1))));
    let largest = largest_log(&backend, 200, || {});
    // The log may grow by half of its limit, by one commit, and by the commit that was being made.
    assert!(largest <= LIMIT + LIMIT / 2 + 2 * COMMIT, "{largest}");
    assert!(backend.log_waits() > 0);
    assert!(!backend.is_log_pinned());
}

// Promise: durability#D71
#[test]
fn a_transaction_does_not_wait_because_the_one_before_was_large() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let plan = FaultPlan::attach(&path).unwrap();
    let backend = open(&path);
    commit(&backend, -1);
    plan.add(every_write(Action::Delay(Duration::from_millis(1))));
    let mut tx = Arc::clone(&backend).begin(backend.durability()).unwrap();
    for key in 0..40 {
        insert(&mut *tx, key);
    }
    tx.commit().unwrap();
    assert!(backend.log_bytes() > 2 * LIMIT);
    commit(&backend, 100);
    assert_eq!(backend.log_waits(), 0);
}

// Promise: durability#D72
#[test]
fn a_checkpoint_keeps_writers_waiting_for_few_pages() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let plan = FaultPlan::attach(&path).unwrap();
    let options = SqliteOptions {
        // Only the checkpoint of this test is made.
        log_bytes_max: 1 << 30,
        io_stats: true,
        ..SqliteOptions::default()
    };
    let backend = SqliteBackend::open(&path, options).unwrap();
    for key in 0..60 {
        commit(&backend, key);
    }
    plan.add(every_write(Action::Delay(Duration::from_millis(1))));
    let connections = backend.connections();
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            for key in 100..150 {
                commit(&backend, key);
            }
        });
        let alone = connections.lock_checkpoints();
        checkpoint(connections, &alone, OVERDUE).unwrap()
    });
    assert!(outcome.held_pages <= HELD_PAGES_MAX);
}

/// Makes a writer slower than a checkpoint, which would go on otherwise. A writer writes the pages
/// of a transaction at once, and a checkpoint writes each of them in a call of its own.
fn delay_writer(plan: &FaultPlan) {
    for (kind, milliseconds) in [(FileKind::Main, 1), (FileKind::Log, 8)] {
        plan.add(Fault {
            kind: Some(kind),
            ..every_write(Action::Delay(Duration::from_millis(milliseconds)))
        });
    }
}

// Promise: durability#D76
#[test]
fn a_checkpoint_keeps_writers_waiting_for_the_sync_of_few_pages() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let plan = FaultPlan::attach(&path).unwrap();
    plan.skip_syncs();
    plan.record().unwrap();
    let options = SqliteOptions {
        // Only the checkpoint of this test is made.
        log_bytes_max: 1 << 30,
        io_stats: true,
        ..SqliteOptions::default()
    };
    let backend = SqliteBackend::open(&path, options).unwrap();
    (0..60).for_each(|key| commit(&backend, key));
    delay_writer(&plan);
    let (connections, is_over) = (backend.connections(), AtomicBool::new(false));
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            let keys = (100..).take_while(|_| !is_over.load(Ordering::Relaxed));
            keys.for_each(|key| commit(&backend, key));
        });
        let alone = connections.lock_checkpoints();
        let outcome = checkpoint(connections, &alone, OVERDUE);
        is_over.store(true, Ordering::Relaxed);
        outcome.unwrap()
    });
    let pages = pages_of_last_sync(plan.take_recording().events());
    // Without pages to copy, the restart makes no sync.
    assert!(
        outcome.held_pages == 0 || pages <= outcome.held_pages,
        "{pages}"
    );
}

// Promise: durability#D79
#[test]
fn a_checkpoint_copies_nothing_with_write_access_unless_it_is_overdue() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let plan = FaultPlan::attach(&path).unwrap();
    plan.skip_syncs();
    let options = SqliteOptions {
        // Only the checkpoints of this test are made.
        log_bytes_max: 1 << 30,
        io_stats: true,
        ..SqliteOptions::default()
    };
    let backend = SqliteBackend::open(&path, options).unwrap();
    (0..60).for_each(|key| commit(&backend, key));
    delay_writer(&plan);
    let (connections, is_over) = (backend.connections(), AtomicBool::new(false));
    let outcomes = thread::scope(|scope| {
        scope.spawn(|| {
            let keys = (100..).take_while(|_| !is_over.load(Ordering::Relaxed));
            keys.for_each(|key| commit(&backend, key));
        });
        // On a slow machine, each of its passes can meet the read of the writer's transaction.
        let made = || loop {
            let made = checkpoint(connections, &connections.lock_checkpoints(), NOT_OVERDUE);
            if !made.as_ref().is_ok_and(|outcome| outcome.met_reads) {
                return made;
            }
        };
        let outcomes = [made(), made(), made()];
        // Order: before a failed assertion, so that the writer ends.
        is_over.store(true, Ordering::Relaxed);
        outcomes
    });
    for outcome in outcomes {
        assert_eq!(outcome.unwrap().held_pages, 0);
    }
}

// Promise: durability#D79
#[test]
fn log_that_is_in_the_file_starts_again_without_a_sync() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let plan = FaultPlan::attach(&path).unwrap();
    plan.skip_syncs();
    plan.record().unwrap();
    let options = SqliteOptions {
        // Only the checkpoints of this test are made.
        log_bytes_max: 1 << 30,
        io_stats: true,
        ..SqliteOptions::default()
    };
    let backend = SqliteBackend::open(&path, options).unwrap();
    (0..20).for_each(|key| commit(&backend, key));
    let connections = backend.connections();
    let alone = connections.lock_checkpoints();
    let copied = checkpoint(connections, &alone, CheckpointLimits::COPY_ONLY).unwrap();
    assert!(copied.is_all && !copied.is_restarted);
    assert!(!plan.take_recording().events().is_empty());
    plan.record().unwrap();
    let restarted = checkpoint(connections, &alone, NOT_OVERDUE).unwrap();
    assert!(restarted.is_restarted);
    let recording = plan.take_recording();
    let is_slow = |event: &&Event| matches!(event, Event::Flush { .. } | Event::Write { .. });
    assert_eq!(recording.events().iter().filter(is_slow).count(), 0);
}

// Promise: durability#D77
#[test]
fn the_file_of_a_long_log_is_cut_in_steps() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let plan = FaultPlan::attach(&path).unwrap();
    plan.skip_syncs();
    plan.record().unwrap();
    let backend = open(&path);
    commit(&backend, -1);
    let mut tx = Arc::clone(&backend).begin(backend.durability()).unwrap();
    (0..70).for_each(|key| insert(&mut *tx, key));
    tx.commit().unwrap();
    settle(&backend);
    // The log starts again.
    commit(&backend, 1000);
    backend.upkeep().settle(&[Step::CutLog]);
    let recording = plan.take_recording();
    let (mut length, mut cuts) = (0, 0);
    for event in recording.events() {
        match event {
            Event::Write {
                kind: FileKind::Log,
                offset,
                content,
            } => {
                length = length.max(offset + content.len() as u64);
            }
            Event::Truncate {
                kind: FileKind::Log,
                length: shorter,
            } => {
                assert!(length - shorter <= CUT_BYTES_MAX, "{length} to {shorter}");
                (length, cuts) = (*shorter, cuts + 1);
            }
            _ => {}
        }
    }
    assert!(length <= LIMIT, "{length}");
    assert!(cuts > 1, "{cuts}");
    let is_cut = |event: &Event| {
        matches!(
            event,
            Event::Truncate {
                kind: FileKind::Log,
                ..
            }
        )
    };
    let first = recording.events().iter().position(is_cut).unwrap();
    let restored = directory.path().join("restored.db");
    for point in first..=recording.events().len() {
        for cut in [
            PowerCut::Nothing,
            PowerCut::Everything,
            PowerCut::Prefix,
            PowerCut::Random,
        ] {
            recording.restore(point, cut, 7, &restored).unwrap();
            // The commit that started the log again is not durable yet.
            assert!(rows_count(&restored) >= 71, "{cut:?} at {point}");
        }
    }
}

/// The number of rows of a file, all of which are as they were written.
fn rows_count(path: &Path) -> usize {
    let backend = open(path);
    let mut snapshot = Arc::clone(&backend).snapshot(View::Pinned).unwrap();
    let plan = ScanPlan {
        table: &table(),
        source: Source::Rows,
        payload: true,
    };
    let mut count = 0;
    let mut visit = |row: dflat_engine::storage::Row<'_>| {
        assert_eq!(row.payload, [7; 30_000]);
        count += 1;
        std::ops::ControlFlow::Continue(())
    };
    snapshot.scan(&plan, &mut visit).unwrap();
    count
}

/// The number of pages that were written to the file between its last two syncs.
fn pages_of_last_sync(events: &[Event]) -> u32 {
    let main = FileKind::Main;
    let is_sync = |event: &Event| matches!(event, Event::Flush { kind, .. } if *kind == main);
    let is_write = |event: &Event| matches!(event, Event::Write { kind, .. } if *kind == main);
    let last = events.iter().rposition(is_sync).unwrap();
    let before = events[..last].iter().rposition(is_sync).unwrap();
    let writes = events[before..last].iter().filter(|event| is_write(event));
    u32::try_from(writes.count()).unwrap()
}

// Promise: durability#D19, durability#D41
#[test]
fn writers_do_not_wait_for_a_failing_device() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let plan = FaultPlan::attach(&path).unwrap();
    let backend = open(&path);
    commit(&backend, -1);
    plan.add(every_write(Action::Fail(Failure::NoSpace)));
    let largest = largest_log(&backend, 18, || {
        settle(&backend);
    });
    assert!(largest > LIMIT + 4 * COMMIT, "{largest}");
    assert_eq!(backend.log_waits(), 0);
    plan.clear();
    commit(&backend, 1000);
    settle(&backend);
    // The next commit starts the log again, and steps of upkeep cut it.
    commit(&backend, 1001);
    backend.upkeep().settle(&[Step::CutLog]);
    assert!(backend.log_bytes() <= LIMIT, "{}", backend.log_bytes());
}
