//! Laws of indexes on the values inside the fields of a table.

use dflat::{ChangeRequest, ErrorKind, IndexState, Result, Table};

use super::indexing::progress;
use crate::fixture::{Fixture, Open};
use crate::trash::v1::storeroom as v1;
use crate::trash::v2::storeroom as v2;

fn create_with_indexes(w: &Fixture, id: i32, slug: &str) -> Result<()> {
    let item = v1::Item {
        slug: Some(slug.to_owned()),
        rank: id,
    };
    let done = w.perform_changes([v1::Trash::TABLE], move |tx| {
        let item = Some(item);
        tx.submit(ChangeRequest::<v1::Trash>::creation(v1::TrashData { id, item }))?;
        Ok(())
    });
    done.wait()
}

fn create_without_indexes(w: &Fixture, id: i32, slug: &str) {
    let item = Some(v2::Item {
        slug: Some(slug.to_owned()),
        rank: id,
    });
    w.create::<v2::Trash>([v2::TrashData { id, item }]);
}

/// The ids of the objects with a slug, as both versions find them.
fn of(w: &Fixture, slug: &str) -> Vec<i32> {
    let by_v1 = w.fetch::<v1::Trash>().filter(v1::Trash::ITEM.slug().eq(slug));
    let by_v1: Vec<i32> = by_v1.all().unwrap().iter().map(v1::Trash::id).collect();
    let by_v2 = w.fetch::<v2::Trash>().filter(v2::Trash::ITEM.slug().eq(slug));
    let by_v2: Vec<i32> = by_v2.all().unwrap().iter().map(v2::Trash::id).collect();
    assert_eq!(by_v1, by_v2);
    by_v1
}

fn indexes(table: &Table) -> Vec<String> {
    table.indexes.iter().map(ToString::to_string).collect()
}

// Promise: compatibility#P64
pub fn unique_of_a_contained_value_refuses_a_second_one(open: Open) {
    let w = open();
    let all = ["item.slug", "item.rank", "item.rank, item.slug"];
    assert_eq!(indexes(&v1::Trash::TABLE), all);
    create_with_indexes(&w, 1, "a").unwrap();
    let refused = create_with_indexes(&w, 2, "a").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
    assert_eq!(of(&w, "a"), [1]);
}

// Promise: compatibility#P64
pub fn no_indexes_lets_contained_values_repeat(open: Open) {
    let w = open();
    assert!(indexes(&v2::Trash::TABLE).is_empty());
    for id in 1..4 {
        create_without_indexes(&w, id, "a");
    }
    assert_eq!(of(&w, "a"), [1, 2, 3]);
    assert!(w.index_progress().is_empty(), "{:?}", w.index_progress());
}

// Promise: compatibility#P64
/// The first write without the indexes drops them. The first write with them builds them again,
/// and reports the values that occur more than once.
pub fn indexes_of_contained_values_can_be_turned_off_and_on(open: Open) {
    let w = open();
    create_with_indexes(&w, 1, "a").unwrap();
    create_with_indexes(&w, 2, "b").unwrap();
    create_without_indexes(&w, 3, "a");
    let second = w.get::<v2::Trash>(2).unwrap().unwrap();
    w.change(&second, |trash| {
        trash.item = Some(v2::Item {
            slug: Some("c".to_owned()),
            rank: 5,
        });
    });
    assert_eq!((of(&w, "a"), of(&w, "b"), of(&w, "c")), (vec![1, 3], vec![], vec![2]));
    create_with_indexes(&w, 4, "d").unwrap();
    w.indexes_ready().wait().unwrap();
    let built = progress(&w, "item.slug");
    assert!(matches!(built.state, IndexState::Ready), "{built:?}");
    assert_eq!(built.duplicates.len(), 1, "{:?}", built.duplicates);
    for taken in ["a", "c"] {
        let refused = create_with_indexes(&w, 5, taken).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists, "{taken}");
    }
    create_with_indexes(&w, 5, "b").unwrap();
    assert_eq!((of(&w, "a"), of(&w, "b"), of(&w, "c")), (vec![1, 3], vec![5], vec![2]));
    let found = w.fetch::<v1::Trash>().filter(v1::Trash::ITEM.rank().eq(5));
    let found: Vec<i32> = found.all().unwrap().iter().map(v1::Trash::id).collect();
    assert_eq!(found, [2, 5]);
}
