//! Chunks and trees that a hostile peer has made.

use std::collections::HashMap;
use std::sync::Arc;

use dflat_engine::{ErrorKind, Result};
use dflat_history::chunk::{Address, Chunk, ChunkStore, MemoryStore};
use dflat_history::node::{Node, NodeWriter};
use dflat_history::tree::{CheckLimits, Edit, Root, Trees};

use crate::model::{Model, build, edit, edits};
use crate::random::{Keys, Random};

/// A store that gives other chunks for some addresses.
struct Swapped {
    store: Arc<MemoryStore>,
    chunks: HashMap<Address, Option<Chunk>>,
}

impl ChunkStore for Swapped {
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Chunk>>> {
        let mut found = self.store.get_many(addresses)?;
        for (address, chunk) in addresses.iter().zip(&mut found) {
            if let Some(swapped) = self.chunks.get(address) {
                *chunk = swapped.clone();
            }
        }
        Ok(found)
    }

    fn put_many(&self, chunks: &[Chunk]) -> Result<()> {
        self.store.put_many(chunks)
    }
}

fn sample(seed: u64) -> (Arc<MemoryStore>, Root, Model) {
    let store = Arc::new(MemoryStore::new());
    let trees = Trees::new(Arc::clone(&store) as Arc<_>);
    let mut random = Random::new(seed);
    let mut model = Model::new();
    let keys = Keys::integers(1 << 16);
    let first = edits(&mut random, keys, &model, 9000);
    edit(&mut model, &first);
    let root = build(&trees, &model);
    (store, root, model)
}

/// Uses a tree in each way. Nothing may panic or go on for ever, whatever the nodes are.
fn use_all(trees: &Trees, root: &Root, other: &Root, inside: &[u8]) -> bool {
    let mut failed = trees.check(root, &CheckLimits::NONE).is_err();
    failed |= trees
        .range(root, ..)
        .is_ok_and(|range| range.take(20_000).any(|entry| entry.is_err()));
    failed |= trees
        .range(root, ..)
        .is_ok_and(|range| range.rev().take(20_000).any(|entry| entry.is_err()));
    for key in [&b""[..], inside, &[0xff]] {
        failed |= trees.get(root, key).is_err();
        failed |= trees.ordinal(root, key).is_err();
        let put = Edit::put(key, Address::of(b"put"));
        failed |= trees.apply(root, [put]).is_err();
    }
    failed |= trees.entry(root, 700).is_err();
    for (before, after) in [(root, other), (other, root)] {
        let diff = trees.diff(before, after);
        failed |= diff.is_ok_and(|diff| diff.take(20_000).any(|change| change.is_err()));
        failed |= trees.merged(before, after, &Root::EMPTY).is_err();
    }
    failed
}

#[test]
fn a_missing_or_swapped_chunk_is_an_error() {
    let (store, root, _) = sample(1);
    let trees = Trees::new(Arc::clone(&store) as Arc<_>);
    let other = trees
        .apply(&root, [Edit::put(*b"other", Address::of(b""))])
        .unwrap();
    assert!(!use_all(&trees, &root, &other, &[0x0d, 9, 9]));
    let addresses = store.addresses();
    for (place, address) in addresses.iter().enumerate().step_by(7) {
        let next = addresses[(place + 1) % addresses.len()];
        let swapped = store.get_many(&[next]).unwrap().pop().unwrap();
        for chunk in [None, swapped] {
            let chunks = HashMap::from([(*address, chunk)]);
            let store = Arc::clone(&store);
            let trees = Trees::new(Arc::new(Swapped { store, chunks }));
            let failures = [&root, &other].map(|root| {
                let checked = trees.check(root, &CheckLimits::NONE);
                checked.is_err_and(|error| error.kind() == ErrorKind::Corrupt)
            });
            use_all(&trees, &root, &other, &[0x0d, 9, 9]);
            // Chunks that a tree does not have do it no harm.
            assert!(
                failures.contains(&true) || trees.diff(&root, &other).unwrap().all(|c| c.is_ok())
            );
        }
    }
}

/// The tree whose nodes on the path to one leaf are written anew, the leaf with a change.
fn tampered(store: &MemoryStore, root: Root, random: &mut Random) -> (Root, Vec<u8>) {
    let mut path = Vec::new();
    let mut address = root.address();
    loop {
        let chunk = store.get_many(&[address]).unwrap().pop().flatten().unwrap();
        let node = Node::read(chunk).unwrap();
        let index = random.below(node.len());
        address = node.view().address(index);
        let is_leaf = node.level() == 0;
        path.push((node, index));
        if is_leaf {
            break;
        }
    }
    let changed = random.below(path.len());
    let mut below: Option<Address> = None;
    for (depth, (node, index)) in path.iter().enumerate().rev() {
        let view = node.view();
        let change = if depth == changed { random.below(7) } else { 7 };
        let mut writer = NodeWriter::new(if change == 0 {
            random.below(6) as u8
        } else {
            view.level()
        });
        for place in 0..view.len() {
            let entry = view.entry(place).unwrap();
            let address = below.filter(|_| place == *index).unwrap_or(entry.address);
            match change {
                1 if place == *index => {}
                2 if place == *index => {
                    writer.push(&[entry.key, &[0]].concat(), &address, entry.count)
                }
                3 if place == *index => writer.push(entry.key, &address, entry.count + 1),
                4 if place > *index => {}
                5 if place == *index => writer.push(entry.key, &root.address(), entry.count),
                6 if place + 1 == view.len() => {
                    let all_others = view.count_before(place);
                    writer.push(entry.key, &address, u64::MAX - all_others);
                }
                _ => writer.push(entry.key, &address, entry.count),
            }
        }
        let node = writer.finish();
        below = Some(node.address());
        store.put_many(&[node.chunk().clone()]).unwrap();
    }
    let (leaf, index) = path.last().unwrap();
    let key = [leaf.view().key(*index), &[1]].concat();
    (Root::from_address(below.unwrap()), key)
}

