//! Every way to read equals the same of a map.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::thread;

use dflat_engine::object::Object;
use dflat_engine::{ErrorKind, Result};
use dflat_model::{RowId, Table, ValueRef};
use dflat_pack::{BuildOptions, Objects, OpenOptions, Pack};

use crate::words::{Random, build, empty, key, place, places, word, words};

pub(crate) type Model = BTreeMap<String, Vec<u8>>;

/// A random text, one of few, so that some are missing and some begin others.
pub(crate) fn text(random: &mut Random) -> String {
    let len = random.below(5);
    (0..len)
        .map(|_| *[b'a', b'b', 0].get(random.below(3) as usize).unwrap() as char)
        .collect()
}

pub(crate) fn random_words(random: &mut Random, count: u64) -> Model {
    let mut model = Model::new();
    for _ in 0..count {
        let name = match count {
            0..100 => text(random),
            _ => format!("{}{}", text(random), random.below(3 * count)),
        };
        let len = random.below(90) as usize;
        let payload = word(&name, random.below(9) as i32, Some(&"z".repeat(len)));
        model.insert(name, payload);
    }
    model
}

fn packed(model: &Model, random: &mut Random) -> Pack {
    let directory = tempfile::tempdir().unwrap();
    let objects = model.values().map(|payload| (words(), payload.clone()));
    let mut objects: Vec<_> = objects.collect();
    random.shuffle(&mut objects);
    let options = BuildOptions::default().memory_max(random.below(100_000) as usize);
    let pack = build(directory.path(), &[words()], &objects, options).unwrap();
    // The file has no name any more when this function returns, and stays readable.
    let checked = OpenOptions::default().check_blocks(random.below(2) == 0);
    Pack::open_with(pack.path(), checked).unwrap()
}

pub(crate) fn payloads(objects: impl IntoIterator<Item = Result<Object>>) -> Vec<Vec<u8>> {
    objects
        .into_iter()
        .map(|object| object.unwrap().payload().to_vec())
        .collect()
}

pub(crate) fn check(model: &Model, objects: &Objects, random: &mut Random) {
    let all: Vec<Vec<u8>> = model.values().cloned().collect();
    assert_eq!(objects.len(), model.len() as u64);
    assert_eq!(payloads(objects.iter()), all);
    let mut reversed = payloads(objects.iter().rev());
    reversed.reverse();
    assert_eq!(reversed, all);
    let mut reader = objects.reader();
    let mut asked: Vec<String> = (0..40).map(|_| text(random)).collect();
    asked.extend(model.keys().take(60).cloned());
    asked.extend(model.keys().rev().take(60).cloned());
    random.shuffle(&mut asked);
    for name in &asked {
        let found = objects.get(&key(name)).unwrap();
        assert_eq!(
            found.as_ref().map(Object::payload),
            model.get(name).map(Vec::as_slice)
        );
        let position = model
            .contains_key(name)
            .then(|| model.range(..name.clone()).count() as u64);
        assert_eq!(objects.index_of(&key(name)).unwrap(), position, "{name:?}");
        assert_eq!(
            found.map(|found| found.row_id()),
            position.map(|at| RowId(at as i64 + 1))
        );
        assert_eq!(objects.contains(&key(name)).unwrap(), position.is_some());
        assert_eq!(
            reader.payload(&key(name)).unwrap(),
            model.get(name).map(Vec::as_slice)
        );
    }
    let keys: Vec<_> = asked.iter().map(|name| key(name)).collect();
    let found = objects.get_many(&keys).unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|found| found.as_ref().map(Object::payload))
        .collect();
    let expected: Vec<_> = asked
        .iter()
        .map(|name| model.get(name).map(Vec::as_slice))
        .collect();
    assert_eq!(found, expected);
    for _ in 0..20 {
        let at = random.below(model.len() as u64 + 3);
        let found = objects.nth(at).unwrap();
        let expected = all.get(at as usize);
        assert_eq!(
            found.as_ref().map(Object::payload),
            expected.map(Vec::as_slice)
        );
    }
    ranges(model, objects, random);
    let parts = 1 + random.below(7) as usize;
    let split = objects.split(parts);
    assert_eq!(split.len(), parts);
    assert_eq!(
        split.into_iter().flat_map(payloads).collect::<Vec<_>>(),
        all
    );
}

fn ranges(model: &Model, objects: &Objects, random: &mut Random) {
    for _ in 0..30 {
        let (from, to) = (text(random), text(random));
        let (low, high) = (key(&from), key(&to));
        let which = random.below(3);
        let bound = |name: &String, which| match which {
            0 => Bound::Included(name.clone()),
            1 => Bound::Excluded(name.clone()),
            _ => Bound::Unbounded,
        };
        let (start, end) = (bound(&from, which), bound(&to, random.below(3)));
        let is_in = |name: &String| {
            (match &start {
                Bound::Included(from) => name >= from,
                Bound::Excluded(from) => name > from,
                Bound::Unbounded => true,
            }) && (match &end {
                Bound::Included(to) => name <= to,
                Bound::Excluded(to) => name < to,
                Bound::Unbounded => true,
            })
        };
        let expected: Vec<_> = model.iter().filter(|(name, _)| is_in(name)).collect();
        let expected: Vec<Vec<u8>> = expected
            .into_iter()
            .map(|(_, bytes)| bytes.clone())
            .collect();
        let asked = (
            start.as_ref().map(|_| &low[..]),
            end.as_ref().map(|_| &high[..]),
        );
        let range = objects.range(asked).unwrap();
        assert_eq!(payloads(range), expected, "{start:?} {end:?}");
        // Both ends are taken in turn.
        let mut range = objects.range(asked).unwrap();
        let (mut front, mut back) = (Vec::new(), Vec::new());
        while range.positions().start < range.positions().end {
            front.extend(payloads(range.next()));
            back.extend(payloads(range.next_back()));
        }
        back.reverse();
        front.append(&mut back);
        assert_eq!(front, expected);
    }
}

