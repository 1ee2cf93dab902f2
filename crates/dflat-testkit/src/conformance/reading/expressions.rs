//! Laws of arithmetic, tests of strings and flags, and conditions on vectors. They hold for every
//! plan.

use dflat::{ErrorKind, Order, Predicate};
use futures::StreamExt;
use futures::executor::block_on;

use crate::conformance::samples::{bag, item, owned_ids};
use crate::fixture::{Fixture, Open};
use crate::schema::{
    Bag, Body, Item, ItemData, Level, Mark, Nested, NestedData, Note, Photo, Point, Profile,
    Sample, SampleData, Wide, WideData,
};

fn items(w: &Fixture, predicate: Predicate<Item>) -> Vec<String> {
    let found = w.fetch::<Item>().filter(predicate).all().unwrap();
    found.iter().map(|item| item.id().to_owned()).collect()
}

fn samples(w: &Fixture, predicate: Predicate<Sample>) -> Vec<i32> {
    let found = w.fetch::<Sample>().filter(predicate).all().unwrap();
    found.iter().map(Sample::id).collect()
}

fn bags(w: &Fixture, predicate: Predicate<Bag>) -> Vec<i32> {
    let found = w.fetch::<Bag>().filter(predicate).all().unwrap();
    found.iter().map(Bag::id).collect()
}

/// Items a to d with these ranks, which have an index, and sizes, which have none.
fn numbered(open: Open, ranks: [i32; 4]) -> Fixture {
    let w = open();
    w.create::<Item>(["a", "b", "c", "d"].iter().zip(ranks).map(|(id, n)| item(id, n)));
    w
}

// Promise: compatibility#P34
pub fn arithmetic_computes(open: Open) {
    let w = numbered(open, [1, 2, -7, 10]);
    for n in [|| Item::RANK, || Item::SIZE] {
        assert_eq!(items(&w, (n() + 1).eq(3)), ["b"]);
        assert_eq!(items(&w, (n() * 2 - 1).gt(2)), ["b", "d"]);
        assert_eq!(items(&w, (100 - n()).lt(99)), ["b", "d"]);
        assert_eq!(items(&w, (n() / 2).eq(-3)), ["c"]);
        assert_eq!(items(&w, (n() % 4).eq(-3)), ["c"]);
        assert_eq!(items(&w, (n() * n()).eq(100)), ["d"]);
        assert_eq!(items(&w, (20 / n()).in_([10, 2])), ["b", "d"]);
        assert_eq!(items(&w, (n() + 0).eq(Item::SIZE)), ["a", "b", "c", "d"]);
        assert_eq!(items(&w, n().lt(Item::SIZE + 1) & n().gt(1)), ["b", "d"]);
    }
}

// Promise: compatibility#P34
pub fn overflow_is_missing(open: Open) {
    let w = numbered(open, [i32::MAX, i32::MIN, 0, 1]);
    for n in [|| Item::RANK, || Item::SIZE] {
        let huge = || n() + (i64::MAX - 1);
        assert_eq!(items(&w, huge().is_null()), ["a"]);
        assert_eq!(items(&w, huge().gt(0)), ["b", "c", "d"]);
        assert_eq!(items(&w, !huge().gt(0)), [""; 0]);
        assert_eq!(items(&w, (n() * i64::MAX).is_null()), ["a", "b"]);
        assert_eq!(items(&w, (i64::MIN - n()).is_null()), ["a", "d"]);
        assert_eq!(items(&w, (n() + i64::MIN + 0).eq(i64::MIN)), ["c"]);
    }
    let w = open();
    w.create::<Wide>([0, 5, u64::MAX].map(|id| WideData { id, rank: id, size: id }));
    let found = |predicate| -> Vec<u64> {
        let found = w.fetch::<Wide>().filter(predicate).all().unwrap();
        found.iter().map(Wide::id).collect()
    };
    for n in [|| Wide::RANK, || Wide::SIZE] {
        assert_eq!(found((n() - 1).is_null()), [0]);
        assert_eq!(found((n() + 1).is_null()), [u64::MAX]);
        assert_eq!(found((n() / 2).eq(u64::MAX / 2)), [u64::MAX]);
        assert_eq!(found((n() + 6 - 6).eq(5)), [5]);
    }
}

