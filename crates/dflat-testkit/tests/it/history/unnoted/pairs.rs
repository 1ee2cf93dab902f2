//! Changes without notes between any two operations.

use std::path::Path;

use dflat::history::Note;
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::Item;

use super::super::files::{another, file, open, put, rank, rows};
use super::super::operation::{Operation, difference, run};
use super::super::versions::commits::{built, last};
use super::prevention::{Prevention, insert, remove, update};

const OPERATIONS: [Operation; 8] = [
    Operation::Change,
    Operation::Another,
    Operation::Undo,
    Operation::UndoRest,
    Operation::Redo,
    Operation::Log,
    Operation::Commit,
    Operation::At,
];

const PAIRED: [Prevention; 4] = [
    Prevention::Dropped,
    Prevention::Replaced,
    Prevention::MadeAgain,
    Prevention::NotesLost,
];

/// A change without a note, which has an effect if there is the item `a` and none is `s`.
#[derive(Clone, Copy, Debug)]
enum Stranger {
    Update,
    Insert,
    Delete,
}

fn write(path: &Path, prevention: Prevention, stranger: Stranger) {
    match stranger {
        Stranger::Update => update(path, prevention, "a", 1000),
        Stranger::Insert => insert(path, prevention, "s", 1000),
        Stranger::Delete => remove(path, prevention, "a"),
    }
}

/// Runs the pairs that begin with an operation, with one stranger between the two.
fn run_pairs((prevention, stranger): (Prevention, Stranger), first: Operation, commits: bool) {
    let (_directory, path) = file();
    let workspace = open(&path);
    let other = another(&path);
    let mut number = 10;
    put(&workspace, "b", 1);
    for second in OPERATIONS {
        put(&workspace, "a", 1);
        put(&workspace, "b", number);
        if commits {
            workspace.history().commit("before").unwrap();
        }
        put(&workspace, "a", 2);
        run((&workspace, &other), first, &mut number);
        if rank(&workspace, "a").is_none() {
            put(&workspace, "a", 3);
        }
        let before = rows(&path, "item");
        write(&path, prevention, stranger);
        let written = rows(&path, "item");
        let changed = difference(&before, &written);
        assert!(!changed.is_empty());
        run((&workspace, &other), second, &mut number);
        let case = format!("{prevention:?} {first:?}, {stranger:?}, {second:?}");
        let after = rows(&path, "item");
        for row in changed {
            assert_eq!(after.get(&row), written.get(&row), "{case}");
        }
        let mut log = workspace.history().log().map(|step| step.unwrap());
        let unknown = log.find(|step| step.note == Note::Unknown);
        let [table] = &unknown.unwrap().tables[..] else {
            panic!("{case}");
        };
        let is_listed = match stranger {
            Stranger::Update => table.updated > 0,
            Stranger::Insert => table.inserted > 0,
            Stranger::Delete => table.deleted > 0,
        };
        assert!(is_listed || table.has_unnoted, "{case} {table:?}");
        if commits {
            workspace.history().commit("after").unwrap();
            let root = last(&workspace).root("item");
            assert_eq!(root, built::<Item>(&path), "{case}");
        }
        // The next round begins without the item of the stranger.
        if rank(&workspace, "s").is_some() {
            super::super::files::delete(&workspace, "s");
        }
    }
}

fn run_all(stranger: Stranger) {
    bounded(move || {
        for (number, prevention) in PAIRED.into_iter().enumerate() {
            for (at, first) in OPERATIONS.into_iter().enumerate() {
                run_pairs((prevention, stranger), first, (number + at) % 2 == 0);
            }
        }
    });
}

// Promise: storage-format#S58
#[test]
fn update_without_a_note_between_any_two_operations_is_in_the_history_and_never_overwritten() {
    run_all(Stranger::Update);
}

// Promise: storage-format#S58
#[test]
fn insertion_without_a_note_between_any_two_operations_is_in_the_history_and_never_overwritten() {
    run_all(Stranger::Insert);
}

// Promise: storage-format#S58
#[test]
fn deletion_without_a_note_between_any_two_operations_is_in_the_history_and_never_overwritten() {
    run_all(Stranger::Delete);
}
