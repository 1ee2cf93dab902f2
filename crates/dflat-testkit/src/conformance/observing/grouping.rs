//! Laws of groups: as they are read, and as they are delivered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc;

use dflat::{ErrorKind, Fetch, Group, GroupBy, Result, Watch};

use crate::conformance::samples::item;
use crate::fixture::{Fixture, Open, drained, next};
use crate::random::Random;
use crate::schema::{Item, ItemChangeRequest, Level, Sample, SampleChangeRequest, SampleData};

/// Keys, counts and sums of groups.
type Sections<K, S> = Vec<(Option<K>, usize, S)>;

fn sections<K: Clone, S: Copy>(groups: &[Group<K, S>]) -> Sections<K, S> {
    groups.iter().map(|group| (group.key.clone(), group.count, group.sum)).collect()
}

fn named(id: &str, name: Option<&str>, rank: i32) -> crate::schema::ItemData {
    let mut data = item(id, rank);
    data.name = name.map(Into::into);
    data
}

pub fn groups_have_the_order_and_the_place_for_null_that_was_asked_for(open: Open) {
    let w = open();
    let names = [("a", Some("x"), 1), ("b", None, 2), ("c", Some("y"), 3), ("d", Some("x"), 4)];
    w.create::<Item>(names.map(|(id, name, rank)| named(id, name, rank)));
    let by_name = || w.fetch::<Item>().group_by(Item::NAME).sum(Item::RANK);
    let read = |groups: GroupBy<'_, Item, str, Option<i64>>| {
        let groups = groups.all().unwrap();
        let keys = groups.iter().map(|g| g.key.as_deref().unwrap_or("-").to_owned());
        let sums: Vec<_> = groups.iter().map(|g| (g.count, g.sum)).collect();
        (keys.collect::<String>(), sums)
    };
    let (null, x, y) = ((1, Some(2)), (2, Some(5)), (1, Some(3)));
    assert_eq!(read(by_name()), ("-xy".into(), vec![null, x, y]));
    assert_eq!(read(by_name().descending()), ("yx-".into(), vec![y, x, null]));
    assert_eq!(read(by_name().nulls_last()).0, "xy-");
    assert_eq!(read(by_name().descending().nulls_first()).0, "-yx");
    assert_eq!(read(by_name().nulls_first().descending()).0, "-yx");
    assert_eq!(read(by_name().nulls_last().descending()).0, "yx-");
    // A condition, a computed key, and no sum.
    let parity = w.fetch::<Item>().filter(Item::RANK.gt(1)).group_by(Item::RANK % 2);
    assert_eq!(sections(&parity.all().unwrap()), [(Some(0), 2, ()), (Some(1), 1, ())]);
    let none = w.fetch::<Item>().filter(Item::RANK.gt(9)).group_by(Item::LEVEL);
    assert!(none.all().unwrap().is_empty());
}

pub fn groups_are_of_the_state_that_the_query_reads(open: Open) {
    let w = open();
    w.create::<Item>([named("a", Some("x"), 1)]);
    let snapshot = w.snapshot().unwrap();
    let counts = |fetch: Fetch<'_, Item>| fetch.group_by(Item::NAME).all().map(|g| sections(&g));
    let inside = w.perform([Item::TABLE], move |tx| {
        tx.submit(ItemChangeRequest::creation(named("b", Some("x"), 2)))?;
        counts(tx.fetch::<Item>())
    });
    assert_eq!(inside, [(Some("x".to_owned()), 2, ())]);
    let counts = |fetch: Fetch<'_, Item>| fetch.group_by(Item::NAME).all().map(|g| sections(&g));
    assert_eq!(counts(snapshot.fetch()).unwrap(), [(Some("x".to_owned()), 1, ())]);
    assert_eq!(counts(w.fetch()).unwrap(), inside);
}

