//! The values in the columns of index tables, as another program reads them.

use dflat::{ChangeRequest, Workspace};
use dflat_testkit::schema::{Body, Nested, NestedData, Note, Photo};
use rusqlite::Connection;
use rusqlite::types::Value;

/// The values of an index on a field of `Nested`, by row id.
fn column(sql: &Connection, name: &str) -> Vec<Value> {
    let table = Nested::TABLE;
    let mut indexes = table.indexes.iter();
    let index = indexes.find(|index| index.fields[0].name == name).unwrap();
    let key = index.storage_key();
    let text = format!("SELECT {key} FROM nested__{key} ORDER BY rowid");
    let mut statement = sql.prepare(&text).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

// Promise: storage-format#S26
#[test]
fn default_is_stored_unless_the_container_is_absent() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let w = Workspace::open(&path).unwrap();
    let note = |stars| Note { text: None, stars };
    let bodies = [
        None,
        Some(Body::Note(note(3))),
        Some(Body::Note(note(4))),
        Some(Body::Photo(Photo::default())),
    ];
    let created = w.perform_changes([Nested::TABLE], |tx| {
        for (id, body) in (0..).zip(bodies) {
            let data = NestedData {
                id,
                body,
                ..NestedData::default()
            };
            tx.submit(ChangeRequest::<Nested>::creation(data))?;
        }
        Ok(())
    });
    created.wait().unwrap();
    w.shutdown().unwrap();
    let sql = Connection::open(&path).unwrap();
    let (null, number) = (|| Value::Null, Value::Integer);
    // The payload of the second object leaves out the default, 3.
    let stars = [null(), number(3), number(4), null()];
    assert_eq!(column(&sql, "body.Note.stars"), stars);
    assert_eq!(column(&sql, "body.Photo.url"), [const { Value::Null }; 4]);
    assert_eq!(column(&sql, "point.x"), [const { Value::Null }; 4]);
}