/// Each chunk is well named, and their tree is none that this crate makes. A check finds that, and
/// if not, the tree is exactly the built one.
#[test]
fn a_tampered_tree_fails_its_check_and_never_panics() {
    let mut refused = 0;
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let (store, root, _) = sample(seed % 4);
        let (bad, key) = tampered(&store, root, &mut random);
        let trees = Trees::new(Arc::clone(&store) as Arc<_>);
        use_all(&trees, &bad, &root, &key);
        match trees.check(&bad, &CheckLimits::NONE) {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt);
                refused += 1;
            }
            Ok(_) => {
                let content = crate::model::content(&trees, &bad);
                assert_eq!(build(&trees, &content), bad, "seed {seed}");
            }
        }
    }
    assert!(refused > 75, "{refused}");
}

#[test]
fn nodes_that_never_split_and_trees_beyond_a_limit_are_refused() {
    let (store, root, model) = sample(2);
    let trees = Trees::new(Arc::clone(&store) as Arc<_>);
    let mut writer = NodeWriter::new(0);
    for (key, payload) in model.iter().take(600) {
        writer.push(key, payload, 1);
    }
    let unsplit = writer.finish();
    store.put_many(&[unsplit.chunk().clone()]).unwrap();
    let unsplit = Root::from_address(unsplit.address());
    let error = trees.check(&unsplit, &CheckLimits::NONE).unwrap_err();
    assert!(error.to_string().contains("ends too late"), "{error}");

    let checked = trees.check(&root, &CheckLimits::NONE).unwrap();
    let exact = CheckLimits {
        entries: checked.entries,
        bytes: checked.bytes,
    };
    assert_eq!(trees.check(&root, &exact).unwrap(), checked);
    for limits in [
        CheckLimits {
            entries: exact.entries - 1,
            ..exact
        },
        CheckLimits {
            bytes: exact.bytes - 1,
            ..exact
        },
    ] {
        let error = trees.check(&root, &limits).unwrap_err();
        assert!(error.to_string().contains("exceeds a limit"), "{error}");
    }
}

/// The parent claims keys that its child lacks. Such an edit belongs to the child by the parent's
/// word, and behind it by its own.
#[test]
fn an_edit_between_the_keys_of_a_child_and_its_parent_is_refused() {
    let (store, root, _) = sample(3);
    let chunk = store.get_many(&[root.address()]).unwrap().pop().flatten();
    let node = Node::read(chunk.unwrap()).unwrap();
    assert_eq!(node.level(), 1);
    let view = node.view();
    let mut writer = NodeWriter::new(1);
    for place in 0..view.len() {
        let entry = view.entry(place).unwrap();
        let key = match place {
            3 => [entry.key, &[0]].concat(),
            _ => entry.key.to_vec(),
        };
        writer.push(&key, &entry.address, entry.count);
    }
    let bad = writer.finish();
    store.put_many(&[bad.chunk().clone()]).unwrap();
    let trees = Trees::new(Arc::clone(&store) as Arc<_>);
    let edit = Edit::put([view.key(3), &[0]].concat(), Address::of(b""));
    let error = trees.apply(&Root::from_address(bad.address()), [edit]);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Corrupt);
}

/// A collection reserves memory for the entries that a range promises.
#[test]
fn a_range_of_a_tree_with_false_counts_is_collected() {
    let (store, root, model) = sample(3);
    let chunk = store.get_many(&[root.address()]).unwrap().pop().flatten();
    let node = Node::read(chunk.unwrap()).unwrap();
    assert_eq!(node.level(), 1);
    let mut writer = NodeWriter::new(1);
    for place in 0..node.len() {
        let entry = node.view().entry(place).unwrap();
        writer.push(entry.key, &entry.address, u64::MAX >> 10);
    }
    let bad = writer.finish();
    store.put_many(&[bad.chunk().clone()]).unwrap();
    let trees = Trees::new(Arc::clone(&store) as Arc<_>);
    let root = Root::from_address(bad.address());
    let range = trees.range(&root, ..).unwrap();
    assert!(range.len() > u64::MAX >> 10);
    let found: Vec<Result<_>> = range.collect();
    assert!(found.iter().all(Result::is_ok));
    assert_eq!(found.len(), model.len());
}

/// A node that lacks its ends gets a long key before its last one.
#[test]
fn an_edit_that_makes_a_node_too_large_is_refused() {
    let store = Arc::new(MemoryStore::new());
    let payload = Address::of(b"");
    let key = |first: u8, len: usize| vec![first; len];
    let long = [1, 2, 3].map(|first| key(first, 16_384));
    let mut writer = NodeWriter::new(0);
    for key in long.iter().chain(&[key(4, 16_000), key(6, 1)]) {
        writer.push(key, &payload, 1);
    }
    let unsplit = Node::read(writer.finish().chunk().clone()).unwrap();
    store.put_many(&[unsplit.chunk().clone()]).unwrap();
    let trees = Trees::new(Arc::clone(&store) as Arc<_>);
    let edit = Edit::put(key(5, 16_384), payload);
    let edited = trees.apply(&Root::from_address(unsplit.address()), [edit]);
    assert_eq!(edited.unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(store.len(), 1);
}
