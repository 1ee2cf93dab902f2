//! Rows and triggers of other programs, through the storage seam.

use dflat_engine::storage::{IndexRepair, IndexState, View};
use dflat_model::RowId;

use crate::raw::Raw;
use crate::sample::*;

// Promise: storage-format#S17
#[test]
fn foreign_writes_mark_their_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = three_posts(&path);
    let foreign = || -> Vec<i64> {
        let indexes = snapshot(&backend, View::Latest).indexes(&post()).unwrap();
        assert_eq!(indexes.states[..], [IndexState::Ready; 2]);
        indexes.foreign.iter().map(|row_id| row_id.0).collect()
    };
    assert!(foreign().is_empty());
    let mut raw = Raw::open(&path);
    raw.execute("DELETE FROM post__f6 WHERE rowid = 3");
    assert_eq!(foreign(), [3]);
    // Whatever conflict clause the statement has, notes never conflict with each other.
    raw.execute("UPDATE OR ROLLBACK post SET p = p WHERE rowid >= 2");
    assert_eq!(foreign(), [2, 3]);
    raw.execute("INSERT OR ABORT INTO post (__pk0, p) VALUES ('d', x'64')");
    assert_eq!(foreign(), [2, 3, 4]);
    // The statement deletes the row with that key, which only a trigger that runs before it can
    // note.
    raw.execute("REPLACE INTO post (__pk0, p) VALUES ('a', x'61')");
    assert_eq!(foreign(), [1, 2, 3, 4, 5]);
    let mut tx = begin(&backend);
    for row_id in 1..=5 {
        tx.repair_indexes(
            &post(),
            &IndexRepair {
                rows: &[of_row(row_id, true, Vec::new())],
                filled: &[],
            },
        )
        .unwrap();
    }
    tx.commit().unwrap();
    let left = snapshot(&backend, View::Latest).indexes(&post()).unwrap();
    assert!(left.foreign.is_empty());
    raw.execute("DELETE FROM post");
    assert_eq!(foreign(), [2, 3, 4, 5]);
    raw.execute("DROP TABLE post");
    raw.execute("CREATE TABLE post (rowid INTEGER PRIMARY KEY AUTOINCREMENT, __pk0 TEXT, p BLOB)");
    let unknown = snapshot(&backend, View::Latest)
        .indexes(&post())
        .map(|indexes| indexes.states.to_vec());
    assert_eq!(unknown.unwrap(), [IndexState::Missing; 2]);
}

// Promise: storage-format#S17
/// If a table is renamed, its triggers stay on it and keep their names.
#[test]
fn triggers_of_a_renamed_table_do_not_make_its_successor_trusted() {
    for legacy in ["ON", "OFF"] {
        for (renamed, made) in [
            (
                "post",
                "CREATE TABLE post (rowid INTEGER PRIMARY KEY AUTOINCREMENT, __pk0 TEXT, p BLOB, \
                 UNIQUE(__pk0))",
            ),
            (
                "post__f6",
                "CREATE TABLE post__f6 (rowid INTEGER PRIMARY KEY, f6 INTEGER)",
            ),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("a.db");
            let backend = three_posts(&path);
            let mut raw = Raw::open(&path);
            raw.execute(&format!("PRAGMA legacy_alter_table = {legacy}"));
            raw.execute(&format!("ALTER TABLE {renamed} RENAME TO elsewhere"));
            raw.execute(made);
            let indexes = || snapshot(&backend, View::Latest).indexes(&post()).unwrap();
            assert_eq!(indexes().states[0], IndexState::Missing, "{renamed}");
            let mut tx = begin(&backend);
            tx.create(&post()).unwrap();
            insert_post(&mut *tx, ("q", 1, None)).unwrap();
            tx.commit().unwrap();
            assert_ne!(indexes().states[0], IndexState::Missing, "{renamed}");
        }
    }
}

// Promise: storage-format#S16
/// Code of an earlier version, which does not know all of these kinds of indexes, leaves its own
/// triggers in the file when it writes.
#[test]
fn triggers_of_an_earlier_version_do_not_make_newer_indexes_trusted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = three_posts(&path);
    let indexes = || snapshot(&backend, View::Latest).indexes(&post()).unwrap();
    assert_ne!(indexes().states[0], IndexState::Missing);
    let mut raw = Raw::open(&path);
    let mains = "FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'post'";
    let triggers = raw.rows(&["name", "sql"], mains);
    assert_eq!(triggers.len(), 5, "{triggers:?}");
    for trigger in triggers {
        let trigger = trigger.replace("''", "'");
        let (name, sql) = trigger.split_once("'|'").unwrap();
        let (name, sql) = (name.trim_matches('\''), sql.trim_end_matches('\''));
        assert!(sql.contains(" /* dflat 2 */"), "{sql}");
        raw.execute(&format!("DROP TRIGGER {name}"));
        raw.execute(&sql.replace(" /* dflat 2 */", ""));
    }
    assert_eq!(indexes().states[..], [IndexState::Missing; 2]);
    let mut tx = begin(&backend);
    tx.create(&post()).unwrap();
    tx.commit().unwrap();
    assert_eq!(indexes().states[..], [IndexState::Incomplete(RowId(0)); 2]);
}

// Promise: storage-format#S17
/// There are more foreign rows than can be read one by one, so the indexes are built anew.
#[test]
fn index_with_too_many_foreign_rows_is_not_trusted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = three_posts(&path);
    let mut raw = Raw::open(&path);
    raw.execute(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) \
         INSERT INTO post (__pk0, p) SELECT 'n' || i, x'00' FROM n",
    );
    let indexes = || snapshot(&backend, View::Latest).indexes(&post()).unwrap();
    assert_eq!(indexes().states[..], [IndexState::Missing; 2]);
    assert!(indexes().foreign.is_empty());
    // Further notes would add no information.
    assert_eq!(raw.rows(&["count(*)"], "FROM dflat__foreign"), ["1001"]);
    let mut tx = begin(&backend);
    tx.create(&post()).unwrap();
    tx.commit().unwrap();
    assert_eq!(indexes().states[..], [IndexState::Incomplete(RowId(0)); 2]);
    assert!(indexes().foreign.is_empty());
}
