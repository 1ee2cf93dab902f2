//! Tests of the writes that a transaction keeps, and of those that it undoes.

mod undone;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use dflat_engine::storage::{Backend, Row, ScanPlan, Snapshot, Source, View};
use dflat_model::ValueRef;

use super::*;
use crate::backend::SqliteBackend;
use crate::ffi::{Access, Connection, Switch};
use crate::layout::control::ControlStatement;
use crate::layout::sample::table;
use crate::options::SqliteOptions;

fn count(backend: &Arc<SqliteBackend>, table: &Table) -> usize {
    let mut count = 0;
    let plan = ScanPlan {
        table,
        source: Source::Rows,
        payload: true,
    };
    let mut snapshot = Arc::clone(backend).snapshot(View::Latest).unwrap();
    let mut visit = |_: Row<'_>| {
        count += 1;
        ControlFlow::Continue(())
    };
    snapshot.scan(&plan, &mut visit).unwrap();
    count
}

fn insert(tx: &mut dyn WriteTransaction, table: &Table, key: i64) -> Result<RowId, WriteError> {
    let row = RowWrite {
        key: Some(&[ValueRef::Int(key)]),
        payload: &[7; 3000],
        entries: &[],
    };
    tx.insert(table, &row)
}

fn limit_pages(backend: &SqliteBackend, count: i64) {
    let mut connection = backend.connections().take_writer().unwrap();
    let sql = format!("PRAGMA max_page_count = {count}");
    connection.raw.execute(&sql).unwrap();
    backend.upkeep().return_writer(Some(connection));
}

/// SQLite rolls back by itself when the disk is full. The limit on pages simulates a full disk.
#[test]
fn full_disk_undoes_the_whole_transaction() {
    let table = table();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = SqliteBackend::open(path, SqliteOptions::default()).unwrap();
    let mut tx = Arc::clone(&backend).begin(backend.durability()).unwrap();
    tx.create(&table).unwrap();
    insert(&mut *tx, &table, 0).unwrap();
    tx.commit().unwrap();

    limit_pages(&backend, 50);
    let mut tx = Arc::clone(&backend).begin(backend.durability()).unwrap();
    let failed = (1..1000).find_map(|key| insert(&mut *tx, &table, key).err());
    let Some(WriteError::Failed(error)) = failed else {
        panic!("{failed:?}");
    };
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    // A later write must not be committed on its own.
    assert!(insert(&mut *tx, &table, 5000).is_err());
    assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(count(&backend, &table), 1);

    // The failed connection was replaced, so the limit is gone too.
    let mut tx = Arc::clone(&backend).begin(backend.durability()).unwrap();
    for key in 1..200 {
        insert(&mut *tx, &table, key).unwrap();
    }
    tx.commit().unwrap();
    assert_eq!(count(&backend, &table), 200);
}

/// A table with `rows` rows, each with `len` equal bytes.
fn filled(backend: &Arc<SqliteBackend>, rows: i64, len: usize) -> Table {
    let table = table();
    let mut tx = Arc::clone(backend).begin(backend.durability()).unwrap();
    tx.create(&table).unwrap();
    for key in 1..=rows {
        let row = RowWrite {
            key: Some(&[ValueRef::Int(key)]),
            payload: &vec![0; len],
            entries: &[],
        };
        tx.insert(&table, &row).unwrap();
    }
    tx.commit().unwrap();
    table
}

fn update(
    tx: &mut dyn WriteTransaction,
    table: &Table,
    row: i64,
    payload: &[u8],
) -> Result<(), WriteError> {
    let write = RowWrite {
        key: None,
        payload,
        entries: &[],
    };
    tx.update(table, RowId(row), &write)
}

