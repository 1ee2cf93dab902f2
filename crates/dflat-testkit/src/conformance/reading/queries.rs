//! Laws of conditions, orders and limits.

use dflat::{ChangeRequest, Predicate};

use crate::conformance::samples::{ids, item, owned_ids};
use crate::fixture::{Fixture, Open};
use crate::schema::{Item, ItemData};

/// Items a to f with ranks 3 1 2 1 3 2; every other item has a name.
fn ranked(open: Open) -> Fixture {
    let w = open();
    let ranks = [3, 1, 2, 1, 3, 2];
    w.create::<Item>(["a", "b", "c", "d", "e", "f"].iter().zip(ranks).map(|(id, rank)| {
        let name = (rank != 1).then(|| format!("n{rank}"));
        ItemData {
            nick: name.clone(),
            name,
            ..item(id, rank)
        }
    }));
    w
}

/// The keys of the items that meet a condition.
fn found(w: &Fixture, predicate: Predicate<Item>) -> Vec<String> {
    owned_ids(&w.fetch::<Item>().filter(predicate).all().unwrap())
}

// Promise: compatibility#P30
pub fn without_an_order_objects_come_as_inserted(open: Open) {
    let w = open();
    w.create::<Item>([item("z", 1), item("a", 2), item("m", 3)]);
    assert_eq!(ids(&w.fetch::<Item>().all().unwrap()), ["z", "a", "m"]);
    assert_eq!(found(&w, Item::RANK.gt(0)), ["z", "a", "m"]);
    assert_eq!(found(&w, Item::ID.gt("")), ["z", "a", "m"]);
    assert_eq!(found(&w, Item::ID.in_(["m", "z"])), ["z", "m"]);
}

pub fn an_updated_object_keeps_its_place(open: Open) {
    let w = ranked(open);
    let object = w.get::<Item>("a").unwrap().unwrap();
    w.change(&object, |data| {
        data.rank = -5;
        data.id = "zz".into();
    });
    let all = w.fetch::<Item>().all().unwrap();
    assert_eq!(ids(&all), ["zz", "b", "c", "d", "e", "f"]);
    assert_eq!(found(&w, Item::RANK.lt(2)), ["zz", "b", "d"]);
}

// Promise: compatibility#P29
pub fn order_sorts_and_ties_go_by_row_id_in_both_directions(open: Open) {
    let w = ranked(open);
    let by = |order| owned_ids(&w.fetch::<Item>().order_by(order).all().unwrap());
    assert_eq!(by(Item::RANK.ascending()), ["b", "d", "c", "f", "a", "e"]);
    assert_eq!(by(Item::RANK.descending()), ["a", "e", "c", "f", "b", "d"]);
    assert_eq!(by(Item::SIZE.ascending()), ["b", "d", "c", "f", "a", "e"]);
    assert_eq!(by(Item::SIZE.descending()), ["a", "e", "c", "f", "b", "d"]);
    assert_eq!(by(Item::ID.descending()), ["f", "e", "d", "c", "b", "a"]);
}

pub fn later_orders_break_the_ties_of_earlier_ones(open: Open) {
    let w = ranked(open);
    let by = |first, second| {
        let fetch = w.fetch::<Item>().order_by(first).order_by(second);
        owned_ids(&fetch.all().unwrap())
    };
    assert_eq!(
        by(Item::RANK.ascending(), Item::ID.descending()),
        ["d", "b", "f", "c", "e", "a"]
    );
    assert_eq!(
        by(Item::SIZE.descending(), Item::ID.descending()),
        ["e", "a", "f", "c", "d", "b"]
    );
    assert_eq!(
        by(Item::ID.ascending(), Item::RANK.ascending()),
        ["a", "b", "c", "d", "e", "f"]
    );
}

pub fn missing_values_come_first_and_last_when_descending(open: Open) {
    let w = ranked(open);
    let by = |order| owned_ids(&w.fetch::<Item>().order_by(order).all().unwrap());
    for (ascending, descending) in [
        (Item::NAME.ascending(), Item::NAME.descending()),
        (Item::NICK.ascending(), Item::NICK.descending()),
    ] {
        assert_eq!(by(ascending), ["b", "d", "c", "f", "a", "e"]);
        assert_eq!(by(descending), ["a", "e", "c", "f", "b", "d"]);
    }
}

