//! Tests of damaged and hostile files: reading them gives an error or nothing, but never a panic.

// Promise: compatibility#P37
use std::fs;
use std::ops::ControlFlow;

use dflat_engine::ErrorKind;
use dflat_engine::storage::{IndexState, Key, ScanPlan, Snapshot, Source, View, WriteError};
use dflat_model::{RowId, Table};

use crate::raw::Raw;
use crate::sample::*;

fn try_scan(
    reader: &mut dyn Snapshot,
    table: &Table,
    source: Source<'_>,
) -> dflat_engine::Result<()> {
    reader.scan(
        &ScanPlan {
            table,
            source,
            payload: true,
        },
        &mut |_| ControlFlow::Continue(()),
    )
}

#[test]
fn tables_of_unexpected_shape_give_errors() {
    let definitions = [
        "CREATE TABLE post (rowid INTEGER PRIMARY KEY, __pk0 TEXT)",
        "CREATE TABLE post (rowid TEXT, __pk0 BLOB, p INTEGER) ",
        "CREATE VIEW post AS SELECT 1 AS rowid, 'a' AS __pk0, x'00' AS p",
        "CREATE TABLE post (k TEXT PRIMARY KEY, p) WITHOUT ROWID",
        "CREATE TABLE post (rowid INTEGER PRIMARY KEY, __pk0, j, p AS (upper(j)))",
        "CREATE VIRTUAL TABLE post USING fts5(__pk0, p)",
    ];
    for definition in definitions {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        Raw::open(&path).execute(definition);
        let backend = open(&path);
        let table = post();
        let mut reader = snapshot(&backend, View::Latest);
        let sources = [
            Source::Rows,
            Source::RowIds(&[RowId(1), RowId(2)]),
            whole(Key::Primary),
            whole(Key::Index(0)),
        ];
        for source in sources {
            let _ = try_scan(&mut *reader, &table, source);
        }
        assert!(try_scan(&mut *reader, &table, whole(Key::Index(1))).is_err());
        let _ = reader
            .indexes(&table)
            .map(|indexes| indexes.states.to_vec());
        let mut tx = begin(&backend);
        let _ = tx.create(&table);
        let _ = tx.delete(&table, RowId(1));
        let _ = insert_post(&mut *tx, ("a", 1, None));
        let _ = tx.commit();
    }
}

// Promise: durability#D69, storage-format#S6
/// With computed columns, a file of a few pages could give any number of rows, each of a gigabyte.
#[test]
fn tables_with_computed_columns_are_corrupt() {
    let definitions = [
        "CREATE TABLE post (rowid INTEGER PRIMARY KEY, __pk0, p AS (zeroblob(1000)))",
        "CREATE TABLE post (rowid INTEGER PRIMARY KEY, __pk0, p AS (zeroblob(1000)) STORED)",
        "CREATE TABLE post (rowid INTEGER PRIMARY KEY, __pk0 AS (hex(zeroblob(1000))), p)",
        "CREATE TABLE source (__pk0, p AS (zeroblob(1000)));
         INSERT INTO source VALUES ('a');
         CREATE VIRTUAL TABLE post USING fts5(__pk0, p, content='source')",
    ];
    for definition in definitions {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let mut raw = Raw::open(&path);
        for statement in definition.split(';') {
            raw.execute(statement);
        }
        drop(raw);
        let backend = open(&path);
        let table = post();
        let mut reader = snapshot(&backend, View::Latest);
        for source in [
            Source::Rows,
            Source::RowIds(&[RowId(1)]),
            whole(Key::Primary),
        ] {
            let error = try_scan(&mut *reader, &table, source).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{definition}");
        }
        drop(reader);
        let mut tx = begin(&backend);
        let _ = tx.create(&table);
        assert!(insert_post(&mut *tx, ("b", 1, None)).is_err());
        drop(tx);
        let derive = |_: &Table, _: &[u8]| panic!("a computed payload was read");
        let mut problems = Vec::new();
        let report = &mut |_| ControlFlow::Continue(());
        let rows = backend.check_rows(&table, &derive, &mut |p| problems.push(p), report);
        assert_eq!((rows.unwrap(), problems.len()), (0, 1), "{definition}");
    }
}

// Promise: storage-format#S9
/// Queries do not use such an index, and the next write builds it anew.
#[test]
fn index_with_computed_values_is_not_trusted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = three_posts(&path);
    let states = || {
        snapshot(&backend, View::Latest)
            .indexes(&post())
            .map(|indexes| indexes.states.to_vec())
    };
    assert_eq!(states().unwrap(), [IndexState::Ready, IndexState::Ready]);
    Raw::open(&path).execute("ALTER TABLE post__f8 ADD COLUMN more AS (zeroblob(1000))");
    assert_eq!(states().unwrap(), [IndexState::Ready, IndexState::Missing]);
    let mut tx = begin(&backend);
    tx.create(&post()).unwrap();
    tx.commit().unwrap();
    let schema = Raw::open(&path).schema();
    assert!(
        !schema.iter().any(|line| line.contains("zeroblob")),
        "{schema:?}"
    );
}

#[test]
fn payloads_that_are_not_blobs_are_empty() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = three_posts(&path);
    let mut raw = Raw::open(&path);
    raw.execute("UPDATE post SET p = CASE rowid WHEN 1 THEN NULL WHEN 2 THEN 'text' ELSE 7 END");
    let rows = collect(
        &mut *snapshot(&backend, View::Latest),
        &post(),
        Source::Rows,
    );
    assert_eq!(rows, [(1, vec![]), (2, vec![]), (3, vec![])]);
}