/// Dflat for Swift sets a savepoint for each change and releases it.
#[test]
fn conflict_leaves_the_transaction_usable_without_a_savepoint() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = SqliteBackend::open(path, SqliteOptions::default()).unwrap();
    let table = filled(&backend, 3, 16);
    let mut tx = Arc::clone(&backend).begin(backend.durability()).unwrap();
    insert(&mut *tx, &table, 9).unwrap();
    update(&mut *tx, &table, 1, &[7; 20]).unwrap();
    assert!(matches!(
        insert(&mut *tx, &table, 9),
        Err(WriteError::Conflict(_))
    ));
    assert!(tx.delete(&table, RowId(2)).unwrap());
    tx.commit().unwrap();
    assert_eq!(count(&backend, &table), 3);

    let mut connection = backend.connections().take_writer().unwrap();
    assert!(
        connection.has_run(ControlStatement::BeginImmediate)
            && connection.has_run(ControlStatement::Commit)
    );
    assert!(!connection.has_run(ControlStatement::Savepoint));
    // `has_run` does notice a savepoint.
    connection.begin_write().unwrap();
    connection.control(ControlStatement::Savepoint).unwrap();
    assert!(connection.has_run(ControlStatement::Savepoint));
    assert!(connection.rollback_write());
    backend.upkeep().return_writer(Some(connection));
}

fn contents(snapshot: &mut dyn Snapshot, table: &Table) -> BTreeMap<i64, Vec<u8>> {
    let mut found = BTreeMap::new();
    let plan = ScanPlan {
        table,
        source: Source::Rows,
        payload: true,
    };
    let mut visit = |row: Row<'_>| {
        found.insert(row.row_id.0, row.payload.to_vec());
        ControlFlow::Continue(())
    };
    snapshot.scan(&plan, &mut visit).unwrap();
    found
}

fn damage(path: &Path) -> Vec<String> {
    let mut connection = Connection::open(path, Access::ReadWrite, None, None).unwrap();
    let mut found = Vec::new();
    let noted = connection.execute_with("PRAGMA integrity_check", |row| {
        let text = row.value(0)?;
        found.push(text.to_string());
        Ok(())
    });
    noted.unwrap();
    found
}

/// Runs of updates that are written in place, interrupted by other lengths, rows that do not exist,
/// inserts, deletions, reads, and transactions that are rolled back.
#[test]
fn payloads_written_in_place_are_read_back() {
    const ROWS: u64 = 40;
    // A payload of the last length needs overflow pages.
    const LENGTHS: [usize; 3] = [16, 200, 9000];
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = SqliteBackend::open(path.clone(), SqliteOptions::default()).unwrap();
    let table = filled(&backend, 0, 0);
    let mut model = BTreeMap::new();
    let mut state = 1_u64;
    let mut random = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for round in 0..60 {
        let mut tx = Arc::clone(&backend).begin(backend.durability()).unwrap();
        tx.create(&table).unwrap();
        let mut written: BTreeMap<i64, Vec<u8>> = model.clone();
        for _ in 0..80 {
            let row = i64::try_from(random(ROWS)).unwrap();
            match random(40) {
                0 => {
                    let known = written.contains_key(&row);
                    assert_eq!(tx.delete(&table, RowId(row)).unwrap(), known);
                    written.remove(&row);
                }
                1 if !written.contains_key(&row) => {
                    let payload = vec![1; LENGTHS[(row % 3) as usize]];
                    let write = RowWrite {
                        key: Some(&[ValueRef::Int(row)]),
                        payload: &payload,
                        entries: &[],
                    };
                    tx.restore(&table, RowId(row), &write).unwrap();
                    written.insert(row, payload);
                }
                2 => assert_eq!(contents(&mut *tx, &table), written),
                choice => {
                    let len = LENGTHS[((row + i64::from(choice == 3)) % 3) as usize];
                    let payload = vec![random(256) as u8; len];
                    match (
                        update(&mut *tx, &table, row, &payload),
                        written.get_mut(&row),
                    ) {
                        (Ok(()), Some(known)) => *known = payload,
                        (Err(WriteError::Failed(error)), None) => {
                            assert_eq!(error.kind(), ErrorKind::NotFound);
                        }
                        (other, known) => panic!("row {row}: {other:?}, known: {known:?}"),
                    }
                }
            }
        }
        if round % 3 == 2 {
            drop(tx);
        } else {
            tx.commit().unwrap();
            model = written;
        }
        let mut snapshot = Arc::clone(&backend).snapshot(View::Latest).unwrap();
        assert_eq!(contents(&mut *snapshot, &table), model, "round {round}");
    }
    assert!(!model.is_empty());
    drop(backend);
    assert_eq!(damage(&path), ["\"ok\""]);
}

