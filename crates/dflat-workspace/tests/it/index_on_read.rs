//! Reads that start to build indexes.

use std::path::{Path, PathBuf};

use dflat_engine::engine::{BuildState, Subject};
use dflat_engine::observe::{DeliveryOptions, ShapedQuery};
use dflat_model::{Query, Table};
use dflat_workspace::{ErrorKind, Fetch, FileOptions, Source, Workspace};

use crate::posts::{below, fetch, fill, insert, perform, table, titles};

/// A workspace in which reads start to build indexes.
fn open(path: &Path) -> Workspace {
    let mut options = FileOptions::default();
    options.index_on_read(true);
    Workspace::open(path, &options).unwrap()
}

/// A file in a folder with 20 posts, which code without the index has written.
fn unindexed(folder: &Path) -> PathBuf {
    let path = folder.join("posts.db");
    let mut plain = (*table("1")).clone();
    plain.indexes = Default::default();
    let workspace = Workspace::open(&path, &FileOptions::default()).unwrap();
    fill(&workspace, &Table::new(plain), 20);
    workspace.shutdown_with(Default::default()).unwrap();
    path
}

fn select(table: &Table, source: Source<'_>, query: Query) -> usize {
    let mut fetch = Fetch::new(source, table.clone());
    fetch.query = query;
    fetch.count().unwrap()
}

/// A kind of read, which counts the posts of a query.
type Read = fn(&Workspace, &Table, Query) -> usize;

fn of_workspace(workspace: &Workspace, table: &Table, query: Query) -> usize {
    select(table, Source::Workspace(workspace.engine()), query)
}

fn of_snapshot(workspace: &Workspace, table: &Table, query: Query) -> usize {
    let snapshot = workspace.engine().snapshot().unwrap();
    select(table, Source::Snapshot(&snapshot), query)
}

fn of_handler(workspace: &Workspace, table: &Table, query: Query) -> usize {
    let mut count = 0;
    let counted = workspace.perform_blocking([table.clone()], Default::default(), |tx| {
        count = select(table, Source::Transaction(tx.transaction()), query);
        Ok(())
    });
    counted.unwrap();
    count
}

fn of_handler_that_has_written(workspace: &Workspace, table: &Table, query: Query) -> usize {
    let other = crate::posts::table("2");
    let title = format!("post {}", titles(workspace, &other).len());
    let mut count = 0;
    let tables = [table.clone(), other.clone()];
    let counted = workspace.perform_blocking(tables, Default::default(), |tx| {
        insert(&tx, &other, &title, 1)?;
        count = select(table, Source::Transaction(tx.transaction()), query);
        Ok(())
    });
    counted.unwrap();
    count
}

fn of_subscription(workspace: &Workspace, table: &Table, query: Query) -> usize {
    let (send, delivered) = std::sync::mpsc::channel();
    let subject = Subject::Result {
        query: ShapedQuery::from(query),
        known: None,
    };
    let deliver = Box::new(move |event| {
        if let dflat_engine::observe::Event::Result(update) = event {
            send.send(update.unwrap().fetched.objects.len()).unwrap();
        }
    });
    let engine = workspace.engine();
    let subscribed = engine.observe(table, subject, DeliveryOptions::default(), deliver);
    let _subscription = subscribed.unwrap();
    delivered.recv().unwrap()
}

const READS: [(&str, Read); 5] = [
    ("workspace", of_workspace),
    ("snapshot", of_snapshot),
    ("handler", of_handler),
    ("handler that has written", of_handler_that_has_written),
    ("subscription", of_subscription),
];

/// The number of entries of the table's index in the file; `None` if there is no index.
fn entries(path: &Path, table: &Table) -> Option<i64> {
    let index = format!("{}__{}", table.name, table.indexes[0].storage_key());
    let sql = rusqlite::Connection::open(path).unwrap();
    let count = format!("SELECT count(*) FROM {index}");
    sql.query_row(&count, [], |row| row.get(0)).ok()
}

fn damage(path: &Path, statement: &str) {
    let sql = rusqlite::Connection::open(path).unwrap();
    sql.execute_batch(statement).unwrap();
}

