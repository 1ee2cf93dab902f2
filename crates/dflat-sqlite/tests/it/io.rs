//! Tests of counted I/O. The figures are counts, the same on every machine.

use dflat_engine::storage::{Backend, CloseOptions, RowWrite, Source, View};
use dflat_model::ValueRef;
use dflat_sqlite::faults::{self, FaultPlan};
use dflat_sqlite::{Durability, FileKind, Operation, PerCommit, SqliteBackend, SqliteOptions};

use crate::counted::{insert, open_counted, plain, spent, update, writing};
use crate::raw::Raw;
use crate::sample::{begin, ids, snapshot};

#[test]
fn io_is_not_counted_by_default() {
    let directory = tempfile::tempdir().unwrap();
    let backend = SqliteBackend::open(directory.path().join("a.db"), SqliteOptions::default());
    assert_eq!(backend.unwrap().io_report(), None);
}

#[test]
fn opening_and_reading_a_file_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = open_counted(&path, Durability::Normal);
    insert(&backend, 0, 1, 10);
    backend.close(CloseOptions::default()).unwrap();
    drop(backend);

    let backend = open_counted(&path, Durability::Normal);
    let mut reader = snapshot(&backend, View::Latest);
    assert_eq!(ids(&mut *reader, &plain(), Source::Rows).len(), 10);
    drop(reader);
    let report = backend.io_report().unwrap();
    assert_eq!(writing(&report), (0, 0, 0), "{report}");
    assert_eq!(report.count(Operation::Truncate), 0);
    assert!(report.count_of(FileKind::Main, Operation::Read) > 0);
    // One connection to read the file's first bytes, one to read rows.
    assert_eq!(report.count_of(FileKind::Main, Operation::Open), 2);
}

#[test]
fn connections_stay_open_between_reads() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open_counted(&directory.path().join("a.db"), Durability::Normal);
    insert(&backend, 0, 1, 1);
    for key in 1..20 {
        insert(&backend, key, 1, 1);
        ids(
            &mut *snapshot(&backend, View::Latest),
            &plain(),
            Source::Rows,
        );
    }
    let report = backend.io_report().unwrap();
    // One writer and one reader.
    assert_eq!(report.count_of(FileKind::Main, Operation::Open), 2);
}

/// Figure C2 requires that four transactions of one object make 12 writes of 25 KiB in total at
/// most. Figure C9 requires no sync, or one for each transaction. An update of a payload changes
/// one page. An insert changes three, as
/// [`insert_writes_one_page_for_each_tree_of_its_table`] derives. All pages of a transaction are
/// written at once.
#[test]
fn small_commits_make_the_least_writes() {
    for (durability, syncs) in [(Durability::Normal, 0), (Durability::Full, 4)] {
        let directory = tempfile::tempdir().unwrap();
        let backend = open_counted(&directory.path().join("a.db"), durability);
        insert(&backend, 0, 4, 1);
        let updates = spent(&backend, || update(&backend, 4));
        assert_eq!(writing(&updates), (4, syncs, 4 * FRAME), "{updates}");
        assert_eq!((updates.commits, updates.changes), (4, 4));
        assert_eq!(updates.logical_bytes, 4 * 500);
        let inserts = spent(&backend, || insert(&backend, 4, 4, 1));
        assert_eq!(writing(&inserts), (4, syncs, 12 * FRAME), "{inserts}");
    }
}

/// The bytes that a page takes in the log: the page, and a header of 24 bytes.
const FRAME: u64 = 4096 + 24;

/// Figure C2 for inserts. Each B-tree of the table changes a page. Only a table with a single tree
/// has the bytes of the figure. The files of Dflat for Swift have two more trees: the index of the
/// key, which is unique and separate from the row id, and `sqlite_sequence`, which keeps the last
/// row id so that no row id is used again. Plain SQL on such a table writes the same bytes as this
/// library, 48 KiB instead of 25. Without these trees, another program could not
/// read the file, or row ids would be used again. Transactions in one commit group share the pages,
/// which is figure C3.
#[test]
fn insert_writes_one_page_for_each_tree_of_its_table() {
    let row_id = "rowid INTEGER PRIMARY KEY";
    let tables = [
        (1, format!("({row_id}, __pk0 INTEGER, p BLOB)")),
        (
            2,
            format!("({row_id}, __pk0 INTEGER, p BLOB, UNIQUE (__pk0))"),
        ),
        (
            3,
            format!("({row_id} AUTOINCREMENT, __pk0 INTEGER, p BLOB, UNIQUE (__pk0))"),
        ),
    ];
    for (trees, columns) in tables {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let plan = FaultPlan::attach(&path).unwrap();
        let mut raw = Raw::open_by(&path, faults::vfs_name());
        raw.execute("PRAGMA journal_mode = WAL");
        raw.execute("PRAGMA synchronous = NORMAL");
        raw.execute(&format!("CREATE TABLE plain {columns}"));
        let mut insert = |keys: std::ops::Range<i64>| {
            for key in keys {
                let sql = "INSERT INTO plain (__pk0, p) VALUES";
                raw.execute(&format!("{sql} ({key}, zeroblob(500))"));
            }
        };
        insert(0..4);
        let before = plan.report();
        insert(4..8);
        let report = plan.report().since(&before);
        assert_eq!(writing(&report), (4, 0, 4 * trees * FRAME), "{columns}");
        let meets_figure = 4 * trees * FRAME <= 25 << 10;
        assert_eq!(meets_figure, trees == 1);
    }
}

