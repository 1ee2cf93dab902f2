//! Laws of indexes that are added to a table with objects.

use dflat::{ChangeRequest, ErrorKind, IndexProgress, IndexState, Result, Workspace};

use crate::fixture::{Fixture, Open};
use crate::random::Random;
use crate::shelf::v1::library as v1;
use crate::shelf::v2::library as v2;
use crate::shelf::v3::library as v3;
use crate::shelf::v5::library as v5;

/// More objects than a batch of index building.
pub(super) const MANY: i32 = 1300;

fn book(id: i32) -> v1::BookData {
    v1::BookData {
        id,
        isbn: Some(format!("isbn {id}")),
        pages: id % 10,
        weight: id % 10,
    }
}

/// Books written by code without indexes.
pub(super) fn shelf(open: Open, books: impl IntoIterator<Item = v1::BookData>) -> Fixture {
    let w = open();
    w.create::<v1::Book>(books);
    w
}

fn insert(w: &Fixture, id: i32, isbn: &str, pages: i32) -> Result<()> {
    let isbn = Some(isbn.to_owned());
    let done = w.perform_changes([v2::Book::TABLE], move |tx| {
        tx.submit(ChangeRequest::<v2::Book>::creation(v2::BookData {
            id,
            isbn,
            pages,
            weight: pages,
        }))?;
        Ok(())
    });
    done.wait()
}

fn plan(w: &Fixture) -> String {
    let fetch = w.fetch::<v2::Book>().filter(v2::Book::PAGES.eq(3));
    fetch.explain().unwrap().to_string()
}

pub(super) fn progress(w: &Workspace, index: &str) -> IndexProgress {
    let mut all = w.index_progress().into_iter();
    all.find(|progress| progress.index == index).unwrap()
}

/// Queries by the indexed fields agree with queries by unindexed fields of the same values.
fn agree(w: &Fixture) {
    let ids = |predicate| -> Vec<i32> {
        let found = w.fetch::<v2::Book>().filter(predicate).all().unwrap();
        found.iter().map(v2::Book::id).collect()
    };
    for n in 0..10 {
        assert_eq!(ids(v2::Book::PAGES.eq(n)), ids(v2::Book::WEIGHT.eq(n)));
        assert_eq!(ids(v2::Book::PAGES.gt(n)), ids(v2::Book::WEIGHT.gt(n)));
        let count = |predicate| w.fetch::<v2::Book>().filter(predicate).count().unwrap();
        assert_eq!(count(v2::Book::PAGES.eq(n)), count(v2::Book::WEIGHT.eq(n)));
        let both = || v2::Book::WEIGHT.eq(n) & v2::Book::PAGES.ge(n);
        assert_eq!(count(both()), count(v2::Book::PAGES.eq(n)));
        let isbn = || v2::Book::ISBN.starts_with("isbn 1") & v2::Book::PAGES.gt(n + 1);
        let weight = v2::Book::ISBN.starts_with("isbn 1") & v2::Book::WEIGHT.gt(n + 1);
        assert_eq!(count(isbn()), ids(weight).len());
        assert_eq!(count(isbn()), ids(isbn()).len());
    }
    let first = |order| -> Vec<i32> {
        let found = w.fetch::<v2::Book>().order_by(order).limit(20);
        found.all().unwrap().iter().map(v2::Book::id).collect()
    };
    let (pages, weight) = (v2::Book::PAGES, v2::Book::WEIGHT);
    assert_eq!(first(pages.descending()), first(weight.descending()));
}

// Promise: compatibility#P48
pub fn an_index_added_later_is_built_in_the_background(open: Open) {
    let w = shelf(open, (0..MANY).map(book));
    agree(&w);
    assert!(w.index_progress().is_empty(), "nothing was written yet");
    insert(&w, MANY, "new", 3).unwrap();
    agree(&w);
    w.indexes_ready().wait().unwrap();
    let built = progress(&w, "pages");
    assert!(matches!(built.state, IndexState::Ready), "{built:?}");
    assert!(built.rows_done >= MANY as u64 && built.rows_total >= built.rows_done);
    assert!(plan(&w).contains("the index on pages"), "{}", plan(&w));
    agree(&w);
}

