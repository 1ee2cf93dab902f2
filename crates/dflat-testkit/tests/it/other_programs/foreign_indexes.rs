//! Another program changes tables and indexes in all ways: queries are right at once, and right
//! after the next write of this library, which mends the indexes.

// Promise: storage-format#S11
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dflat::{ChangeRequest, Error, ErrorKind, Object, Workspace};
use dflat_testkit::fixture::{Fixture, bounded};
use dflat_testkit::random::Random;
use dflat_testkit::seeds;
use dflat_testkit::shelf::{v1::library as v1, v2::library as v2};
use rusqlite::Connection;
use v2::Book;

const SEEDS: &str = "tests/foreign_seeds.txt";

/// Statements of another program; `A` and `B` are row ids, `N` is a small number, and `book` stands
/// for the full name of the table.
const FOREIGN: &[&str] = &[
    "UPDATE book SET p = (SELECT p FROM book WHERE rowid = A) WHERE rowid = B AND EXISTS \
     (SELECT 1 FROM book WHERE rowid = A)",
    "DELETE FROM book WHERE rowid = A",
    "DELETE FROM book WHERE rowid > A",
    "INSERT INTO book (__pk0, p) SELECT (SELECT max(__pk0) + 1 FROM book), p FROM book WHERE \
     rowid = A",
    "REPLACE INTO book (__pk0, p) SELECT __pk0, p FROM book WHERE rowid = A",
    "UPDATE OR REPLACE book SET __pk0 = (SELECT __pk0 FROM book WHERE rowid = A) WHERE rowid = B \
     AND EXISTS (SELECT 1 FROM book WHERE rowid = A)",
    "UPDATE OR IGNORE book SET rowid = rowid + 500 WHERE rowid = A",
    "UPDATE book__f8 SET f8 = N WHERE rowid = A",
    "UPDATE book__f8 SET f8 = f8 + 1 WHERE rowid > A",
    "REPLACE INTO book__f8 VALUES (A, N)",
    "REPLACE INTO book__f8 VALUES (A + 5000, N)",
    "DELETE FROM book__f8 WHERE rowid = A",
    "DELETE FROM book__f8 WHERE rowid > A",
    "DELETE FROM book__f8",
    "REPLACE INTO book__f6 SELECT A, f6 FROM book__f6 WHERE rowid = B",
    "UPDATE OR REPLACE book__f6 SET f6 = 'isbn N' WHERE rowid = A",
    "DELETE FROM book__f6 WHERE rowid = A",
    "UPDATE dflat__COMPOSITE SET f8 = N WHERE rowid = A",
    "REPLACE INTO dflat__COMPOSITE VALUES (A, N, N)",
    "DELETE FROM dflat__COMPOSITE WHERE rowid > A",
    "DROP TABLE dflat__COMPOSITE",
    "DROP INDEX dflat__COMPOSITE__index",
    "UPDATE dflat__PARTIAL SET f8 = N WHERE rowid = A",
    "REPLACE INTO dflat__PARTIAL VALUES (A, N, 'isbn N')",
    "DELETE FROM dflat__PARTIAL WHERE rowid = A",
    "DELETE FROM dflat__PARTIAL",
    "DROP TABLE dflat__PARTIAL",
    "DROP INDEX dflat__PARTIAL__index",
    "DELETE FROM dflat__filled",
    "DROP TABLE dflat__filled",
    "DROP TABLE book__f8",
    "DROP TABLE book__f6",
    "DROP INDEX index__book__f8",
    "DROP INDEX index__book__f6",
    "CREATE TABLE f8 AS SELECT * FROM book__f8; DROP TABLE book__f8; CREATE TABLE book__f8 (rowid \
     INTEGER PRIMARY KEY, f8 INTEGER); INSERT INTO book__f8 SELECT rowid, N FROM f8; CREATE INDEX \
     index__book__f8 ON book__f8 (f8); DROP TABLE f8",
    "CREATE TABLE b AS SELECT * FROM book; DROP TABLE book; CREATE TABLE book (rowid INTEGER \
     PRIMARY KEY AUTOINCREMENT, __pk0 INTEGER, p BLOB, UNIQUE(__pk0)); INSERT INTO book SELECT \
     rowid + 1, __pk0, p FROM b; DROP TABLE b",
];

