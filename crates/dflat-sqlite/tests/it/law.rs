//! Tests of the storage seam's laws, by number.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use dflat_engine::ErrorKind;
use dflat_engine::storage::{
    Backend, CloseOptions, Conflict, IndexRepair, IndexState, Key, RowWrite, ScanPlan, Snapshot,
    Source, View, WriteError,
};
use dflat_model::{RowId, Table, ValueRef};

use crate::raw::Raw;
use crate::sample::*;

fn is_conflict<T>(outcome: &Result<T, WriteError>, expected: Key) -> bool {
    matches!(outcome, Err(WriteError::Conflict(Conflict { key })) if *key == expected)
}

#[test]
fn law_1_a_pinned_snapshot_keeps_its_state_and_blocks_no_writer() {
    let directory = tempfile::tempdir().unwrap();
    let backend = three_posts(&directory.path().join("a.db"));
    let mut pinned = snapshot(&backend, View::Pinned);
    let mut latest = snapshot(&backend, View::Latest);
    // This snapshot is taken now, but its state is fixed only by its first scan.
    let mut late = snapshot(&backend, View::Pinned);
    assert_eq!(ids(&mut *pinned, &post(), Source::Rows), [1, 2, 3]);
    assert_eq!(ids(&mut *latest, &post(), Source::Rows), [1, 2, 3]);

    let mut tx = begin(&backend);
    insert_post(&mut *tx, ("d", 5, None)).unwrap();
    assert!(tx.delete(&post(), RowId(1)).unwrap());
    tx.commit().unwrap();

    for _ in 0..2 {
        assert_eq!(ids(&mut *pinned, &post(), Source::Rows), [1, 2, 3]);
        assert_eq!(ids(&mut *pinned, &post(), whole(Key::Index(0))), [2, 3, 1]);
        assert_eq!(ids(&mut *latest, &post(), Source::Rows), [2, 3, 4]);
        assert_eq!(ids(&mut *late, &post(), Source::Rows), [2, 3, 4]);
    }
}

#[test]
fn law_1_scan_of_an_empty_range_pins_the_state() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = open(&path);
    let mut before_the_file = snapshot(&backend, View::Pinned);
    assert!(ids(&mut *before_the_file, &post(), Source::Rows).is_empty());
    let writer = three_posts(&path);
    assert!(ids(&mut *before_the_file, &post(), Source::Rows).is_empty());

    let mut by_no_rows = snapshot(&backend, View::Pinned);
    assert!(ids(&mut *by_no_rows, &post(), Source::RowIds(&[])).is_empty());
    let mut by_pin = snapshot(&backend, View::Pinned);
    by_pin.pin().unwrap();
    let mut tx = begin(&writer);
    insert_post(&mut *tx, ("d", 5, None)).unwrap();
    tx.commit().unwrap();
    assert_eq!(ids(&mut *by_no_rows, &post(), Source::Rows), [1, 2, 3]);
    assert_eq!(ids(&mut *by_pin, &post(), Source::Rows), [1, 2, 3]);
}

#[test]
fn law_2_writes_are_visible_to_their_transaction_at_once_and_to_others_after_the_commit() {
    let directory = tempfile::tempdir().unwrap();
    let backend = three_posts(&directory.path().join("a.db"));
    let mut tx = begin(&backend);
    insert_post(&mut *tx, ("d", 15, None)).unwrap();
    assert_eq!(ids(&mut *tx, &post(), Source::Rows), [1, 2, 3, 4]);
    assert_eq!(ids(&mut *tx, &post(), whole(Key::Index(0))), [2, 4, 3, 1]);
    assert_eq!(
        tx.indexes(&post()).unwrap().states.to_vec(),
        [IndexState::Ready; 2]
    );
    assert_eq!(latest_ids(&backend, &post()), [1, 2, 3]);
    tx.commit().unwrap();
    assert_eq!(latest_ids(&backend, &post()), [1, 2, 3, 4]);
}

#[test]
fn law_3_second_writer_waits_for_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let backend = three_posts(&directory.path().join("a.db"));
    let first = begin(&backend);
    let (sender, receiver) = mpsc::channel();
    let other = Arc::clone(&backend);
    let second = thread::spawn(move || {
        let tx = begin(&other);
        sender.send(()).unwrap();
        drop(tx);
    });
    assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err());
    first.commit().unwrap();
    receiver.recv_timeout(Duration::from_secs(10)).unwrap();
    second.join().unwrap();
}

