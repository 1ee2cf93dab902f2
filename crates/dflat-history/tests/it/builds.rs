//! Trees that are large enough to be built by two threads.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use dflat_engine::{Error, ErrorKind, Result};
use dflat_history::chunk::{Address, Chunk, ChunkStore, MemoryStore};
use dflat_history::node::Node;
use dflat_history::tree::{CheckLimits, Edit, Root, Trees};

/// About 500 leaves.
const ENTRIES: u64 = 50_000;

/// The entries of more than 64 leaves: these have a second thread.
const ENTRIES_THERE: u64 = 15_000;

/// The fault of a store, after some calls that keep chunks.
#[derive(Clone, Copy)]
enum Fault {
    None,
    Fail,
    Panic,
}

/// A store with a fault, which keeps the chunks in their order.
struct Faulty {
    kept: Mutex<Vec<Chunk>>,
    puts: Mutex<usize>,
    fault: Fault,
    /// The calls before the fault.
    good: usize,
}

impl Faulty {
    fn new(fault: Fault, good: usize) -> Arc<Self> {
        Arc::new(Self {
            kept: Mutex::default(),
            puts: Mutex::default(),
            fault,
            good,
        })
    }
}

impl ChunkStore for Faulty {
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Chunk>>> {
        Ok(vec![None; addresses.len()])
    }

    fn put_many(&self, chunks: &[Chunk]) -> Result<()> {
        let puts = {
            let mut puts = self.puts.lock().unwrap();
            *puts += 1;
            *puts
        };
        match self.fault {
            Fault::Fail if puts > self.good => Err(Error::new(
                ErrorKind::StorageFull,
                "the test's disk is full",
            )),
            Fault::Panic if puts > self.good => panic!("the test's store panics"),
            _ => {
                self.kept.lock().unwrap().extend_from_slice(chunks);
                Ok(())
            }
        }
    }
}

fn entry(number: u64) -> ([u8; 8], Address) {
    (number.to_be_bytes(), Address::of(&[number as u8]))
}

fn build(store: &Arc<Faulty>) -> Result<Root> {
    let trees = Trees::new(Arc::clone(store) as Arc<dyn ChunkStore>);
    trees.build((0..ENTRIES).map(entry))
}

#[test]
fn the_root_of_a_large_tree_is_that_of_its_entries_applied_in_batches() {
    let trees = Trees::new(Arc::new(MemoryStore::new()));
    let numbers: Vec<u64> = (0..ENTRIES).collect();
    let mut applied = Root::EMPTY;
    for batch in numbers.chunks(1_700) {
        let edits = batch.iter().map(|number| {
            let (key, payload) = entry(*number);
            Edit::put(key, payload)
        });
        applied = trees.apply(&applied, edits).unwrap();
    }
    let other = Trees::new(Arc::new(MemoryStore::new()));
    assert_eq!(other.build((0..ENTRIES).map(entry)).unwrap(), applied);
    let checked = other.check(&applied, &CheckLimits::NONE).unwrap();
    assert_eq!(checked.entries, ENTRIES);
    assert!(checked.nodes > 400, "{checked:?}");
}

/// The numbers of leaves around those at which a thread starts and at which it gets leaves.
#[test]
fn trees_around_the_start_of_the_thread_have_the_roots_of_applied_ones() {
    let trees = Trees::new(Arc::new(MemoryStore::new()));
    // With keys of 7 KB, each second entry ends a node, so there are twice as many nodes as leaves.
    let entry = |number: u64| {
        let mut key = number.to_be_bytes().to_vec();
        key.resize(7_000, 0);
        (key, Address::of(&[number as u8]))
    };
    let mut applied = Root::EMPTY;
    let mut nodes = Vec::new();
    for count in 1..=280 {
        let (key, payload) = entry(count - 1);
        applied = trees.apply(&applied, [Edit::put(key, payload)]).unwrap();
        if count > 120 {
            let other = Trees::new(Arc::new(MemoryStore::new()));
            let built = other.build((0..count).map(entry)).unwrap();
            assert_eq!(built, applied, "{count} entries");
            let checked = other.check(&built, &CheckLimits::NONE).unwrap();
            assert_eq!(checked.entries, count);
            nodes.push(checked.nodes);
        }
    }
    // 64 leaves, and those of two further batches of 32.
    assert!(
        nodes[0] < 2 * 64 && *nodes.last().unwrap() > 2 * 128,
        "{nodes:?}"
    );
}

