use std::borrow::Cow;
use std::sync::Arc;

use dflat_engine::storage::{Backend, WriteTransaction};
use dflat_model::{Field, FieldKind, IndexDescriptor, Scalar, Step, TableDescriptor, Value};

use super::*;
use crate::backend::SqliteBackend;
use crate::layout::sample;
use crate::options::SqliteOptions;

/// A table with an index `a`, and unique indexes `b` and `c`.
fn table() -> Table {
    let index = |name: &'static str, slot| IndexDescriptor {
        fields: Cow::Owned(vec![Field {
            name: Cow::Borrowed(name),
            steps: Cow::Owned(vec![Step::Field(slot)]),
            kind: FieldKind::Scalar(Scalar::I64),
            default: Value::Int(0),
        }]),
        unique: name != "a",
        condition: None,
    };
    let sample: &TableDescriptor = &sample::table();
    Table::new(TableDescriptor {
        indexes: Cow::Owned(vec![index("a", 6), index("b", 8), index("c", 10)]),
        ..sample.clone()
    })
}

fn open() -> (tempfile::TempDir, Arc<SqliteBackend>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = SqliteBackend::open(path, SqliteOptions::default()).unwrap();
    (directory, backend)
}

fn begin(backend: &Arc<SqliteBackend>, table: &Table) -> Box<dyn WriteTransaction> {
    let mut tx = Arc::clone(backend).begin(backend.durability()).unwrap();
    tx.create(table).unwrap();
    tx
}

/// The entries of a row, for the indexes `a`, `b` and `c`, as far as they have a value here.
fn entries(values: [Option<i64>; 3]) -> Vec<IndexEntry<'static>> {
    let values = values.into_iter().enumerate();
    let entry =
        |(index, value): (usize, Option<i64>)| Some(IndexEntry::one(index, ValueRef::Int(value?)));
    values.filter_map(entry).collect()
}

fn insert(
    tx: &mut dyn WriteTransaction,
    table: &Table,
    key: i64,
    values: [Option<i64>; 3],
) -> Result<RowId, WriteError> {
    let row = RowWrite {
        key: Some(&[ValueRef::Int(key)]),
        payload: &[1; 8],
        entries: &entries(values),
    };
    tx.insert(table, &row)
}

fn update(
    tx: &mut dyn WriteTransaction,
    table: &Table,
    row: i64,
    values: [Option<i64>; 3],
) -> Result<(), WriteError> {
    let write = RowWrite {
        key: None,
        payload: &[2; 8],
        entries: &entries(values),
    };
    tx.update(table, RowId(row), &write)
}

fn conflict(outcome: &Result<impl Sized, WriteError>) -> Option<usize> {
    match outcome {
        Err(WriteError::Conflict(Conflict {
            key: Key::Index(index),
        })) => Some(*index),
        _ => None,
    }
}

/// The rows of all tables, as text.
fn rows(backend: &Arc<SqliteBackend>, table: &Table) -> Vec<String> {
    let names = crate::layout::ddl::Names::new(table);
    let mut sql = format!("SELECT 'm ' || rowid || ' ' || hex(p) FROM {}", names.main);
    for index in &names.indexes {
        let (name, column) = (&index.table, &index.columns[0]);
        sql += &format!(" UNION ALL SELECT '{column} ' || rowid || ' ' || {column} FROM {name}");
    }
    let mut connection = backend.connections().take_writer().unwrap();
    let mut rows = Vec::new();
    connection
        .raw
        .execute_with(&sql, |columns| {
            rows.push(format!("{:?}", columns.value(0)?));
            Ok(())
        })
        .unwrap();
    backend.upkeep().return_writer(Some(connection));
    rows
}

#[test]
fn an_insert_that_conflicts_leaves_no_trace() {
    let (_directory, backend) = open();
    let table = table();
    let mut tx = begin(&backend, &table);
    insert(&mut *tx, &table, 1, [Some(10), Some(20), Some(30)]).unwrap();
    tx.commit().unwrap();
    let before = rows(&backend, &table);
    assert_eq!(before.len(), 4);

    let mut tx = begin(&backend, &table);
    let second = insert(&mut *tx, &table, 2, [Some(11), Some(21), Some(30)]);
    assert_eq!(conflict(&second), Some(2));
    tx.commit().unwrap();
    assert_eq!(rows(&backend, &table), before);

    let mut tx = begin(&backend, &table);
    assert_eq!(
        conflict(&insert(&mut *tx, &table, 2, [Some(11), Some(20), None])),
        Some(1)
    );
    // The row id is used by the next row, as if there had been no insert before.
    let row_id = insert(&mut *tx, &table, 2, [Some(11), Some(21), Some(31)]).unwrap();
    assert_eq!(row_id, RowId(2));
    tx.commit().unwrap();
}

