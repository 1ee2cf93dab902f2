//! Laws against defects of Dflat for Swift that concern queries. The comment above each law
//! describes the defect; the law fails on an implementation that has it.

use dflat::{Fetch, Predicate};
use futures::StreamExt;
use futures::executor::block_on;

use crate::conformance::samples::{ids, item, owned_ids};
use crate::fixture::{Fixture, Open};
use crate::schema::{
    Item, ItemData, Nested, NestedData, Note, Twin, TwinData, Wide, WideData,
};

fn sized(open: Open, sizes: &[i32]) -> Fixture {
    let w = open();
    let items = (0..).zip(sizes);
    w.create::<Item>(items.map(|(n, size)| item(&format!("{n:03}"), *size)));
    w
}

fn sizes(items: &[Item]) -> Vec<i32> {
    items.iter().map(Item::size).collect()
}

/// The limit was applied in the order of row ids, before the sort.
pub fn limit_applies_after_an_order_without_an_index(open: Open) {
    let w = sized(open, &[9, 5, 1, 7, 3]);
    let two = w.fetch::<Item>().order_by(Item::SIZE.ascending()).limit(2).all().unwrap();
    assert_eq!(sizes(&two), [1, 3]);
    let next = w.fetch::<Item>().order_by(Item::SIZE.ascending()).offset(2).limit(2);
    assert_eq!(sizes(&next.all().unwrap()), [5, 7]);
}

fn smallest(w: &Fixture, limit: usize) -> Fetch<'_, Item> {
    w.fetch::<Item>().order_by(Item::SIZE.ascending()).limit(limit)
}

/// A limited live query kept an object that no longer belonged to it.
pub fn limited_live_query_drops_an_object_that_leaves(open: Open) {
    let w = sized(open, &[1, 2, 3]);
    let mut received = w.stream(smallest(&w, 2)).unwrap();
    let mut next = || sizes(&block_on(received.next()).unwrap().unwrap());
    assert_eq!(next(), [1, 2]);
    w.change(&w.get::<Item>("000").unwrap().unwrap(), |data| data.size = 50);
    assert_eq!(next(), [2, 3]);
}

/// A limited live query that was filled up again had more objects than its limit.
pub fn refilled_live_query_respects_its_limit(open: Open) {
    let w = sized(open, &[1, 2, 3, 4, 5, 6]);
    let mut received = w.stream(smallest(&w, 3)).unwrap();
    let mut next = || sizes(&block_on(received.next()).unwrap().unwrap());
    assert_eq!(next(), [1, 2, 3]);
    w.delete(&w.get::<Item>("001").unwrap().unwrap());
    assert_eq!(next(), [1, 3, 4]);
}

/// A live query made a delivery although nothing had changed.
pub fn unchanged_live_query_makes_no_delivery(open: Open) {
    let w = sized(open, &[1, 2, 3]);
    let mut received = w.stream(smallest(&w, 2)).unwrap();
    let mut next = || sizes(&block_on(received.next()).unwrap().unwrap());
    assert_eq!(next(), [1, 2]);
    // A change beyond the limit, and a change within it that is undone.
    w.create::<Item>([item("x", 9)]);
    w.perform([Item::TABLE], |tx| {
        tx.update_where(Item::ID.eq("000"), |data| data.size = 8)?;
        tx.update_where(Item::ID.eq("000"), |data| data.size = 1)
    });
    w.create::<Item>([item("y", 0)]);
    assert_eq!(next(), [0, 1]);
}

/// Booleans were not ordered in a scan.
pub fn booleans_are_ordered(open: Open) {
    let w = open();
    w.create::<Twin>([(1, true), (2, false)].map(|(id, flag)| TwinData {
        id,
        bool_a: flag,
        bool_b: flag,
        ..TwinData::default()
    }));
    for flag in [|| Twin::BOOL_A, || Twin::BOOL_B] {
        let found = |predicate| -> Vec<i32> {
            let found = w.fetch::<Twin>().filter(predicate).all().unwrap();
            found.iter().map(Twin::id).collect()
        };
        assert_eq!(found(flag().lt(true)), [2]);
        assert_eq!(found(flag().gt(false)), [1]);
        assert_eq!(found(flag().lt(false)), [0; 0]);
        let first = w.fetch::<Twin>().order_by(flag().ascending()).first().unwrap();
        assert_eq!(first.unwrap().id(), 2);
    }
}

