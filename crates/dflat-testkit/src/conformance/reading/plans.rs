//! Laws of plans: a query by a key finds the same objects as reading all rows.

use dflat::{Access, Fetch, Order, Predicate};

use crate::conformance::samples::{item, owned_ids};
use crate::fixture::{Fixture, Open};
use crate::schema::{Item, ItemData, Keyed, KeyedData};

/// Items whose rank equals their size and whose name equals their nick. The second field of each
/// pair has no index, so a query on it gives the expected result for the first.
fn pairs(open: Open, count: i32) -> Fixture {
    let w = open();
    w.create::<Item>((0..count).map(|n| {
        let name = (n % 3 > 0).then(|| format!("{:02}", n * 7 % 50));
        ItemData {
            name: name.clone(),
            nick: name,
            code: Some(format!("c{n}")),
            ..item(&format!("{n:04}"), n * 13 % 100)
        }
    }));
    w
}

fn found(w: &Fixture, predicate: Predicate<Item>) -> Vec<String> {
    owned_ids(&w.fetch::<Item>().filter(predicate).all().unwrap())
}

fn plan(w: &Fixture, predicate: Predicate<Item>) -> String {
    w.fetch::<Item>().filter(predicate).explain().unwrap().to_string()
}

pub fn condition_on_a_key_reads_only_its_range(open: Open) {
    let w = pairs(open, 100);
    for (fast, slow, expected) in [
        (Item::RANK.eq(3), Item::SIZE.eq(3), "range of the index on rank"),
        (Item::RANK.lt(3), Item::SIZE.lt(3), "range of the index on rank, sort"),
        (
            Item::RANK.eq(1) | Item::RANK.gt(95),
            Item::SIZE.eq(1) | Item::SIZE.gt(95),
            "2 ranges of the index on rank, sort",
        ),
        (
            Item::NAME.starts_with("1"),
            Item::NICK.starts_with("1"),
            "range of the index on name, sort",
        ),
        (Item::NAME.is_null(), Item::NICK.is_null(), "range of the index on name"),
        (!Item::RANK.ge(4), !Item::SIZE.ge(4), "range of the index on rank, sort"),
        (Item::RANK.gt(9) & Item::RANK.lt(3), Predicate::constant(false), "nothing"),
    ] {
        assert_eq!(plan(&w, fast.clone()), expected);
        assert_eq!(found(&w, fast.clone()), found(&w, slow), "{fast}");
    }
    assert!(plan(&w, Item::RANK.ne(3)).starts_with("all rows"));
    assert_eq!(plan(&w, Item::ID.eq("x") & Item::RANK.eq(3)), "range of the primary key, check rank == 3");
}

pub fn sides_of_a_disjunction_are_looked_up(open: Open) {
    let w = pairs(open, 300);
    let fast = Item::RANK.eq(3) | (Item::NAME.eq("07") & Item::SIZE.gt(1)) | Item::ID.eq("0009");
    let slow = Item::SIZE.eq(3) | (Item::NICK.eq("07") & Item::SIZE.gt(1)) | Item::ID.eq("0009");
    let explained = w.fetch::<Item>().filter(fast.clone()).explain().unwrap();
    assert!(matches!(&explained.access, Access::Union(parts) if parts.len() == 3), "{explained}");
    assert_eq!(found(&w, fast.clone()), found(&w, slow & Item::SIZE.is_not_null()));
    let both = w.fetch::<Item>().filter(fast).order_by(Item::SIZE.descending()).limit(4);
    assert_eq!(both.all().unwrap().len(), 4);
}

pub fn many_rows_of_two_indexes_are_intersected(open: Open) {
    let w = pairs(open, 1000);
    let fast = || Item::RANK.lt(30) & Item::NAME.lt("20") & Item::SIZE.ne(4);
    let slow = Item::SIZE.lt(30) & Item::NICK.lt("20") & Item::SIZE.ne(4);
    let explained = w.fetch::<Item>().filter(fast()).explain().unwrap();
    assert!(matches!(&explained.access, Access::Intersection(_)), "{explained}");
    assert_eq!(found(&w, fast()), found(&w, slow.clone()));
    assert_eq!(
        w.fetch::<Item>().filter(fast()).count().unwrap(),
        w.fetch::<Item>().filter(slow).count().unwrap()
    );
    // If one index has few rows, the other is not read.
    let few = Item::RANK.eq(4) & Item::NAME.lt("20");
    assert_eq!(plan(&w, few), "range of the index on rank, check name < \"20\"");
}