#[test]
fn an_update_that_conflicts_leaves_the_row_and_its_entries() {
    let (_directory, backend) = open();
    let table = table();
    let mut tx = begin(&backend, &table);
    insert(&mut *tx, &table, 1, [Some(10), Some(20), Some(30)]).unwrap();
    insert(&mut *tx, &table, 2, [Some(11), Some(21), Some(31)]).unwrap();
    tx.commit().unwrap();
    let before = rows(&backend, &table);
    // One unique value, and two of which the second conflicts.
    for (values, index) in [
        ([Some(12), None, Some(30)], 2),
        ([Some(12), Some(22), Some(30)], 2),
        ([None, Some(20), Some(32)], 1),
    ] {
        let mut tx = begin(&backend, &table);
        assert_eq!(conflict(&update(&mut *tx, &table, 2, values)), Some(index));
        tx.commit().unwrap();
        assert_eq!(rows(&backend, &table), before);
    }
    let mut tx = begin(&backend, &table);
    update(&mut *tx, &table, 2, [Some(12), Some(22), Some(32)]).unwrap();
    tx.commit().unwrap();
    assert_ne!(rows(&backend, &table), before);
}

#[test]
fn an_update_of_a_missing_row_leaves_no_entry() {
    let (_directory, backend) = open();
    let table = table();
    let mut tx = begin(&backend, &table);
    insert(&mut *tx, &table, 1, [Some(10), Some(20), Some(30)]).unwrap();
    tx.commit().unwrap();
    let before = rows(&backend, &table);
    for values in [
        [Some(1), None, None],
        [Some(1), Some(2), None],
        [Some(1), Some(2), Some(3)],
    ] {
        let mut tx = begin(&backend, &table);
        let Err(WriteError::Failed(error)) = update(&mut *tx, &table, 7, values) else {
            panic!("there is no such row");
        };
        assert_eq!(error.kind(), ErrorKind::NotFound);
        tx.commit().unwrap();
        assert_eq!(rows(&backend, &table), before);
    }
}

#[test]
fn a_write_of_one_unique_value_sets_no_savepoint() {
    let (_directory, backend) = open();
    let table = table();
    let mut tx = begin(&backend, &table);
    insert(&mut *tx, &table, 1, [Some(10), Some(20), Some(30)]).unwrap();
    update(&mut *tx, &table, 1, [Some(11), Some(21), None]).unwrap();
    tx.commit().unwrap();
    let connection = backend.connections().take_writer().unwrap();
    assert!(!connection.has_run(ControlStatement::Savepoint));
    backend.upkeep().return_writer(Some(connection));

    // `has_run` does notice one.
    let mut tx = begin(&backend, &table);
    update(&mut *tx, &table, 1, [Some(12), Some(22), Some(32)]).unwrap();
    tx.commit().unwrap();
    let connection = backend.connections().take_writer().unwrap();
    assert!(connection.has_run(ControlStatement::Savepoint));
    backend.upkeep().return_writer(Some(connection));
}

#[test]
fn updates_with_entries_are_written_in_place() {
    let (_directory, backend) = open();
    let table = table();
    let mut tx = begin(&backend, &table);
    for key in 1..=20 {
        insert(&mut *tx, &table, key, [Some(key), Some(key), Some(key)]).unwrap();
    }
    tx.commit().unwrap();

    let mut connection = backend.connections().take_writer().unwrap();
    connection.begin_write().unwrap();
    for row in 1..=20 {
        let write = RowWrite {
            key: None,
            payload: &[3; 8],
            entries: &entries([Some(100 + row), Some(100 + row), None]),
        };
        connection.update_row(&table, RowId(row), &write).unwrap();
    }
    assert!(connection.raw.has_open_blob());
    // A conflict leaves a transaction that can be committed.
    let write = RowWrite {
        key: None,
        payload: &[4; 8],
        entries: &entries([None, Some(101), None]),
    };
    assert_eq!(
        conflict(&connection.update_row(&table, RowId(20), &write)),
        Some(1)
    );
    connection.commit_write().unwrap();
    backend.upkeep().return_writer(Some(connection));
    let rows = rows(&backend, &table);
    assert_eq!(
        rows.iter()
            .filter(|row| row.contains("0303030303030303"))
            .count(),
        20
    );
    assert_eq!(rows.iter().filter(|row| row.contains(" 101")).count(), 2);
}
