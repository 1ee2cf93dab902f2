//! The cost of steps, in pages of the log. The figures are counts, the same on every machine.

use std::path::Path;

use dflat::{Operation, Reclaim, Result, TransactionContext, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::shelf::v1::library::Book;

use crate::books::{insert, update};

use super::files::file;

/// The bytes of a page in the log, with its header.
const FRAME: u64 = 4096 + 24;

/// The transactions of a measurement.
const TRANSACTIONS: i32 = 8;

fn open(path: &Path, is_versioned: bool) -> Workspace {
    let builder = Workspace::builder(path).reclaim(Reclaim::Never);
    let builder = builder.io_stats(true);
    match is_versioned {
        true => builder.versioned::<Book>().open().unwrap(),
        false => builder.open().unwrap(),
    }
}

/// The pages that a transaction writes.
fn pages(workspace: &Workspace, change: impl Fn(&TransactionContext, i32) -> Result<()>) -> f64 {
    let before = workspace.io_report().unwrap();
    for number in 0..TRANSACTIONS {
        let changed = workspace.perform_changes_blocking([Book::TABLE], |tx| change(tx, number));
        changed.unwrap();
    }
    let report = workspace.io_report().unwrap().since(&before);
    let frames = report.bytes(Operation::Write) / FRAME;
    frames as f64 / f64::from(TRANSACTIONS)
}

/// The pages of a transaction of each kind: of one update, of 100, of one insertion.
fn pages_of_each_kind(is_versioned: bool) -> [f64; 3] {
    let (_directory, path) = file();
    let workspace = open(&path, is_versioned);
    let filled = workspace.perform_changes_blocking([Book::TABLE], |tx| {
        (0..100).try_for_each(|id| insert(tx, id))
    });
    filled.unwrap();
    // The table of the steps is there.
    pages(&workspace, |tx, _| update(tx, 0..1));
    [
        pages(&workspace, |tx, _| update(tx, 0..1)),
        pages(&workspace, |tx, _| update(tx, 0..100)),
        pages(&workspace, |tx, number| insert(tx, 1000 + number)),
    ]
}

// Promise: storage-format#S49
#[test]
fn step_adds_one_page_to_an_update_and_to_an_insertion() {
    bounded(|| {
        let without = pages_of_each_kind(false);
        // The feature alone, without a versioned type, costs nothing.
        assert_eq!((without[0], without[2]), (1.0, 3.0));
        let with = pages_of_each_kind(true);
        assert_eq!(with[0] - without[0], 1.0);
        assert_eq!(with[2] - without[2], 1.0);
        assert!(with[1] - without[1] < 5.0, "{with:?}, {without:?}");
    });
}
