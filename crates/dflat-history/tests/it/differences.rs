//! Differences between trees.

use crate::model::{Model, build, deletions, difference, edit, edits, trees};
use crate::random::{Keys, Random};

#[test]
fn the_difference_of_random_trees_is_that_of_their_models() {
    for seed in 0..1500 {
        let mut random = Random::new(seed);
        let keys = Keys::any(&mut random);
        let size = if seed % 20 == 0 { 4000 } else { 200 };
        let trees = trees();
        let mut states = vec![(Model::new(), build(&trees, &Model::new()))];
        for _ in 0..4 {
            let (mut model, root) = states[random.below(states.len())].clone();
            let edits = match random.below(6) {
                0 => deletions(&mut random, &model),
                _ => {
                    let most = 1 + random.below(size);
                    let count = 1 + random.below(most);
                    edits(&mut random, keys, &model, count)
                }
            };
            edit(&mut model, &edits);
            let root = trees.apply(&root, edits).unwrap();
            states.push((model, root));
        }
        for (before_model, before) in &states {
            for (after_model, after) in &states {
                let found: Vec<_> = trees
                    .diff(before, after)
                    .unwrap()
                    .map(Result::unwrap)
                    .collect();
                assert_eq!(
                    found,
                    difference(before_model, after_model),
                    "seed {seed}, {keys:?}"
                );
                let redone = trees.apply(before, found.iter().cloned().map(|change| change.redo()));
                assert_eq!(redone.unwrap(), *after, "seed {seed}");
                let undone = trees.apply(after, found.into_iter().map(|change| change.undo()));
                assert_eq!(undone.unwrap(), *before, "seed {seed}");
            }
        }
    }
}