pub fn indexes_are_built_on_demand(open: Open) {
    let w = shelf(open, (0..MANY).map(book));
    w.build_indexes([v2::Book::TABLE]).unwrap();
    Workspace::settle(&w).unwrap();
    assert!(plan(&w).contains("the index on pages"), "{}", plan(&w));
    agree(&w);
    futures::executor::block_on(w.indexes_ready()).unwrap();
}

pub fn wait_for_indexes_ends_after_a_shutdown(open: Open) {
    let w = shelf(open, (0..4 * MANY).map(book));
    w.build_indexes([v2::Book::TABLE]).unwrap();
    let ready = w.indexes_ready();
    Workspace::shutdown(&w).unwrap();
    let all = w.index_progress();
    let is_ready = |progress: &IndexProgress| matches!(progress.state, IndexState::Ready);
    let is_built = !all.is_empty() && all.iter().all(is_ready);
    match ready.wait() {
        Ok(()) => assert!(is_built),
        Err(error) => assert_eq!(error.kind(), ErrorKind::ShutDown, "{error}"),
    }
}

// Promise: compatibility#P49, storage-format#S18
/// Duplicates from before a unique index was added stay, are found, and are reported with their
/// count and keys. Further duplicates are refused.
pub fn duplicates_from_before_a_unique_index_stay_and_are_reported(open: Open) {
    let twice = |id: i32| v1::BookData {
        isbn: Some(format!("isbn {}", id % 700)),
        ..book(id)
    };
    let w = shelf(open, (0..MANY).map(twice));
    // Existing duplicates refuse no write.
    insert(&w, MANY, "new", 3).unwrap();
    w.indexes_ready().wait().unwrap();
    let built = progress(&w, "isbn");
    assert!(matches!(built.state, IndexState::Ready), "{built:?}");
    assert_eq!(built.duplicates.len(), 600);
    let one = |d: &&dflat::Duplicate| d.values == [dflat::Value::Text("isbn 5".into())];
    let five = built.duplicates.iter().find(one).unwrap();
    let keys = [[dflat::Value::Int(5)], [dflat::Value::Int(705)]];
    assert_eq!(five.keys, keys);
    let of = |isbn: &str| -> Vec<i32> {
        let found = w.fetch::<v2::Book>().filter(v2::Book::ISBN.eq(isbn));
        found.all().unwrap().iter().map(v2::Book::id).collect()
    };
    assert_eq!(of("isbn 5"), [5, 705]);
    assert_eq!(of("isbn 650"), [650]);
    for taken in ["isbn 5", "isbn 650", "new"] {
        let error = insert(&w, MANY + 1, taken, 3).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{taken}");
    }
    // A duplicate can be changed and deleted, and both can be undone.
    let both = w.fetch::<v2::Book>().filter(v2::Book::ISBN.eq("isbn 5"));
    let both: Vec<v2::Book> = both.all().unwrap().iter().cloned().collect();
    let second = both[1].clone();
    let undone = w.perform_changes([v2::Book::TABLE], move |tx| {
        let mut request = ChangeRequest::change(tx, &second)?.unwrap();
        request.isbn = Some("other".into());
        tx.submit(request)?;
        let request = ChangeRequest::deletion(tx, &both[0])?.unwrap();
        tx.submit(request)?;
        Ok(tx.abort())
    });
    assert_eq!(undone.wait().unwrap_err().kind(), ErrorKind::Aborted);
    assert_eq!(of("isbn 5"), [5, 705]);
    let second = w.get::<v2::Book>(705).unwrap().unwrap();
    w.change(&second, |book| book.pages = 77);
    assert_eq!(of("isbn 5"), [5, 705]);
    let second = w.get::<v2::Book>(705).unwrap().unwrap();
    w.change(&second, |book| book.isbn = Some("isbn 705".into()));
    assert_eq!((of("isbn 5"), of("isbn 705")), (vec![5], vec![705]));
    let third = w.get::<v2::Book>(6).unwrap().unwrap();
    let refused = w.perform_changes([v2::Book::TABLE], move |tx| {
        let mut request = ChangeRequest::change(tx, &third)?.unwrap();
        request.isbn = Some("isbn 705".into());
        tx.submit(request).map(drop)
    });
    assert_eq!(refused.wait().unwrap_err().kind(), ErrorKind::AlreadyExists);
}