// Promise: compatibility#P34
pub fn division_by_zero_is_missing(open: Open) {
    let w = numbered(open, [0, 1, 2, -1]);
    for n in [|| Item::RANK, || Item::SIZE] {
        for divided in [n() / 0, n() % 0, n() / (n() * 0)] {
            assert_eq!(items(&w, divided.clone().is_null()).len(), 4);
            assert!(items(&w, divided.eq(0)).is_empty());
        }
        assert_eq!(items(&w, (10 / n()).is_null()), ["a"]);
        assert_eq!(items(&w, (10 % n()).eq(0)), ["b", "c", "d"]);
        assert_eq!(items(&w, (i64::MIN / n()).is_null()), ["a", "d"]);
        assert_eq!(items(&w, (i64::MIN % n()).eq(0)), ["b", "c", "d"]);
    }
    let w = open();
    let weights = [0.0, -0.0, 4.0, f64::NAN, f64::INFINITY];
    w.create::<Sample>((0..).zip(weights).map(|(id, weight)| SampleData {
        id,
        weight,
        mass: weight,
        ..SampleData::default()
    }));
    for n in [|| Sample::WEIGHT, || Sample::MASS] {
        assert_eq!(samples(&w, (1.0 / n()).is_null()), [0, 1, 3]);
        assert_eq!(samples(&w, (n() / 0.0).is_not_null()), [0; 0]);
        assert_eq!(samples(&w, (n() % 3.0).eq(1.0)), [2]);
        assert_eq!(samples(&w, (n() * f64::MAX).is_null()), [2, 3]);
        assert_eq!(samples(&w, (n() * f64::MAX).is_not_null()), [0, 1, 4]);
        assert_eq!(samples(&w, (n() - f64::INFINITY).is_null()), [3, 4]);
    }
}

pub fn strings_are_tested(open: Open) {
    let w = open();
    let names = ["", "Ada", "adam", "ÉCOLE", "a\0b", "50%"];
    w.create::<Item>(names.iter().map(|name| ItemData {
        id: (*name).into(),
        name: Some((*name).into()),
        nick: Some((*name).into()),
        ..ItemData::default()
    }));
    w.create::<Item>([item("missing", 0)]);
    for text in [|| Item::NAME, || Item::NICK, || Item::ID.into()] {
        let known = || text().ne("missing");
        let found = |predicate: Predicate<Item>| items(&w, predicate & known());
        assert_eq!(found(text().starts_with("a")), ["adam", "a\0b"]);
        assert_eq!(found(text().starts_with("a\0")), ["a\0b"]);
        assert_eq!(found(text().starts_with("")), names);
        assert_eq!(found(text().ends_with("b")), ["a\0b"]);
        assert_eq!(found(text().contains("da")), ["Ada", "adam"]);
        assert_eq!(found(text().like("a__m")), ["adam"]);
        assert_eq!(found(text().like("%\\%")), ["50%"]);
        assert_eq!(found(text().like("%d%")), ["Ada", "adam"]);
        assert_eq!(found(text().ignore_case().eq("école")), ["ÉCOLE"]);
        assert_eq!(found(text().ignore_case().starts_with("ADA")), ["Ada", "adam"]);
        assert_eq!(found(text().ignore_case().ends_with("M")), ["adam"]);
        assert_eq!(found(text().ignore_case().contains("Col")), ["ÉCOLE"]);
        assert_eq!(found(text().ignore_case().like("é%")), ["ÉCOLE"]);
        assert_eq!(found(text().len().eq(3)), ["Ada", "a\0b", "50%"]);
        assert_eq!(found(!text().starts_with("a")), ["", "Ada", "ÉCOLE", "50%"]);
    }
    let either = Item::NICK.contains("a") | !Item::NICK.contains("a");
    assert_eq!(items(&w, either), names, "it is unknown for a missing string");
}

pub fn between_and_not_in_exclude_missing_values(open: Open) {
    let w = open();
    let names = [Some("a"), Some("b"), None, Some("c")];
    w.create::<Item>((0..).zip(names).map(|(n, name)| ItemData {
        name: name.map(Into::into),
        nick: name.map(Into::into),
        ..item(&format!("{n}"), n)
    }));
    for text in [|| Item::NAME, || Item::NICK] {
        assert_eq!(items(&w, text().between("a", "b")), ["0", "1"]);
        assert_eq!(items(&w, !text().between("a", "b")), ["3"]);
        assert_eq!(items(&w, text().between("c", "a")), [""; 0]);
        assert_eq!(items(&w, text().not_in(["a", "x"])), ["1", "3"]);
        assert_eq!(items(&w, text().not_in([""; 0])), ["0", "1", "3"]);
    }
    assert_eq!(items(&w, Item::RANK.between(1, 2)), ["1", "2"]);
    assert_eq!(items(&w, Item::RANK.in_([Item::SIZE])), ["0", "1", "2", "3"]);
    assert_eq!(items(&w, Item::NAME.eq(Item::NICK)), ["0", "1", "3"]);
}

