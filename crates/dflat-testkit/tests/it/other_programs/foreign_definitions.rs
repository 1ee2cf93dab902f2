//! Triggers, constraints and columns that other programs add to a table or to its index tables.

use dflat::{ChangeRequest, ErrorKind};
use dflat_testkit::fixture::{Fixture, bounded};
use dflat_testkit::shelf::v2::library::{Book, BookData};
use rusqlite::Connection;

/// Forty books; every ninth has no number.
fn shelf() -> Fixture {
    let w = Fixture::sqlite();
    w.create::<Book>((0..40).map(|id| BookData {
        id,
        isbn: (id % 9 > 0).then(|| format!("isbn {id}")),
        pages: id % 7,
        weight: id % 5,
    }));
    w
}

/// Runs SQL as another program.
fn execute(w: &Fixture, sql: &str) {
    let connection = Connection::open(w.path().unwrap()).unwrap();
    connection.execute_batch(sql).unwrap();
}

fn insert(w: &Fixture, id: i32, isbn: &str) -> Option<ErrorKind> {
    let isbn = Some(isbn.to_owned());
    let inserted = w.perform_changes([Book::TABLE], move |tx| {
        let book = BookData {
            id,
            isbn,
            ..BookData::default()
        };
        tx.submit(ChangeRequest::<Book>::creation(book)).map(drop)
    });
    inserted.wait().err().map(|error| error.kind())
}

/// Checks that queries by indexes agree with filtering all objects.
fn assert_true(w: &Fixture, when: &str) {
    let all = w.fetch::<Book>().all().unwrap();
    let ids = |books: &[Book]| books.iter().map(Book::id).collect::<Vec<_>>();
    for n in 0..7 {
        let of_pages = || w.fetch::<Book>().filter(Book::PAGES.eq(n));
        let mut expected = all.to_vec();
        expected.retain(|book| book.pages() == n);
        let context = format!("{when}: {n} pages");
        assert_eq!(of_pages().count().unwrap(), expected.len(), "{context}");
        let selected = of_pages().select(Book::PAGES).unwrap();
        assert_eq!(selected.len(), expected.len(), "{context}");
        assert_eq!(ids(&of_pages().all().unwrap()), ids(&expected), "{context}");
    }
    for book in all.iter() {
        let Some(isbn) = book.isbn() else { continue };
        let same = w.fetch::<Book>().filter(Book::ISBN.eq(isbn));
        assert!(
            ids(&same.all().unwrap()).contains(&book.id()),
            "{when}: {isbn}"
        );
    }
}

// Promise: storage-format#S10
/// No trigger runs for rows that `REPLACE` deletes because of a foreign unique index.
#[test]
fn row_replaced_by_a_foreign_unique_index_leaves_the_indexes() {
    bounded(|| {
        let w = shelf();
        execute(
            &w,
            "CREATE UNIQUE INDEX mine ON library__book (__pk0 % 100);
             INSERT OR REPLACE INTO library__book (__pk0, p)
             SELECT __pk0 + 100, p FROM library__book WHERE __pk0 = 4;",
        );
        assert_true(&w, "replaced");
        assert_eq!(insert(&w, 50, "isbn 50"), None);
        w.indexes_ready().wait().unwrap();
        assert_true(&w, "written");
        execute(&w, "DROP INDEX mine");
        assert_true(&w, "without the index");
        assert_eq!(insert(&w, 51, "isbn 50"), Some(ErrorKind::AlreadyExists));
    });
}

// Promise: storage-format#S9
#[test]
fn index_table_with_other_columns_is_rebuilt() {
    for change in [
        "ALTER TABLE library__book__f8 RENAME COLUMN f8 TO x",
        "ALTER TABLE library__book__f6 RENAME COLUMN f6 TO x",
        "ALTER TABLE library__book__f8 ADD COLUMN x",
        "DROP INDEX index__library__book__f8;
         ALTER TABLE library__book__f8 ADD COLUMN x;
         ALTER TABLE library__book__f8 DROP COLUMN f8",
        "CREATE UNIQUE INDEX mine ON library__book__f8 (f8, rowid)",
    ] {
        bounded(move || {
            let w = shelf();
            execute(&w, change);
            assert_true(&w, change);
            assert!(w.check([Book::TABLE]).unwrap().is_sound(), "{change}");
            assert_eq!(insert(&w, 50, "isbn 50"), None, "{change}");
            w.indexes_ready().wait().unwrap();
            assert_true(&w, change);
            let rows = "SELECT count(*) FROM library__book__f8 WHERE f8 NOTNULL";
            let connection = Connection::open(w.path().unwrap()).unwrap();
            let rows: i32 = connection.query_row(rows, [], |row| row.get(0)).unwrap();
            assert_eq!(rows, 41, "{change}");
        });
    }
}

// Promise: storage-format#S9
#[test]
fn exchanged_unique_index_is_rebuilt() {
    for columns in [
        "library__book__f6 (f6) WHERE rowid < 0",
        "library__book__f6 (f6, rowid)",
        "library__book__f6 (f6 COLLATE NOCASE)",
        "library__book (__pk0)",
    ] {
        bounded(move || {
            let w = shelf();
            let name = "index__library__book__f6";
            execute(&w, &format!("DROP INDEX {name}"));
            execute(&w, &format!("CREATE UNIQUE INDEX {name} ON {columns}"));
            assert_true(&w, columns);
            assert_eq!(insert(&w, 50, "isbn 50"), None, "{columns}");
            w.indexes_ready().wait().unwrap();
            assert_eq!(insert(&w, 51, "ISBN 4"), None, "{columns}");
            let again = insert(&w, 52, "isbn 4");
            assert_eq!(again, Some(ErrorKind::AlreadyExists), "{columns}");
            assert_true(&w, columns);
        });
    }
}