// Promise: compatibility#P48
/// An object that changes between two batches is indexed by its new values.
pub fn object_changed_while_an_index_is_built_has_its_new_values_in_it(open: Open) {
    let w = shelf(open, (0..MANY).map(book));
    w.build_indexes([v2::Book::TABLE]).unwrap();
    let mut random = Random::new(8);
    let mut next = MANY;
    for round in 0..20 {
        let id = random.below(next as usize) as i32;
        match w.get::<v2::Book>(id).unwrap() {
            Some(book) if random.below(3) == 0 => w.delete(&book),
            Some(book) => {
                w.change(&book, move |book| {
                    (book.pages, book.weight) = (id % 7, id % 7);
                });
            }
            None => {
                insert(&w, next, &format!("isbn {next}"), next % 10).unwrap();
                next += 1;
            }
        }
        // A stale entry would stay, so the slow comparison need not run in each round.
        if round % 5 == 4 {
            agree(&w);
        }
    }
    w.indexes_ready().wait().unwrap();
    assert!(plan(&w).contains("the index on pages"), "{}", plan(&w));
    agree(&w);
}

// Promise: compatibility#P50
/// Code without the index writes between code with it.
pub fn older_versions_leave_no_stale_entries(open: Open) {
    let w = shelf(open, (0..100).map(book));
    for round in 0..4 {
        insert(&w, 100 + round, &format!("new {round}"), 3).unwrap();
        Workspace::settle(&w).unwrap();
        for id in 0..20 {
            let book = w.get::<v1::Book>(id).unwrap().unwrap();
            w.change(&book, move |book| {
                (book.pages, book.weight) = (round, round);
            });
        }
        w.create::<v1::Book>([book(200 + round)]);
        agree(&w);
    }
    Workspace::settle(&w).unwrap();
    agree(&w);
}

pub fn index_may_become_unique_or_stop_being_unique(open: Open) {
    let w = open();
    for (id, isbn, pages) in [(1, "a", 1), (2, "b", 2), (3, "c", 2)] {
        insert(&w, id, isbn, pages).unwrap();
    }
    let later = |id: i32, isbn: &'static str, pages: i32| {
        let done = w.perform_changes([v3::Book::TABLE], move |tx| {
            let request = ChangeRequest::<v3::Book>::creation(v3::BookData {
                id,
                isbn: Some(isbn.into()),
                pages,
                weight: pages,
            });
            tx.submit(request).map(drop)
        });
        let done = done.wait();
        Workspace::settle(&w).unwrap();
        done.map_err(|error| error.kind())
    };
    assert_eq!(later(4, "a", 4), Ok(()));
    let pages = progress(&w, "pages");
    assert!(pages.unique && matches!(pages.state, IndexState::Ready));
    assert_eq!(pages.duplicates.len(), 1, "{:?}", pages.duplicates);
    assert_eq!(later(5, "a", 2), Err(ErrorKind::AlreadyExists));
    assert_eq!(later(5, "a", 4), Err(ErrorKind::AlreadyExists));
    assert_eq!(later(5, "a", 5), Ok(()));
    let same = |predicate| w.fetch::<v3::Book>().filter(predicate).count().unwrap();
    assert_eq!(same(v3::Book::ISBN.eq("a")), 3);
    assert_eq!(same(v3::Book::PAGES.eq(2)), 2);
    // Back to a unique index: it meets the duplicates again.
    assert_eq!(insert(&w, 6, "a", 5).map_err(|error| error.kind()), Ok(()));
    Workspace::settle(&w).unwrap();
    let isbn = progress(&w, "isbn");
    assert_eq!(isbn.duplicates.len(), 1, "{:?}", isbn.duplicates);
    let refused = insert(&w, 7, "a", 5).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
    agree(&w);
}