pub fn conditions_test_the_members_of_vectors(open: Open) {
    let w = open();
    let empty = crate::schema::BagData { id: 2, ..Default::default() };
    w.create::<Bag>([bag(1), empty]);
    assert_eq!(bags(&w, Bag::TEXTS.contains("文字 🐉")), [1]);
    assert_eq!(bags(&w, Bag::TEXTS.contains("文字")), [0; 0]);
    assert_eq!(bags(&w, Bag::TEXTS.any(|text| text.starts_with("文"))), [1]);
    assert_eq!(bags(&w, Bag::BOOLS.contains(false)), [1]);
    assert_eq!(bags(&w, Bag::BYTES.contains(255)), [1]);
    assert_eq!(bags(&w, Bag::SHORTS.any(|n| (n + 1).gt(i64::from(i16::MAX)))), [1]);
    assert_eq!(bags(&w, Bag::LONGS.contains(i64::MIN)), [1]);
    assert_eq!(bags(&w, Bag::WIDES.contains(u64::MAX)), [1]);
    assert_eq!(bags(&w, Bag::LEVELS.contains(Level::High)), [1]);
    assert_eq!(bags(&w, Bag::LEVELS.contains(Level::Mid)), [0; 0]);
    assert_eq!(bags(&w, Bag::POINTS.any(|point| point.x().eq(2) & point.y().eq(2.0))), [1]);
    assert_eq!(bags(&w, Bag::POINTS.any(|point| point.x().eq(1) & point.y().eq(2.0))), [0; 0]);
    assert_eq!(bags(&w, Bag::NOTES.any(|note| note.text().is_null() & note.stars().eq(3))), [1]);
    assert_eq!(bags(&w, Bag::BODIES.any(|body| body.matches::<Photo>())), [1]);
    assert_eq!(bags(&w, Bag::BODIES.any(|body| body.tag().eq(0))), [1]);
    let held = Bag::BODIES.any(|body| body.as_::<Photo>().bytes().eq(u64::MAX));
    assert_eq!(bags(&w, held), [1]);
    assert_eq!(bags(&w, Bag::BODIES.len().eq(4)), [1]);
    assert_eq!(bags(&w, Bag::TEXTS.is_empty()), [2]);
    assert_eq!(bags(&w, Bag::TEXTS.all(|text| text.eq("x"))), [2]);
    let trees = Bag::TREE.children().any(|child| child.children().is_empty());
    assert_eq!(bags(&w, trees.clone()), [1]);
    assert_eq!(bags(&w, !trees), [0; 0], "what should hold the vector is missing");
}

pub fn missing_members_make_a_condition_missing(open: Open) {
    let w = open();
    w.create::<Bag>([bag(1)]);
    // NaN, -0.0 and infinity.
    assert_eq!(bags(&w, Bag::FLOATS.contains(0.0)), [1]);
    assert_eq!(bags(&w, Bag::FLOATS.contains(1.0)), [0; 0]);
    assert_eq!(bags(&w, !Bag::FLOATS.contains(1.0)), [0; 0]);
    assert_eq!(bags(&w, Bag::FLOATS.any(|n| n.is_null())), [1]);
    assert_eq!(bags(&w, !Bag::DOUBLES.contains(1.0)), [1]);
}

pub fn flags_are_tested(open: Open) {
    let w = open();
    w.create::<Sample>((0..8).map(|bits| SampleData {
        id: bits,
        marks: Mark::from_bits(u8::try_from(bits).unwrap()),
        ..SampleData::default()
    }));
    let both = Mark::from_bits(Mark::RED.bits() | Mark::BLUE.bits());
    assert_eq!(samples(&w, Sample::MARKS.has_all(both)), [5, 7]);
    assert_eq!(samples(&w, Sample::MARKS.has_any(both)), [1, 3, 4, 5, 6, 7]);
    assert_eq!(samples(&w, !Sample::MARKS.has_any(both)), [0, 2]);
    assert_eq!(samples(&w, Sample::MARKS.has_all(Mark::empty())).len(), 8);
    assert!(samples(&w, Sample::MARKS.has_any(Mark::empty())).is_empty());
    assert_eq!(samples(&w, Sample::MARKS.eq(both)), [5]);
}

fn nested(id: i32, x: Option<i32>, url: Option<&str>, body: Option<Body>) -> NestedData {
    NestedData {
        id,
        point: x.map(|x| Point { x, y: 0.0 }),
        profile: url.map(|url| Profile { url: Some(url.into()), ..Profile::default() }),
        body: body.clone(),
        plain: body,
    }
}