fn apply(sql: &Connection, random: &mut Random) -> (&'static str, bool) {
    let statement = random.pick(FOREIGN);
    let (a, b, n) = (random.below(60), random.below(60), random.below(8));
    let text = with_numbers(statement, (a, b, n));
    let whole = format!("BEGIN; {text}; COMMIT");
    let done = sql.execute_batch(&whole).is_ok();
    if !done {
        // The row or the table may be missing, or a value may be a duplicate.
        let _ = sql.execute_batch("ROLLBACK");
    }
    (statement, done)
}

/// The statement with its numbers in place of the letters that are words of their own.
fn with_numbers(statement: &str, (a, b, n): (usize, usize, usize)) -> String {
    let mut text = String::new();
    let mut word = String::new();
    for letter in statement.chars().chain([' ']) {
        if letter.is_ascii_alphanumeric() || letter == '_' {
            word.push(letter);
            continue;
        }
        match word.as_str() {
            "A" => text.push_str(&a.to_string()),
            "B" => text.push_str(&b.to_string()),
            "N" => text.push_str(&n.to_string()),
            other => text.push_str(other),
        }
        word.clear();
        text.push(letter);
    }
    let table = Book::TABLE;
    let named = |partial: bool| {
        let mut indexes = table.indexes.iter().filter(|index| !index.is_plain());
        let index = indexes.find(|index| index.condition.is_some() == partial);
        format!("book__{}", index.unwrap().storage_key())
    };
    let text = text.replace("PARTIAL", &named(true));
    let text = text.replace("COMPOSITE", &named(false));
    text.replace("book", "library__book")
}

/// Checks that each query gives the result of filtering and sorting all objects.
fn check(w: &Workspace) {
    let all: Vec<Book> = w.fetch::<Book>().all().unwrap().iter().cloned().collect();
    let same = |predicate: fn(i32) -> dflat::Predicate<Book>, test: fn(&Book, i32) -> bool| {
        for n in 0..8 {
            let found = w.fetch::<Book>().filter(predicate(n)).all().unwrap();
            let found: Vec<_> = found.iter().map(Object::row_id).collect();
            let expected = all.iter().filter(|book| test(book, n));
            let expected: Vec<_> = expected.map(Object::row_id).collect();
            assert_eq!(found, expected, "{n}");
            let count = w.fetch::<Book>().filter(predicate(n)).count().unwrap();
            assert_eq!(count, expected.len(), "{n}");
        }
    };
    same(|n| Book::PAGES.eq(n), |book, n| book.pages() == n);
    same(|n| Book::PAGES.gt(n), |book, n| book.pages() > n);
    same(
        |n| Book::PAGES.in_([n, 3]) & Book::WEIGHT.lt(5),
        |book, n| [n, 3].contains(&book.pages()) && book.weight() < 5,
    );
    same(
        |n| Book::ISBN.eq(format!("isbn {n}")),
        |book, n| book.isbn() == Some(&*format!("isbn {n}")),
    );
    same(
        |n| Book::ISBN.eq(format!("isbn {n}")) | Book::PAGES.eq(n),
        |book, n| book.isbn() == Some(&*format!("isbn {n}")) || book.pages() == n,
    );
    same(
        |n| Book::WEIGHT.eq(n) & Book::PAGES.gt(2),
        |book, n| book.weight() == n && book.pages() > 2,
    );
    same(
        |n| Book::PAGES.eq(n) & Book::WEIGHT.gt(3),
        |book, n| book.pages() == n && book.weight() > 3,
    );
    same(
        |n| Book::ISBN.eq(format!("isbn {n}")) & Book::PAGES.gt(3) & Book::WEIGHT.ge(n - 3),
        |book, n| {
            let isbn = book.isbn() == Some(&*format!("isbn {n}"));
            isbn && book.pages() > 3 && book.weight() >= n - 3
        },
    );
    let top = w.fetch::<Book>().order_by(Book::PAGES.descending());
    let top = top.filter(Book::PAGES.ge(2)).limit(7).all().unwrap();
    let mut expected: Vec<&Book> = all.iter().filter(|book| book.pages() >= 2).collect();
    expected.sort_by_key(|book| (-book.pages(), book.row_id()));
    expected.truncate(7);
    let ids =
        |books: &mut dyn Iterator<Item = &Book>| -> Vec<_> { books.map(Object::row_id).collect() };
    assert_eq!(ids(&mut top.iter()), ids(&mut expected.into_iter()));
}

