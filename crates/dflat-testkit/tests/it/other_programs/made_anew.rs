//! Updates of tables that another program has created again with further columns.

use std::path::Path;

use dflat::{Object, Workspace};
use dflat_testkit::fixture::{Fixture, bounded};
use dflat_testkit::schema::{Twin, TwinChangeRequest, TwinData};
use rusqlite::Connection;

const COUNT: i32 = 40;

/// The number of objects that are updated, one after the other.
const UPDATED: i32 = 30;

fn twin(id: i32) -> TwinData {
    TwinData {
        id,
        i32_b: 1,
        ..TwinData::default()
    }
}

/// Creates the table again with SQL, updates its first objects from the id `first` on, and checks
/// that these and no other objects have changed.
fn updated_as_before(sql: &'static str, first: i32) {
    bounded(move || {
        let w = Fixture::sqlite();
        w.create::<Twin>((0..COUNT).map(twin));
        let path = w.path().unwrap();
        let (w, _directory) = w.into_parts();
        w.shutdown().unwrap();
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let expected = |id| TwinData {
            i32_b: if id < UPDATED { 100 + id } else { 1 },
            ..twin(id)
        };
        let expected: Vec<TwinData> = (first..COUNT).map(expected).collect();
        assert_eq!(update(&path), expected);
        let check = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
        let sql = Connection::open(&path).unwrap();
        let found = sql.query_row("PRAGMA integrity_check", [], check);
        assert_eq!(found.unwrap(), "ok");
    });
}

/// Updates the first objects of a file. Returns all objects afterwards.
fn update(path: &Path) -> Vec<TwinData> {
    let w = Workspace::open(path).unwrap();
    let updated = w.perform_changes([Twin::TABLE], |tx| {
        for twin in tx
            .fetch::<Twin>()
            .filter(Twin::ID.lt(UPDATED))
            .all()?
            .iter()
        {
            if let Some(mut request) = TwinChangeRequest::change(tx, twin)? {
                request.i32_b = 100 + twin.id();
                tx.submit(request)?;
            }
        }
        Ok(())
    });
    updated.wait().unwrap();
    let all = w.fetch::<Twin>().order_by(Twin::ID.ascending()).all();
    let all = all.unwrap().iter().map(Object::to_data).collect();
    w.shutdown().unwrap();
    all
}

/// In such a table, `rowid` is an ordinary column.
#[test]
fn table_recreated_by_create_table_as_is_updated() {
    let sql = "DELETE FROM twin WHERE __pk0 = 0; ALTER TABLE twin RENAME TO old; \
               CREATE TABLE twin AS SELECT * FROM old; DROP TABLE old;";
    updated_as_before(sql, 1);
}

#[test]
fn table_recreated_with_a_unique_generated_column_is_updated() {
    let sql = "ALTER TABLE twin RENAME TO old; \
               CREATE TABLE twin (rowid INTEGER PRIMARY KEY AUTOINCREMENT, __pk0 INTEGER, p BLOB, \
               h AS (hex(p)) UNIQUE, UNIQUE(__pk0)); \
               INSERT INTO twin (rowid, __pk0, p) SELECT rowid, __pk0, p FROM old; DROP TABLE old;";
    updated_as_before(sql, 0);
}

#[test]
fn table_recreated_with_a_stored_generated_column_is_updated() {
    let sql = "ALTER TABLE twin RENAME TO old; \
               CREATE TABLE twin (rowid INTEGER PRIMARY KEY AUTOINCREMENT, __pk0 INTEGER, p BLOB, \
               h AS (hex(p)) STORED, CHECK (h = hex(p)), UNIQUE(__pk0)); \
               INSERT INTO twin (rowid, __pk0, p) SELECT rowid, __pk0, p FROM old; DROP TABLE old;";
    updated_as_before(sql, 0);
}

#[test]
fn table_recreated_without_row_ids_is_updated() {
    let sql = "ALTER TABLE twin RENAME TO old; \
               CREATE TABLE twin (rowid INTEGER PRIMARY KEY, __pk0 INTEGER, p BLOB, \
               UNIQUE(__pk0)) WITHOUT ROWID; \
               INSERT INTO twin (rowid, __pk0, p) SELECT rowid, __pk0, p FROM old; DROP TABLE old;";
    updated_as_before(sql, 0);
}