pub fn order_may_use_nested_and_computed_values(open: Open) {
    let w = open();
    let note = |stars| Some(Body::Note(Note { text: None, stars }));
    w.create::<Nested>([
        nested(1, Some(5), Some("b"), note(2)),
        nested(2, None, None, None),
        nested(3, Some(-9), Some("a"), note(1)),
        nested(4, Some(5), None, Some(Body::Spot(Point { x: 0, y: 0.0 }))),
    ]);
    let by = |order: Order<Nested>| -> Vec<i32> {
        let all = w.fetch::<Nested>().order_by(order.clone()).all().unwrap();
        let first = w.fetch::<Nested>().order_by(order).limit(2).all().unwrap();
        assert_eq!(all[..2], first[..]);
        all.iter().map(Nested::id).collect()
    };
    assert_eq!(by(Nested::POINT.x().ascending()), [2, 3, 1, 4]);
    assert_eq!(by(Nested::POINT.x().descending()), [1, 4, 3, 2]);
    assert_eq!(by(Nested::POINT.x().ascending().nulls_last()), [3, 1, 4, 2]);
    assert_eq!(by(Nested::POINT.x().descending().nulls_first()), [2, 1, 4, 3]);
    assert_eq!(by((Nested::POINT.x() * Nested::POINT.x()).descending()), [3, 1, 4, 2]);
    assert_eq!(by(Nested::PROFILE.url().ascending().nulls_last()), [3, 1, 2, 4]);
    for body in [|| Nested::BODY, || Nested::PLAIN] {
        let stars = || body().as_::<Note>().stars();
        assert_eq!(by(stars().ascending()), [2, 4, 3, 1]);
        assert_eq!(by(stars().ascending().nulls_last()), [3, 1, 2, 4]);
        assert_eq!(by(body().tag().ascending()), [2, 1, 3, 4]);
    }
}

pub fn order_may_follow_a_list_of_values(open: Open) {
    let w = open();
    let levels = [Level::Low, Level::High, Level::Mid, Level::High];
    w.create::<Item>((0..).zip(levels).map(|(n, level)| ItemData {
        level,
        ..item(&format!("{n}"), n)
    }));
    let by = |order| -> Vec<String> {
        let all = w.fetch::<Item>().order_by(order).all().unwrap();
        all.iter().map(|item| item.id().to_owned()).collect()
    };
    let wanted = [Level::High, Level::Low];
    assert_eq!(by(Item::LEVEL.position_in(&wanted).ascending()), ["1", "3", "0", "2"]);
    assert_eq!(by(Item::LEVEL.position_in(&wanted).descending()), ["2", "0", "1", "3"]);
    assert_eq!(by(Item::ID.position_in(["2", "3"]).ascending()), ["2", "3", "0", "1"]);
}

pub fn live_results_follow_computed_conditions(open: Open) {
    let w = numbered(open, [1, 2, 3, 4]);
    let even = || w.fetch::<Item>().filter((Item::SIZE % 2).eq(0) & Item::ID.like("%"));
    let query = even().order_by((0 - Item::SIZE).ascending());
    let mut received = w.stream(query).unwrap();
    let mut next = || owned_ids(&block_on(received.next()).unwrap().unwrap());
    assert_eq!(next(), ["d", "b"]);
    w.create::<Item>([item("e", 3), item("f", 6)]);
    assert_eq!(next(), ["f", "d", "b"]);
    let object = w.get::<Item>("d").unwrap().unwrap();
    w.change(&object, |data| data.size = 8);
    assert_eq!(next(), ["d", "f", "b"]);
}

pub fn value_of_any_depth_that_is_allowed_has_aggregates(open: Open) {
    let w = numbered(open, [1, 2, -7, 10]);
    for (depth, is_allowed) in [(254, true), (255, true), (256, true), (257, false)] {
        let value = (1..depth).fold(Item::RANK + 1, |value, _| value + 1);
        let (n, fetch) = (depth, || w.fetch::<Item>());
        let found = [fetch().max(value.clone()), fetch().min(value.clone())];
        match is_allowed {
            true => assert_eq!(found.map(Result::unwrap), [Some(n + 10), Some(n - 7)]),
            false => assert!(found.iter().all(Result::is_err)),
        }
        assert_eq!(fetch().sum(value).is_ok(), is_allowed, "{n}");
    }
}

pub fn condition_of_another_type_is_refused(_: Open) {
    let bytes = Item::RANK.eq(1).to_bytes().unwrap();
    assert!(Predicate::<Item>::from_bytes(&bytes).is_ok());
    let refused = Predicate::<Wide>::from_bytes(&bytes).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    let members = Bag::NOTES.any(|note| note.stars().gt(2)).to_bytes().unwrap();
    assert!(Predicate::<Bag>::from_bytes(&members).is_ok());
    assert!(Predicate::<Sample>::from_bytes(&members).is_err());
    assert!(Predicate::<Bag>::from_bytes(&members[1..]).is_err());
    let deep = (0..300).fold(Item::RANK.eq(1), |deep, _| !(deep & Item::SIZE.eq(1)));
    assert_eq!(deep.to_bytes().unwrap_err().kind(), ErrorKind::InvalidArgument);
}
