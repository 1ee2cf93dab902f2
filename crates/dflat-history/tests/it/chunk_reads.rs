//! The number of chunks that differences and edits read.

use std::collections::BTreeMap;
use std::sync::Arc;

use dflat_history::chunk::{Address, MemoryStore};
use dflat_history::tree::{Edit, Root, Trees};
use dflat_model::{ValueRef, key};

use crate::random::Random;

fn key_of(number: u64) -> Vec<u8> {
    key::encode([ValueRef::from_u64(number)])
}

/// A tree of every second number.
fn tree(trees: &Trees, entries: u64) -> Root {
    let payload = Address::of(b"before");
    let entries = (0..entries).map(|number| (key_of(2 * number), payload));
    trees.build(entries).unwrap()
}

/// The chunks that the difference reads when nothing is in memory.
fn reads(store: &Arc<MemoryStore>, before: &Root, after: &Root) -> u64 {
    let cold = Trees::new(Arc::clone(store) as Arc<_>);
    let first = store.reads();
    let changes = cold
        .diff(before, after)
        .unwrap()
        .map(Result::unwrap)
        .count();
    assert_eq!(changes, 1);
    store.reads() - first
}

/// An update moves no boundary. An insertion or a deletion seldom does; if it does, the nodes up to
/// the next common boundary differ, too.
#[test]
fn one_edit_in_a_million_entries_reads_at_most_eight_chunks() {
    let store = Arc::new(MemoryStore::new());
    let trees = Trees::new(Arc::clone(&store) as Arc<_>);
    let entries = 1_000_000;
    let root = tree(&trees, entries);
    let mut random = Random::new(5);
    let mut counts = [BTreeMap::new(), BTreeMap::new()];
    for round in 0..600 {
        let number = random.below(entries as usize) as u64;
        let after = Address::of(b"after");
        let edit = match round % 4 {
            0 | 1 => Edit::put(key_of(2 * number), after),
            2 => Edit::put(key_of(2 * number + 1), after),
            _ => Edit::delete(key_of(2 * number)),
        };
        let edited = trees.apply(&root, [edit]).unwrap();
        let reads = reads(&store, &root, &edited);
        *counts[round % 4 / 2].entry(reads).or_insert(0) += 1;
    }
    let [updates, others] = counts;
    assert!(updates.keys().all(|reads| *reads <= 8), "{updates:?}");
    let few = others.range(..=8).map(|(_, count)| count).sum::<i32>();
    assert!(few >= 290, "of 300 insertions and deletions: {others:?}");
}

/// An update reads one node of each level, as a lookup of its key does.
#[test]
fn an_update_reads_as_many_chunks_as_a_lookup() {
    let store = Arc::new(MemoryStore::new());
    let cold = || Trees::new(Arc::clone(&store) as Arc<_>);
    let entries = 100_000;
    let root = tree(&cold(), entries);
    for number in [0, entries / 2, entries - 1] {
        let key = key_of(2 * number);
        let first = store.reads();
        assert!(cold().get(&root, &key).unwrap().is_some());
        let height = store.reads() - first;
        assert!(height > 1, "{height}");
        let edit = Edit::put(key, Address::of(b"after"));
        let first = store.reads();
        cold().apply(&root, [edit]).unwrap();
        assert_eq!(store.reads() - first, height, "{number}");
    }
}