#[test]
fn without_the_option_reads_build_nothing() {
    let (folder, table) = (tempfile::tempdir().unwrap(), table("1"));
    let path = unindexed(folder.path());
    let workspace = Workspace::open(&path, &FileOptions::default()).unwrap();
    for (kind, read) in READS {
        assert_eq!(read(&workspace, &table, below(&table, 3)), 3, "{kind}");
        workspace.engine().settle().unwrap();
        assert_eq!(entries(&path, &table), None, "{kind}");
    }
}

#[test]
fn the_first_read_of_a_type_builds_its_incomplete_indexes() {
    let table = table("1");
    for (kind, read) in READS {
        let folder = tempfile::tempdir().unwrap();
        let path = unindexed(folder.path());
        let workspace = open(&path);
        for _ in 0..2 {
            // The query uses no index.
            assert_eq!(read(&workspace, &table, Query::default()), 20, "{kind}");
            workspace.engine().settle().unwrap();
            assert_eq!(entries(&path, &table), Some(20), "{kind}");
        }
        let progress = workspace.engine().index_progress();
        let progress = progress.iter().find(|index| index.rows_total == 20);
        let progress = progress.unwrap();
        assert!(matches!(progress.state, BuildState::Ready), "{kind}");
        assert_eq!(progress.rows_done, 20, "{kind}");
    }
}

#[test]
fn a_query_builds_an_index_that_another_program_removes_after_the_first_read() {
    let table = table("1");
    let index = format!("{}__{}", table.name, table.indexes[0].storage_key());
    for (kind, read) in READS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("posts.db");
        let workspace = open(&path);
        fill(&workspace, &table, 20);
        assert_eq!(read(&workspace, &table, below(&table, 3)), 3, "{kind}");
        for removal in ["DROP TABLE", "DELETE FROM"] {
            damage(&path, &format!("{removal} {index}"));
            // A read that needs no index builds none.
            assert_eq!(titles(&workspace, &table).len(), 20);
            workspace.engine().settle().unwrap();
            assert_ne!(entries(&path, &table), Some(20), "{kind}, {removal}");
            assert_eq!(read(&workspace, &table, below(&table, 3)), 3, "{kind}");
            workspace.engine().settle().unwrap();
            assert_eq!(entries(&path, &table), Some(20), "{kind}, {removal}");
        }
    }
}

/// Each build counts the rows at its beginning, which shows whether there was another one.
#[test]
fn a_held_snapshot_requests_a_build_once() {
    let (folder, table) = (tempfile::tempdir().unwrap(), table("1"));
    let path = unindexed(folder.path());
    let workspace = open(&path);
    let snapshot = workspace.engine().snapshot().unwrap();
    let rows_of_the_last_build = || {
        let source = Source::Snapshot(&snapshot);
        assert_eq!(select(&table, source, below(&table, 3)), 3);
        workspace.engine().settle().unwrap();
        workspace.engine().index_progress()[0].rows_total
    };
    assert_eq!(rows_of_the_last_build(), 20);
    perform(&workspace, &table, |tx, table| insert(tx, table, "new", 7)).unwrap();
    // The state of the snapshot still lacks the index, which is complete in the file.
    assert_eq!(rows_of_the_last_build(), 20);
    assert_eq!(entries(&path, &table), Some(21));
}

/// The rows of the last build show whether there was another one, as above.
#[test]
fn a_row_that_cannot_be_read_is_tried_by_one_build_and_not_by_each_query() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("posts.db");
    let table = table("1");
    let workspace = open(&path);
    fill(&workspace, &table, 20);
    let sql = rusqlite::Connection::open(&path).unwrap();
    let damage = |row: i64| {
        let update = format!("UPDATE {} SET p = x'00' WHERE rowid = ?1", table.name);
        assert_eq!(sql.execute(&update, [row]).unwrap(), 1);
    };
    let rows_of_the_last_build = || {
        let mut query = fetch(&workspace, &table);
        query.query = below(&table, 3);
        assert_eq!(query.count().unwrap_err().kind(), ErrorKind::Corrupt);
        workspace.engine().settle().unwrap();
        workspace.engine().index_progress()[0].rows_total
    };
    damage(3);
    assert_eq!(rows_of_the_last_build(), 20);
    perform(&workspace, &table, |tx, table| insert(tx, table, "new", 7)).unwrap();
    assert_eq!(rows_of_the_last_build(), 20);
    damage(4);
    assert_eq!(rows_of_the_last_build(), 21);
}