#[test]
fn each_node_of_a_large_tree_is_put_after_its_children() {
    let store = Faulty::new(Fault::None, 0);
    let root = build(&store).unwrap();
    let mut put = HashSet::new();
    let chunks = store.kept.lock().unwrap();
    for chunk in &*chunks {
        let node = Node::read(chunk.clone()).unwrap();
        let view = node.view();
        for index in 0..if node.level() == 0 { 0 } else { view.len() } {
            assert!(put.contains(&view.address(index)));
        }
        put.insert(chunk.address());
    }
    assert_eq!(chunks.last().map(Chunk::address), Some(root.address()));
}

#[test]
fn an_error_of_the_store_ends_a_large_build_whenever_it_comes() {
    let whole = Faulty::new(Fault::None, 0);
    build(&whole).unwrap();
    let puts = *whole.puts.lock().unwrap();
    assert!(puts > 4, "{puts}");
    for good in 0..puts {
        let error = build(&Faulty::new(Fault::Fail, good)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull, "after {good}");
    }
    build(&Faulty::new(Fault::Fail, puts)).unwrap();
}

#[test]
fn a_builder_with_a_lost_node_gives_no_root() {
    for good in [0, 1, 2] {
        let store = Faulty::new(Fault::Fail, good);
        let trees = Trees::new(store as Arc<dyn ChunkStore>);
        let mut builder = trees.builder();
        let mut errors = 0;
        for (key, payload) in (0..2 * ENTRIES).map(entry) {
            if let Err(error) = builder.push(&key, &payload) {
                assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
                errors += 1;
            }
        }
        // Each leaf since has failed.
        assert!(errors > 100, "{errors} after {good}");
        let error = builder.finish().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
    }
}

#[test]
fn a_panic_of_the_store_reaches_the_caller_of_a_large_build() {
    for good in [0, 1, 2, 4] {
        let store = Faulty::new(Fault::Panic, good);
        let panic = catch_unwind(AssertUnwindSafe(|| build(&store))).unwrap_err();
        let message = panic.downcast_ref::<&str>();
        assert_eq!(message, Some(&"the test's store panics"), "after {good}");
        assert_eq!(Arc::strong_count(&store), 1);
    }
}

#[test]
fn a_builder_whose_store_has_panicked_gives_no_root() {
    let store = Faulty::new(Fault::Panic, 1);
    let trees = Trees::new(store as Arc<dyn ChunkStore>);
    let mut builder = trees.builder();
    let mut panics = 0;
    let mut errors = 0;
    for (key, payload) in (0..2 * ENTRIES).map(entry) {
        match catch_unwind(AssertUnwindSafe(|| builder.push(&key, &payload))) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                assert_eq!(error.kind(), ErrorKind::Panicked, "{error}");
                errors += 1;
            }
            Err(_) => panics += 1,
        }
    }
    assert_eq!(panics, 1);
    assert!(errors > 100, "{errors}");
    let error = builder.finish().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panicked, "{error}");
}

/// The thread ends with the builder, also if it has failed or is in the middle of leaves.
#[test]
fn a_builder_that_is_dropped_leaves_no_thread() {
    for fault in [Fault::None, Fault::Fail, Fault::Panic] {
        for count in [1, ENTRIES_THERE, ENTRIES_THERE + 3_000, ENTRIES] {
            let store = Faulty::new(fault, 1);
            let trees = Trees::new(Arc::clone(&store) as Arc<dyn ChunkStore>);
            let mut builder = trees.builder();
            for (key, payload) in (0..count).map(entry) {
                // The fault of the store may come at any entry.
                let _ = catch_unwind(AssertUnwindSafe(|| builder.push(&key, &payload)));
            }
            drop(builder);
            drop(trees);
            assert_eq!(Arc::strong_count(&store), 1);
        }
    }
}
