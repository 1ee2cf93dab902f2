//! Laws of duplicates that are older than a unique index over several fields, or with a condition.

use std::collections::BTreeMap;

use dflat::{ChangeRequest, ErrorKind, IndexState};

use super::indexing::{MANY, progress, shelf};
use crate::fixture::{Fixture, Open};
use crate::shelf::v1::library as v1;
use crate::shelf::v6::library as v6;

/// The values that several objects have in a unique index, with the keys of these objects.
fn twice<V: Ord>(books: &[v1::BookData], of: fn(&v1::BookData) -> Option<V>) -> Vec<(V, Vec<i32>)> {
    let mut found: BTreeMap<V, Vec<i32>> = BTreeMap::new();
    for book in books {
        if let Some(value) = of(book) {
            found.entry(value).or_default().push(book.id);
        }
    }
    found.retain(|_, ids| ids.len() > 1);
    found.into_iter().collect()
}

fn isbn_of_the_heavy(book: &v1::BookData) -> Option<String> {
    book.isbn.clone().filter(|_| book.weight > 3)
}

/// A book. At most two of these books have the same pages and weight, or the same ISBN.
fn doubled(id: i32) -> v1::BookData {
    v1::BookData {
        id,
        isbn: (id % 50 > 0).then(|| format!("isbn {}", id % 700)),
        pages: id % 30,
        weight: id / 30 % 40,
    }
}

/// Creates a book with the code that declares the unique indexes.
fn insert_unique(
    w: &Fixture,
    id: i32,
    isbn: Option<&str>,
    (pages, weight): (i32, i32),
) -> Result<(), ErrorKind> {
    let isbn = isbn.map(str::to_owned);
    let done = w.perform_changes([v6::Book::TABLE], move |tx| {
        let data = v6::BookData {
            id,
            isbn,
            pages,
            weight,
        };
        tx.submit(ChangeRequest::<v6::Book>::creation(data)).map(drop)
    });
    done.wait().map_err(|error| error.kind())
}

fn ids_of(w: &Fixture, predicate: &dflat::Predicate<v6::Book>, index: &str) -> Vec<i32> {
    let fetch = || w.fetch::<v6::Book>().filter(predicate.clone());
    let plan = fetch().explain().unwrap().to_string();
    assert!(plan.contains(&format!("the index on {index}")), "{plan}");
    fetch().all().unwrap().iter().map(v6::Book::id).collect()
}

const TOGETHER: &str = "pages, weight";
const OF_SOME: &str = "isbn where weight > 3";

fn five() -> dflat::Predicate<v6::Book> {
    v6::Book::PAGES.eq(5) & v6::Book::WEIGHT.eq(0)
}

fn heavy() -> dflat::Predicate<v6::Book> {
    v6::Book::WEIGHT.gt(3) & v6::Book::ISBN.eq("isbn 199")
}

/// As `duplicates_from_before_a_unique_index_stay_and_are_reported`, for indexes over several
/// fields and for indexes with a condition.
pub fn duplicates_in_a_unique_index_are_reported_with_their_keys(open: Open) {
    use dflat::Value::{Int, Text};
    let books: Vec<v1::BookData> = (0..MANY).map(doubled).collect();
    let w = shelf(open, books.clone());
    assert_eq!(insert_unique(&w, MANY, None, (100, 100)), Ok(()));
    w.indexes_ready().wait().unwrap();
    let reported = |index: &str| -> Vec<_> {
        let built = progress(&w, index);
        assert!(matches!(built.state, IndexState::Ready), "{built:?}");
        let duplicates = built.duplicates.into_iter();
        duplicates.map(|d| (d.values, d.keys)).collect()
    };
    let keys = |ids: &[i32]| -> Vec<_> { ids.iter().map(|id| vec![Int((*id).into())]).collect() };
    let together = twice(&books, |book| Some((book.pages, book.weight)));
    assert_eq!(together.len(), 100);
    let together = together.iter().map(|((pages, weight), ids)| {
        let values = [*pages, *weight].map(|value| Int(value.into()));
        (values.to_vec(), keys(ids))
    });
    assert_eq!(reported(TOGETHER), together.collect::<Vec<_>>());
    let of_some = twice(&books, isbn_of_the_heavy);
    assert!(!of_some.is_empty());
    let of_some = of_some.into_iter();
    let of_some = of_some.map(|(isbn, ids)| (vec![Text(isbn.into())], keys(&ids)));
    assert_eq!(reported(OF_SOME), of_some.collect::<Vec<_>>());
}

/// Duplicates from before the index stay and are found, and no further one is accepted. After they
/// are resolved, the index refuses duplicates of their values as of any other.
pub fn duplicates_in_a_unique_index_stay_until_they_are_resolved(open: Open) {
    let w = shelf(open, (0..MANY).map(doubled));
    assert_eq!(insert_unique(&w, MANY, None, (100, 100)), Ok(()));
    w.indexes_ready().wait().unwrap();
    assert_eq!(ids_of(&w, &five(), TOGETHER), [5, 1205]);
    assert_eq!(ids_of(&w, &heavy(), OF_SOME), [199, 899]);
    // A value that is in the index, once or twice, is refused; one outside of it is accepted.
    let taken = Err(ErrorKind::AlreadyExists);
    assert_eq!(insert_unique(&w, 5000, None, (5, 0)), taken);
    assert_eq!(insert_unique(&w, 5000, None, (29, 39)), taken);
    assert_eq!(insert_unique(&w, 5000, Some("isbn 199"), (500, 4)), taken);
    assert_eq!(insert_unique(&w, 5000, Some("isbn 199"), (500, 3)), Ok(()));
    // After one of two deletions the value is still refused; after both it is accepted, once.
    for (id, outcome) in [(1205, taken), (5, Ok(()))] {
        let book = w.get::<v6::Book>(id).unwrap().unwrap();
        w.delete(&book);
        assert_eq!(insert_unique(&w, 6000, None, (5, 0)), outcome);
    }
    assert_eq!(insert_unique(&w, 6001, None, (5, 0)), taken);
    let light = w.get::<v6::Book>(899).unwrap().unwrap();
    w.change(&light, |book| book.weight = -1);
    assert_eq!(ids_of(&w, &heavy(), OF_SOME), [199]);
    let again = w.get::<v6::Book>(5000).unwrap().unwrap();
    let refused = w.perform_changes([v6::Book::TABLE], move |tx| {
        let mut request = ChangeRequest::change(tx, &again)?.unwrap();
        request.weight = 4;
        tx.submit(request).map(drop)
    });
    assert_eq!(refused.wait().unwrap_err().kind(), ErrorKind::AlreadyExists);
}