pub fn prefix_of_a_composite_key_is_a_range(open: Open) {
    let w = open();
    let zones = ["a", "b", "c"].iter().flat_map(|zone| (0..20).map(move |n| (*zone, n)));
    w.create::<Keyed>(zones.map(|(zone, n)| KeyedData {
        zone: zone.into(),
        number: n % 7 + if n > 10 { u64::MAX - 9 } else { 0 },
        open: n % 2 == 0,
        text: Some(format!("{zone}{n}")),
    }));
    let by_number = || w.fetch::<Keyed>().filter(Keyed::ZONE.eq("b") & Keyed::NUMBER.gt(3));
    assert_eq!(by_number().explain().unwrap().to_string(), "range of the primary key, sort");
    let sorted = by_number().order_by(Keyed::NUMBER.ascending()).order_by(Keyed::OPEN.ascending());
    assert_eq!(sorted.explain().unwrap().to_string(), "range of the primary key");
    let all = w.fetch::<Keyed>().all().unwrap();
    let expected: Vec<_> = all.iter().filter(|k| k.zone() == "b" && k.number() > 3).collect();
    let ranged = by_number().all().unwrap();
    assert_eq!(ranged.iter().collect::<Vec<_>>(), expected);
}

pub fn order_with_a_limit_is_read_from_its_index(open: Open) {
    let w = pairs(open, 200);
    for (fast, slow) in [
        (Item::NAME.ascending(), Item::NICK.ascending()),
        (Item::NAME.descending(), Item::NICK.descending()),
        (Item::RANK.descending(), Item::SIZE.descending()),
    ] {
        let fetch = |order| w.fetch::<Item>().filter(Item::SIZE.ne(5)).order_by(order).limit(40);
        let explained = fetch(fast.clone()).explain().unwrap();
        assert!(!explained.sorts, "{explained}");
        let sorting = fetch(slow.clone()).explain().unwrap();
        assert!(sorting.to_string().ends_with(", sort and keep 40"), "{sorting}");
        assert_eq!(owned_ids(&fetch(fast).all().unwrap()), owned_ids(&fetch(slow).all().unwrap()));
    }
    assert_eq!(w.fetch::<Item>().max(Item::RANK).unwrap(), w.fetch().max(Item::SIZE).unwrap());
    assert_eq!(w.fetch::<Item>().min(Item::NAME).unwrap(), w.fetch().min(Item::NICK).unwrap());
}

pub fn pages_after_many_equal_values_are_exact(open: Open) {
    let w = pairs(open, 400);
    for (fast, slow) in [
        (Item::NAME.ascending(), Item::NICK.ascending()),
        (Item::NAME.descending(), Item::NICK.descending()),
        (Item::RANK.ascending(), Item::SIZE.ascending()),
    ] {
        for narrow in [false, true] {
            let page = |order, place: Option<dflat::Cursor>| {
                let fetch = w.fetch::<Item>().order_by(order).limit(37);
                let fetch = match narrow {
                    true => fetch.filter(Item::RANK.between(10, 80) & Item::NAME.ge("1")),
                    false => fetch,
                };
                place.into_iter().fold(fetch, Fetch::after).all().unwrap()
            };
            let (mut a, mut b) = (page(fast.clone(), None), page(slow.clone(), None));
            let mut count = 0;
            while !a.is_empty() {
                assert_eq!(owned_ids(&a), owned_ids(&b), "{fast:?}");
                count += a.len();
                (a, b) = (page(fast.clone(), a.end()), page(slow.clone(), b.end()));
            }
            assert!(b.is_empty() && count > 100);
        }
    }
}

pub fn range_of_most_objects_reads_the_whole_table(open: Open) {
    let w = pairs(open, 2000);
    let orders = [
        None,
        Some((Item::RANK.descending(), Item::SIZE.descending())),
        Some((Item::CODE.ascending(), Item::CODE.ascending())),
    ];
    let ids = |condition: &Predicate<Item>, order: Option<Order<Item>>, is_window: bool| {
        let fetch = w.fetch::<Item>().filter(condition.clone());
        let fetch = order.into_iter().fold(fetch, Fetch::order_by);
        let fetch = if is_window { fetch.offset(550).limit(900) } else { fetch };
        owned_ids(&fetch.all().unwrap())
    };
    for (fast, slow, is_given_up) in [
        (Item::RANK.ge(10), Item::SIZE.ge(10), true),
        (Item::RANK.in_(0..60), Item::SIZE.in_(0..60), true),
        (Item::RANK.lt(20), Item::SIZE.lt(20), false),
        (Item::RANK.ge(10) & Item::SIZE.ne(5), Item::SIZE.ge(10), true),
    ] {
        let explained = w.fetch::<Item>().filter(fast.clone()).explain().unwrap();
        assert_eq!(explained.given_up_after.is_some(), is_given_up, "{explained}");
        assert_eq!(explained.to_string().contains(", all rows after 512"), is_given_up);
        for (order, is_window) in orders.iter().flat_map(|o| [(o, false), (o, true)]) {
            let (by_fast, by_slow) = order.clone().unzip();
            let expected = ids(&slow, by_slow, is_window);
            assert_eq!(ids(&fast, by_fast, is_window), expected, "{fast}");
        }
        let mean = |condition: Predicate<Item>| w.fetch().filter(condition).avg(Item::SIZE);
        assert_eq!(mean(fast).unwrap(), mean(slow).unwrap());
    }
}

