//! Indexes over several fields and indexes with a condition, in a file.

use dflat::{ChangeRequest, IoReport, Object, Operation, ProblemKind, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::shelf::{v1::library as v1, v4::library as v4};
use rusqlite::Connection;
use tempfile::TempDir;

const TABLE: &str = "library__book";

/// The names of the tables of the indexes with a condition.
fn tables() -> Vec<String> {
    let book = v4::Book::TABLE;
    let declared = book
        .indexes
        .iter()
        .filter(|index| index.condition.is_some());
    let names: Vec<String> = declared
        .map(|index| format!("dflat__{TABLE}__{}", index.storage_key()))
        .collect();
    assert_eq!(names.len(), 3);
    names
}

fn open(directory: &TempDir) -> Workspace {
    let path = directory.path().join("a.db");
    Workspace::builder(path).io_stats(true).open().unwrap()
}

/// Inserts, changes and deletes books outside of all conditions, each in a commit. Returns the
/// counts of the writes.
fn spent<B: Object + Send>(
    make: fn(i32) -> B::Data,
    change: fn(&mut ChangeRequest<B>, i32),
) -> Vec<(u64, u64)>
where
    B::Data: Send,
{
    let directory = tempfile::tempdir().unwrap();
    let w = open(&directory);
    let submit = |id: i32| {
        let insert = move |tx: &dflat::TransactionContext| {
            tx.submit(ChangeRequest::<B>::creation(make(id)))
                .map(|o| o.into_object().unwrap())
        };
        w.perform_changes([B::TABLE], insert).wait().unwrap()
    };
    let mut books: Vec<B> = (0..50).map(submit).collect();
    w.settle().unwrap();
    let mut writes = Vec::new();
    let mut count = |w: &Workspace, before: IoReport| {
        let report = w.io_report().unwrap().since(&before);
        writes.push((
            report.count(Operation::Write),
            report.bytes(Operation::Write),
        ));
    };
    let before = w.io_report().unwrap();
    books.extend((50..90).map(submit));
    count(&w, before);
    let before = w.io_report().unwrap();
    for (n, book) in (0..).zip(&books) {
        let book = book.clone();
        let changed = w.perform_changes([B::TABLE], move |tx| {
            let mut request = ChangeRequest::change(tx, &book)?.unwrap();
            change(&mut request, n);
            tx.submit(request).map(drop)
        });
        changed.wait().unwrap();
    }
    count(&w, before);
    let before = w.io_report().unwrap();
    for book in books {
        let deleted = w.perform_changes([B::TABLE], move |tx| {
            let request = ChangeRequest::deletion(tx, &book)?.unwrap();
            tx.submit(request).map(drop)
        });
        deleted.wait().unwrap();
    }
    count(&w, before);
    for index in w.io_report().unwrap().indexes {
        assert_eq!((index.writes, index.lookups), (0, 0), "{index:?}");
    }
    w.shutdown().unwrap();
    writes
}

// Promise: storage-format#S20
#[test]
fn objects_outside_the_condition_of_an_index_write_no_entries() {
    bounded(|| {
        let without = spent::<v1::Book>(
            |id| v1::BookData {
                id,
                isbn: Some(format!("isbn {id}")),
                pages: id % 100,
                weight: id % 9,
            },
            |request, n| (request.pages, request.weight) = (n % 17, n),
        );
        let with = spent::<v4::Book>(
            |id| v4::BookData {
                id,
                isbn: Some(format!("isbn {id}")),
                pages: id % 100,
                weight: id % 9,
            },
            |request, n| (request.pages, request.weight) = (n % 17, n),
        );
        assert_eq!(with, without);
        assert!(without.iter().all(|(writes, _)| *writes > 0), "{without:?}");
    });
}

fn book(id: i32, pages: i32) -> v4::BookData {
    v4::BookData {
        id,
        isbn: Some(format!("isbn {id}")),
        pages,
        weight: 1000,
    }
}

fn create(w: &Workspace, books: impl IntoIterator<Item = v4::BookData>) {
    let books: Vec<_> = books.into_iter().collect();
    let created = w.perform_changes([v4::Book::TABLE], move |tx| {
        for book in books {
            tx.submit(ChangeRequest::<v4::Book>::creation(book))?;
        }
        Ok(())
    });
    created.wait().unwrap();
}

fn rows(sql: &Connection, table: &str) -> i64 {
    let count = format!("SELECT count(*) FROM {table}");
    sql.query_row(&count, [], |row| row.get(0)).unwrap()
}

#[test]
fn an_index_with_a_condition_has_the_objects_that_meet_it() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let w = open(&directory);
        create(&w, (0..20).map(|id| book(id, id * 10)));
        let sql = Connection::open(directory.path().join("a.db")).unwrap();
        let found: Vec<i64> = tables().iter().map(|table| rows(&sql, table)).collect();
        // The entries of the indexes: of books with more than 100 pages, of books with a weight of
        // 1000, and of the unique index.
        assert_eq!(found, [9, 9, 20]);
        let seen = w.get::<v4::Book>(15).unwrap().unwrap();
        let changed = w.perform_changes([v4::Book::TABLE], move |tx| {
            let mut request = ChangeRequest::change(tx, &seen)?.unwrap();
            (request.pages, request.weight) = (1, 1);
            tx.submit(request).map(drop)
        });
        changed.wait().unwrap();
        let found: Vec<i64> = tables().iter().map(|table| rows(&sql, table)).collect();
        assert_eq!(found, [8, 8, 19]);
        assert!(w.check([v4::Book::TABLE]).unwrap().is_sound());
        w.shutdown().unwrap();
    });
}

#[test]
fn check_finds_damage_in_declared_indexes_and_repair_mends_it() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        for damage in [
            "DELETE FROM TABLE0 WHERE rowid = 15",
            "UPDATE TABLE0 SET f8 = f8 + 1 WHERE rowid = 15",
            "INSERT INTO TABLE0 VALUES (3, 3, 20)",
            "INSERT INTO TABLE0 VALUES (300, 3, 20)",
        ] {
            let w = open(&directory);
            create(&w, (0..20).map(|id| book(id, id * 10)));
            w.shutdown().unwrap();
            let sql = Connection::open(&path).unwrap();
            let table = tables()
                .into_iter()
                .find(|name| name.contains("_and_"))
                .unwrap();
            let columns = damage.replace("TABLE0", &table);
            sql.execute_batch(&columns).unwrap();
            // Another program deletes entries, without running triggers.
            sql.execute_batch("DELETE FROM dflat__foreign").unwrap();
            drop(sql);
            let w = open(&directory);
            let report = w.check([v4::Book::TABLE]).unwrap();
            let kinds: Vec<ProblemKind> = report.problems.iter().map(|p| p.kind).collect();
            assert_eq!(kinds.len(), 1, "{damage}: {report:?}");
            assert!(matches!(kinds[0], ProblemKind::Index | ProblemKind::Orphan));
            assert!(!w.repair([v4::Book::TABLE]).unwrap().before.is_sound());
            let report = w.check([v4::Book::TABLE]).unwrap();
            assert!(report.is_sound(), "{damage}: {report:?}");
            w.shutdown().unwrap();
            std::fs::remove_file(&path).unwrap();
        }
    });
}
