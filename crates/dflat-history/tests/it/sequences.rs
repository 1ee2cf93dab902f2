//! The root depends on the content alone.

use dflat_history::tree::{CheckLimits, Root};

use crate::model::{Model, build, content, deletions, edit, edits, trees};
use crate::random::{Keys, Random};

/// The number of sequences; `cargo xtask long` sets more.
fn sequences() -> u64 {
    let number = std::env::var("DFLAT_HISTORY_SEQUENCES").ok();
    number.map_or(10_000, |number| number.parse().expect("a number"))
}

/// Ten thousand random sequences of edits: after each edit of the tree, its root is that of a tree
/// that is built from the content.
#[test]
fn the_root_after_random_edits_is_that_of_a_built_tree() {
    let mut heights = [0; 8];
    let mut emptied = 0;
    for seed in 0..sequences() {
        let mut random = Random::new(seed);
        let keys = Keys::any(&mut random);
        // One sequence of a hundred has trees of several levels.
        let size = if seed % 100 == 0 { 3000 } else { 60 };
        let trees = trees();
        let (mut model, mut root) = (Model::new(), Root::EMPTY);
        for step in 0..2 + random.below(4) {
            let edits = match random.below(8) {
                0 => deletions(&mut random, &model),
                _ => {
                    let count = random.below(size + 1);
                    edits(&mut random, keys, &model, count)
                }
            };
            edit(&mut model, &edits);
            root = trees.apply(&root, edits).unwrap();
            assert_eq!(
                root,
                build(&trees, &model),
                "seed {seed}, step {step}, {keys:?}"
            );
            emptied += u32::from(step > 0 && model.is_empty());
        }
        assert_eq!(content(&trees, &root), model, "seed {seed}, {keys:?}");
        let checked = trees.check(&root, &CheckLimits::NONE).unwrap();
        assert_eq!(checked.entries, model.len() as u64, "seed {seed}");
        let height = (checked.nodes as f64).log2() as usize;
        heights[height.min(7)] += 1;
    }
    assert!(
        heights[0] > 0 && heights[2..].iter().sum::<u32>() > 50,
        "{heights:?}"
    );
    assert!(emptied > 50, "{emptied} times all was deleted");
}

/// One large tree, whose edits go through three levels.
#[test]
fn the_root_of_a_large_tree_is_that_of_a_built_tree() {
    let mut random = Random::new(7);
    let keys = Keys::integers(1 << 20);
    let trees = trees();
    let (mut model, mut root) = (Model::new(), Root::EMPTY);
    let rounds = [60_000, 1, 3, 1000, 1, 200, 10_000];
    for (round, count) in rounds.into_iter().enumerate() {
        let edits = edits(&mut random, keys, &model, count);
        edit(&mut model, &edits);
        root = trees.apply(&root, edits).unwrap();
        assert_eq!(root, build(&trees, &model), "round {round}");
    }
    let checked = trees.check(&root, &CheckLimits::NONE).unwrap();
    assert!(checked.nodes > 200, "{checked:?}");
}

#[test]
fn the_empty_tree_has_a_root_that_no_store_holds() {
    let trees = trees();
    assert_eq!(build(&trees, &Model::new()), Root::EMPTY);
    assert_eq!(trees.len(&Root::EMPTY).unwrap(), 0);
    assert_eq!(trees.get(&Root::EMPTY, b"a").unwrap(), None);
    assert_eq!(trees.entry(&Root::EMPTY, 0).unwrap(), None);
    assert_eq!(trees.range(&Root::EMPTY, ..).unwrap().count(), 0);
    let mut writer = dflat_history::node::NodeWriter::new(0);
    assert_eq!(writer.finish().address(), Root::EMPTY.address());
}