// Promise: compatibility#P29
pub fn limit_returns_the_first_objects_of_the_order(open: Open) {
    let w = ranked(open);
    let first = |order, limit| {
        let fetch = w.fetch::<Item>().order_by(order).limit(limit);
        owned_ids(&fetch.all().unwrap())
    };
    for (ascending, descending) in [
        (Item::RANK.ascending(), Item::RANK.descending()),
        (Item::SIZE.ascending(), Item::SIZE.descending()),
    ] {
        assert_eq!(first(ascending.clone(), 1), ["b"]);
        assert_eq!(first(ascending.clone(), 3), ["b", "d", "c"]);
        assert_eq!(first(descending, 3), ["a", "e", "c"]);
        assert_eq!(first(ascending, 100).len(), 6);
    }
    assert_eq!(ids(&w.fetch::<Item>().limit(2).all().unwrap()), ["a", "b"]);
}

pub fn limit_of_zero_is_nothing(open: Open) {
    let w = ranked(open);
    assert!(w.fetch::<Item>().limit(0).all().unwrap().is_empty());
    let ordered = w.fetch::<Item>().order_by(Item::SIZE.ascending()).limit(0);
    assert!(ordered.all().unwrap().is_empty());
    let indexed = w.fetch::<Item>().filter(Item::RANK.gt(0)).limit(0);
    assert!(indexed.all().unwrap().is_empty());
}

// Promise: compatibility#P31
pub fn limit_applies_after_the_condition(open: Open) {
    let w = ranked(open);
    let two = |predicate| owned_ids(&w.fetch::<Item>().filter(predicate).limit(2).all().unwrap());
    assert_eq!(two(Item::RANK.eq(2)), ["c", "f"]);
    assert_eq!(two(Item::SIZE.eq(2)), ["c", "f"]);
    assert_eq!(two(Item::RANK.lt(3)), ["b", "c"]);
    assert_eq!(two(Item::RANK.in_([3, 2])), ["a", "c"]);
    assert_eq!(two(Item::RANK.gt(1) & Item::SIZE.lt(3)), ["c", "f"]);
}

pub fn first_returns_the_first_object_or_none(open: Open) {
    let w = ranked(open);
    let first = w.fetch::<Item>().order_by(Item::RANK.descending()).first();
    assert_eq!(first.unwrap().unwrap().id(), "a");
    assert!(w.fetch::<Item>().filter(Item::RANK.gt(9)).first().unwrap().is_none());
}

// Promise: compatibility#P29
pub fn several_filters_are_conjoined(open: Open) {
    let w = ranked(open);
    let fetch = w.fetch::<Item>().filter(Item::RANK.ge(2)).filter(Item::SIZE.lt(3));
    assert_eq!(ids(&fetch.all().unwrap()), ["c", "f"]);
}

// Promise: compatibility#P33
pub fn comparisons_hold_as_written(open: Open) {
    let w = ranked(open);
    for (rank, size) in [
        (Item::RANK.eq(2), Item::SIZE.eq(2)),
        (Item::RANK.ne(2), Item::SIZE.ne(2)),
        (Item::RANK.lt(2), Item::SIZE.lt(2)),
        (Item::RANK.le(2), Item::SIZE.le(2)),
        (Item::RANK.gt(2), Item::SIZE.gt(2)),
        (Item::RANK.ge(2), Item::SIZE.ge(2)),
    ] {
        assert_eq!(found(&w, rank), found(&w, size));
    }
    assert_eq!(found(&w, Item::RANK.ne(2)), ["a", "b", "d", "e"]);
    assert_eq!(found(&w, Item::RANK.le(2)), ["b", "c", "d", "f"]);
}

pub fn contradictory_bounds_find_nothing(open: Open) {
    let w = ranked(open);
    for predicate in [
        Item::RANK.gt(2) & Item::RANK.lt(2),
        Item::RANK.gt(3) & Item::RANK.lt(1),
        Item::RANK.eq(1) & Item::RANK.eq(2),
        Item::RANK.gt(1) & Item::RANK.le(1),
        Item::ID.eq("a") & Item::ID.eq("b"),
        Item::ID.gt("c") & Item::ID.lt("b"),
    ] {
        assert!(found(&w, predicate.clone()).is_empty(), "{predicate}");
    }
}