#[test]
fn an_error_in_the_middle_of_a_scan_visits_no_row_twice() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let mut raw = Raw::open(&path);
    raw.execute("CREATE TABLE post (rowid INTEGER PRIMARY KEY, p)");
    raw.execute("INSERT INTO post (p) VALUES (x'01'), (x'02'), (zeroblob(100000))");
    drop(raw);
    // The overflow pages of the third row name pages that do not exist.
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[end - 10 * 4096..].fill(0xFF);
    fs::write(&path, bytes).unwrap();
    let backend = open(&path);
    let table = post();
    let mut count = 0;
    let plan = ScanPlan {
        table: &table,
        source: Source::Rows,
        payload: true,
    };
    let outcome = snapshot(&backend, View::Latest).scan(&plan, &mut |_| {
        count += 1;
        ControlFlow::Continue(())
    });
    assert!(outcome.is_err());
    assert_eq!(count, 2);
}

#[test]
fn triggers_of_the_file_do_not_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = three_posts(&path);
    Raw::open(&path).execute("CREATE TRIGGER t AFTER INSERT ON post BEGIN DELETE FROM post; END");
    let mut tx = begin(&backend);
    insert_post(&mut *tx, ("d", 1, None)).unwrap();
    tx.commit().unwrap();
    assert_eq!(latest_ids(&backend, &post()), [1, 2, 3, 4]);
}

#[test]
fn a_damaged_page_is_corrupt() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = three_posts(&path);
    let root = "FROM sqlite_schema WHERE name = 'post'";
    let page: usize = Raw::open(&path).rows(&["rootpage"], root)[0]
        .parse()
        .unwrap();
    let close = dflat_engine::storage::CloseOptions {
        truncate: true,
        vacuum: false,
    };
    dflat_engine::storage::Backend::close(&*backend, close).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[(page - 1) * 4096..page * 4096].fill(0xA5);
    fs::write(&path, bytes).unwrap();
    let backend = open(&path);
    let mut reader = snapshot(&backend, View::Latest);
    let error = try_scan(&mut *reader, &post(), Source::Rows).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("post"), "{error}");
    assert!(error.to_string().contains("SQLite code 11"), "{error}");
}

#[test]
fn a_failed_write_loses_the_transaction() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = three_posts(&path);
    let mut tx = begin(&backend);
    insert_post(&mut *tx, ("d", 1, None)).unwrap();
    let missing = table_of("missing", &[TEXT], &[]);
    let row = dflat_engine::storage::RowWrite {
        key: Some(&[dflat_model::ValueRef::Text("k")]),
        payload: b"",
        entries: &[],
    };
    assert!(matches!(
        tx.insert(&missing, &row),
        Err(WriteError::Failed(_))
    ));
    assert!(matches!(
        insert_post(&mut *tx, ("e", 1, None)),
        Err(WriteError::Failed(_))
    ));
    assert!(tx.commit().is_err());
    assert_eq!(latest_ids(&backend, &post()), [1, 2, 3]);
    let mut tx = begin(&backend);
    insert_post(&mut *tx, ("d", 1, None)).unwrap();
    tx.commit().unwrap();
}

#[test]
fn payload_that_is_too_large_is_refused_and_the_transaction_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = three_posts(&path);
    let table = table_of("large", &[INT], &[]);
    let mut tx = begin(&backend);
    tx.create(&table).unwrap();
    // The payload is larger than SQLite stores in one value.
    let payload = vec![0; 1_000_000_001];
    let row = dflat_engine::storage::RowWrite {
        key: Some(&[dflat_model::ValueRef::Int(1)]),
        payload: &payload,
        entries: &[],
    };
    let Err(WriteError::Failed(error)) = tx.insert(&table, &row) else {
        panic!("a payload that large was stored");
    };
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("at most 1000000000"), "{error}");
    tx.create(&post()).unwrap();
    insert_post(&mut *tx, ("d", 1, None)).unwrap();
    tx.commit().unwrap();
    assert_eq!(latest_ids(&backend, &post()), [1, 2, 3, 4]);
}

#[test]
fn duplicates_under_a_dropped_unique_index_do_not_stop_writes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = three_posts(&path);
    let mut raw = Raw::open(&path);
    raw.execute("DROP INDEX index__post__f8");
    raw.execute("UPDATE post__f8 SET f8 = 'same'");
    let mut tx = begin(&backend);
    tx.create(&post()).unwrap();
    insert_post(&mut *tx, ("d", 1, None)).unwrap();
    tx.commit().unwrap();
    assert_eq!(latest_ids(&backend, &post()).len(), 4);
}

#[test]
fn statements_of_too_many_descriptors_are_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let backend = three_posts(&directory.path().join("a.db"));
    let mut tx = begin(&backend);
    for i in 0..600 {
        // Each call makes a new descriptor.
        tx.create(&post()).unwrap();
        insert_post(&mut *tx, (&format!("n{i}"), i, Some(&format!("n{i}")))).unwrap();
        assert!(insert_post(&mut *tx, ("new", i, Some("x"))).is_err());
    }
    tx.commit().unwrap();
    assert_eq!(latest_ids(&backend, &post()).len(), 603);
}
