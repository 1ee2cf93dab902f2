//! The model of a tree: an ordered map.

use std::collections::BTreeMap;
use std::sync::Arc;

use dflat_history::chunk::{Address, MemoryStore};
use dflat_history::tree::{Edit, EntryChange, Root, Trees};

use crate::random::{Keys, Random};

pub(crate) type Model = BTreeMap<Vec<u8>, Address>;

/// Trees in memory.
pub(crate) fn trees() -> Trees {
    Trees::new(Arc::new(MemoryStore::new()))
}

/// The tree of the model's content, built from its entries.
pub(crate) fn build(trees: &Trees, model: &Model) -> Root {
    let entries = model.iter().map(|(key, payload)| (key, *payload));
    trees.build(entries).unwrap()
}

/// The content of a tree.
pub(crate) fn content(trees: &Trees, root: &Root) -> Model {
    let entries = trees.range(root, ..).unwrap().map(Result::unwrap);
    entries
        .map(|entry| (entry.key.into_vec(), entry.payload))
        .collect()
}

pub(crate) fn payload(random: &mut Random) -> Address {
    Address::of(&random.below(5).to_le_bytes())
}

/// Random edits of the model: insertions, updates and deletions, of keys that are there and that
/// are not.
pub(crate) fn edits(random: &mut Random, keys: Keys, model: &Model, count: usize) -> Vec<Edit> {
    let present: Vec<&Vec<u8>> = model.keys().collect();
    let deletions = random.below(5);
    let mut edits = BTreeMap::new();
    for _ in 0..count {
        let key = match random.below(2) {
            0 if !present.is_empty() => present[random.below(present.len())].clone(),
            _ => keys.key(random),
        };
        let edit = match random.below(4) < deletions {
            true => Edit::delete(&*key),
            false => Edit::put(&*key, payload(random)),
        };
        edits.insert(key, edit);
    }
    edits.into_values().collect()
}

/// Deletes a part of the model's entries that follow each other, or all.
pub(crate) fn deletions(random: &mut Random, model: &Model) -> Vec<Edit> {
    let start = random.below(model.len() + 1) * random.below(2);
    let count = match random.below(2) {
        0 => model.len(),
        _ => random.below(model.len() + 1),
    };
    let keys = model.keys().skip(start).take(count);
    keys.map(|key| Edit::delete(&**key)).collect()
}

pub(crate) fn edit(model: &mut Model, edits: &[Edit]) {
    for edit in edits {
        match edit.payload {
            Some(payload) => model.insert(edit.key.to_vec(), payload),
            None => model.remove(&*edit.key),
        };
    }
}

/// The entries that differ between two models.
pub(crate) fn difference(before: &Model, after: &Model) -> Vec<EntryChange> {
    let mut changes = BTreeMap::new();
    for key in before.keys().chain(after.keys()) {
        let (before, after) = (before.get(key).copied(), after.get(key).copied());
        if before != after {
            let key = key.as_slice().into();
            changes.insert(
                key,
                EntryChange {
                    key: Box::default(),
                    before,
                    after,
                },
            );
        }
    }
    let with_key = |(key, change): (Box<[u8]>, EntryChange)| EntryChange { key, ..change };
    changes.into_iter().map(with_key).collect()
}
