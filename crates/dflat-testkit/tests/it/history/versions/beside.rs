//! Several programs write, forget objects, commit, build trees and collect garbage at once.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use dflat::history::KeepTrees;
use dflat::{Error, ErrorKind, Workspace};
use dflat_history::commits::build_batch;
use dflat_history::tree::CheckLimits;
use dflat_testkit::fixture::bounded;
use dflat_testkit::random::Random;
use dflat_testkit::schema::{Item, ItemChangeRequest};

use super::super::files::{data, delete, file, open, put, rank};
use super::commits::{built, chunks, last};
use super::tree_builds::{engine, filled, id};

const OBJECTS: usize = 6000;

/// Fails for an error that a program on a healthy file must not meet.
fn admit(outcome: Result<(), Error>) {
    let admitted = [ErrorKind::Busy, ErrorKind::InvalidArgument];
    if let Err(error) = outcome {
        assert!(admitted.contains(&error.kind()), "{error}");
    }
}

/// Deletes an item, and forgets it. Another program may have inserted it meanwhile.
fn forget(workspace: &Workspace, id: &str) {
    let deleted = workspace.perform_changes_blocking_retrying([Item::TABLE], |tx| {
        let Some(item) = tx.get::<Item>(id)? else {
            return Ok(false);
        };
        let deletion = ItemChangeRequest::deletion(tx, &item)?;
        Ok(deletion
            .map(|request| tx.submit(request))
            .transpose()?
            .is_some())
    });
    if deleted.unwrap() {
        let forgotten = workspace.history().forget_object::<Item>(id);
        admit(forgotten.map(drop));
    }
}

fn work(path: &Path, random: &mut Random) {
    let workspace = open(path);
    for _ in 0..30 {
        match random.below(6) {
            0 => {
                let collected = workspace.history().collect_garbage(&KeepTrees::default());
                admit(collected.map(drop));
            }
            1 => forget(&workspace, &id(random.below(OBJECTS))),
            2 if random.one_in(6) => admit(workspace.history().commit("beside").map(drop)),
            _ => {
                // Another program may commit between the first look-up and the first change.
                let written = workspace.perform_changes_blocking_retrying([Item::TABLE], |tx| {
                    (0..20).try_for_each(|_| {
                        let item = data(id(random.below(OBJECTS)), 7);
                        tx.submit(ItemChangeRequest::upsert(item)).map(drop)
                    })
                });
                written.unwrap();
            }
        }
    }
    workspace.shutdown().unwrap();
}

#[test]
fn trees_stay_whole_while_programs_forget_and_collect() {
    let seeds = std::env::var("DFLAT_TREE_BUILD_SEEDS");
    let seeds = seeds.map_or(2, |seeds| seeds.parse().unwrap());
    bounded(move || {
        for seed in 0..seeds {
            let (_directory, path) = file();
            let workspace = Workspace::open(&path).unwrap();
            let stored = workspace.perform_changes_blocking([Item::TABLE], |tx| {
                (0..OBJECTS).try_for_each(|number| {
                    let request = ItemChangeRequest::creation(data(id(number), 1));
                    tx.submit(request).map(drop)
                })
            });
            stored.unwrap();
            workspace.shutdown().unwrap();
            thread::scope(|scope| {
                for number in 0..2 {
                    let mut random = Random::new(2 * seed + number);
                    let path = &path;
                    scope.spawn(move || work(path, &mut random));
                }
                for _ in 0..10 {
                    let engine = engine(&path, &[Item::TABLE]);
                    admit(build_batch(&engine, &Item::TABLE).map(drop));
                }
            });
            let workspace = open(&path);
            put(&workspace, "end", 1);
            workspace.history().commit("end").unwrap();
            let root = last(&workspace).tables[0].root;
            assert_eq!(root, built::<Item>(&path));
            let collected = workspace.history().collect_garbage(&KeepTrees::default());
            collected.unwrap();
            chunks(&path).check(&root, &CheckLimits::NONE).unwrap();
        }
    });
}

/// A collection that has looked for garbage before an object is forgotten must not delete a node
/// that the new trees of commits need.
#[test]
fn objects_are_forgotten_beside_collections_of_another_program() {
    bounded(|| {
        for _ in 0..4 {
            let (_directory, path) = file();
            let workspace = open(&path);
            let stored = workspace.perform_changes_blocking([Item::TABLE], |tx| {
                (0..1000).try_for_each(|number| {
                    let request = ItemChangeRequest::creation(data(id(number), 1));
                    tx.submit(request).map(drop)
                })
            });
            stored.unwrap();
            workspace.history().commit("first").unwrap();
            let is_done = AtomicBool::new(false);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let other = Workspace::open(&path).unwrap();
                    while !is_done.load(Ordering::Relaxed) {
                        let collected = other.history().collect_garbage(&KeepTrees::default());
                        admit(collected.map(drop));
                    }
                });
                (0..20).for_each(|number| forget(&workspace, &id(number)));
                is_done.store(true, Ordering::Relaxed);
            });
            let root = last(&workspace).root("item");
            let checked = chunks(&path).check(&root, &CheckLimits::NONE).unwrap();
            assert_eq!(checked.entries, 980);
            put(&workspace, "end", 1);
            workspace.history().commit("end").unwrap();
            assert_eq!(last(&workspace).root("item"), built::<Item>(&path));
        }
    });
}

/// A program that has ended the history writes between two batches of one that wants it.
#[test]
fn writes_of_a_program_that_has_ended_a_history_begin_its_tree_anew() {
    bounded(|| {
        let (_directory, path) = filled();
        let other = engine(&path, &[Item::TABLE]);
        assert!(!build_batch(&other, &Item::TABLE).unwrap());
        let workspace = Workspace::open(&path).unwrap();
        workspace.history().forget::<Item>().unwrap();
        // The history begins again.
        assert!(!build_batch(&other, &Item::TABLE).unwrap());
        delete(&workspace, &id(6));
        put(&workspace, "item 000005", 9);
        workspace.shutdown().unwrap();
        while !build_batch(&other, &Item::TABLE).unwrap() {}
        let workspace = open(&path);
        workspace.history().commit("first").unwrap();
        let commit = last(&workspace);
        assert_eq!(commit.root("item"), built::<Item>(&path));
        let before = workspace.at(commit.id).unwrap();
        assert_eq!(
            (rank(&before, &id(6)), rank(&before, "item 000005")),
            (None, Some(9))
        );
    });
}