#[test]
fn law_4_a_conflict_changes_nothing_and_the_transaction_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = three_posts(&path);
    let table = post();
    let mut tx = begin(&backend);
    assert!(is_conflict(
        &insert_post(&mut *tx, ("a", 1, None)),
        Key::Primary
    ));
    assert!(is_conflict(
        &insert_post(&mut *tx, ("d", 1, Some("x"))),
        Key::Index(1)
    ));
    let key = [ValueRef::Text("a")];
    let mut row = RowWrite {
        key: Some(&key),
        payload: b"new",
        entries: &entries(99, None),
    };
    assert!(is_conflict(
        &tx.update(&table, RowId(2), &row),
        Key::Primary
    ));
    row.key = Some(&[ValueRef::Text("q")]);
    let colliding = entries(99, Some("z"));
    row.entries = &colliding;
    assert!(is_conflict(
        &tx.update(&table, RowId(2), &row),
        Key::Index(1)
    ));

    let unchanged = [(1, b"a".to_vec()), (2, b"b".to_vec()), (3, b"c".to_vec())];
    assert_eq!(collect(&mut *tx, &table, whole(Key::Primary)), unchanged);
    assert_eq!(ids(&mut *tx, &table, whole(Key::Index(0))), [2, 3, 1]);
    assert_eq!(ids(&mut *tx, &table, whole(Key::Index(1))), [2, 1, 3]);
    insert_post(&mut *tx, ("d", 1, Some("d"))).unwrap();
    tx.commit().unwrap();
    assert_eq!(latest_ids(&backend, &table).len(), 4);
}

#[test]
fn an_update_of_no_row_changes_nothing_and_the_transaction_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let backend = three_posts(&directory.path().join("a.db"));
    let mut tx = begin(&backend);
    let row = RowWrite {
        key: None,
        payload: b"new",
        entries: &entries(99, Some("new")),
    };
    match tx.update(&post(), RowId(9), &row) {
        Err(WriteError::Failed(error)) => assert_eq!(error.kind(), ErrorKind::NotFound),
        other => panic!("{other:?}"),
    }
    assert_eq!(
        tx.indexes(&post()).unwrap().states.to_vec(),
        [IndexState::Ready; 2]
    );
    insert_post(&mut *tx, ("d", 1, Some("new"))).unwrap();
    tx.commit().unwrap();
    assert_eq!(latest_ids(&backend, &post()), [1, 2, 3, 4]);
}

#[test]
fn law_5_row_ids_increase_and_are_not_used_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = three_posts(&path);
    let mut tx = begin(&backend);
    assert!(tx.delete(&post(), RowId(3)).unwrap());
    assert!(!tx.delete(&post(), RowId(3)).unwrap());
    tx.commit().unwrap();
    backend.close(CloseOptions::default()).unwrap();
    let backend = open(&path);
    let mut tx = begin(&backend);
    assert_eq!(insert_post(&mut *tx, ("c", 1, None)).unwrap(), RowId(4));
}

#[test]
fn law_6_rows_come_in_the_order_of_the_given_ids() {
    let directory = tempfile::tempdir().unwrap();
    let backend = three_posts(&directory.path().join("a.db"));
    let wanted = [3, 9, 1, 3].map(RowId);
    for view in [View::Latest, View::Pinned] {
        let mut snapshot = snapshot(&backend, view);
        assert_eq!(
            ids(&mut *snapshot, &post(), Source::RowIds(&wanted)),
            [3, 1, 3]
        );
    }
}

#[test]
fn law_7_a_dropped_transaction_is_rolled_back() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open(&directory.path().join("a.db"));
    let mut tx = begin(&backend);
    tx.create(&post()).unwrap();
    insert_post(&mut *tx, ("a", 1, None)).unwrap();
    drop(tx);
    assert!(latest_ids(&backend, &post()).is_empty());
    // The rollback removed the tables too, and they are created again.
    let mut tx = begin(&backend);
    tx.create(&post()).unwrap();
    insert_post(&mut *tx, ("a", 1, None)).unwrap();
    drop(tx);
    assert!(latest_ids(&backend, &post()).is_empty());
}

#[test]
fn law_8_a_table_never_written_is_empty() {
    let directory = tempfile::tempdir().unwrap();
    let backend = three_posts(&directory.path().join("a.db"));
    let other = table_of("other", &[TEXT], &[(field(&[], INT), false)]);
    let mut tx = begin(&backend);
    assert!(!tx.delete(&other, RowId(1)).unwrap());
    let readers: [&mut dyn Snapshot; 3] = [
        &mut *snapshot(&backend, View::Latest),
        &mut *snapshot(&backend, View::Pinned),
        &mut *tx,
    ];
    for reader in readers {
        assert!(ids(reader, &other, Source::Rows).is_empty());
        assert!(ids(reader, &other, Source::RowIds(&[RowId(1), RowId(2)])).is_empty());
        assert!(ids(reader, &other, whole(Key::Primary)).is_empty());
        assert_eq!(
            reader.indexes(&other).unwrap().states.to_vec(),
            [IndexState::Ready]
        );
        assert!(ids(reader, &other, whole(Key::Index(0))).is_empty());
    }
}

