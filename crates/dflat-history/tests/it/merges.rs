//! Merges of three trees.

use std::collections::BTreeMap;

use dflat_history::tree::{EntryChange, MergeCase, MergeConflict, Merged};

use crate::model::{Model, build, difference, edit, edits, trees};
use crate::random::{Keys, Random};

/// The merge of models.
fn merged(base: &Model, ours: &Model, theirs: &Model) -> (Vec<MergeCase>, Model) {
    let by_key = |changes: Vec<EntryChange>| -> BTreeMap<Box<[u8]>, EntryChange> {
        changes
            .into_iter()
            .map(|change| (change.key.clone(), change))
            .collect()
    };
    let our_changes = by_key(difference(base, ours));
    let their_changes = by_key(difference(base, theirs));
    let mut cases = BTreeMap::new();
    let mut result = ours.clone();
    for (key, change) in &our_changes {
        cases.insert(key.clone(), MergeCase::Ours(change.clone()));
    }
    for (key, change) in their_changes {
        let case = match our_changes.get(&key) {
            None => {
                edit(&mut result, &[change.clone().redo()]);
                MergeCase::Theirs(change)
            }
            Some(ours) if ours.after == change.after => MergeCase::Same(change),
            Some(ours) => MergeCase::Conflict(MergeConflict {
                key: key.clone(),
                base: change.before,
                ours: ours.after,
                theirs: change.after,
            }),
        };
        cases.insert(key, case);
    }
    (cases.into_values().collect(), result)
}

#[test]
fn the_merge_of_random_trees_is_that_of_their_models() {
    let (mut clean, mut conflicting) = (0, 0);
    for seed in 0..2000 {
        let mut random = Random::new(seed);
        let keys = Keys::any(&mut random);
        let trees = trees();
        let mut base = Model::new();
        let count = random.below(if seed % 10 == 0 { 5000 } else { 300 });
        let first = edits(&mut random, keys, &base, count);
        edit(&mut base, &first);
        let base_root = build(&trees, &base);
        let branch = |random: &mut Random| {
            let mut model = base.clone();
            let most = 1 + random.below(40);
            let count = random.below(most);
            let edits = edits(random, keys, &model, count);
            edit(&mut model, &edits);
            let root = trees.apply(&base_root, edits).unwrap();
            (model, root)
        };
        let (ours, our_root) = branch(&mut random);
        let (theirs, their_root) = branch(&mut random);
        let (expected, result) = merged(&base, &ours, &theirs);
        let found = trees.merge(&base_root, &our_root, &their_root).unwrap();
        let found: Vec<_> = found.map(Result::unwrap).collect();
        assert_eq!(found, expected, "seed {seed}, {keys:?}");

        let conflicts: Vec<_> = expected
            .into_iter()
            .filter_map(|case| match case {
                MergeCase::Conflict(conflict) => Some(conflict),
                _ => None,
            })
            .collect();
        let one = trees.merged(&base_root, &our_root, &their_root).unwrap();
        let other = trees.merged(&base_root, &their_root, &our_root).unwrap();
        if conflicts.is_empty() {
            assert_eq!(one, Merged::Tree(build(&trees, &result)), "seed {seed}");
            assert_eq!(other, one, "seed {seed}");
            clean += 1;
        } else {
            assert_eq!(one, Merged::Conflicts(conflicts), "seed {seed}");
            assert!(matches!(other, Merged::Conflicts(_)), "seed {seed}");
            conflicting += 1;
        }
    }
    assert!(clean > 200 && conflicting > 200, "{clean} {conflicting}");
}