pub fn value_of_most_objects_reads_the_whole_table(open: Open) {
    let w = open();
    // One value has more rows than the engine follows at first, and fewer than an eighth of all.
    w.create::<Item>((0..6000).map(|n| item(&format!("{n:04}"), i32::from(n % 10 == 1))));
    for n in [0, 900, 1100, 5998] {
        w.delete(&w.get::<Item>(&*format!("{n:04}")).unwrap().unwrap());
    }
    for (value, expected, is_given_up) in [(0, 5396, true), (1, 600, false), (9, 0, false)] {
        let fast = || w.fetch::<Item>().filter(Item::RANK.eq(value));
        let slow = || w.fetch::<Item>().filter(Item::SIZE.eq(value));
        assert_eq!(fast().explain().unwrap().given_up_after.is_some(), is_given_up, "{value}");
        let all = owned_ids(&slow().all().unwrap());
        assert_eq!(all.len(), expected);
        assert_eq!(owned_ids(&fast().all().unwrap()), all);
        for (offset, limit) in [(0, 512), (0, 513), (500, 20), (511, 400), (760, 9), (2990, 99)] {
            let windowed = |fetch: Fetch<'_, Item>| {
                owned_ids(&fetch.offset(offset).limit(limit).all().unwrap())
            };
            assert_eq!(windowed(fast()), windowed(slow()), "{value} {offset} {limit}");
        }
    }
}

pub fn counts_read_only_the_index(open: Open) {
    let w = pairs(open, 300);
    let count = |predicate| w.fetch::<Item>().filter(predicate).count().unwrap();
    assert_eq!(count(Item::RANK.lt(50)), count(Item::SIZE.lt(50)));
    assert_eq!(count(Item::NAME.is_null()), 100);
    assert_eq!(count(Item::NAME.starts_with("2")), count(Item::NICK.starts_with("2")));
    assert_eq!(count(Item::RANK.in_([1, 2, 3])), count(Item::SIZE.in_([1, 2, 3])));
    let either = Item::RANK.eq(1) | Item::NAME.eq("07");
    assert_eq!(count(either), count(Item::SIZE.eq(1) | Item::NICK.eq("07")));
    w.delete(&w.get::<Item>("0000").unwrap().unwrap());
    assert_eq!(count(Item::NAME.is_null()), 99);
}

pub fn in_of_ten_thousand_keys_is_exact(open: Open) {
    let w = pairs(open, 300);
    let keys = (0..10_000).rev().map(|n| format!("{n:04}"));
    let among = || Item::ID.in_(keys.clone());
    assert_eq!(found(&w, among()).len(), 300);
    let lowest = w.fetch::<Item>().filter(among() & Item::RANK.lt(5));
    assert_eq!(lowest.count().unwrap(), 15);
    let by_key = w.fetch::<Item>().filter(among()).order_by(Item::ID.descending()).limit(2);
    assert_eq!(owned_ids(&by_key.all().unwrap()), ["0299", "0298"]);
}

pub fn pages_after_a_replaced_object_equal_those_of_a_full_scan(open: Open) {
    let w = open();
    let named = |id: &str| ItemData { nick: Some(id.into()), ..item(id, 0) };
    w.create::<Item>(["a", "b", "c"].map(named));
    let orders: [fn() -> Order<Item>; 4] = [
        || Item::ID.ascending(),
        || Item::NICK.ascending(),
        || Item::ID.descending(),
        || Item::NICK.descending(),
    ];
    let page = |order: fn() -> _| w.fetch::<Item>().order_by(order());
    let places = orders.map(|order| page(order).limit(2).all().unwrap().end().unwrap());
    w.delete(&w.get::<Item>("b").unwrap().unwrap());
    w.create::<Item>([named("d"), named("b")]);
    let pages = orders.into_iter().zip(places).map(|(order, place)| page(order).after(place));
    let rest: Vec<_> = pages.map(|page| owned_ids(&page.all().unwrap())).collect();
    assert_eq!(rest[0], ["b", "c", "d"]);
    assert_eq!(rest[0], rest[1]);
    assert_eq!(rest[2], ["b", "a"]);
    assert_eq!(rest[2], rest[3]);
}

pub fn cursor_with_another_value_of_a_fixed_key_precedes_or_follows_all_rows(open: Open) {
    let w = pairs(open, 300);
    for of in [|| Item::RANK, || Item::SIZE] {
        let fetch = |value| w.fetch::<Item>().filter(of().eq(value)).order_by(of().ascending());
        let place = fetch(50).all().unwrap().end().unwrap();
        for (value, expected) in [(49, 0), (50, 0), (51, 3)] {
            let found = fetch(value).after(place.clone()).all().unwrap();
            assert_eq!(found.len(), expected, "{value}");
        }
    }
}