#[test]
fn law_9_index_is_ready_once_it_has_all_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = three_posts(&path);
    let states = || {
        snapshot(&backend, View::Latest)
            .indexes(&post())
            .map(|indexes| indexes.states.to_vec())
            .unwrap()
    };
    assert_eq!(states(), [IndexState::Ready; 2]);
    let mut raw = Raw::open(&path);
    raw.execute("DROP INDEX index__post__f8");
    assert_eq!(states(), [IndexState::Ready, IndexState::Missing]);
    raw.execute("DROP TABLE post__f6");
    assert_eq!(states(), [IndexState::Missing; 2]);

    let mut tx = begin(&backend);
    tx.create(&post()).unwrap();
    assert_eq!(
        tx.indexes(&post()).unwrap().states.to_vec(),
        [IndexState::Incomplete(RowId(0)), IndexState::Ready]
    );
    for (row_id, priority) in [(1, 30), (2, 10), (3, 20)] {
        let [entry, _] = entries(priority, None);
        let before = tx.indexes(&post()).unwrap().states[0];
        assert_eq!(before, IndexState::Incomplete(RowId(row_id - 1)));
        tx.repair_indexes(
            &post(),
            &IndexRepair {
                rows: &[of_row(row_id, false, vec![entry])],
                filled: &[],
            },
        )
        .unwrap();
    }
    assert_eq!(
        tx.indexes(&post()).unwrap().states.to_vec(),
        [IndexState::Ready; 2]
    );
    tx.commit().unwrap();
    assert_eq!(states(), [IndexState::Ready; 2]);
}

#[test]
fn law_10_calls_after_close_fail_with_shut_down() {
    let directory = tempfile::tempdir().unwrap();
    let backend = three_posts(&directory.path().join("a.db"));
    let mut open_snapshot = snapshot(&backend, View::Pinned);
    let closing = Arc::clone(&backend);
    let close = thread::spawn(move || closing.close(CloseOptions::default()));
    while Arc::clone(&backend).snapshot(View::Latest).is_ok() {
        thread::yield_now();
    }
    assert_eq!(ids(&mut *open_snapshot, &post(), Source::Rows), [1, 2, 3]);
    assert!(!close.is_finished());
    drop(open_snapshot);
    close.join().unwrap().unwrap();
    backend.close(CloseOptions::default()).unwrap();
    let read = Arc::clone(&backend).snapshot(View::Latest).map(drop);
    assert_eq!(read.unwrap_err().kind(), ErrorKind::ShutDown);
    let write = Arc::clone(&backend).begin(backend.durability()).map(drop);
    assert_eq!(write.unwrap_err().kind(), ErrorKind::ShutDown);
}

#[test]
fn a_visitor_may_break_or_panic_and_the_snapshot_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let backend = three_posts(&directory.path().join("a.db"));
    let sources = [
        Source::Rows,
        Source::RowIds(&[RowId(1), RowId(2)]),
        whole(Key::Index(0)),
    ];
    for view in [View::Latest, View::Pinned] {
        for source in &sources {
            let mut reader = snapshot(&backend, view);
            let table: Table = post();
            let plan = ScanPlan {
                table: &table,
                source: source.clone(),
                payload: true,
            };
            let mut count = 0;
            let mut stop = |_: dflat_engine::storage::Row<'_>| {
                count += 1;
                ControlFlow::Break(())
            };
            reader.scan(&plan, &mut stop).unwrap();
            assert_eq!(count, 1);
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                reader.scan(&plan, &mut |_| panic!("a visitor's"))
            }));
            assert!(panicked.is_err());
            assert_eq!(ids(&mut *reader, &table, Source::Rows), [1, 2, 3]);
        }
    }
    let mut latest = snapshot(&backend, View::Latest);
    let table = post();
    let plan = ScanPlan {
        table: &table,
        source: Source::RowIds(&[RowId(1), RowId(2)]),
        payload: true,
    };
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        latest.scan(&plan, &mut |_| panic!("a visitor's"))
    }));
    assert!(panicked.is_err());
    let mut tx = begin(&backend);
    insert_post(&mut *tx, ("d", 1, None)).unwrap();
    tx.commit().unwrap();
    assert_eq!(latest_ids(&backend, &post()), [1, 2, 3, 4]);
    // The transaction that the panic left open does not hold back the view.
    assert_eq!(ids(&mut *latest, &post(), Source::Rows), [1, 2, 3, 4]);
}

#[test]
fn readers_run_while_a_writer_commits() {
    let directory = tempfile::tempdir().unwrap();
    let backend = three_posts(&directory.path().join("a.db"));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let mut pinned = snapshot(&backend, View::Pinned);
                    let rows = ids(&mut *pinned, &post(), Source::Rows);
                    let mut indexed = ids(&mut *pinned, &post(), whole(Key::Index(0)));
                    indexed.sort_unstable();
                    assert_eq!(rows, indexed);
                }
            });
        }
        scope.spawn(|| {
            for i in 0..100 {
                let mut tx = begin(&backend);
                insert_post(&mut *tx, (&format!("n{i}"), i, None)).unwrap();
                tx.commit().unwrap();
            }
        });
    });
    assert_eq!(latest_ids(&backend, &post()).len(), 103);
}