// Promise: compatibility#P33
pub fn logic_is_three_valued(open: Open) {
    let w = ranked(open);
    let all = ["a", "b", "c", "d", "e", "f"];
    let unknown = || Item::NICK.eq("n3"); // for b and d
    assert_eq!(found(&w, unknown()), ["a", "e"]);
    assert_eq!(found(&w, !unknown()), ["c", "f"]);
    assert_eq!(found(&w, Item::NICK.ne("n3")), ["c", "f"]);
    assert_eq!(found(&w, unknown() | Item::SIZE.gt(0)), all);
    assert_eq!(found(&w, !(unknown() & Item::SIZE.lt(0))), all);
    assert_eq!(found(&w, unknown() | Item::SIZE.lt(0)), ["a", "e"]);
    assert_eq!(found(&w, !(unknown() | Item::SIZE.lt(0))), ["c", "f"]);
    assert_eq!(found(&w, !(unknown() & Item::SIZE.gt(0))), ["c", "f"]);
    assert_eq!(found(&w, Item::NICK.is_null()), ["b", "d"]);
    assert_eq!(found(&w, Item::NICK.is_not_null()), ["a", "c", "e", "f"]);
    assert_eq!(found(&w, !(Item::NICK.is_null() | unknown())), ["c", "f"]);
}

pub fn logic_is_three_valued_with_indexes(open: Open) {
    let w = ranked(open);
    assert_eq!(found(&w, Item::NAME.ne("n3")), ["c", "f"]);
    assert_eq!(found(&w, !Item::NAME.eq("n3")), ["c", "f"]);
    assert_eq!(found(&w, Item::NAME.is_null()), ["b", "d"]);
    assert_eq!(found(&w, Item::NAME.is_not_null()), ["a", "c", "e", "f"]);
    assert_eq!(found(&w, Item::NAME.lt("z")), ["a", "c", "e", "f"]);
    assert_eq!(found(&w, Item::NAME.is_null() & Item::NAME.gt("")), [""; 0]);
    assert_eq!(found(&w, Item::NAME.is_null() & Item::RANK.le(1)), ["b", "d"]);
}

pub fn constants_are_conditions(open: Open) {
    let w = ranked(open);
    assert_eq!(found(&w, Predicate::constant(true)).len(), 6);
    assert!(found(&w, Predicate::constant(false)).is_empty());
    assert_eq!(found(&w, Predicate::constant(false) | Item::RANK.eq(1)), ["b", "d"]);
    assert_eq!(found(&w, Predicate::constant(true) & Item::RANK.eq(1)), ["b", "d"]);
    assert!(found(&w, !Predicate::constant(true)).is_empty());
}

// Promise: compatibility#P33
pub fn in_finds_each_object_once(open: Open) {
    let w = ranked(open);
    for (rank, size) in [
        (Item::RANK.in_([1, 3]), Item::SIZE.in_([1, 3])),
        (Item::RANK.in_([3, 1, 3, 9]), Item::SIZE.in_([3, 1, 3, 9])),
    ] {
        assert_eq!(found(&w, rank), ["a", "b", "d", "e"]);
        assert_eq!(found(&w, size), ["a", "b", "d", "e"]);
    }
    assert_eq!(found(&w, Item::ID.in_(["f", "a", "f", "x"])), ["a", "f"]);
    assert_eq!(found(&w, !Item::RANK.in_([1, 3])), ["c", "f"]);
    assert_eq!(found(&w, !Item::NICK.in_(["n2"])), ["a", "e"]);
}

pub fn in_of_an_empty_list_is_false_and_its_negation_true_for_present_values(open: Open) {
    let w = ranked(open);
    assert!(found(&w, Item::RANK.in_([0; 0])).is_empty());
    assert!(found(&w, Item::NICK.in_([""; 0])).is_empty());
    assert_eq!(found(&w, !Item::NICK.in_([""; 0])), ["a", "c", "e", "f"]);
    assert_eq!(found(&w, !Item::NAME.in_([""; 0])), ["a", "c", "e", "f"]);
}