pub fn query_with_a_window_has_no_groups(open: Open) {
    let w = open();
    let windows: [fn(Fetch<'_, Item>) -> Fetch<'_, Item>; 2] = [|f| f.limit(3), |f| f.offset(1)];
    for window in windows {
        let groups = || window(w.fetch::<Item>()).group_by(Item::RANK);
        let error = groups().all().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().ends_with("has a limit, an offset or a cursor"), "{error}");
        let refused = w.subscribe(groups(), |_| ()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    }
}

// Promise: live-queries#L50
pub fn groups_are_delivered_only_when_one_of_them_changes(open: Open) {
    let w = open();
    let objects = w.create::<Item>([named("a", Some("x"), 1), named("b", None, 2)]);
    let (send, received) = mpsc::channel();
    let groups = w.fetch::<Item>().filter(Item::RANK.gt(0)).group_by(Item::NAME).sum(Item::SIZE);
    let subscription = w.subscribe(groups, move |groups: Result<Arc<[_]>>| {
        send.send(sections(&groups.unwrap())).unwrap();
    });
    let (null, x) = (None::<String>, Some("x".to_owned()));
    assert_eq!(next(&received), [(null.clone(), 1, Some(2)), (x.clone(), 1, Some(1))]);
    // Values that are neither the key nor summed.
    w.change(&objects[0], |data| data.nick = Some("other".into()));
    w.change(&objects[0], |data| data.rank = 7);
    // An object that does not meet the condition.
    w.create::<Item>([named("c", Some("z"), 0)]);
    // Objects that swap their groups and sums.
    w.perform([Item::TABLE], {
        let objects = objects.clone();
        move |tx| {
            for (object, name, size) in [(&objects[0], None, 2), (&objects[1], Some("x"), 1)] {
                let mut request = ItemChangeRequest::change(tx, object)?.unwrap();
                request.name = name.map(Into::into);
                request.size = size;
                tx.submit(request)?;
            }
            Ok(())
        }
    });
    assert!(drained(&received).is_empty());
    w.change(&objects[0], |data| data.size = 5);
    assert_eq!(next(&received), [(null, 1, Some(5)), (x.clone(), 1, Some(1))]);
    w.delete(&objects[0]);
    assert_eq!(next(&received), [(x, 1, Some(1))]);
    w.change(&objects[1], |data| data.rank = -1);
    assert_eq!(next(&received), []);
    assert!(drained(&received).is_empty());
    drop(subscription);
}

pub fn sum_that_does_not_fit_is_an_error_until_it_fits(open: Open) {
    let w = open();
    let wide = |id, wide| SampleData { id, wide, ..SampleData::default() };
    let objects = w.create::<Sample>([wide(1, u64::MAX), wide(2, 0)]);
    let groups = || w.fetch::<Sample>().group_by(Sample::FLAG).sum(Sample::WIDE);
    let live = w.observe(groups()).unwrap().watch().unwrap();
    let both = || {
        w.settle::<Sample>();
        let read = groups().all().map(|groups| sections(&groups));
        let live = live.latest().unwrap().map(|groups| sections(&groups));
        assert_eq!(
            live.as_ref().map_err(ToString::to_string),
            read.as_ref().map_err(ToString::to_string)
        );
        read.map_err(|error| (error.kind(), error.to_string()))
    };
    assert_eq!(both().unwrap(), [(Some(false), 2, Some(u64::MAX))]);
    w.change(&objects[1], |data| data.wide = 1);
    let (kind, message) = both().unwrap_err();
    assert_eq!(kind, ErrorKind::InvalidArgument);
    let expected = "cannot sum a field of Sample: the sum of group false does not fit";
    assert_eq!(message, expected);
    w.change(&objects[0], |data| data.wide = 7);
    assert_eq!(both().unwrap(), [(Some(false), 2, Some(8))]);
}

const NAMES: [Option<&str>; 4] = [None, Some(""), Some("n"), Some("文")];
const MASSES: [f64; 9] =
    [0.1, 0.2, -0.3, 1e300, -1e300, 1e-300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
const WEIGHTS: [f64; 5] = [0.0, -0.0, 1.5, f64::NAN, f64::INFINITY];

fn sample(random: &mut Random, id: i32) -> SampleData {
    SampleData {
        id,
        rank: i32::try_from(random.below(6)).unwrap() - 2,
        name: random.pick(&NAMES).map(Into::into),
        mass: *random.pick(&MASSES),
        weight: *random.pick(&WEIGHTS),
        level: *random.pick(&Level::ALL),
        ..SampleData::default()
    }
}

/// A cell with the latest groups.
type Live<K, S = ()> = Watch<Result<Arc<[Group<K, S>]>>>;

/// Groups that are followed, and the query of which they are.
struct Followed<'w> {
    w: &'w Fixture,
    names: Live<String, Option<i64>>,
    levels: Live<Level, Option<f64>>,
    weights: Live<f64>,
}

fn by_name(w: &Fixture) -> GroupBy<'_, Sample, str, Option<i64>> {
    w.fetch::<Sample>().group_by(Sample::NAME).sum(Sample::RANK).descending().nulls_first()
}

