//! Transactions that change objects which were fetched before them, while other programs write to
//! the file.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use dflat::{ErrorKind, FileKind, Operation, Result, TransactionContext, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::random::Random;
use dflat_testkit::schema::{
    Item, ItemChangeRequest, ItemData, Other, OtherChangeRequest, OtherData,
};
use dflat_testkit::shelf::{v1::library as v1, v2::library as v2};
use rusqlite::Connection;

use super::shared_dictionary::open;
use crate::books::{insert, update};

const ITEMS: usize = 8;

fn create(workspace: &Workspace, ids: impl Iterator<Item = usize>) -> Vec<Item> {
    let created = workspace.perform_changes_blocking([Item::TABLE], |tx| {
        for number in ids {
            let id = format!("item {number}");
            let data = ItemData {
                id,
                ..ItemData::default()
            };
            tx.submit(ItemChangeRequest::creation(data))?;
        }
        Ok(())
    });
    created.unwrap();
    workspace.fetch::<Item>().all().unwrap().to_vec()
}

/// Adds 1 to the rank, also if the object was changed since it was fetched.
fn count(tx: &TransactionContext, item: &Item) -> Result<()> {
    let mut request = ItemChangeRequest::change(tx, item)?.unwrap();
    request.rank += 1;
    tx.submit(request).map(drop)
}

fn rank(workspace: &Workspace, item: &Item) -> i32 {
    let found = workspace.get::<Item>(item.id()).unwrap();
    found.unwrap().rank()
}

/// The number of times that pages of the file or its log were read.
fn reads(workspace: &Workspace) -> u64 {
    let report = workspace.io_report().unwrap();
    let files = report.files.iter();
    let of_pages = files.filter(|file| matches!(file.kind, FileKind::Main | FileKind::Log));
    let calls = of_pages.flat_map(|file| &file.calls);
    calls
        .filter(|calls| calls.operation == Operation::Read)
        .map(|calls| calls.count)
        .sum()
}

#[test]
fn fetched_object_is_changed_without_a_read() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let workspace = Workspace::builder(&path).io_stats(true).open().unwrap();
        create(&workspace, 0..ITEMS);
        for round in 1..4 {
            let items = workspace.fetch::<Item>().all().unwrap();
            let before = reads(&workspace);
            for item in &items {
                let types = [Item::TABLE];
                let counted = workspace.perform_changes_blocking(types, |tx| count(tx, item));
                counted.unwrap();
            }
            assert_eq!(reads(&workspace), before, "round {round}");
            assert!(items.iter().all(|item| rank(&workspace, item) == round));
        }
        workspace.shutdown().unwrap();
    });
}

fn with_two(test: impl FnOnce(&Workspace, &Workspace, &Path) + Send + 'static) {
    bounded(move || {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let (first, second) = (open(&path), open(&path));
        test(&first, &second, &path);
        first.shutdown().unwrap();
        second.shutdown().unwrap();
    });
}

/// Counts in a thread of its own, as another process does.
fn count_alone(workspace: &Workspace, item: &Item) -> Result<()> {
    let work = || workspace.perform_changes_blocking([Item::TABLE], |tx| count(tx, item));
    thread::scope(|scope| scope.spawn(work).join().unwrap())
}

#[test]
fn object_that_another_program_has_changed_is_changed_as_it_is_now() {
    with_two(|first, second, path| {
        let items = create(first, 0..2);
        // The first program has written last, and then the second one.
        count_alone(first, &items[1]).unwrap();
        count_alone(second, &items[0]).unwrap();
        count_alone(first, &items[0]).unwrap();
        assert_eq!(rank(first, &items[0]), 2);
        let sql = Connection::open(path).unwrap();
        sql.execute("DELETE FROM item WHERE __pk0 = 'item 1'", [])
            .unwrap();
        let found = first.perform_changes_blocking([Item::TABLE], |tx| {
            Ok(ItemChangeRequest::change(tx, &items[1])?.is_some())
        });
        assert!(!found.unwrap());
    });
}

