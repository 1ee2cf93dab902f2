//! Laws of vectors of tables that older code changes: the data of newer code stays with its member.

use dflat::{ChangeRequest, ErrorKind, Object as _, Result};

use crate::fixture::{Fixture, Open};
use crate::note::v1::diary as v1;
use crate::note::v3::diary as v3;
use crate::random::Random;

/// Stores a note whose parts have these numbers, and weights that only newer code knows: the first
/// part has 1, the second one 2, and so on.
fn store(w: &Fixture, ids: &[i32]) {
    let parts = ids.iter().zip(1_u8..).map(|(id, weight)| v3::Part {
        id: *id,
        weight: weight.into(),
        ..v3::Part::default()
    });
    let note = v3::NoteData {
        id: "a".into(),
        parts: parts.collect(),
        ..v3::NoteData::default()
    };
    w.perform([v3::Note::TABLE], |tx| tx.submit(ChangeRequest::<v3::Note>::upsert(note)));
}

/// Older code gives the note parts with these numbers.
fn change(w: &Fixture, ids: Vec<i32>) -> Result<()> {
    let done = w.perform_changes([v1::Note::TABLE], move |tx| {
        let object = tx.get::<v1::Note>("a")?.unwrap();
        let mut request = ChangeRequest::change(tx, &object)?.unwrap();
        request.parts = ids.iter().map(|id| v1::Part { id: *id, text: None }).collect();
        tx.submit(request).map(drop)
    });
    done.wait()
}

/// The numbers and the weights of the stored parts.
fn stored(w: &Fixture) -> Vec<(i32, f64)> {
    let note = w.get::<v3::Note>("a").unwrap().unwrap().to_data();
    note.parts.iter().map(|part| (part.id, part.weight)).collect()
}

/// A change of a list that older code makes.
fn edited(random: &mut Random, ids: &[i32]) -> Vec<i32> {
    let mut ids = ids.to_vec();
    for _ in 0..=random.below(2) {
        let at = random.below(ids.len().max(1));
        match random.below(7) {
            0 => ids.iter_mut().for_each(|id| *id += 1),
            1 => ids.sort_unstable_by_key(|id| -id),
            2 => ids.reverse(),
            3 if !ids.is_empty() => drop(ids.remove(at)),
            4 => ids.insert(at, i32::try_from(random.below(9)).unwrap()),
            5 if !ids.is_empty() => ids[at] += 5,
            _ => {
                let other = random.below(ids.len().max(1));
                if !ids.is_empty() {
                    ids.swap(at, other);
                }
            }
        }
    }
    ids
}

// Promise: compatibility#P15
pub fn update_by_older_code_neither_loses_nor_swaps_data_of_members(open: Open) {
    let w = open();
    let (mut done, mut refused) = (0, 0);
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let count = random.below(6);
        let ids: Vec<i32> = (0..count).map(|_| i32::try_from(random.below(5)).unwrap()).collect();
        store(&w, &ids);
        let before = stored(&w);
        let new = edited(&mut random, &ids);
        if let Err(error) = change(&w, new.clone()) {
            assert_eq!(error.kind(), ErrorKind::NewerSchema, "{ids:?} to {new:?}: {error:?}");
            assert_eq!(stored(&w), before, "{ids:?} to {new:?}");
            refused += 1;
            continue;
        }
        done += 1;
        let after = stored(&w);
        let numbers: Vec<i32> = after.iter().map(|(id, _)| *id).collect();
        assert_eq!(numbers, new, "{ids:?} to {new:?}");
        let kept = |(_, weight): &&(i32, f64)| after.iter().any(|(_, other)| other == weight);
        let removed = ids.len().saturating_sub(new.len());
        assert_eq!(
            before.iter().filter(kept).count(),
            ids.len() - removed,
            "{ids:?} to {new:?}: {after:?}"
        );
        // Members that were only moved keep their data.
        let mut sorted = [ids.clone(), new.clone()];
        sorted.iter_mut().for_each(|ids| ids.sort_unstable());
        let [old_sorted, new_sorted] = &sorted;
        if old_sorted == new_sorted {
            assert!(after.iter().all(|part| before.contains(part)), "{ids:?}: {after:?}");
        }
    }
    assert!(done > 100 && refused > 10, "{done} done, {refused} refused");
}

pub fn raised_members_keep_their_data_or_the_update_is_refused(open: Open) {
    let w = open();
    let law = |ids: &[i32], new: &[i32], wanted: Option<&[(i32, f64)]>| {
        store(&w, ids);
        match (change(&w, new.to_vec()), wanted) {
            (Ok(()), Some(wanted)) => assert_eq!(stored(&w), wanted),
            (Err(error), None) => assert_eq!(error.kind(), ErrorKind::NewerSchema, "{error:?}"),
            (outcome, _) => panic!("{ids:?} to {new:?}: {outcome:?}: {:?}", stored(&w)),
        }
    };
    law(&[5, 7, 9], &[6, 8, 10], Some(&[(6, 1.0), (8, 2.0), (10, 3.0)]));
    law(&[5, 7, 4], &[6, 8, 5], None);
    law(&[1, 2, 3], &[2, 3, 4], None);
    law(&[5, 5, 9], &[9, 5, 5], Some(&[(9, 3.0), (5, 2.0), (5, 1.0)]));
    law(&[5, 5, 9], &[50, 5, 9, 1], None);
    law(&[5, 7, 9], &[9, 7], Some(&[(9, 3.0), (7, 2.0)]));
    law(&[5, 7, 9], &[1, 9, 7, 5], Some(&[(1, 0.0), (9, 3.0), (7, 2.0), (5, 1.0)]));
}