// Promise: compatibility#P9
pub fn in_takes_ten_thousand_values(open: Open) {
    let w = open();
    w.create::<Item>((0..200).map(|n| item(&format!("k{n}"), n * 100)));
    let hits = 100; // Ranks below 10,000.
    assert_eq!(found(&w, Item::RANK.in_(0..10_000)).len(), hits);
    assert_eq!(found(&w, Item::SIZE.in_(0..10_000)).len(), hits);
    assert_eq!(found(&w, !Item::RANK.in_(0..10_000)).len(), 200 - hits);
    let keys = (0..10_000).map(|n| format!("k{n}"));
    assert_eq!(found(&w, Item::ID.in_(keys)).len(), 200);
}

pub fn in_with_order_and_limit_is_exact(open: Open) {
    let w = ranked(open);
    let fetch = w.fetch::<Item>().filter(Item::RANK.in_([2, 3]));
    let fetch = fetch.order_by(Item::RANK.descending()).limit(3);
    assert_eq!(ids(&fetch.all().unwrap()), ["a", "e", "c"]);
    let fetch = w.fetch::<Item>().filter(Item::RANK.in_([3, 1])).limit(3);
    assert_eq!(ids(&fetch.all().unwrap()), ["a", "b", "d"]);
}

pub fn deep_conditions_are_evaluated(open: Open) {
    let w = ranked(open);
    let mut predicate = Item::RANK.eq(1);
    for n in 0..200 {
        predicate = if n % 2 == 0 {
            predicate | Item::SIZE.eq(1000 + n)
        } else {
            predicate & Item::SIZE.ne(2000 + n)
        };
    }
    assert_eq!(found(&w, predicate), ["b", "d"]);
}

pub fn whole_key_with_more_conditions_checks_them(open: Open) {
    let w = ranked(open);
    assert_eq!(found(&w, Item::ID.eq("a") & Item::RANK.eq(3)), ["a"]);
    assert!(found(&w, Item::ID.eq("a") & Item::RANK.eq(2)).is_empty());
    assert_eq!(found(&w, Item::ID.eq("a") | Item::ID.eq("b")), ["a", "b"]);
}

pub fn range_in_the_order_of_its_index_with_a_limit_is_exact(open: Open) {
    let w = ranked(open);
    let fetch = |order, limit| {
        let fetch = w.fetch::<Item>().filter(Item::RANK.ge(2));
        owned_ids(&fetch.order_by(order).limit(limit).all().unwrap())
    };
    assert_eq!(fetch(Item::RANK.ascending(), 3), ["c", "f", "a"]);
    assert_eq!(fetch(Item::RANK.descending(), 3), ["a", "e", "c"]);
    assert_eq!(fetch(Item::ID.descending(), 2), ["f", "e"]);
}

pub fn indexes_follow_updates_and_deletions(open: Open) {
    let w = ranked(open);
    w.perform([Item::TABLE], |tx| {
        for object in &tx.fetch::<Item>().filter(Item::RANK.eq(3)).all()? {
            let mut change = ChangeRequest::<Item>::change(tx, object)?.unwrap();
            change.rank = 1;
            tx.submit(change)?;
        }
        for object in &tx.fetch::<Item>().filter(Item::RANK.eq(2)).all()? {
            tx.submit(ChangeRequest::<Item>::deletion(tx, object)?.unwrap())?;
        }
        Ok(())
    });
    assert_eq!(found(&w, Item::RANK.eq(1)), ["a", "b", "d", "e"]);
    assert_eq!(found(&w, Item::RANK.ge(0)), ["a", "b", "d", "e"]);
    assert!(found(&w, Item::RANK.in_([2, 3])).is_empty());
}

// Promise: compatibility#P1, compatibility#P32
pub fn result_is_an_immutable_slice(open: Open) {
    let w = ranked(open);
    let result = w.fetch::<Item>().filter(Item::RANK.eq(1)).all().unwrap();
    let clone = result.clone();
    w.create::<Item>([item("x", 1)]);
    assert_eq!(result.len(), 2);
    assert_eq!(result, clone);
    assert_ne!(result, w.fetch::<Item>().filter(Item::RANK.eq(1)).all().unwrap());
    assert_eq!(result.iter().map(Item::id).collect::<Vec<_>>(), ["b", "d"]);
}