/// SQLite updates such an index when a statement writes, but not when a blob is overwritten.
#[test]
fn foreign_index_over_payloads_stays_correct() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = SqliteBackend::open(path.clone(), SqliteOptions::default()).unwrap();
    let table = filled(&backend, 40, 16);
    let mut other = Connection::open(&path, Access::ReadWrite, None, None).unwrap();
    let index = "CREATE INDEX sevens ON page (__pk0) WHERE hex(p) LIKE '07%'";
    other.execute(index).unwrap();
    drop(other);
    let mut tx = Arc::clone(&backend).begin(backend.durability()).unwrap();
    for row in 1..=40 {
        update(&mut *tx, &table, row, &[7; 16]).unwrap();
    }
    tx.commit().unwrap();
    // In a table that this library made, nothing else is derived from payloads.
    let holds_alone = |backend: &SqliteBackend, table: &Table| {
        let mut connection = backend.connections().take_writer().unwrap();
        let entry = connection.enter(table);
        let alone = connection.holds_payloads_alone(entry).unwrap();
        backend.upkeep().return_writer(Some(connection));
        alone
    };
    assert!(!holds_alone(&backend, &table));
    let other = SqliteBackend::open(directory.path().join("b.db"), SqliteOptions::default());
    let other = other.unwrap();
    let table = filled(&other, 1, 16);
    assert!(holds_alone(&other, &table));
    drop((backend, other));
    assert_eq!(damage(&path), ["\"ok\""]);
}

/// Issue 27. After errors all connections are closed, and the log stays. SQLite then builds its
/// index again, whose count of commits begins anew.
#[test]
fn log_whose_index_is_built_again_has_no_foreign_commit() {
    let table = table();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = SqliteBackend::open(path, SqliteOptions::default()).unwrap();
    for key in 0..3 {
        let mut tx = Arc::clone(&backend).begin(backend.durability()).unwrap();
        tx.create(&table).unwrap();
        insert(&mut *tx, &table, key).unwrap();
        tx.commit().unwrap();
    }
    let mut writer = backend.connections().take_writer().unwrap();
    writer.raw.set(Switch::CheckpointAtClose, false);
    drop(writer);
    backend.upkeep().return_writer(None);

    let mut snapshot = Arc::clone(&backend).snapshot(View::Pinned).unwrap();
    let state = snapshot.pin().unwrap();
    drop(snapshot);
    let tx = Arc::clone(&backend).begin(backend.durability()).unwrap();
    assert!(!tx.is_overtaken(state));
    drop(tx);
    assert_eq!(count(&backend, &table), 3);
}

/// Nobody follows the file, and no option asks for change records.
// Promise: live-queries#L47
#[test]
fn commit_that_nobody_follows_runs_no_statement_for_the_change_log() {
    const STATEMENTS: [ControlStatement; 4] = [
        ControlStatement::FindChangeLog,
        ControlStatement::CreateChangeLog,
        ControlStatement::RaiseRecordIds,
        ControlStatement::AppendRecord,
    ];
    for change_log in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let options = SqliteOptions {
            change_log,
            ..SqliteOptions::default()
        };
        let backend = SqliteBackend::open(directory.path().join("a.db"), options).unwrap();
        let table = table();
        for key in 0..3 {
            let mut tx = Arc::clone(&backend).begin(backend.durability()).unwrap();
            tx.create(&table).unwrap();
            insert(&mut *tx, &table, key).unwrap();
            if tx.is_followed() {
                tx.append_record(b"record").unwrap();
            }
            tx.commit().unwrap();
        }
        backend.reclaim(1).unwrap();
        let connection = backend.connections().take_writer().unwrap();
        let has_run = STATEMENTS.iter().any(|found| connection.has_run(*found));
        assert_eq!(has_run, change_log);
        backend.upkeep().return_writer(Some(connection));
    }
}