/// For each index, the plan of a query that the index can serve.
fn plans(w: &Workspace) -> [String; 4] {
    let plan = |predicate, order: Option<dflat::Order<Book>>| {
        let fetch = w.fetch::<Book>().filter(predicate);
        let fetch = order.into_iter().fold(fetch, dflat::Fetch::order_by);
        fetch.explain().unwrap().to_string()
    };
    let heavy = Book::WEIGHT.gt(3) & Book::PAGES.eq(3);
    [
        plan(Book::PAGES.eq(3), None),
        plan(Book::ISBN.eq("isbn 3"), None),
        plan(
            Book::WEIGHT.eq(3) & Book::PAGES.gt(2),
            Some(Book::PAGES.ascending()),
        ),
        plan(heavy, Some(Book::ISBN.ascending())),
    ]
}

/// The indexes, as plans name them, in the order of [`plans`].
const INDEXES: [&str; 4] = [
    "pages",
    "isbn",
    "weight, pages",
    "pages, isbn where weight > 3",
];

/// A write of this library, by code of either version.
fn write(w: &Fixture, random: &mut Random, next: &mut i32) {
    let books = w.fetch::<Book>().all().unwrap();
    let n = random.below(8) as i32;
    let isbn = Some(format!("isbn {}", random.below(12)));
    let allowed = |outcome: Result<(), Error>| {
        let refused = outcome.map_err(|error| error.kind());
        let taken = [ErrorKind::AlreadyExists, ErrorKind::NotFound];
        assert!(refused.is_ok() || taken.contains(&refused.unwrap_err()));
    };
    let chosen = (!books.is_empty()).then(|| random.pick(&books).clone());
    match (random.below(4), chosen) {
        (0, Some(book)) => {
            let done = w.perform_changes([Book::TABLE], move |tx| {
                let Some(request) = ChangeRequest::deletion(tx, &book)? else {
                    return Ok(());
                };
                tx.submit(request).map(drop)
            });
            allowed(done.wait());
        }
        (1, Some(book)) => {
            let done = w.perform_changes([Book::TABLE], move |tx| {
                let Some(mut request) = ChangeRequest::change(tx, &book)? else {
                    return Ok(());
                };
                (request.pages, request.isbn) = (n, isbn);
                tx.submit(request).map(drop)
            });
            allowed(done.wait());
        }
        (2, Some(book)) => {
            let id = book.id();
            let done = w.perform_changes([v1::Book::TABLE], move |tx| {
                let Some(book) = tx.get::<v1::Book>(id)? else {
                    return Ok(());
                };
                let Some(mut request) = ChangeRequest::change(tx, &book)? else {
                    return Ok(());
                };
                (request.pages, request.weight) = (n, n);
                tx.submit(request).map(drop)
            });
            allowed(done.wait());
        }
        _ => {
            *next += 1;
            let id = *next;
            let done = w.perform_changes([Book::TABLE], move |tx| {
                let request = ChangeRequest::<Book>::creation(v2::BookData {
                    id,
                    isbn,
                    pages: n,
                    weight: 7 - n,
                });
                tx.submit(request).map(drop)
            });
            allowed(done.wait());
        }
    }
}

/// The number of foreign statements that took effect.
fn one(seed: u64) -> usize {
    let mut random = Random::new(seed);
    let w = Fixture::sqlite();
    let mut next = 1000;
    w.create::<v1::Book>((0..30).map(|id| v1::BookData {
        id,
        isbn: (id % 9 > 0).then(|| format!("isbn {id}")),
        pages: id % 7,
        weight: id % 5,
    }));
    let sql = Connection::open(w.path().unwrap()).unwrap();
    sql.busy_timeout(std::time::Duration::from_secs(20))
        .unwrap();
    let mut received = Vec::new();
    for _ in 0..25 {
        match random.below(8) {
            0..4 => received.push(apply(&sql, &mut random)),
            4..6 => write(&w, &mut random, &mut next),
            6 => w.build_indexes([Book::TABLE]).unwrap(),
            _ => Workspace::settle(&w).unwrap(),
        }
        check(&w);
    }
    write(&w, &mut random, &mut next);
    w.build_indexes([Book::TABLE]).unwrap();
    w.indexes_ready().wait().unwrap();
    check(&w);
    for (plan, index) in plans(&w).iter().zip(INDEXES) {
        let expected = format!("range of the index on {index}");
        assert_eq!(*plan, expected, "{received:?}");
    }
    received.iter().filter(|(_, done)| *done).count()
}

