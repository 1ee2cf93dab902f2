//! The cost of change records, in pages of the log and in bytes. The figures are counts, the same
//! on every machine.

use std::path::Path;

use dflat::{IoReport, Operation, Reclaim, Result, TransactionContext, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Other, OtherChangeRequest, OtherData};
use dflat_testkit::shelf::v1::library::Book;

use crate::books::{insert, update};

use super::change_log::records;

/// The bytes of a page in the log, with its header.
const FRAME: u64 = 4096 + 24;

/// The transactions of a measurement.
const TRANSACTIONS: usize = 8;

fn open(path: &Path, change_log: bool) -> Workspace {
    // The writes of upkeep would count.
    let builder = Workspace::builder(path).reclaim(Reclaim::Never);
    builder
        .io_stats(true)
        .change_log(change_log)
        .open()
        .unwrap()
}

/// The pages that transactions write, which are waited for one by one. Nothing else is written.
fn pages(
    workspace: &Workspace,
    change: impl Fn(&TransactionContext, i32) -> Result<()> + Send + Copy + 'static,
) -> f64 {
    let before = workspace.io_report().unwrap();
    for number in 0..TRANSACTIONS {
        let number = i32::try_from(number).unwrap();
        let performed = workspace.perform_changes([Book::TABLE], move |tx| change(tx, number));
        performed.wait().unwrap();
    }
    pages_of(&workspace.io_report().unwrap().since(&before)) / TRANSACTIONS as f64
}

fn pages_of(report: &IoReport) -> f64 {
    let bytes = report.bytes(Operation::Write);
    assert_eq!(bytes % FRAME, 0, "{report}");
    // The pages of a commit, of which there are few, are written at once.
    assert_eq!(report.count(Operation::Write), report.commits, "{report}");
    (bytes / FRAME) as f64
}

/// The pages of a transaction of each kind: of one update, of 100, of one insertion.
fn pages_of_each_kind(change_log: bool) -> [f64; 3] {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let workspace = open(&path, change_log);
    // A subscription of this process makes no other process follow.
    let count = workspace.fetch::<Book>().live_count();
    let subscription = workspace.subscribe(count, |_| {}).unwrap();
    for ids in [0..1, 1..100] {
        let mut ids = ids.clone();
        let filled = workspace.perform_changes([Book::TABLE], move |tx| {
            ids.try_for_each(|id| insert(tx, id))
        });
        filled.wait().unwrap();
    }
    let pages = [
        pages(&workspace, |tx, _| update(tx, 0..1)),
        pages(&workspace, |tx, _| update(tx, 0..100)),
        pages(&workspace, |tx, number| insert(tx, 1000 + number)),
    ];
    subscription.cancel();
    workspace.shutdown().unwrap();
    let sql = rusqlite::Connection::open(&path).unwrap();
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'dflat__log'";
    let tables: i64 = sql.query_row(tables, [], |row| row.get(0)).unwrap();
    assert_eq!(tables == 1, change_log);
    pages
}

// Promise: live-queries#L47
#[test]
fn commit_that_nobody_follows_writes_not_one_page_more() {
    bounded(|| {
        let [update, _, insertion] = pages_of_each_kind(false);
        // The object; the object, its key and the last row id.
        assert_eq!((update, insertion), (1.0, 3.0));
    });
}

// Promise: storage-format#S40
#[test]
fn record_adds_one_page_to_an_update_and_to_an_insertion() {
    bounded(|| {
        let without = pages_of_each_kind(false);
        let with = pages_of_each_kind(true);
        // The last page of the change log.
        assert_eq!(with[0] - without[0], 1.0);
        assert_eq!(with[2] - without[2], 1.0);
        assert!(with[1] - without[1] < 5.0, "{with:?}, {without:?}");
    });
}

// Promise: storage-format#S40
#[test]
fn queued_transactions_share_the_pages_of_their_records() {
    const QUEUED: i32 = 20;
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let workspace = open(&path, true);
        let filled = workspace.perform_changes([Book::TABLE], |tx| {
            (0..QUEUED).try_for_each(|id| insert(tx, id))
        });
        filled.wait().unwrap();
        let before = workspace.io_report().unwrap();
        let handles: Vec<_> = (0..QUEUED)
            .map(|id| workspace.perform_changes([Book::TABLE], move |tx| update(tx, id..id + 1)))
            .collect();
        for handle in handles {
            handle.wait().unwrap();
        }
        let report = workspace.io_report().unwrap().since(&before);
        let pages = pages_of(&report);
        // However many transactions share a commit. The records fill another page at most.
        assert!(pages <= (2 * report.commits + 1) as f64, "{report}");
        assert_eq!(records(&path).len(), 1 + QUEUED as usize);
    });
}

// Promise: storage-format#S40
#[test]
fn insertion_is_recorded_in_40_bytes_and_its_key() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let workspace = open(&path, true);
        // The key is an integer of at most 5 bytes in a record, with its type.
        for (count, bytes_max) in [(1, 40 + 5), (100, 100 * (4 + 5))] {
            let first = 1_000 * count;
            let inserted = workspace.perform_changes([Other::TABLE], move |tx| {
                (first..first + count).try_for_each(|id| {
                    let note = Some("x".repeat(1_000));
                    let data = OtherData { id, note };
                    tx.submit(OtherChangeRequest::creation(data)).map(drop)
                })
            });
            inserted.wait().unwrap();
            let bytes = records(&path).last().unwrap().len();
            assert!(bytes <= bytes_max, "{count} insertions: {bytes} bytes");
        }
    });
}

// Promise: storage-format#S41
#[test]
fn statistics_count_the_records_of_this_process() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let workspace = open(&path, true);
        let insert_one = |id, fails| {
            let inserted = workspace.perform_changes([Book::TABLE], move |tx| {
                insert(tx, id)?;
                if fails {
                    tx.abort();
                }
                Ok(())
            });
            assert_eq!(inserted.wait().is_err(), fails);
        };
        let counted = |workspace: &Workspace| {
            let (stats, io) = (workspace.stats(), workspace.io_report().unwrap());
            assert_eq!(
                (stats.change_records, stats.change_record_bytes),
                (io.records, io.record_bytes)
            );
            (io.records, io.record_bytes, io)
        };
        let before = counted(&workspace).2;
        assert_eq!(before.records, 0);
        assert!(!before.to_string().contains("change records"), "{before}");
        insert_one(1, false);
        insert_one(2, true);
        insert_one(3, false);
        let stored = || {
            let records = records(&path);
            let bytes = records.iter().map(Vec::len).sum::<usize>();
            (records.len() as u64, bytes as u64)
        };
        let (count, bytes, io) = counted(&workspace);
        assert_eq!(((count, bytes), count), (stored(), 2));
        let line = format!("2 change records of {bytes} bytes\n");
        assert!(io.to_string().contains(&line), "{io}");
        insert_one(4, false);
        let after = counted(&workspace).2;
        assert_eq!(after.since(&io).records, 1);
        assert_eq!(after.since(&io).record_bytes, stored().1 - bytes);
        // Those of another workspace with its own backend are not of this process.
        let without = open(&directory.path().join("b.db"), false);
        let inserted = without.perform_changes([Book::TABLE], |tx| insert(tx, 1));
        inserted.wait().unwrap();
        assert_eq!(counted(&without).0, 0);
    });
}
