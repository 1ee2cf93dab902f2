//! The file format of Dflat for Swift, read and written.

use std::fs;
use std::path::{Path, PathBuf};

use dflat_engine::storage::{
    Backend, CloseOptions, IndexEntry, IndexRepair, IndexState, Key, RowRepair, RowWrite, Source,
    View, WriteError, WriteTransaction,
};
use dflat_model::{RowId, Step, ValueRef};

use crate::raw::Raw;
use crate::sample::*;

/// A copy of a file that Dflat for Swift wrote.
fn copy_of(names: &[&str], directory: &Path) -> PathBuf {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for name in names {
        let to = directory.join(Path::new(name).file_name().unwrap());
        fs::copy(data.join(name), to).unwrap();
    }
    directory.join(Path::new(names[0]).file_name().unwrap())
}

// Promise: storage-format#S5
#[test]
fn the_schema_text_equals_the_originals() {
    let directory = tempfile::tempdir().unwrap();
    let original = copy_of(&["checkpointed.db"], directory.path());
    let ours = directory.path().join("ours.db");
    let backend = open(&ours);
    let mut tx = begin(&backend);
    for table in originals() {
        tx.create(&table).unwrap();
    }
    tx.commit().unwrap();
    assert_eq!(
        of_the_original(Raw::open(&ours).schema()),
        Raw::open(&original).schema()
    );
}

/// The part of a file's schema that Dflat for Swift knows.
fn of_the_original(mut schema: Vec<String>) -> Vec<String> {
    schema.retain(|line| !line.contains("'dflat__"));
    schema
}

#[test]
fn files_of_the_original_are_read() {
    let cases: [&[&str]; 2] = [
        &["checkpointed.db"],
        &["unclean/unclean.db", "unclean/unclean.db-wal"],
    ];
    for names in cases {
        let directory = tempfile::tempdir().unwrap();
        let path = copy_of(names, directory.path());
        let plain = directory.path().join("plain");
        fs::create_dir(&plain).unwrap();
        let plain = copy_of(names, &plain);
        let backend = open(&path);
        let mut pinned = snapshot(&backend, View::Pinned);
        for (table, count) in originals().iter().zip([300, 190, 8]) {
            let rows = collect(&mut *pinned, table, Source::Rows);
            assert_eq!(rows.len(), count);
            let hex = |(id, payload): &(i64, Vec<u8>)| {
                let hex: String = payload.iter().map(|byte| format!("{byte:02X}")).collect();
                format!("{id}|X'{hex}'")
            };
            let rows: Vec<String> = rows.iter().map(hex).collect();
            let from = format!("FROM {} ORDER BY rowid", table.name);
            assert_eq!(rows, Raw::open(&plain).rows(&["rowid", "p"], &from));
            // It is not known whether the entries in the indexes are correct.
            let states = pinned.indexes(table).unwrap().states.to_vec();
            assert_eq!(states, vec![IndexState::Missing; table.indexes.len()]);
        }
    }
}

#[test]
fn files_of_the_original_are_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_of(&["checkpointed.db"], directory.path());
    let before = Raw::open(&path).schema();
    let backend = open(&path);
    let [doc, monster, _] = originals();
    let mut tx = begin(&backend);
    tx.create(&doc).unwrap();
    tx.create(&monster).unwrap();
    let key = [ValueRef::Text("new"), ValueRef::Int(2)];
    let entry = |index, value| IndexEntry::one(index, value);
    let row = RowWrite {
        key: Some(&key),
        payload: b"payload",
        entries: &[
            entry(0, ValueRef::Int(7)),
            entry(1, ValueRef::Int(0)),
            entry(2, ValueRef::Null),
        ],
    };
    let row_id = tx.insert(&monster, &row).unwrap();
    assert!(tx.delete(&doc, RowId(1)).unwrap());
    tx.commit().unwrap();
    let mut raw = Raw::open(&path);
    assert_eq!(of_the_original(raw.schema()), before);
    let at = format!(
        "FROM mygame__sample__monster_v1_1__f6 WHERE rowid = {}",
        row_id.0
    );
    assert_eq!(raw.rows(&["f6"], &at), ["7"]);
    assert_eq!(raw.rows(&["count(*)"], "FROM benchdoc"), ["299"]);
    assert_eq!(
        raw.rows(&["integrity_check"], "FROM pragma_integrity_check"),
        ["'ok'"]
    );
    drop(raw);
    backend
        .close(CloseOptions {
            truncate: true,
            vacuum: true,
        })
        .unwrap();
}