/// Queries of the code with other defaults return the objects that filtering all objects returns.
fn agree_with_other_defaults(w: &Fixture) {
    type Test = fn(&v5::Book, i32) -> bool;
    let all: Vec<v5::Book> = w.fetch::<v5::Book>().all().unwrap().iter().cloned().collect();
    let same = |predicate: fn(i32) -> dflat::Predicate<v5::Book>, test: Test| {
        for n in 0..11 {
            let expected = all.iter().filter(|book| test(book, n));
            let expected: Vec<i32> = expected.map(v5::Book::id).collect();
            let fetch = || w.fetch::<v5::Book>().filter(predicate(n));
            let found = fetch().all().unwrap();
            let found: Vec<i32> = found.iter().map(v5::Book::id).collect();
            assert_eq!(found, expected, "{n}: {}", fetch().explain().unwrap());
            assert_eq!(fetch().count().unwrap(), expected.len(), "{n}");
            let sum: i64 = fetch().sum(v5::Book::PAGES).unwrap().unwrap_or(0);
            let books = all.iter().filter(|book| test(book, n));
            assert_eq!(sum, books.map(|book| i64::from(book.pages())).sum::<i64>(), "{n}");
        }
    };
    same(|n| v5::Book::PAGES.eq(n), |book, n| book.pages() == n);
    same(|n| v5::Book::PAGES.lt(n), |book, n| book.pages() < n);
    same(
        |n| v5::Book::WEIGHT.eq(n) & v5::Book::PAGES.ge(3),
        |book, n| book.weight() == n && book.pages() >= 3,
    );
    same(
        |n| v5::Book::WEIGHT.gt(3) & v5::Book::PAGES.eq(n),
        |book, n| book.weight() > 3 && book.pages() == n,
    );
}

// Promise: storage-format#S15
/// A value that equals its default is not in an object's bytes, so that another default makes it
/// another value, and what an index has of it is not true any more.
pub fn changed_default_changes_no_answer(open: Open) {
    let w = open();
    w.create::<v2::Book>((0..100).map(|id| v2::BookData {
        id,
        isbn: Some(format!("isbn {id}")),
        pages: id % 7,
        weight: id % 7,
    }));
    Workspace::settle(&w).unwrap();
    let later_plan = || {
        let fetch = w.fetch::<v5::Book>().filter(v5::Book::PAGES.eq(3));
        fetch.explain().unwrap().to_string()
    };
    for round in 0..3 {
        assert_eq!(plan(&w), "range of the index on pages");
        agree(&w);
        // With other defaults the index has wrong entries, and is not used before it is built anew.
        assert_eq!(later_plan(), "all rows, check pages == 3");
        agree_with_other_defaults(&w);
        w.create::<v5::Book>([v5::BookData {
            id: 1000 + round,
            isbn: Some(format!("later {round}")),
            pages: 9,
            weight: 9,
        }]);
        agree_with_other_defaults(&w);
        Workspace::settle(&w).unwrap();
        assert_eq!(later_plan(), "range of the index on pages");
        agree_with_other_defaults(&w);
        // Back to the first defaults.
        assert_eq!(plan(&w), "all rows, check pages == 3");
        agree(&w);
        insert(&w, 2000 + round, &format!("back {round}"), 8).unwrap();
        Workspace::settle(&w).unwrap();
    }
}