// Promise: compatibility#P50
#[test]
fn queries_are_right_after_random_foreign_writes() {
    let effects = Arc::new(AtomicUsize::new(0));
    let kept = seeds::kept(SEEDS);
    let kept = kept.iter().map(|line| line.parse().unwrap());
    for seed in kept.chain(0..40) {
        let effects = Arc::clone(&effects);
        bounded(move || {
            seeds::run(SEEDS, seed, |seed| {
                effects.fetch_add(one(seed), Ordering::Relaxed);
            });
        });
    }
    let effects = effects.load(Ordering::Relaxed);
    assert!(effects > 250, "only {effects} statements took effect");
}

const USED: &str = "used";
const WITH_FOREIGN: &str = "used, with foreign rows";
const NOT: &str = "not used";
/// The state of each index after each statement.
const STATES: [(&str, [&str; 4]); 16] = [
    ("SELECT 'ready'", [USED; 4]),
    (
        "UPDATE dflat__PARTIAL SET f8 = 7 WHERE rowid = 5",
        [WITH_FOREIGN; 4],
    ),
    (
        "REPLACE INTO dflat__PARTIAL VALUES (1, 3, 'isbn 1')",
        [WITH_FOREIGN; 4],
    ),
    (
        "DELETE FROM dflat__PARTIAL WHERE rowid > 20",
        [WITH_FOREIGN; 4],
    ),
    (
        "DELETE FROM dflat__COMPOSITE WHERE rowid = 7",
        [WITH_FOREIGN; 4],
    ),
    (
        "UPDATE book__f8 SET f8 = 3 WHERE rowid = 9",
        [WITH_FOREIGN; 4],
    ),
    (
        "UPDATE book SET p = (SELECT p FROM book WHERE rowid = 4) WHERE rowid = 5",
        [WITH_FOREIGN; 4],
    ),
    ("DELETE FROM book WHERE rowid = 5", [WITH_FOREIGN; 4]),
    ("DROP TABLE dflat__PARTIAL", [USED, USED, USED, NOT]),
    ("DROP TABLE dflat__COMPOSITE", [USED, USED, NOT, USED]),
    ("DROP TABLE book__f8", [NOT, USED, USED, USED]),
    ("DROP TABLE book__f6", [USED, NOT, USED, USED]),
    ("DELETE FROM dflat__filled", [USED, USED, USED, NOT]),
    ("DROP TABLE dflat__filled", [USED, USED, USED, NOT]),
    (
        "UPDATE dflat__filled SET up_to = 12",
        [USED, USED, USED, NOT],
    ),
    ("DROP INDEX dflat__PARTIAL__index", [USED, USED, USED, NOT]),
];

/// After each statement of another program, plans use an index or not, as the table says, and
/// queries are right. After the next write of this library, and after building, plans use all
/// indexes again.
#[test]
fn plans_use_only_ready_indexes() {
    bounded(move || {
        let w = Fixture::sqlite();
        w.create::<Book>((0..60).map(|id| v2::BookData {
            id,
            isbn: (id % 9 > 0).then(|| format!("isbn {id}")),
            pages: id % 7,
            weight: id % 5,
        }));
        let sql = Connection::open(w.path().unwrap()).unwrap();
        for (round, (statement, expected)) in (100..).zip(STATES) {
            let whole = plans(&w);
            for (plan, index) in whole.iter().zip(INDEXES) {
                assert_eq!(
                    *plan,
                    format!("range of the index on {index}"),
                    "{statement}"
                );
            }
            sql.execute_batch(&with_numbers(statement, (0, 0, 0)))
                .unwrap();
            let plans = plans(&w);
            let found = std::array::from_fn(|n| {
                let used = format!("range of the index on {}", INDEXES[n]);
                match plans[n].strip_prefix(&used) {
                    Some("") => USED,
                    Some(rest) if rest.starts_with(" and ") => WITH_FOREIGN,
                    _ => NOT,
                }
            });
            assert_eq!(found, expected, "{statement}: {plans:?}");
            check(&w);
            w.create::<Book>([v2::BookData {
                id: round,
                ..v2::BookData::default()
            }]);
            check(&w);
            w.indexes_ready().wait().unwrap();
            check(&w);
        }
    });
}