/// The frames of a large transaction are written 15 at a time.
#[test]
fn large_transactions_write_many_pages_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open_counted(&directory.path().join("a.db"), Durability::Normal);
    insert(&backend, 0, 1, 1);
    let report = spent(&backend, || insert(&backend, 1, 1, 2000));
    let (writes, _, bytes) = writing(&report);
    let frames = bytes / FRAME;
    assert!(frames > 250, "{report}");
    assert_eq!(writes, frames.div_ceil(15), "{report}");
    assert_eq!(
        ids(
            &mut *snapshot(&backend, View::Latest),
            &plain(),
            Source::Rows
        )
        .len(),
        2001
    );
}

/// The tables of this library have the trees of the third table above.
#[test]
fn tables_have_the_trees_of_dflat_for_swift() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = open_counted(&path, Durability::Normal);
    insert(&backend, 0, 1, 1);
    let mut raw = Raw::open(&path);
    let trees = "FROM sqlite_schema WHERE tbl_name IN ('plain', 'sqlite_sequence') ORDER BY name";
    let names = raw.rows(&["name"], trees);
    assert_eq!(
        names,
        ["'plain'", "'sqlite_autoindex_plain_1'", "'sqlite_sequence'"]
    );
}

/// The reference of figure C2: the same inserts in rollback-journal mode, by a plain connection.
#[test]
fn a_rollback_journal_costs_five_times_as_much() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let plan = FaultPlan::attach(&path).unwrap();
    let mut raw = Raw::open_by(&path, faults::vfs_name());
    raw.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, p BLOB)");
    let before = plan.report();
    for id in 0..4 {
        raw.execute(&format!("INSERT INTO t VALUES ({id}, zeroblob(500))"));
    }
    let report = plan.report().since(&before);
    let (writes, syncs, bytes) = writing(&report);
    assert_eq!((writes, syncs, bytes / 1024), (40, 16, 66), "{report}");
    assert_eq!(report.count_of(FileKind::Journal, Operation::Delete), 4);
}

/// Figure C3.
#[test]
fn changes_in_one_transaction_share_their_pages() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open_counted(&directory.path().join("a.db"), Durability::Normal);
    insert(&backend, 0, 1, 1);
    let mut tx = begin(&backend);
    let report = spent(&backend, || {
        for key in 1..101 {
            let row = RowWrite {
                key: Some(&[ValueRef::Int(key)]),
                payload: &[7; 50],
                entries: &[],
            };
            tx.insert(&plain(), &row).unwrap();
        }
        tx.commit().unwrap();
    });
    let (writes, syncs, bytes) = writing(&report);
    assert!(writes <= 20 && syncs == 0 && bytes <= 40 << 10, "{report}");
}

#[test]
fn temporary_files_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open_counted(&directory.path().join("a.db"), Durability::Normal);
    insert(&backend, 0, 1, 20_000);
    let report = spent(&backend, || backend.compact().unwrap());
    let written = report.count_of(FileKind::Temporary, Operation::Write);
    assert!(written > 1000, "{report}");
    // Temporary files are private to the process, so they are never synced.
    assert_eq!(report.count_of(FileKind::Temporary, Operation::Flush), 0);
}

#[test]
fn io_report_has_figures_for_each_commit() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open_counted(&directory.path().join("a.db"), Durability::Full);
    insert(&backend, 0, 1, 1);
    let each = spent(&backend, || update(&backend, 8)).per_commit();
    assert_eq!((each.changes, each.logical_bytes), (1.0, 500.0));
    assert_eq!(
        (each.writes, each.written_bytes, each.syncs),
        (1.0, 4120.0, 1.0)
    );
    let none = spent(&backend, || {});
    assert_eq!(none.per_commit(), PerCommit::default());
}