// Promise: storage-format#S8
#[test]
fn keys_and_index_values_are_stored_in_columns() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = three_posts(&path);
    let mut raw = Raw::open(&path);
    let main = ["1|'a'|X'61'", "2|'b'|X'62'", "3|'c'|X'63'"];
    assert_eq!(raw.rows(&["rowid", "__pk0", "p"], "FROM post"), main);
    assert_eq!(
        raw.rows(&["rowid", "f6"], "FROM post__f6"),
        ["1|30", "2|10", "3|20"]
    );
    assert_eq!(
        raw.rows(&["rowid", "f8"], "FROM post__f8"),
        ["1|'x'", "2|NULL", "3|'z'"]
    );

    let mut tx = begin(&backend);
    let mut row = RowWrite {
        key: None,
        payload: b"AA",
        entries: &[],
    };
    tx.update(&post(), RowId(1), &row).unwrap();
    let [_, slug] = entries(0, Some("y"));
    let slug = [slug];
    row.key = Some(&[ValueRef::Text("B\0")]);
    row.payload = b"";
    row.entries = &slug;
    tx.update(&post(), RowId(2), &row).unwrap();
    assert!(tx.delete(&post(), RowId(3)).unwrap());
    tx.commit().unwrap();
    let key_hex = "hex(__pk0)";
    let main = ["1|'61'|X'4141'", "2|'4200'|X''"];
    assert_eq!(raw.rows(&["rowid", key_hex, "p"], "FROM post"), main);
    assert_eq!(
        raw.rows(&["rowid", "f6"], "FROM post__f6"),
        ["1|30", "2|10"]
    );
    assert_eq!(
        raw.rows(&["rowid", "f8"], "FROM post__f8"),
        ["1|'x'", "2|'y'"]
    );
}

// Promise: storage-format#S7
#[test]
fn large_unsigned_keys_are_big_endian_blobs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = open(&path);
    let table = table_of("big", &[INT], &[]);
    let mut tx = begin(&backend);
    tx.create(&table).unwrap();
    for value in [u64::MAX, 5, i64::MAX as u64, i64::MAX as u64 + 1] {
        let row = RowWrite {
            key: Some(&[ValueRef::from_u64(value)]),
            payload: b"p",
            entries: &[],
        };
        tx.insert(&table, &row).unwrap();
    }
    assert_eq!(ids(&mut *tx, &table, whole(Key::Primary)), [2, 3, 4, 1]);
    tx.commit().unwrap();
    let expected = [
        "5",
        "9223372036854775807",
        "X'8000000000000000'",
        "X'FFFFFFFFFFFFFFFF'",
    ];
    let rows = Raw::open(&path).rows(&["__pk0"], "FROM big ORDER BY __pk0");
    assert_eq!(rows, expected);
}

// Promise: storage-format#S5
#[test]
fn names_that_sql_reserves_can_be_stored() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = open(&path);
    for name in ["order", "Order of \"merit\"", "1st", "größe"] {
        let table = table_of(name, &[TEXT], &[(field(&[], INT), true)]);
        let mut tx = begin(&backend);
        tx.create(&table).unwrap();
        let row = RowWrite {
            key: Some(&[ValueRef::Text("k")]),
            payload: b"p",
            entries: &[IndexEntry::one(0, ValueRef::Int(1))],
        };
        tx.insert(&table, &row).unwrap();
        tx.commit().unwrap();
        assert_eq!(latest_ids(&backend, &table), [1]);
        let mut reader = snapshot(&backend, View::Latest);
        assert_eq!(
            reader.indexes(&table).unwrap().states.to_vec(),
            [IndexState::Ready]
        );
        assert_eq!(ids(&mut *reader, &table, whole(Key::Index(0))), [1]);
    }
}

/// The knowledge of a table's index is kept while a transaction writes, even if the transaction
/// uses more tables than are remembered from one transaction to the next.
#[test]
fn unique_index_holds_in_a_transaction_over_many_tables() {
    const TABLES: usize = 300;
    let directory = tempfile::tempdir().unwrap();
    let backend = open(&directory.path().join("a.db"));
    let table = table_of("first", &[INT], &[(field(&[Step::Field(6)], INT), true)]);
    let insert = |tx: &mut dyn WriteTransaction, key, value| {
        let value = ValueRef::Int(value);
        let row = RowWrite {
            key: Some(&[ValueRef::Int(key)]),
            payload: b"x",
            entries: &[IndexEntry::one(0, value)],
        };
        tx.insert(&table, &row)
    };
    let mut tx = begin(&backend);
    tx.create(&table).unwrap();
    // Makes two objects have the same value, as if they had it before the index was unique.
    insert(&mut *tx, 1, 7).unwrap();
    let second = insert(&mut *tx, 2, 8).unwrap();
    let rows = [RowRepair {
        row_id: second,
        is_foreign: false,
        entries: vec![IndexEntry::one(0, ValueRef::Int(7))],
    }];
    let repair = IndexRepair {
        rows: &rows,
        filled: &[],
    };
    tx.repair_indexes(&table, &repair).unwrap();
    tx.commit().unwrap();

    let mut tx = begin(&backend);
    tx.create(&table).unwrap();
    for number in 0..TABLES {
        let name = format!("t{number}");
        tx.create(&table_of(&name, &[INT], &[])).unwrap();
    }
    let refused = insert(&mut *tx, 3, 7);
    let Err(WriteError::Conflict(conflict)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(conflict.key, Key::Index(0));
}