fn by_level(w: &Fixture) -> GroupBy<'_, Sample, Level, Option<f64>> {
    let some = w.fetch::<Sample>().filter(Sample::RANK.ge(0));
    some.group_by(Sample::LEVEL).sum(Sample::MASS)
}

fn by_weight(w: &Fixture) -> GroupBy<'_, Sample, f64> {
    w.fetch::<Sample>().group_by(Sample::WEIGHT).nulls_last()
}

impl<'w> Followed<'w> {
    fn new(w: &'w Fixture) -> Self {
        Self {
            w,
            names: w.observe(by_name(w)).unwrap().watch().unwrap(),
            levels: w.observe(by_level(w)).unwrap().watch().unwrap(),
            weights: w.observe(by_weight(w)).unwrap().watch().unwrap(),
        }
    }

    /// Compares the deliveries with a fresh read, and with a model of the objects.
    fn check(&self, model: &BTreeMap<i32, SampleData>) {
        let Self { w, names, levels, weights } = self;
        w.settle::<Sample>();
        let live = sections(&names.latest().unwrap().unwrap());
        assert_eq!(live, sections(&by_name(w).all().unwrap()));
        let mut groups = BTreeMap::<_, (usize, i64)>::new();
        for data in model.values() {
            let (count, sum) = groups.entry(data.name.clone()).or_default();
            *count += 1;
            *sum += i64::from(data.rank);
        }
        let null = groups.remove(&None).map(|totals| (None, totals));
        let groups = null.into_iter().chain(groups.into_iter().rev());
        let groups = groups.map(|(name, (count, sum))| (name, count, Some(sum)));
        assert_eq!(live, groups.collect::<Vec<_>>());

        let live = sections(&levels.latest().unwrap().unwrap());
        assert_eq!(live, sections(&by_level(w).all().unwrap()));
        for (level, count, sum) in &live {
            let of_group = Sample::LEVEL.eq(level.unwrap()) & Sample::RANK.ge(0);
            let query = || w.fetch::<Sample>().filter(of_group.clone());
            let total = query().sum(Sample::MASS).unwrap();
            assert_eq!((*count, *sum), (query().count().unwrap(), total));
        }

        let live = sections(&weights.latest().unwrap().unwrap());
        assert_eq!(live, sections(&by_weight(w).all().unwrap()));
        let count = |is: fn(f64) -> bool| model.values().filter(|data| is(data.weight)).count();
        let groups = [
            (Some(0.0), count(|weight| weight == 0.0), ()),
            (Some(1.5), count(|weight| weight == 1.5), ()),
            (Some(f64::INFINITY), count(f64::is_infinite), ()),
            (None, count(f64::is_nan), ()),
        ];
        assert_eq!(live, groups.into_iter().filter(|group| group.1 > 0).collect::<Vec<_>>());
    }
}

// Promise: live-queries#L51
pub fn live_groups_equal_a_model_and_a_fresh_read_after_every_commit(open: Open) {
    let w = open();
    let mut random = Random::new(9);
    let mut model = BTreeMap::<i32, SampleData>::new();
    let first = Followed::new(&w);
    let mut second = None;
    for step in 0..60 {
        let changes: Vec<(i32, Option<SampleData>)> = (0..=random.below(5))
            .map(|_| {
                let id = i32::try_from(random.below(12)).unwrap();
                (id, (!random.one_in(4)).then(|| sample(&mut random, id)))
            })
            .collect();
        for (id, data) in &changes {
            match data {
                Some(data) => drop(model.insert(*id, data.clone())),
                None => drop(model.remove(id)),
            }
        }
        w.perform([Sample::TABLE], move |tx| {
            for (id, data) in changes {
                match (data, tx.get::<Sample>(id)?) {
                    (Some(data), _) => drop(tx.submit(SampleChangeRequest::upsert(data))?),
                    (None, Some(object)) => {
                        tx.submit(SampleChangeRequest::deletion(tx, &object)?.unwrap())?;
                    }
                    (None, None) => {}
                }
            }
            Ok(())
        });
        first.check(&model);
        if step == 20 {
            second = Some(Followed::new(&w));
        }
        second.iter().for_each(|second| second.check(&model));
    }
}