// Promise: concurrency#C5
#[test]
fn commit_of_another_program_after_a_look_up_overtakes_the_transaction() {
    with_two(|first, second, _| {
        let items = create(first, 0..2);
        for is_retrying in [false, true] {
            let mut runs = 0;
            let mut handler = |tx: &TransactionContext| {
                runs += 1;
                let mut request = ItemChangeRequest::change(tx, &items[0])?.unwrap();
                if runs == 1 {
                    count_alone(second, &items[0])?;
                }
                request.rank += 1;
                tx.submit(request).map(drop)
            };
            let types = [Item::TABLE];
            if is_retrying {
                let counted = first.perform_changes_blocking_retrying(types, handler);
                counted.unwrap();
                assert_eq!((runs, rank(first, &items[0])), (2, 3));
            } else {
                let counted = first.perform_changes_blocking(types, &mut handler);
                assert_eq!(counted.unwrap_err().kind(), ErrorKind::Busy);
                assert_eq!((runs, rank(first, &items[0])), (1, 1));
            }
        }
    });
}

/// Both look-ups of a transaction are of one state, so a commit of another program between them
/// makes the second one fail.
#[test]
fn look_ups_of_a_transaction_are_of_one_state() {
    with_two(|first, second, _| {
        let items = create(first, 0..2);
        let looked_up = first.perform_changes_blocking([Item::TABLE], |tx| {
            assert!(ItemChangeRequest::change(tx, &items[0])?.is_some());
            count_alone(second, &items[1])?;
            ItemChangeRequest::change(tx, &items[1]).map(drop)
        });
        assert_eq!(looked_up.unwrap_err().kind(), ErrorKind::Busy);
        let found = first.perform_changes_blocking([Item::TABLE], |tx| {
            Ok(ItemChangeRequest::change(tx, &items[1])?.unwrap().rank)
        });
        assert_eq!(found.unwrap(), 1);
    });
}

/// A transaction of another type notices the commit of another program, and the second look-up is
/// of an object that was fetched after that commit.
#[test]
fn look_ups_before_and_after_a_noticed_commit_of_another_program_are_of_one_state() {
    with_two(|first, second, _| {
        let items = create(first, 0..2);
        let looked_up = first.perform_changes_blocking([Item::TABLE], |tx| {
            assert!(ItemChangeRequest::change(tx, &items[0])?.is_some());
            count_alone(second, &items[1])?;
            thread::scope(|scope| scope.spawn(|| write_other(first)).join().unwrap());
            let fetch = || first.get::<Item>(items[1].id());
            let fetched = thread::scope(|scope| scope.spawn(fetch).join().unwrap())?;
            assert_eq!(fetched.as_ref().map(Item::rank), Some(1));
            ItemChangeRequest::change(tx, &fetched.unwrap()).map(drop)
        });
        assert_eq!(looked_up.unwrap_err().kind(), ErrorKind::Busy);
    });
}

fn write_other(workspace: &Workspace) {
    let written = workspace.perform_changes_blocking_retrying([Other::TABLE], |tx| {
        let request = OtherChangeRequest::upsert(OtherData::default());
        tx.submit(request).map(drop)
    });
    written.unwrap();
}

/// A transaction that builds an index notices a foreign write before the transaction that looks up
/// the object.
#[test]
fn object_with_a_foreign_change_is_looked_up_after_an_index_was_built() {
    with_two(|first, _, path| {
        let count = || first.perform_changes_blocking([v1::Book::TABLE], |tx| update(tx, 0..2));
        let created = first.perform_changes_blocking([v1::Book::TABLE], |tx| {
            (0..2).try_for_each(|id| insert(tx, id))
        });
        created.unwrap();
        let sql = Connection::open(path).unwrap();
        sql.execute_batch("CREATE TEMP TABLE old AS SELECT p FROM library__book WHERE __pk0 = 1")
            .unwrap();
        count().unwrap();
        let fetched = first.get::<v1::Book>(1).unwrap().unwrap();
        assert_eq!(fetched.pages(), 1);
        let update = "UPDATE library__book SET p = (SELECT p FROM old) WHERE __pk0 = 1";
        assert_eq!(sql.execute(update, []).unwrap(), 1);
        first.build_indexes([v2::Book::TABLE]).unwrap();
        first.indexes_ready().wait().unwrap();
        let found = first.perform_changes_blocking([v1::Book::TABLE], |tx| {
            Ok(v1::BookChangeRequest::change(tx, &fetched)?.unwrap().pages)
        });
        assert_eq!(found.unwrap(), 0);
    });
}