/// A scan treated canonically equal strings as equal and an index did not; NUL ended a value.
pub fn strings_are_equal_only_if_their_bytes_are(open: Open) {
    let w = open();
    let names = ["\u{e9}", "e\u{301}", "a", "a\0b", "a\0"];
    w.create::<Item>(names.map(|name| ItemData {
        name: Some(name.into()),
        nick: Some(name.into()),
        ..item(name, 0)
    }));
    for name in names {
        for text in [|| Item::NAME, || Item::NICK, || Item::ID.into()] {
            for predicate in [
                text().eq(name),
                text().in_([name]),
                text().between(name, name),
                text().like(name),
                text().starts_with(name) & text().len().eq(name.chars().count() as u64),
            ] {
                let found = w.fetch::<Item>().filter(predicate.clone()).all().unwrap();
                assert_eq!(ids(&found), [name], "{predicate}");
            }
        }
    }
}

/// Three queries gave three different type codes for an empty union.
pub fn type_code_of_an_empty_union_is_the_same_in_all_queries(open: Open) {
    let w = open();
    let empty = NestedData { id: 1, ..NestedData::default() };
    w.create::<Nested>([empty]);
    for body in [|| Nested::BODY, || Nested::PLAIN] {
        let count = |predicate: Predicate<Nested>| {
            let live = w.stream(w.fetch::<Nested>().filter(predicate.clone())).unwrap();
            let received = block_on({ live }.next()).unwrap().unwrap().len();
            let fetched = w.fetch::<Nested>().filter(predicate.clone()).count().unwrap();
            assert_eq!(received, fetched, "{predicate}");
            fetched
        };
        assert_eq!(count(body().matches::<Note>()), 0);
        assert_eq!(count(!body().matches::<Note>()), 1);
        assert_eq!(count(body().tag().eq(0)), 1);
        assert_eq!(count(body().tag().lt(1)), 1);
        assert_eq!(count(body().tag().is_null()), 0);
        assert_eq!(count(body().as_::<Note>().text().is_null()), 1);
    }
}

/// More values than SQLite has variables gave an empty result.
pub fn in_takes_more_values_than_sqlite_has_variables(open: Open) {
    let w = sized(open, &[1, 70_000, 3]);
    let found = |predicate| owned_ids(&w.fetch::<Item>().filter(predicate).all().unwrap());
    for field in [|| Item::RANK, || Item::SIZE] {
        assert_eq!(found(field().in_(-1..99_999)), ["000", "001", "002"]);
        assert_eq!(found(field().not_in(2..99_999)), ["000"]);
    }
}

/// A query for a value above the signed range ended the process.
pub fn large_unsigned_values_are_queried(open: Open) {
    let w = open();
    w.create::<Wide>([u64::MAX, 1 << 63, 5].map(|id| WideData { id, rank: id, size: id }));
    w.create::<Twin>([TwinData { id: 1, u32_a: u32::MAX, u32_b: u32::MAX, ..TwinData::default() }]);
    let count = |predicate| w.fetch::<Wide>().filter(predicate).count().unwrap();
    for n in [|| Wide::ID, || Wide::RANK, || Wide::SIZE] {
        assert_eq!(count(n().eq(u64::MAX)), 1);
        assert_eq!(count(n().ge(1 << 63)), 2);
        assert_eq!(count(n().between(6, u64::MAX - 1)), 1);
        assert_eq!(w.fetch::<Wide>().max(n()).unwrap(), Some(u64::MAX));
    }
    for n in [|| Twin::U32_A, || Twin::U32_B] {
        assert_eq!(w.fetch::<Twin>().filter(n().gt(u32::MAX - 1)).count().unwrap(), 1);
    }
}

/// A division by zero ended the process in a scan.
pub fn remainder_of_a_division_by_zero_is_missing(open: Open) {
    let w = sized(open, &[0, 4]);
    for n in [|| Item::RANK, || Item::SIZE] {
        assert!(w.fetch::<Item>().filter((n() % 0).eq(0)).all().unwrap().is_empty());
        let even = w.fetch::<Item>().filter((8 % n()).eq(0)).all().unwrap();
        assert_eq!(ids(&even), ["001"]);
    }
}

/// An overflow ended the process in a scan and gave a float in SQL.
pub fn overflow_of_a_sum_is_missing(open: Open) {
    let w = sized(open, &[i32::MAX, 0]);
    for n in [|| Item::RANK, || Item::SIZE] {
        let sum = || n() + i64::MAX;
        let found = |predicate| owned_ids(&w.fetch::<Item>().filter(predicate).all().unwrap());
        assert_eq!(found(sum().is_null()), ["000"]);
        assert_eq!(found(sum().gt(0)), ["001"]);
    }
}