#[test]
fn reads_equal_those_of_a_map() {
    for seed in 0..30 {
        let mut random = Random::new(seed);
        let count = [0, 1, 3, 60, 700][seed as usize % 5];
        let model = random_words(&mut random, count);
        let pack = packed(&model, &mut random);
        pack.verify().unwrap();
        pack.verify_objects().unwrap();
        check(&model, &pack.objects(&words()).unwrap(), &mut random);
    }
}

/// Compares the sets of two packs with those of their maps.
pub(crate) fn check_sets((a, one): (&Objects, &Model), (b, other): (&Objects, &Model)) {
    let mut all = other.clone();
    all.extend(one.clone());
    let union: Vec<_> = all.into_values().collect();
    assert_eq!(payloads(a.union(b)), union);
    let of = |is_in: bool| {
        let kept = one
            .iter()
            .filter(|(name, _)| other.contains_key(*name) == is_in);
        kept.map(|(_, payload)| payload.clone()).collect::<Vec<_>>()
    };
    assert_eq!(payloads(a.intersection(b)), of(true));
    assert_eq!(payloads(a.difference(b)), of(false));
}

#[test]
fn sets_equal_those_of_maps() {
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let counts = [0, 5, 40, 40];
        let one = random_words(&mut random, counts[seed as usize % 4]);
        let other = random_words(&mut random, counts[seed as usize / 4 % 4]);
        let (pack_a, pack_b) = (packed(&one, &mut random), packed(&other, &mut random));
        let a = pack_a.objects(&words()).unwrap();
        let b = pack_b.objects(&words()).unwrap();
        check_sets((&a, &one), (&b, &other));
    }
}

#[test]
fn keys_of_several_parts_are_ordered_and_found_by_their_first_parts() {
    let directory = tempfile::tempdir().unwrap();
    let numbers = [-2.5, 0.0, 1.0, 1e18];
    let xs = [i64::MIN, -1, 0, 7, i64::MAX];
    let objects = xs
        .iter()
        .rev()
        .flat_map(|x| numbers.map(|y| (places(), place(*x, y, "p"))));
    let objects: Vec<_> = objects.collect();
    let pack = build(
        directory.path(),
        &[places()],
        &objects,
        BuildOptions::default(),
    )
    .unwrap();
    let places = pack.objects(&places()).unwrap();
    for (i, x) in xs.iter().enumerate() {
        for (j, y) in numbers.iter().enumerate() {
            let key = [ValueRef::Int(*x), ValueRef::Float(*y)];
            let position = places.index_of(&key).unwrap();
            assert_eq!(position, Some((i * numbers.len() + j) as u64));
        }
        let prefix = [ValueRef::Int(*x)];
        let start = (i * numbers.len()) as u64;
        let found = places.positions(&prefix[..]..=&prefix[..]).unwrap();
        assert_eq!(found, start..start + numbers.len() as u64);
    }
    // An integer finds the float that equals it.
    assert!(
        places
            .contains(&[ValueRef::Int(7), ValueRef::Int(1)])
            .unwrap()
    );
    assert!(
        !places
            .contains(&[ValueRef::Int(7), ValueRef::Null])
            .unwrap()
    );
}

#[test]
fn threads_read_one_pack_at_the_same_time() {
    let mut random = Random::new(11);
    let model = random_words(&mut random, 900);
    let pack = packed(&model, &mut random);
    let objects = pack.objects(&words()).unwrap();
    thread::scope(|scope| {
        for part in objects.split(4) {
            let (objects, model) = (&objects, &model);
            scope.spawn(move || {
                for object in part {
                    let object = object.unwrap();
                    let at = object.row_id().0 as usize - 1;
                    let (name, payload) = model.iter().nth(at).unwrap();
                    assert_eq!(object.payload(), payload);
                    let again = objects.get(&key(name)).unwrap().unwrap();
                    assert_eq!(again.payload(), payload);
                }
            });
        }
    });
}

#[test]
fn types_that_a_pack_lacks_or_has_with_another_key_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let tables = [words(), empty()];
    let pack = build(directory.path(), &tables, &[], BuildOptions::default()).unwrap();
    let names: Vec<_> = pack
        .tables()
        .map(|table| table.type_name.to_string())
        .collect();
    assert_eq!(names, ["Empty", "Word"]);
    assert!(pack.objects(&empty()).unwrap().iter().next().is_none());
    let error = pack.objects(&places()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    let mut other = (*words()).clone();
    other.primary_key = empty().primary_key.clone();
    let error = pack.objects(&Table::new(other)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
}
