//! Reading by key, by number and by range.

use std::ops::Bound;

use dflat_history::chunk::Address;
use dflat_history::tree::Edit;

use crate::model::{Model, build, edit, edits, trees};
use crate::random::{Keys, Random};

#[test]
fn lookups_and_ranges_are_those_of_the_model() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let keys = Keys::any(&mut random);
        let trees = trees();
        let mut model = Model::new();
        let count = random.below(3000);
        let first = edits(&mut random, keys, &model, count);
        edit(&mut model, &first);
        let root = build(&trees, &model);
        let list: Vec<_> = model.iter().collect();
        assert_eq!(trees.len(&root).unwrap(), list.len() as u64);
        let mut cursor = trees.cursor(&root);
        for _ in 0..40 {
            let key = keys.key(&mut random);
            let place = list.partition_point(|(other, _)| **other < key);
            assert_eq!(trees.get(&root, &key).unwrap(), model.get(&key).copied());
            assert_eq!(trees.ordinal(&root, &key).unwrap(), place as u64);
            let entry = trees.entry(&root, place as u64).unwrap();
            let entry = entry.map(|entry| (entry.key.into_vec(), entry.payload));
            let expected = list
                .get(place)
                .map(|(key, payload)| ((*key).clone(), **payload));
            assert_eq!(entry, expected, "seed {seed}");
            // A walk of some entries from there, both ways.
            let mut at = place;
            assert_eq!(cursor.seek(&key).unwrap(), at < list.len());
            for _ in 0..10 {
                let entry = cursor
                    .entry()
                    .map(|entry| (entry.key.to_vec(), entry.address));
                let expected = list
                    .get(at)
                    .map(|(key, payload)| ((*key).clone(), **payload));
                assert_eq!(entry, expected, "seed {seed}");
                if entry.is_none() {
                    break;
                }
                let next = if random.below(2) == 0 {
                    at.checked_sub(1)
                } else {
                    Some(at + 1)
                };
                let moved = match next {
                    Some(next) if next < at => cursor.retreat(),
                    Some(_) => cursor.advance(),
                    None => cursor.retreat(),
                };
                at = next.unwrap_or(usize::MAX);
                assert_eq!(moved.unwrap(), at < list.len());
            }
            check_range(&mut random, keys, &trees, (&root, &model));
        }
        assert_eq!(cursor.seek_first().unwrap(), !list.is_empty());
        assert_eq!(
            cursor.entry().map(|entry| entry.key),
            list.first().map(|first| &**first.0)
        );
        assert_eq!(cursor.seek_last().unwrap(), !list.is_empty());
        assert_eq!(
            cursor.entry().map(|entry| entry.key),
            list.last().map(|last| &**last.0)
        );
    }
}

fn check_range(
    random: &mut Random,
    keys: Keys,
    trees: &dflat_history::tree::Trees,
    (root, model): (&dflat_history::tree::Root, &Model),
) {
    let mut ends = [keys.key(random), keys.key(random)];
    ends.sort();
    let [start, end] = &ends;
    if start == end {
        return;
    }
    let mut bound = |key| match random.below(3) {
        0 => Bound::Unbounded,
        1 => Bound::Included(key),
        _ => Bound::Excluded(key),
    };
    let bounds = (bound(&**start), bound(&**end));
    let mut range = trees.range(root, bounds).unwrap();
    let mut expected = model.range::<[u8], _>(bounds);
    loop {
        let is_back = random.below(2) == 0;
        let found = if is_back {
            range.next_back()
        } else {
            range.next()
        };
        let found = found.map(|entry| entry.unwrap());
        let expected = if is_back {
            expected.next_back()
        } else {
            expected.next()
        };
        let found = found.map(|entry| (entry.key.into_vec(), entry.payload));
        assert_eq!(
            found,
            expected.map(|(key, payload)| (key.clone(), *payload))
        );
        if found.is_none() {
            assert_eq!(range.len(), 0);
            return;
        }
    }
}

#[test]
fn unsorted_and_long_keys_are_refused() {
    let trees = trees();
    let payload = Address::of(b"");
    for keys in [["b", "a"], ["a", "a"]] {
        assert!(trees.build(keys.map(|key| (key, payload))).is_err());
        let edits = keys.map(|key| Edit::put(key.as_bytes(), payload));
        assert!(trees.apply(&build(&trees, &Model::new()), edits).is_err());
    }
    let longest = vec![1; dflat_history::node::KEY_BYTES_MAX];
    let longer = vec![1; longest.len() + 1];
    let root = trees.build([(&longest, payload)]).unwrap();
    assert_eq!(trees.get(&root, &longest).unwrap(), Some(payload));
    assert!(trees.build([(&longer, payload)]).is_err());
    assert!(trees.apply(&root, [Edit::put(longer, payload)]).is_err());
}

/// Keys of the greatest length make nodes of two or three entries, and a tree of many levels.
#[test]
fn a_tree_of_the_longest_keys_is_read_and_edited() {
    let trees = trees();
    let key = |number: u32| {
        let mut key = vec![0; dflat_history::node::KEY_BYTES_MAX];
        key[..4].copy_from_slice(&number.to_be_bytes());
        key
    };
    let payload = Address::of(b"");
    let root = trees
        .build((0..200).map(|number| (key(number), payload)))
        .unwrap();
    trees
        .check(&root, &dflat_history::tree::CheckLimits::NONE)
        .unwrap();
    assert_eq!(trees.get(&root, &key(123)).unwrap(), Some(payload));
    let less = trees.apply(&root, [Edit::delete(key(0))]).unwrap();
    let built = trees
        .build((1..200).map(|number| (key(number), payload)))
        .unwrap();
    assert_eq!(less, built);
}