/// Counts one item or two.
fn count_some(tx: &TransactionContext, first: &Item, second: Option<&Item>) -> Result<()> {
    count(tx, first)?;
    second.map_or(Ok(()), |second| count(tx, second))
}

/// Counts items at random, and returns how often each one was counted.
fn count_at_random(workspace: &Workspace, seed: u64) -> HashMap<String, i32> {
    let mut random = Random::new(seed);
    let fetch = || workspace.fetch::<Item>().all().unwrap().to_vec();
    let mut items = fetch();
    let mut counts = HashMap::new();
    for _ in 0..150 {
        // Most objects are out of date after a while.
        if random.one_in(20) {
            items = fetch();
        }
        let (item, other) = (random.pick(&items), random.pick(&items));
        let is_retrying = random.one_in(2);
        let is_double = random.one_in(3);
        let second = is_double.then_some(other);
        let work = |tx: &TransactionContext| count_some(tx, item, second);
        let types = [Item::TABLE];
        let counted = match (is_retrying, random.one_in(2)) {
            (true, _) => workspace.perform_changes_blocking_retrying(types, work),
            (false, true) => workspace.perform_changes_blocking(types, work),
            (false, false) => {
                let (item, second) = (item.clone(), second.cloned());
                let work = move |tx: &TransactionContext| count_some(tx, &item, second.as_ref());
                workspace.perform_changes(types, work).wait()
            }
        };
        match counted {
            Ok(()) => {
                *counts.entry(item.id().to_owned()).or_default() += 1;
                if is_double {
                    *counts.entry(other.id().to_owned()).or_default() += 1;
                }
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Busy, "seed {seed}: {error}"),
        }
    }
    counts
}

fn run_seed(seed: u64) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let (first, second) = (open(&path), open(&path));
    create(&first, 0..ITEMS);
    let counts: Mutex<HashMap<String, i32>> = Mutex::default();
    let ends = AtomicBool::new(false);
    thread::scope(|scope| {
        let counters: Vec<_> = [(&first, 2 * seed), (&second, 2 * seed + 1)]
            .into_iter()
            .map(|(workspace, seed)| {
                let counts = &counts;
                scope.spawn(move || {
                    for (id, count) in count_at_random(workspace, seed) {
                        *counts.lock().unwrap().entry(id).or_default() += count;
                    }
                })
            })
            .collect();
        // A program without the library writes rows with the bytes that they have already. The
        // library mends their index entries.
        scope.spawn(|| {
            let sql = Connection::open(&path).unwrap();
            sql.busy_timeout(Duration::from_secs(30)).unwrap();
            for row in (0..).take_while(|_| !ends.load(Ordering::Relaxed)) {
                let row = 1 + row % ITEMS;
                sql.execute("UPDATE item SET p = p WHERE rowid = ?", [row as i64])
                    .unwrap();
                thread::sleep(Duration::from_millis(1));
            }
        });
        // Transactions of another type of the first program commit in groups with those of items.
        scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                write_other(&first);
                // A query by an index finds all items, also while index entries are missing.
                let by_rank = second.fetch::<Item>().filter(Item::RANK.ge(0)).count();
                assert_eq!(by_rank.unwrap(), ITEMS, "seed {seed}");
            }
        });
        for counter in counters {
            counter.join().unwrap();
        }
        ends.store(true, Ordering::Relaxed);
    });
    let counts = counts.into_inner().unwrap();
    for workspace in [&first, &second] {
        for item in &workspace.fetch::<Item>().all().unwrap() {
            let count = counts.get(item.id()).copied().unwrap_or_default();
            assert_eq!(item.rank(), count, "seed {seed}, {}", item.id());
        }
    }
    first.shutdown().unwrap();
    second.shutdown().unwrap();
}

#[test]
fn no_change_of_a_fetched_object_is_lost_beside_other_programs() {
    bounded(|| (0..4).for_each(run_seed));
}
